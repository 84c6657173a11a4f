#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "files/input_file.hpp"
#include "npz/archive.hpp"

/// Reading .npz archives. Errors have the path in front.
namespace clipper {

/// Whether a file is a regular file that begins like an .npz archive. Leaves the file as it is.
[[nodiscard]] bool is_archive(const InputFile& file);

/// The structure of an open .npz archive.
class ArchiveFile {
 public:
  /// Reads the structure. Error{input}: see npz::read_archive(). `file` must outlive this.
  explicit ArchiveFile(const InputFile& file);

  [[nodiscard]] const npz::Archive& list() const noexcept { return list_; }
  [[nodiscard]] const InputFile& file() const noexcept { return file_; }

  /// "a.npz:w": the path that InputFile::open() takes for the member.
  [[nodiscard]] std::string path_of(const npz::Member& member) const;

  /// Who compares the contents with their CRC-32. The contents of a deflated member are always checked here.
  enum class Check : std::uint8_t { now, by_caller };

  /// Opens a member as a regular file, whose path() is path_of(). A deflated member is inflated to an unnamed
  /// file: in memory if it has at most 1 MiB, otherwise in $TMPDIR or /var/tmp. Error{input} if the contents
  /// are damaged, encrypted or compressed by another method.
  [[nodiscard]] InputFile open(const npz::Member& member, Check check = Check::now) const;

 private:
  const InputFile& file_;
  npz::Archive list_;
};

/// A path FILE:MEMBER, where FILE ends in ".npz".
struct MemberPath {
  std::string archive;
  std::string member;
};

/// The parts of FILE:MEMBER, if no file has the whole name and FILE exists. Otherwise nothing.
[[nodiscard]] std::optional<MemberPath> member_path(const std::string& path);

}  // namespace clipper
