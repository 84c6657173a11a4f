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
    if (c == '\0') refuse("ends with a NUL; for NUL-separated lists (find -print0), use --files0-from");
    name_ += c;
    if (name_.size() < PATH_MAX) return;
    refuse_lines();
    refuse(fmt::format("is longer than a path can be ({} bytes)", PATH_MAX - 1));
  }

  /// Called at the end of the list: the last name may lack a separator.
  void take_last() {
    if (!name_.empty()) {
      if (count_ == 1) refuse_lines();
      end();
    }
    if (count_ == 1 && !list_.may_be_empty)
      throw Error(ErrorKind::input,
                  fmt::format("{}: contains no file name; --allow-empty permits an empty list", path_));
  }

 private:
  void end() {
    if (name_.empty()) refuse("is an empty file name");
    if (name_ == "-") refuse("means standard input, which cannot be in a list; use ./- for a file named -");
    add_(name_);
    name_.clear();
    ++count_;
  }

  void refuse_lines() const {
    if (name_.find('\n') != std::string::npos)
      refuse("is followed by a line end, not by a NUL; for lists with one name per line, use --files-from");
  }

  /// Shows only the beginning of the first line: the name may be a whole list.
  [[noreturn]] void refuse(const std::string& why) const {
    constexpr std::size_t kShown = 100;
    const std::string_view line = std::string_view(name_).substr(0, name_.find('\n'));
    const std::string name =
        line.empty() ? ""
                     : fmt::format(" ('{}{}')", line.substr(0, kShown), line.size() > kShown ? "..." : "");
    throw Error(ErrorKind::usage, fmt::format("{}: entry {}{} {}", path_, count_, name, why));
  }

  const FileList& list_;
  const std::string& path_;
  const std::function<void(const std::string&)>& add_;
  std::string name_;
  std::size_t count_ = 1;  ///< names so far, including the current one
};

}  // namespace

void read_names(const FileList& list, const std::function<void(const std::string&)>& add) {
  InputFile file = InputFile::open(list.path);
  Names names(list, file.path(), add);
  std::vector<std::byte> bytes(65536);  // on the heap: the stack may be limited to 64 KiB
  for (std::size_t count = file.read(bytes); count > 0; count = file.read(bytes))
    for (const char c : std::string_view(reinterpret_cast<const char*>(bytes.data()), count)) names.take(c);
  names.take_last();
}

}  // namespace clipper
