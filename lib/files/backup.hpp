#pragma once

#include <memory>
#include <optional>
#include <string>

#include "files/place.hpp"

namespace clipper {

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
  [[nodiscard]] bool has_two_names() const noexcept { return place_.id() == file_ && has_backup(); }

  Place place_;
  Place name_;  ///< of the backup
  FileId file_;
  std::optional<Place> older_;  ///< the hidden name of the backup that was replaced
  bool is_settled_ = true;      ///< nothing to undo
};

}  // namespace clipper
