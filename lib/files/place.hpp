#pragma once

#include <sys/stat.h>

#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "files/descriptor.hpp"

/// Which file it is. A path says so only for an instant: every name may be an alias, and every name may lead
/// elsewhere a moment later.
namespace clipper {

/// What all names of a file have in common, and nothing else has for as long as the file is open.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;

  // clang-tidy 14 takes the 0 that comparisons of orderings use for a null pointer.
  friend auto operator<=>(const FileId&, const FileId&) = default;  // NOLINT
};

[[nodiscard]] FileId id_of(const struct stat& status) noexcept;

/// The file that the path leads to, links followed. Nothing if it leads nowhere, or if what is in its way
/// keeps the file from being opened, too; Error{io} for every other failure, which says nothing about the
/// file.
[[nodiscard]] std::optional<FileId> find_file(const std::string& path);

/// Whether both paths lead to one file; "-" leads to none. Error{io} as by find_file().
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b);

/// A name in a directory that is held open. Whoever renames or replaces that directory meanwhile does not
/// change which directory it is. Copies share the descriptor. Every failure is an Error{io} with the path.
class Place {
 public:
  /// The name as it is, which may be a symbolic link or nothing yet. An Error says `what` of the path.
  [[nodiscard]] static Place of(const std::string& path, std::string_view what = "cannot be opened");

  /// Where the path leads to, links in its last name followed. Error{io} if it leads nowhere.
  [[nodiscard]] static Place resolved(const std::string& path);

  /// ".NAME.suffix" in the same directory, for files of clipper's own. If `shortened`, NAME is cut to make
  /// that a valid name.
  [[nodiscard]] Place beside(std::string_view suffix, bool shortened) const;

  /// NAME and the suffix, in the same directory.
  [[nodiscard]] Place with_suffix(std::string_view suffix) const;

  [[nodiscard]] int directory() const noexcept { return directory_->get(); }
  [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }  ///< for messages

  /// What has the name now, a link itself; nothing if nothing has.
  [[nodiscard]] std::optional<struct stat> status() const;

  /// Which file has the name now, a link itself; nothing if none has, or if that cannot be found out.
  [[nodiscard]] std::optional<FileId> id() const noexcept;

  /// Whether the file with that identity has the name now.
  [[nodiscard]] bool is(const FileId& id) const;

  [[nodiscard]] FileId directory_id() const;

  /// Of two places of one file: whether they are one name, or two spellings of it, and no mount of the file.
  [[nodiscard]] bool is_same_place(const Place& other) const;

  /// Whether the directory takes new names but neither removes nor replaces any (chattr +a).
  [[nodiscard]] bool is_append_only() const noexcept;

  /// Error{io} if the directory may not be read, which sync() needs.
  void expect_sync() const;

  /// Brings what was created, renamed and removed in the directory to the disk; false, with errno, if that
  /// fails.
  [[nodiscard]] bool sync() const noexcept;

 private:
  Place(std::shared_ptr<const Descriptor> directory, std::string name, std::string path)
      : directory_(std::move(directory)), name_(std::move(name)), path_(std::move(path)) {}

  std::shared_ptr<const Descriptor> directory_;
  std::string name_;
  std::string path_;
};

}  // namespace clipper
