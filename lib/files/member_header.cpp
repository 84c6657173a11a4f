#include "files/member_header.hpp"

#include <string>

#include "error.hpp"
#include "npy/file_kind.hpp"

namespace clipper {
namespace {

npy::Header parse_member(const ArchiveFile& archive, const npz::Member& member, std::optional<DType> dtype,
                         std::vector<std::byte>& bytes) {
  const std::uint64_t size = npy::data_offset(bytes);
  if (size > bytes.size()) bytes = archive.start(member, size);
  npy::Header header = npy::parse(bytes, dtype);
  npy::expect_data(header, member.contents.size);
  bytes.resize(header.data_offset);
  return header;
}

/// The type that parse() refused: see npy::kTypeField. Empty for other errors.
std::string_view type_in(const Error& error) {
  std::string_view type;
  static_cast<void>(error.message().text_with([&](const Term& term) {
    if (term.field == npy::kTypeField) type = term.words;
    return term.words;
  }));
  return type;
}

}  // namespace

MemberHeader read_member_header(const ArchiveFile& archive, const npz::Member& member,
                                std::optional<DType> dtype, Trailing trailing) {
  MemberHeader result;
  const std::string path = archive.path_of(member);
  with_path(path, [&] {
    result.bytes = archive.start(member, npy::kKindSize);
    if (!npy::can_be_npy(result.bytes) && !member.is_npy()) {
      result.other = "not .npy";
      return;
    }
    try {
      result.header = parse_member(archive, member, dtype, result.bytes);
    } catch (const Error& error) {
      result.other = type_in(error);
      if (result.other.empty()) throw;
    }
  });
  if (!result.header || trailing == Trailing::ignored) return result;
  const std::uint64_t end = result.header->data_offset + result.header->data_size();
  if (member.contents.size > end) refuse_trailing(path, member.contents.size - end);
  return result;
}

}  // namespace clipper
