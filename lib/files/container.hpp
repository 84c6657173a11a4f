#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "element/dtype.hpp"
#include "error.hpp"
#include "files/input_file.hpp"
#include "npy/header.hpp"
#include "npz/archive.hpp"
#include "safetensors/header.hpp"

/// Files that hold tensors: .npy files, which InputFile reads, and containers with many entries, which are
/// .npz archives and safetensors files; both are called archives. Errors have the path in front.
namespace clipper {

using Codec = npz::Method;
using npz::Contents;

/// A tensor in a container, or whatever else it has under a name. In a safetensors file, `contents` are the
/// elements, without a CRC-32.
struct Entry : npz::Member {
  const safetensors::Type* type = nullptr;  ///< in a safetensors file
  std::vector<std::int64_t> shape{};        ///< in a safetensors file
};

/// A kind of file that holds tensors: a row of the table in container.cpp.
struct TensorFormat {
  std::string_view suffix;
  std::string_view name;              ///< "an .npz archive"
  bool has_entries;                   ///< FILE:NAME is a tensor in it
  bool is_checked;                    ///< entries have a CRC-32, and a .npy header of their own
  bool is_walked;                     ///< found below directories without being asked for
  std::string_view needed_libraries;  ///< without which is_supported() is false
  bool (*is_supported)();             ///< by this build

  /// Whether a file with these first npy::kKindSize bytes can be one.
  bool (*begins)(std::span<const std::byte> start);
};

/// The format whose suffix the name of a file has. Null for other names.
[[nodiscard]] const TensorFormat* format_named(std::string_view name);

/// The format of a container with entries that begins with these npy::kKindSize bytes. Null for others. A
/// PyTorch file is no .npz archive, although it is a zip file, too.
[[nodiscard]] const TensorFormat* container_format(std::span<const std::byte> start);

/// The same for a regular file. Null for a member of an archive. Leaves the file as it is.
[[nodiscard]] const TensorFormat* container_format(const InputFile& file);
[[nodiscard]] inline bool is_archive(const InputFile& file) {
  return container_format(file) != nullptr;
}

/// The type in npy::parse()'s error for a file that is valid, see kTypeField. Empty for other errors.
[[nodiscard]] std::string_view refused_type(const Error& error);

/// What the first bytes of an entry say: the header of a tensor, or what else the entry is.
struct EntryHeader {
  std::optional<npy::Header> header;
  std::vector<std::byte> bytes;  ///< before the first element
  std::string_view other;        ///< without a header: "bool", "structured", "not .npy"
};

enum class Trailing : bool { refused, ignored };

/// The entries of an open container.
class Container {
 public:
  /// Entry::local and Entry::listed, which take most of the memory. npz::ArchiveWriter needs them.
  enum class Records : bool { kept, dropped };

  /// Reads the structure. Error{input}: see npz::read_archive(). `file` must outlive this.
  explicit Container(const InputFile& file, Records records = Records::kept);
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  [[nodiscard]] const TensorFormat& format() const noexcept { return format_; }
  [[nodiscard]] const InputFile& file() const noexcept { return file_; }

  /// For the writer of a container with the same entries.
  [[nodiscard]] std::uint64_t header_size() const noexcept { return header_size_; }
  [[nodiscard]] const std::string& comment() const noexcept { return comment_; }  ///< of an .npz archive
  [[nodiscard]] const std::optional<safetensors::Metadata>& metadata() const noexcept { return metadata_; }

  /// What FILE:MEMBER calls the member: np.load's key or, if another member has that name, its own name.
  [[nodiscard]] std::string_view key_of(const Entry& member) const;

  /// "a.npz:w": the path that InputFile::open() takes for the member.
  [[nodiscard]] std::string path_of(const Entry& member) const;

  /// The member with this name or key. Error{usage} if there is none: "a.npz: no member 'x'; it has w, mask".
  [[nodiscard]] const Entry& named(std::string_view name) const;

  /// Who compares the contents with their CRC-32. The contents of a deflated member are always checked here.
  enum class Check : std::uint8_t { now, by_caller };

  /// Opens a member as a regular file, whose path() is path_of(). A deflated member is inflated: in memory if
  /// it has at most 1 MiB, otherwise to an unnamed file (see TemporaryFile). The file that is returned may
  /// outlive this and the archive's InputFile, and its status() is the archive's. Error{input} if the
  /// contents are damaged or compressed by another method. Callable from many threads.
  [[nodiscard]] InputFile open(const Entry& member, Check check = Check::now) const;

  /// Reads a member's header, and inflates no more of the member than that. Error{input}, with path_of() in
  /// front, for a malformed header, for a size that does not fit the header, and for a member NAME.npy that
  /// is not a .npy file. Nothing is compared with the CRC-32. Without a header are types that `types` of
  /// npy::parse() does not have.
  [[nodiscard]] EntryHeader header(const Entry& member, const npy::GivenDType& dtype, Trailing trailing,
                                   npy::Types types = npy::Types::dtypes) const;

 private:
  /// The first `size` bytes of a member's contents, or all if there are fewer.
  [[nodiscard]] std::vector<std::byte> start(const Entry& member, std::size_t size) const;
  [[nodiscard]] std::string first_keys() const;
  void read_npz();
  void read_safetensors();
  [[nodiscard]] MemberContents stored(const Entry& member, Check check) const;
  [[nodiscard]] MemberContents inflated(const Entry& member) const;

  const InputFile& file_;
  const TensorFormat& format_;
  std::uint64_t header_size_ = 0;  ///< of a safetensors file: its bytes before the elements
  std::vector<Entry> entries_;
  std::string comment_;
  std::optional<safetensors::Metadata> metadata_;
  std::unordered_set<std::string_view> names_;  ///< those that can be the key of another member
};

/// A path FILE:MEMBER, where FILE has the name of a format with entries.
struct MemberPath {
  std::string archive;
  std::string member;
};

/// The parts of FILE:MEMBER, if no file has the whole name and FILE exists. Otherwise nothing.
[[nodiscard]] std::optional<MemberPath> member_path(const std::string& path);

/// Opens FILE:MEMBER. Error{input} if FILE is not an archive, Error{usage} if it has no such member.
[[nodiscard]] InputFile open_member(const MemberPath& path, Caching caching);

}  // namespace clipper
