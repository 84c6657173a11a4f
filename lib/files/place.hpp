#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "files/descriptor.hpp"
#include "os/os.hpp"

/// The identity of files. A path identifies a file only for an instant: several names may belong to one file,
/// and every name may belong to another file a moment later.
namespace clipper {

/// Device and inode: the same for all names of a file, and unique while the file is open.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  // clang-tidy 14 takes the 0 that comparisons of orderings use for a null pointer.
  friend auto operator<=>(const FileId&, const FileId&) = default;  // NOLINT
};

[[nodiscard]] FileId id_of(const os::Status& status) noexcept;
[[nodiscard]] std::uint64_t hash_of(const FileId& id) noexcept;

/// Whether an error of stat() or open() is about the name and what it leads to, and lasts. All others say
/// nothing about the file.
[[nodiscard]] bool is_of_name(int error) noexcept;

/// Which file the path leads to, links followed. Nothing if there is none, or if the path cannot be followed
/// (no permission, a loop of links), so that the file cannot be opened either. Error{io} for every other
/// failure, which says nothing about the file.
[[nodiscard]] std::optional<FileId> find_file(const std::string& path);

/// The path under which find_file() finds the regular file that "-" stands for as an input, /dev/stdin, or as
/// an output, /dev/stdout. Every other path, and "-" for a pipe, a terminal or a device, is returned as it
/// is.
[[nodiscard]] std::string input_path(const std::string& path);
[[nodiscard]] std::string output_path(const std::string& path);

/// Whether both paths lead to one file; "-" leads to none. Error{io} as find_file().
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b);

/// Whether both paths lead to one file, or to one name that no file has yet.
[[nodiscard]] bool is_same_target(const std::string& a, const std::string& b);

/// A name in a directory that is held open. If another program renames or replaces the directory, a Place
/// stays in the original one. Copies share the descriptor. Every failure is an Error{io} that names the path.
class Place {
 public:
  /// The last name of the path, which may be a symbolic link or not exist. `what` is the text of the Error
  /// after the path.
  [[nodiscard]] static Place of(const std::string& path, std::string_view what = "cannot be opened");

  /// The file that the path leads to, links followed. Error{io} if it does not exist. Error{refused} if
  /// the path is that of a descriptor, and the file is not under its name.
  [[nodiscard]] static Place resolved(const std::string& path);

  /// The name of the file that the path leads to, links followed, and the file's status, which the caller
  /// begins with; if another program replaces the file meanwhile, the one that it puts there. Nothing if the
  /// path is that of a descriptor, such as /dev/stdin, and the file is not under its name: it was removed,
  /// replaced, or hidden by a mount. Error{io} if the file is replaced again and again.
  [[nodiscard]] static std::optional<Place> of_file(const std::string& path, os::Status& status);

  /// The name ".NAME" and the suffix in the same directory, for internal files of clipper. If `shortened`,
  /// NAME is cut to keep within NAME_MAX.
  [[nodiscard]] Place beside(std::string_view suffix, bool shortened) const;

  /// The name NAME and the suffix in the same directory.
  [[nodiscard]] Place with_suffix(std::string_view suffix) const;

  /// Another name in the same directory.
  [[nodiscard]] Place with_name(const std::string& name) const;

  [[nodiscard]] int directory() const noexcept { return directory_->get(); }
  [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }  ///< for messages

  /// The status of the file that has the name now, links not followed; nothing if there is none.
  [[nodiscard]] std::optional<os::Status> status() const;

  /// The identity of the file that has the name now, links not followed; nothing if there is none or it
  /// cannot be examined.
  [[nodiscard]] std::optional<FileId> id() const noexcept;

  /// Whether the file `id` has the name now.
  [[nodiscard]] bool is(const FileId& id) const;

  [[nodiscard]] FileId directory_id() const;

  /// Removes the name, unless it is known to belong to another file than `file`. Returns false, with errno,
  /// if that fails.
  [[nodiscard]] bool remove(const FileId& file) const noexcept;

  /// For two places of one file: whether they are the same name (also in another spelling), not another mount
  /// of the file.
  [[nodiscard]] bool is_same_place(const Place& other) const;

  /// Whether the directory is one of `directories` or below one of them. Follows ".." from the descriptor, no
  /// path: other programs cannot mislead it by renames or links.
  [[nodiscard]] bool is_below(std::span<const FileId> directories) const;

  /// Whether the directory is append-only (chattr +a): it accepts new names, but none can be removed or
  /// replaced.
  [[nodiscard]] bool is_append_only() const noexcept;

  /// Error{io} if the process may not read the directory, which sync() needs.
  void expect_sync() const;

  /// Brings created, renamed and removed names of the directory to the disk. Returns false, with errno, on
  /// failure.
  [[nodiscard]] bool sync() const noexcept;

 private:
  Place(std::shared_ptr<const Descriptor> directory, std::string name, std::string path)
      : directory_(std::move(directory)), name_(std::move(name)), path_(std::move(path)) {}

  std::shared_ptr<const Descriptor> directory_;
  std::string name_;
  std::string path_;
};

/// Place::is_below() for a directory that is no Place; `path` is for messages.
[[nodiscard]] bool is_below(int directory, std::span<const FileId> directories, const std::string& path);

/// Place::remove() for a caller that has no Place: a signal handler.
[[nodiscard]] bool remove_name(int directory, const char* name, const FileId& file) noexcept;

/// Calls `unlink`, which removes the name `place` of an unfinished file and returns whether it succeeded; not
/// if the name belongs to another file. On a full disk, lowntfs-3g and btrfs may need free space for that:
/// the file is emptied, and `unlink` called again. A file that has another name is never emptied.
void drop(const Descriptor& fd, const Place& place, const std::function<bool()>& unlink) noexcept;

/// The directory part of the path; "." if it has none.
[[nodiscard]] std::string directory_of(const std::string& path);

/// The absolute path without symbolic links. Error{io} if the file does not exist.
[[nodiscard]] std::string resolved(const std::string& path);

/// 16 random hexadecimal digits for a new name. Error{io} if the system has no random numbers.
[[nodiscard]] std::string random_suffix();

/// Throws Error{not_durable}: the file is in place, but fsync() of its directory failed with `error`.
[[noreturn]] void throw_not_durable(const std::string& path, int error);

enum class Exchanged : std::uint8_t {
  done,         ///< the old file has the hidden name
  taken_back,   ///< another file had the name: the newest of the others' files has it again
  stranded,     ///< another file had the name, and may not have it again: it has the hidden name
  unsupported,  ///< the file system cannot exchange names: every name is as before
  failed,       ///< every name is as before, and errno has the reason
};

/// Exchanges the names `hidden` and `place` in one directory, then checks which file came out before anybody
/// removes it. (If the check came first and a rename second, another program could put its own file there in
/// between.) `is_right` is called when the old file has the hidden name, and returns whether that is the file
/// to be replaced. `replacement` is the file that has the hidden name before the exchange. A file that
/// another program renames to `place` meanwhile stays there. After taken_back the hidden name may belong to
/// a third file, which was renamed to `place` before that one: the caller must keep every file but its own.
/// Neither this function nor `is_right` may use the heap: see without_cleanup().
[[nodiscard]] Exchanged exchange(const Place& hidden, const Place& place, const FileId& replacement,
                                 const std::function<bool()>& is_right) noexcept;

}  // namespace clipper
