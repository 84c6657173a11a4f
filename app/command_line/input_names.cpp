#include "command_line/input_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <memory>
#include <utility>

#include "command_line/shared_options.hpp"
#include "contract/fields.hpp"
#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/input_file.hpp"
#include "formats/container.hpp"
#include "npy/dict.hpp"
#include "os/os.hpp"
#include "request_text.hpp"

namespace clipper {

const char* KeptTexts::add(std::string_view text) {
  char* const kept = static_cast<char*>(memory_.allocate(text.size() + 1, 1));
  *std::ranges::copy(text, kept).out = '\0';
  return kept;
}

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
    if (count_ == 1 && list_.separator == '\n' && name_.starts_with("\xef\xbb\xbf"))
      refuse("begins with a byte order mark, which is part of no name; save the list as UTF-8 without it");
    if (name_ == "-") refuse("means standard input, which cannot be in a list; use ./- for a file named -");
    add_(os::with_slashes(name_));
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

using Kind = TensorWalk::Kind;

struct CloseDirectory {
  void operator()(os::DIR* directory) const noexcept { os::closedir(directory); }
};
using Directory = std::unique_ptr<os::DIR, CloseDirectory>;

Directory open_directory(const std::string& path, int flags) {
  Descriptor fd = open_file(path, flags | O_RDONLY | O_DIRECTORY);
  Directory directory(fd.get() < 0 ? nullptr : os::fdopendir(fd.get()));
  if (!directory) throw_system_error(path, "cannot be read");
  static_cast<void>(fd.release());
  return directory;
}

const os::dirent* next_entry(os::DIR* directory, const std::string& path) {
  errno = 0;
  const os::dirent* const entry = os::readdir(directory);
  if (entry == nullptr && errno != 0) throw_system_error(path, "cannot be read");
  return entry;
}

/// What the patterns and the name say of a file: whether it is taken, left out, or of another format.
enum class Choice : std::uint8_t { taken, left_out, other };

Choice choice_of(const TensorWalk& walk, const std::string& path) {
  const std::string set = is_index(path) ? path.substr(0, path.rfind(".index.")) : path;
  const auto is_in = [&](const std::vector<std::string>& patterns) {
    return matches_any(patterns, path) || matches_any(patterns, set);
  };
  if (is_in(walk.exclude)) return Choice::left_out;
  if (!walk.include.empty()) return is_in(walk.include) ? Choice::taken : Choice::left_out;
  const Format* const format = format_named(path);
  return format != nullptr && format->walked <= walk.takes ? Choice::taken : Choice::other;
}

Kind kind_of(os::Mode mode) {
  return S_ISREG(mode) ? Kind::file : S_ISDIR(mode) ? Kind::directory : Kind::other;
}

class Walker {
 public:
  explicit Walker(const TensorWalk& walk) : walk_(walk) {}

  void visit(const std::string& path, const std::string& prefix) {
    Directory directory;
    if (!attempt(path, [&] { directory = enter(path); })) return;
    walk_.entered(levels_.back().id);
    std::vector<std::string> directories;
    const os::dirent* read = nullptr;
    while (attempt(path, [&] { read = next_entry(directory.get(), path); }) && read != nullptr) {
      Entry entry{read->d_name, Kind::nowhere, read->d_type == DT_LNK};
      if (entry.name == "." || entry.name == "..") continue;
      const std::string entry_path = os::joined(path, entry.name);
      if (!attempt(entry_path, [&] { examine(directory.get(), read->d_type, entry_path, prefix, entry); }))
        continue;
      const Choice choice = choice_of(walk_, prefix + entry.name);
      if (choice == Choice::other && entry.kind == Kind::file) walk_.passed(prefix + entry.name);
      if (choice == Choice::taken &&
          attempt(entry_path, [&] { expect_whole_set(entry_path, prefix, entry); }))
        walk_.found(prefix + entry.name, entry.kind);
      if (is_walked(entry)) directories.push_back(std::move(entry.name));
    }
    directory.reset();
    for (const std::string& name : directories) visit(os::joined(path, name), prefix + name + "/");
    levels_.pop_back();
  }

 private:
  struct Entry {
    std::string name;
    Kind kind;
    bool is_link;
  };

  struct Level {
    std::string path;
    FileId id;
  };

  /// Whether the work succeeded. If it failed and walk_.failed() does not throw, the walk goes on without it.
  template <class Work>
  [[nodiscard]] bool attempt(const std::string& path, Work work) const {
    try {
      work();
      return true;
    } catch (...) {
      walk_.failed(path);
      return false;
    }
  }

  [[nodiscard]] bool follows() const { return walk_.links == TensorWalk::Links::followed; }

  [[nodiscard]] bool is_walked(const Entry& entry) const {
    return entry.kind == Kind::directory && (follows() || !entry.is_link);
  }

  void expect_whole_set(const std::string& path, const std::string& prefix, const Entry& entry) const {
    if (walk_.exclude.empty() || entry.kind != Kind::file || !is_index(path)) return;
    for (const std::string& file : paths_of_set(path)) {
      const std::string name = file.substr(beside(path, "").size());
      if (matches_any(walk_.exclude, prefix + name))
        refuse(
            fmt::format("{}: --exclude leaves out its file {}; to leave out the set, exclude the index, too",
                        path, npy::excerpt(name)));
    }
  }

  /// O_NOFOLLOW: after its name was read, somebody may have replaced the directory by a link.
  [[nodiscard]] Directory enter(const std::string& path) {
    Directory directory = open_directory(path, levels_.empty() || follows() ? 0 : O_NOFOLLOW);
    os::Status status{};
    if (os::fstat(os::dirfd(directory.get()), &status) != 0) throw_system_error(path, "cannot be examined");
    const FileId id = id_of(status);
    const auto same = std::ranges::find(levels_, id, &Level::id);
    if (same != levels_.end())
      throw Error(ErrorKind::io, fmt::format("{}: leads back to {}: a loop of links", path, same->path));
    levels_.push_back({path, id});
    return directory;
  }

  /// Sets the entry's kind. Many file systems report it with the name (`type`). Links need fstatat(), unless
  /// they are skipped.
  void examine(os::DIR* directory, unsigned char type, const std::string& path, const std::string& prefix,
               Entry& entry) const {
    if (type != DT_LNK && type != DT_UNKNOWN) {
      entry.kind = kind_of(static_cast<os::Mode>(DTTOIF(type)));
      return;
    }
    os::Status status{};
    const auto look = [&](int flags) {
      return os::fstatat(os::dirfd(directory), entry.name.c_str(), &status, flags) == 0;
    };
    if (type == DT_UNKNOWN) entry.is_link = look(AT_SYMLINK_NOFOLLOW) && S_ISLNK(status.st_mode);
    if (entry.is_link && !follows() && choice_of(walk_, prefix + entry.name) != Choice::taken) return;
    if (look(0))
      entry.kind = kind_of(status.st_mode);
    else if (errno != ENOENT && errno != ELOOP)
      throw_system_error(path, "cannot be examined");
  }

  const TensorWalk& walk_;
  std::vector<Level> levels_;  ///< the directories from the given one to the one that is visited
};

/// What an empty walk of the directory has not found, and which option finds what else is there.
std::string what_is_missing(const std::string& directory, TensorWalk walk) {
  if (!walk.include.empty()) return "file that --include names";
  const std::string taken = walked_suffixes(walk.takes);
  std::set<std::string> others;
  std::set<std::string> any;
  walk.takes = Walked::if_all;
  walk.found = [&](const std::string& path, Kind kind) {
    if (may_be_tensor(kind)) others.insert(is_index(path) ? ".safetensors" : path.substr(path.rfind('.')));
  };
  walk.passed = [&](const std::string& path) {
    const std::size_t dot = path.find_last_of("./");
    if (walk.has_other_names && dot != path.npos && path[dot] == '.') any.insert(path.substr(dot));
  };
  walk.failed = [](const std::string&) {};
  walk_tensors(directory, walk);
  if (others.empty()) others = std::move(any);
  if (others.empty()) return taken + " file; --include GLOB takes files with other names";
  return fmt::format("{0} file; --include '*{1}' takes its {1} files", taken, *others.begin());
}

std::string part_of(std::string_view option, const std::filesystem::path& input, std::string_view name) {
  if (input == "-") refuse(fmt::format("{}: standard input has no {{{}}}", option, name));
  if (name == "dir") return input.has_parent_path() ? os::text_of(input.parent_path()) : ".";
  if (name == "name") return os::text_of(input.filename());
  if (name == "stem") return os::text_of(input.stem());
  if (name == "ext") return os::text_of(input.extension());
  refuse(fmt::format("{}: unknown placeholder {{{}}}; use {{dir}}, {{name}}, {{stem}} or {{ext}}", option,
                     name));
}

}  // namespace

void read_names(const FileList& list, const std::function<void(const std::string&)>& add) {
  InputFile file = InputFile::open(list.path);
  Names names(list, file.path(), add);
  std::vector<std::byte> bytes(65536);  // on the heap: the stack may be limited to 64 KiB
  for (std::size_t count = file.read(bytes); count > 0; count = file.read(bytes))
    for (const char c : std::string_view(reinterpret_cast<const char*>(bytes.data()), count)) names.take(c);
  names.take_last();
}

void walk_tensors(const std::string& directory, const TensorWalk& walk) {
  Walker(walk).visit(directory, "");
}

bool is_directory(const std::string& path) {
  os::Status status{};
  return os::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::set<std::string> files_of_sets(const std::vector<std::string>& paths) {
  std::set<std::string> files;
  for (const std::string& path : paths) try {
      if (is_index(path))
        for (std::string& file : paths_of_set(path))
          if (!is_index(file)) files.insert(std::move(file));
    } catch (const Error&) {
      continue;
    }
  return files;
}

void for_each_tensor(const std::string& directory, TensorWalk walk,
                     const std::function<void(const std::string& full_path)>& add) {
  bool is_empty = !walk.may_be_empty;
  walk.found = [&](const std::string& path, Kind kind) {
    if (!may_be_tensor(kind)) return;
    is_empty = false;
    add(os::joined(directory, path));
  };
  walk.failed = [&is_empty, failed = walk.failed](const std::string& path) {
    is_empty = false;
    failed(path);
  };
  walk_tensors(directory, walk);
  if (is_empty) try {
      throw Error(ErrorKind::input,
                  fmt::format("{}: contains no {}", directory, what_is_missing(directory, walk)));
    } catch (...) {
      walk.failed(directory);
    }
}

std::string named_by(std::string_view output_template, const std::string& path, std::string_view option) {
  const std::filesystem::path input = os::native(path);
  std::string output;
  for (std::size_t i = 0; i < output_template.size(); ++i) {
    const std::string_view rest = output_template.substr(i);
    if (rest.starts_with("{{") || rest.starts_with("}}")) {
      output += rest.front();
      ++i;
    } else if (rest.front() == '{') {
      const std::size_t end = rest.find('}');
      if (end == std::string_view::npos) refuse(fmt::format("{}: '{}' has no closing }}", option, rest));
      output += part_of(option, input, rest.substr(1, end - 1));
      i += end;
    } else {
      output += rest.front();
    }
  }
  return output;
}

void set_mask(Request& request, const std::string& text, const Reading& files) {
  if (text.starts_with('@') && text.find('{') != std::string::npos)
    request.mask = Parameter(Number(1), text);
  else
    set_text(*field_named("mask"), request, text, files);
}

bool is_mask_of_each(const std::optional<Parameter>& mask) {
  return mask && !mask->dtype && mask->text.find('{') != std::string::npos;
}

std::string mask_of(const Parameter& mask, const std::string& input) {
  const std::optional<MemberPath> member = member_path(input);
  return named_by(mask.text.substr(1), member ? member->archive : input, "--mask");
}

void read_mask(Request& request, const std::string& input, const Reading& files) {
  if (is_mask_of_each(request.mask))
    set_text(*field_named("mask"), request, "@" + mask_of(*request.mask, input), files);
}

}  // namespace clipper
