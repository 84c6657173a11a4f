#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "error.hpp"
#include "files/input_file.hpp"
#include "npz/archive.hpp"

/// Reading .npz archives. Errors have the path in front.
namespace clipper {

/// Whether a file is a regular file that begins like an .npz archive, and not like a PyTorch file, which is a
/// zip file, too. False for a member of an archive. Leaves the file as it is.
[[nodiscard]] bool is_archive(const InputFile& file);

/// The structure of an open .npz archive.
class ArchiveFile {
 public:
  /// Member::local and Member::listed, which take most of the memory. npz::ArchiveWriter needs them.
  enum class Records : bool { kept, dropped };

  /// Reads the structure. Error{input}: see npz::read_archive(). `file` must outlive this.
  explicit ArchiveFile(const InputFile& file, Records records = Records::kept);
  ArchiveFile(const ArchiveFile&) = delete;
  ArchiveFile& operator=(const ArchiveFile&) = delete;

  [[nodiscard]] const npz::Archive& list() const noexcept { return list_; }
  [[nodiscard]] const InputFile& file() const noexcept { return file_; }

  /// What FILE:MEMBER calls the member: np.load's key or, if another member has that name, its own name.
  [[nodiscard]] std::string_view key_of(const npz::Member& member) const;

  /// "a.npz:w": the path that InputFile::open() takes for the member.
  [[nodiscard]] std::string path_of(const npz::Member& member) const;

  /// Throws Error{usage} because there is no member with this name: "a.npz: no member 'x'; it has w, mask".
  [[noreturn]] void refuse_name(std::string_view name) const;

  /// Who compares the contents with their CRC-32. The contents of a deflated member are always checked here.
  enum class Check : std::uint8_t { now, by_caller };

  /// Opens a member as a regular file, whose path() is path_of(). A deflated member is inflated: in memory if
  /// it has at most 1 MiB, otherwise to an unnamed file (see TemporaryFile). The file that is returned may
  /// outlive this and the archive's InputFile, and its status() is the archive's. Error{input} if the
  /// contents are damaged or compressed by another method. Callable from many threads.
  [[nodiscard]] InputFile open(const npz::Member& member, Check check = Check::now) const;

  /// The first `size` bytes of a member's contents, or all if there are fewer. They are not compared with the
  /// CRC-32.
  [[nodiscard]] std::vector<std::byte> start(const npz::Member& member, std::size_t size) const;

 private:
  [[nodiscard]] std::string first_keys() const;
  [[nodiscard]] MemberContents stored(const npz::Member& member, Check check) const;
  [[nodiscard]] MemberContents inflated(const npz::Member& member) const;

  const InputFile& file_;
  npz::Archive list_;
  std::unordered_set<std::string_view> names_;  ///< those that can be the key of another member
};

/// A path FILE:MEMBER, where FILE ends in ".npz".
struct MemberPath {
  std::string archive;
  std::string member;
};

/// The parts of FILE:MEMBER, if no file has the whole name and FILE exists. Otherwise nothing.
[[nodiscard]] std::optional<MemberPath> member_path(const std::string& path);

/// Opens FILE:MEMBER. Error{input} if FILE is not an archive or has no such member.
[[nodiscard]] InputFile open_member(const MemberPath& path);

}  // namespace clipper
