#include "command_line/file_list.hpp"

#include <fmt/format.h>

#include <climits>
#include <string_view>
#include <vector>

#include "error.hpp"
#include "files/input_file.hpp"

namespace clipper {
namespace {

class Names {
 public:
  Names(const FileList& list, const std::string& path, const std::function<void(const std::string&)>& add)
      : list_(list), path_(path), add_(add) {}

  void take(char c) {
    if (c == list_.separator) return end();
    if (c == '\0') refuse("has a NUL at its end; --files0-from takes lists with NUL (find -print0)");
    name_ += c;
    if (name_.size() < PATH_MAX) return;
    refuse_lines();
    refuse("is longer than a path can be");
  }

  /// What is left at the end of the list.
  void take_last() {
    if (name_.empty()) return;
    if (count_ == 1) refuse_lines();
    end();
  }

 private:
  void end() {
    if (name_.empty() || name_ == "-") refuse("is not the name of a file");
    add_(name_);
    name_.clear();
    ++count_;
  }

  void refuse_lines() const {
    if (name_.find('\n') != std::string::npos)
      refuse("has line ends and no NUL at its end; --files-from takes lists of lines");
  }

  /// Shows the first line of the name only: the name may be a whole list.
  [[noreturn]] void refuse(const char* why) const {
    throw Error(ErrorKind::usage, fmt::format("{}: name {}, '{}', {}", path_, count_,
                                              std::string_view(name_).substr(0, name_.find('\n')), why));
  }

  const FileList& list_;
  const std::string& path_;
  const std::function<void(const std::string&)>& add_;
  std::string name_;
  std::size_t count_ = 1;  ///< that of the name
};

}  // namespace

void read_names(const FileList& list, const std::function<void(const std::string&)>& add) {
  InputFile file = InputFile::open(list.path);
  Names names(list, file.path(), add);
  std::vector<std::byte> bytes(65536);  // not of the stack, which may be as small
  for (std::size_t count = file.read(bytes); count > 0; count = file.read(bytes))
    for (const char c : std::string_view(reinterpret_cast<const char*>(bytes.data()), count)) names.take(c);
  names.take_last();
}

}  // namespace clipper
