#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "error.hpp"

/// .npz archives: zip files whose members are .npy files. Structure only; the members' contents are not read.
namespace clipper::npz {

/// Reads bytes at an offset of the archive. Returns their number, less than requested only at the end.
using ReadAt = std::function<std::size_t(std::span<std::byte> bytes, std::uint64_t offset)>;

/// How a member is compressed: the numbers of the zip format. An archive may have others.
enum class Method : std::uint16_t { stored = 0, deflated = 8 };

/// What an archive says of a member's bytes.
struct Contents {
  std::uint32_t crc = 0;          ///< CRC-32 of the contents
  std::uint64_t size = 0;         ///< of the contents
  std::uint64_t stored_size = 0;  ///< of the bytes in the archive
};

struct Member {
  std::string name;  ///< "w.npy", as in the archive. Never a path on disk.
  Method method = Method::stored;
  Contents contents;
  std::uint64_t begin = 0;  ///< where its local header begins in the archive
  std::uint64_t data = 0;   ///< where its bytes begin in the archive
  std::string local;        ///< the bytes of its local header
  std::string listed;       ///< the bytes of its entry in the list of members (the central directory)

  /// np.load's key: the name without ".npy".
  [[nodiscard]] std::string_view key() const;
  [[nodiscard]] bool is_npy() const { return name.ends_with(".npy"); }
};

struct Archive {
  std::vector<Member> members;  ///< in the order of the list of members, which is np.load's order
  std::string comment;
};

/// The first bytes of an archive, of which one has members and the other has none.
[[nodiscard]] bool can_be_archive(std::span<const std::byte> start);

/// Reads the structure of an archive of `size` bytes. Error{input}, without a path in front, for everything
/// that programs could read differently: overlapping members, bytes before the first member or after the end,
/// two members of one name, encryption, control characters in a name, fields that disagree. A size in the
/// archive never causes an allocation that is larger than the archive.
[[nodiscard]] Archive read_archive(const ReadAt& read, std::uint64_t size);

// Errors about archives, and the names of members, which come from a file that nobody checked.

/// Throws Error{input}.
[[noreturn]] inline void refuse(const std::string& message) {
  throw Error(ErrorKind::input, message);
}

/// "member 'w.npy'", for messages.
[[nodiscard]] std::string member_text(std::string_view name);

/// Returns work(). If work() refuses the archive, the error gets the member's name in front. Errors of
/// reading pass.
template <class Work>
auto about_member(std::string_view name, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    refuse(member_text(name) + ": " + error.what());
  }
}

/// Whether the bytes are UTF-8 without control characters, except tabs and ends of lines.
[[nodiscard]] bool is_utf8_text(std::string_view text);

/// Error{input} for an empty name, control characters and, if the archive says that the name is UTF-8, for
/// bytes that are not.
void check_name(std::string_view name, bool is_utf8);

}  // namespace clipper::npz
