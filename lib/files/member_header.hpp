#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"
#include "files/archive_file.hpp"
#include "npy/header.hpp"
#include "npz/archive.hpp"

namespace clipper {

/// What the first bytes of a member say: the header of a tensor, or what else the member is.
struct MemberHeader {
  std::optional<npy::Header> header;
  std::vector<std::byte> bytes;  ///< before the first element
  std::string_view other;        ///< without a header: "bool", "structured", "not .npy"
};

enum class Trailing : bool { refused, ignored };

/// Reads a member's header and inflates no more of the member than that. Error{input}, with
/// ArchiveFile::path_of() in front, for a malformed header, for a size that does not fit the header, and for
/// a member NAME.npy that is not a .npy file. Nothing is compared with the CRC-32.
[[nodiscard]] MemberHeader read_member_header(const ArchiveFile& archive, const npz::Member& member,
                                              std::optional<DType> dtype, Trailing trailing);

}  // namespace clipper
