#include "file_list.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "error.hpp"
#include "input_file.hpp"

namespace clipper {

std::vector<std::string> read_names(const FileList& list) {
  InputFile file = InputFile::open(list.path);
  std::vector<std::string> names;
  std::string name;
  const auto add = [&] {
    if (name.empty() || name == "-")
      throw Error(ErrorKind::usage,
                  fmt::format("{}: name {} is '{}', which is no file", file.path(), names.size() + 1, name));
    names.push_back(std::exchange(name, {}));
  };
  std::array<std::byte, 65536> bytes{};
  for (std::size_t count = file.read(bytes); count > 0; count = file.read(bytes))
    for (const char c : std::string_view(reinterpret_cast<const char*>(bytes.data()), count))
      if (c == list.separator)
        add();
      else
        name += c;
  if (!name.empty()) add();
  return names;
}

}  // namespace clipper
