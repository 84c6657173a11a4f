#include "compare/file_pairs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/place.hpp"

namespace clipper {
namespace {

namespace fs = std::filesystem;

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Directory open_directory(const std::string& path) {
  Descriptor fd(retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  Directory directory(fd.get() < 0 ? nullptr : ::fdopendir(fd.get()));
  if (!directory) throw_system_error(path, "cannot be read");
  static_cast<void>(fd.release());
  return directory;
}

/// Whether an entry is a directory, or a link to one.
bool is_directory(DIR* directory, const dirent& entry, const std::string& path) {
  if (entry.d_type == DT_DIR) return true;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return false;
  struct stat status {};
  if (::fstatat(::dirfd(directory), entry.d_name, &status, 0) == 0) return S_ISDIR(status.st_mode);
  if (errno != ENOENT && errno != ELOOP)
    throw_system_error(fs::path(path) / entry.d_name, "cannot be examined");
  return false;  // a link that leads nowhere
}

/// What is called .npy below a directory, by its path there. Links are followed; a link that leads nowhere
/// and a directory of that name are not overlooked.
class Tensors {
 public:
  [[nodiscard]] static std::vector<std::string> below(const std::string& directory) {
    Tensors tensors;
    tensors.visit(directory, "");
    return std::move(tensors.names_);
  }

 private:
  struct Level {
    std::string path;
    FileId id;
  };

  void visit(const std::string& path, const std::string& prefix) {
    Directory directory = open_directory(path);
    enter(path, directory.get());
    std::vector<std::string> directories;
    while (const dirent* const entry = next(directory.get(), path)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (name.ends_with(".npy")) names_.push_back(prefix + name);
      if (is_directory(directory.get(), *entry, path)) directories.push_back(name);
    }
    directory.reset();  // however deep the tree is, only one is open
    for (const std::string& name : directories) visit(fs::path(path) / name, prefix + name + "/");
    levels_.pop_back();
  }

  static const dirent* next(DIR* directory, const std::string& path) {
    errno = 0;
    const dirent* const entry = ::readdir(directory);
    if (entry == nullptr && errno != 0) throw_system_error(path, "cannot be read");
    return entry;
  }

  /// A loop would give every tensor in it endlessly many paths, of which none can be left out as equal: what
  /// the other side has there need not be a loop.
  void enter(const std::string& path, DIR* directory) {
    struct stat status {};
    if (::fstat(::dirfd(directory), &status) != 0) throw_system_error(path, "cannot be examined");
    const FileId id = id_of(status);
    const auto same = std::ranges::find(levels_, id, &Level::id);
    if (same != levels_.end())
      throw Error(ErrorKind::io, fmt::format("{}: leads back to {}: a loop of links", path, same->path));
    levels_.push_back({path, id});
  }

  std::vector<Level> levels_;  ///< the directories from the given one to the one that is visited
  std::vector<std::string> names_;
};

}  // namespace

std::vector<FilePair> file_pairs(const std::string& actual, const std::string& expected) {
  std::error_code ignored;
  const bool directory = fs::is_directory(actual, ignored);
  if (directory != fs::is_directory(expected, ignored))
    throw Error(ErrorKind::usage, fmt::format("{} is a directory and {} is not",
                                              directory ? actual : expected, directory ? expected : actual));
  if (!directory) return {{actual, expected}};

  std::map<std::string, FilePair> pairs;
  const auto pair_of = [&](const std::string& name) -> FilePair& {
    return pairs
        .try_emplace(name, FilePair{fs::path(actual) / name, fs::path(expected) / name, false, false, true})
        .first->second;
  };
  for (const std::string& name : Tensors::below(actual)) pair_of(name).has_actual = true;
  for (const std::string& name : Tensors::below(expected)) pair_of(name).has_expected = true;
  if (pairs.empty())
    throw Error(ErrorKind::input, fmt::format("{} and {} have no .npy file", actual, expected));
  std::vector<FilePair> result;
  for (auto& [name, pair] : pairs) result.push_back(std::move(pair));
  return result;
}

}  // namespace clipper
