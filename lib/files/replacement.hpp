#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "files/descriptor.hpp"
#include "files/place.hpp"
#include "os/os.hpp"

namespace clipper {

class InputFile;

// Unnamed files for data that does not fit into memory.

/// The directory of all unnamed files from now on; by default /var/tmp. Not while another thread works.
void set_temporary_directory(std::string directory);

/// An unnamed file, which disappears with its descriptor. It is written once. Every failure is an
/// Error{io} that names the contents and the directory.
class TemporaryFile {
 public:
  /// For `size` bytes; `contents` is their name in messages. Error{io} if there are fewer free bytes.
  TemporaryFile(std::string contents, std::uint64_t size);

  void write(std::span<const std::byte> bytes);  ///< in order

  /// Callable from many threads.
  void write_at(std::span<const std::byte> bytes, std::uint64_t offset);

  /// Gives the file away.
  [[nodiscard]] Descriptor release() noexcept { return std::move(fd_); }

 private:
  std::string contents_;
  Descriptor fd_;
};

// The names of unfinished files, which a signal handler removes.

/// Calls `create`, which makes the file and returns its descriptor, or -1 with errno, and registers the name
/// `place`. Returns a registration for unregister_temporary(), or -1 with errno if that failed. `create` must
/// not use the heap, because signal handlers wait for it: see without_cleanup(). `place` must outlive the
/// registration. Error{io} if the name is too long or too many are registered.
[[nodiscard]] int register_temporary(const Place& place, const std::function<int()>& create);

/// For a file that was removed or completed.
void unregister_temporary(int registration) noexcept;

/// Calls `work` while the registered name may belong to changing files: signal handlers that would remove it
/// wait until `work` returns which file may be removed from now on. `work` must not use the heap: a waiting
/// handler may have interrupted a thread that holds the heap's lock.
void without_cleanup(int registration, const std::function<FileId()>& work);

/// Removes the registered files, but no other file that has got one of their names. Every thread that
/// registers one afterwards blocks until the process ends. Only for a signal handler, or a function, that
/// ends the process.
void remove_temporaries() noexcept;

/// How a file that is replaced is kept: under its name and the suffix, in the same directory.
struct Backup {
  std::string suffix;
  bool replaces = false;  ///< replaces a backup that exists; false: Error{refused}
};

/// Throws the errors of KeptFile::keep() that are known before the work, except for refuse_backup(). A name
/// that no file has needs no backup.
void check_backup(const Place& place, const Backup& backup);

/// Whether another file has the name of the backup, and stays.
[[nodiscard]] bool has_other_backup(const Place& place, const Backup& backup);

/// Error{refused} because of that file.
[[noreturn]] void refuse_backup(const Place& place, const Backup& backup);

/// A file that is about to be replaced, with the name of its backup as a second name. Unless settle() is
/// called, every name gets back the file that it had, as far as no other program has changed it meanwhile.
class KeptFile {
 public:
  /// Gives the file that has the name, if any, the name of its backup, too; null if no file has the name. A
  /// backup that is this file already, which a run that was killed has left, stays. Error{refused} if
  /// another file is the backup and stays, and on a file system without hard links; Error{io} in a sticky
  /// directory for a file that this user may not rename there, and for other failures.
  [[nodiscard]] static std::unique_ptr<KeptFile> keep(const Place& place, const Backup& backup);

  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;
  ~KeptFile() { static_cast<void>(undo()); }

  /// The file that has both names.
  [[nodiscard]] const FileId& file() const noexcept { return file_; }

  /// Whether the backup is still that file. Does not use the heap.
  [[nodiscard]] bool has_backup() const noexcept { return name_.id() == file_; }

  /// The file is replaced: the backup stays.
  void settle() noexcept { is_settled_ = true; }

  /// Removes the older backup, which the backup has replaced, after settle(). Error{not_durable} on failure.
  void drop_older();

  /// Takes the backup back. Returns what the user must know of names that are left: empty, or "; the older
  /// backup is now ...".
  [[nodiscard]] std::string take_back();

 private:
  KeptFile(const Place& place, const Place& name, const FileId& file)
      : place_(place), name_(name), file_(file) {}
  [[nodiscard]] bool link_to(const Place& name) const noexcept;
  [[nodiscard]] bool replace_older();
  [[nodiscard]] bool undo() noexcept;

  Place place_;
  Place name_;  ///< of the backup
  FileId file_;
  std::optional<Place> older_;  ///< the hidden name of the backup that was replaced
  bool is_settled_ = true;      ///< nothing to undo
};

// What a replacement keeps from the file that it replaces. The permission bits are not included: the caller
// sets them as the last step.

/// Gives `replacement` the POSIX access control list (ACL) of the file at `path`, or removes the ACL that it
/// inherited from its directory. Otherwise the old ACL's mask would become the permissions of the group.
/// Returns false, with errno, on failure.
[[nodiscard]] bool keep_access_list(const std::string& path, const Descriptor& replacement);

/// Gives `replacement` the owner, ACL, `user.` attributes and SELinux label of `input`. Error{refused} if the
/// user or the file system cannot keep one of them; Error{io} for any other failure, such as a full quota.
void keep_attributes(const InputFile& input, const Descriptor& replacement);

/// What keep_attributes() keeps, and the mode, as they are when this is made.
class KeptAttributes {
 public:
  /// Error{io} if they cannot be read.
  explicit KeptAttributes(const InputFile& input);

  /// Whether the input still has the same ones. Does not use the heap: see without_cleanup().
  [[nodiscard]] bool are_unchanged() noexcept;

 private:
  /// The attributes: room for all names, and each kept one as its size and its bytes.
  struct Attributes {
    std::vector<char> names;
    std::vector<char> kept;
  };
  [[nodiscard]] std::optional<std::size_t> read(Attributes& to) const noexcept;

  const InputFile& input_;
  os::Status status_{};
  Attributes before_;
  Attributes now_;
  std::size_t size_ = 0;  ///< of `kept` in before_
};

}  // namespace clipper
