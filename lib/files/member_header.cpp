#include "files/member_header.hpp"

#include <cstdint>
#include <string>

#include "error.hpp"
#include "files/input_file.hpp"
#include "npy/file_kind.hpp"

namespace clipper {
namespace {

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
  result.bytes = archive.start(member, npy::kKindSize);
  if (!npy::can_be_npy(result.bytes) && !member.is_npy()) {
    result.other = "not .npy";
    return result;
  }
  const std::uint64_t size = with_path(path, [&] { return npy::data_offset(result.bytes); });
  if (size > result.bytes.size()) result.bytes = archive.start(member, size);
  try {
    result.header = npy::parse(result.bytes, dtype);
  } catch (const Error& error) {
    result.other = type_in(error);
    if (result.other.empty()) throw Error(error.kind(), path + ": " + error.message());
    return result;
  }
  result.bytes.resize(result.header->data_offset);
  with_path(path, [&] { npy::expect_data(*result.header, member.contents.size); });
  const std::uint64_t end = result.header->data_offset + result.header->data_size();
  if (trailing == Trailing::refused && member.contents.size > end)
    refuse_trailing(path, member.contents.size - end);
  return result;
}

}  // namespace clipper
