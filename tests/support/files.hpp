#pragma once

#include <initializer_list>
#include <iterator>
#include <random>

#include "support/skip.hpp"

/// Files for tests, and snapshots to check what happened to them.
namespace clipper::testing {

inline std::string read_file(const std::string& path) {
  std::ifstream file(os::native(path), std::ios::binary);
  INFO(path);
  REQUIRE(file);
  std::ostringstream bytes;
  bytes << file.rdbuf();  // unlike a string of istreambuf_iterators, fast without optimization
  return std::move(bytes).str();
}

inline void write_file(const std::string& path, std::string_view bytes) {
  if (os::kIsWindows && path.substr(2).find_first_of("\n\xff<>:\"|?*") != path.npos)
    needs_posix("this name of a file");
  std::ofstream file(os::native(path), std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
  INFO(path);
  REQUIRE(file);
}

inline std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Changes one byte of a file.
inline void flip(const std::string& path, std::uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 1));
  INFO(path);
  REQUIRE(file.flush());
}

inline void make_fifo(const std::string& path) {
  needs_posix("FIFOs");
  INFO(path);
#if !defined(_WIN32)
  REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
#endif
}

inline void make_link(const std::string& to, const std::string& path) {
  needs_posix("symbolic links");
  std::filesystem::create_symlink(to, path);
}

/// The status of the file at `path`, following links.
inline os::Status status_of(const std::string& path) {
  os::Status status{};
  INFO(path);
  REQUIRE(os::stat(path.c_str(), &status) == 0);
  return status;
}

inline unsigned mode_of(const std::string& path) {
  return status_of(path).st_mode & 07777U;
}

/// A directory that is removed with its content when this object is destroyed.
class TemporaryDirectory {
 public:
  /// Contains `files`: names and contents.
  TemporaryDirectory(std::initializer_list<std::pair<std::string_view, std::string_view>> files = {})
      : path_(os::text_of(std::filesystem::temp_directory_path() / "clipper-test-XXXXXX")) {
#if defined(_WIN32)
    path_ += std::to_string(os::getpid()) + "-" + std::to_string(std::random_device()());
    REQUIRE(std::filesystem::create_directory(path_));
#else
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
#endif
    for (const auto& [name, contents] : files) write(name, contents);
  }
  TemporaryDirectory(TemporaryDirectory&&) = delete;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const {
    return path_;
  }
  [[nodiscard]] std::string operator/(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }
  [[nodiscard]] std::string read(std::string_view name) const {
    return read_file(*this / name);
  }

  /// Also creates missing directories.
  void write(std::string_view name, std::string_view contents) const {
    std::filesystem::create_directories(os::native(*this / name).parent_path());
    write_file(*this / name, contents);
  }

  /// The names in the directory, sorted.
  [[nodiscard]] std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(os::text_of(entry.path().filename()));
    std::ranges::sort(names);
    return names;
  }

  /// The state of every entry. Two snapshots are equal if between them no entry was created, removed,
  /// replaced or written.
  [[nodiscard]] std::map<std::string, std::string> snapshot() const {
    std::map<std::string, std::string> entries;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      os::Status status{};
      const std::string path = os::text_of(entry.path());
      REQUIRE(os::lstat(path.c_str(), &status) == 0);
      std::string& text = entries[os::text_of(entry.path().filename())];
      text = std::to_string(status.st_ino) + " " + std::to_string(status.st_mode) + " ";
      if (entry.is_symlink())
        text += os::text_of(std::filesystem::read_symlink(entry.path()));
      else if (entry.is_regular_file())
        text += read_file(path);
    }
    return entries;
  }

 private:
  std::string path_;
};

}  // namespace clipper::testing
