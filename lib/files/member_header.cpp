#include "files/member_header.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/input_file.hpp"
#include "npy/file_kind.hpp"
#include "npz/codecs.hpp"

namespace clipper {
namespace {

struct Enough {};

/// The first `size` bytes of the member's contents, or all if there are fewer.
std::vector<std::byte> start_of(const ArchiveFile& archive, const npz::Member& member, std::uint64_t size) {
  const InputFile& file = archive.file();
  std::vector<std::byte> start(std::min(size, member.contents.size));
  if (member.method == npz::Method::stored) {
    file.read_at(start, member.data);
    return start;
  }
  std::size_t done = 0;
  const npz::ReadAt read = [&](std::span<std::byte> bytes, std::uint64_t offset) {
    return read_at(file.descriptor(), bytes, offset, file.path());
  };
  try {
    npz::inflate(read, member, [&](std::span<const std::byte> bytes) {
      const std::size_t count = std::min(bytes.size(), start.size() - done);
      std::copy_n(bytes.begin(), count, start.begin() + static_cast<std::ptrdiff_t>(done));
      done += count;
      if (done == start.size()) throw Enough();
    });
  } catch (const Enough&) {
  }
  return start;
}

npy::Header parse_member(const ArchiveFile& archive, const npz::Member& member, std::optional<DType> dtype,
                         std::vector<std::byte>& bytes) {
  const std::uint64_t size = npy::data_offset(bytes);
  if (size > bytes.size()) bytes = start_of(archive, member, size);
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
    result.bytes = start_of(archive, member, npy::kKindSize);
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
