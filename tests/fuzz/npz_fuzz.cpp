
#include "error.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/libzip_opinion.hpp"
#include "fuzz/require.hpp"
#include "npz/archive.hpp"
#include "npz/read_zip.hpp"

/// The input is an archive or, if it begins with kRecipe, members and the faults of an archive that is built.
///
/// Bytes, or an archive built from them with a few wrong fields -> npz::read_archive, npz::inflate. A
/// refusal is one printable line that blames the input. If accepted: libzip and Python's zipfile read the
/// same members, zipfile also their contents; every member is inside the archive, no more is inflated
/// than it says, and what npz::ArchiveWriter writes is an archive with the same members
/// libFuzzer tries archives: -max_len=1024 -dict=npz.dict
/// torture: 50000 | 1000000 | 10000000
namespace clipper::fuzz {
namespace {

using npz::Member;

constexpr std::string_view kRecipe = "recipe";

npz::ReadAt reader_of(std::string_view bytes) {
  return [bytes](std::span<std::byte> to, std::uint64_t at) {
    require(at <= bytes.size() && to.size() <= bytes.size() - at, "nothing behind the archive is read");
    std::ranges::copy(std::as_bytes(std::span(bytes.substr(at, to.size()))), to.begin());
    return to.size();
  };
}

/// Some bits of the number change, in one of eight cases.
template <class Number>
void disturb(Number& number, Bytes& input) {
  if (input.take() % 8 == 0) number = static_cast<Number>(number ^ input.take<Number>());
}

void disturb(zip::Fields& fields, Bytes& input) {
  disturb(fields.version, input);
  disturb(fields.flags, input);
  disturb(fields.method, input);
  disturb(fields.crc, input);
  disturb(fields.size, input);
  disturb(fields.stored_size, input);
  if (input.take() % 8 == 0) fields.name += static_cast<char>(input.take());
}

std::string taken_text(Bytes& input) {
  std::string text(input.take() % 32, '\0');
  for (char& c : text) c = static_cast<char>(input.take());
  return text;
}

zip::ZipMember taken_member(Bytes& input) {
  const auto form = input.take();
  std::string data = taken_text(input);
  zip::ZipMember member(taken_text(input), data);
  if ((form & 1U) != 0) {
    member.set([](zip::Fields& fields) { fields.method = 8; });
    member.data.clear();
    for (const std::byte b : npz::deflate_piece(std::as_bytes(std::span(data)), (form & 2U) != 0))
      member.data += static_cast<char>(b);
    member.set(
        [&](zip::Fields& fields) { fields.stored_size = static_cast<std::uint32_t>(member.data.size()); });
  }
  const std::uint64_t numbers[] = {member.local.size, member.local.stored_size};
  if ((form & 4U) != 0) member.local.extras = zip::zip64({numbers[0], numbers[1]});
  if ((form & 8U) != 0) member.local.size = member.local.stored_size = zip::kUnknown;
  if ((form & 16U) != 0) {
    member.set([](zip::Fields& fields) { fields.flags = 8; });
    member.descriptor = (form & 32U) != 0 ? "PK\7\x08" : "";
    member.descriptor += zip::little(member.local.crc, 4);
    for (const std::size_t i : {1U, 0U})
      member.descriptor += zip::little(numbers[i], (form & 4U) != 0 ? 8 : 4);
  }
  if ((form & 64U) != 0) member.listed.extras = member.local.extras;
  if ((form & 128U) != 0) {
    disturb(member.local, input);
    disturb(member.listed, input);
  }
  return member;
}

/// Adds what a member may have beside its numbers: a comment, an extra field, other bits in both headers.
void decorate(zip::ZipMember& member, Bytes& input) {
  const auto form = input.take();
  if ((form & 1U) != 0) member.comment = taken_text(input);
  if ((form & 2U) != 0) {
    const auto id = input.one_of<std::uint16_t>({0x7075, 0x6375, 0x9901, 1, 0});
    std::string data = taken_text(input);
    if ((id & 0xffU) == 0x75) {  // a name or a comment in UTF-8, after the CRC-32 of the one that it replaces
      const std::string& replaced = id == 0x7075 ? member.local.name : member.comment;
      if ((form & 4U) != 0) data = replaced;
      data = "\1" + zip::little(npz::crc32(std::as_bytes(std::span(replaced))), 4) + data;
    }
    member.local.extras += zip::extra(id, data);
    if ((form & 8U) != 0) member.listed.extras += zip::extra(id, data);
  }
  if ((form & 16U) != 0) {
    const auto flags = input.take<std::uint16_t>();
    member.set([=](zip::Fields& fields) { fields.flags ^= flags; });
  }
  if ((form & 32U) != 0) {
    const auto method = input.one_of<std::uint16_t>({0, 8, 9, 12, 14, 93, 95, 99, 1});
    member.set([=](zip::Fields& fields) { fields.method = method; });
  }
  if ((form & 64U) != 0) {
    const auto time = input.take<std::uint32_t>();
    member.set([=](zip::Fields& fields) { fields.time = time; });
  }
  if ((form & 128U) != 0) member.listed.version = input.take();
}

std::string built(Bytes input) {
  zip::Zip archive;
  for (auto count = input.take() % 4; count > 0; --count) archive.members.push_back(taken_member(input));
  const auto form = input.take();
  const std::string comment = (form & 1U) != 0 ? taken_text(input) : "";
  if ((form & 16U) != 0)
    for (zip::ZipMember& member : archive.members) decorate(member, input);
  zip::End end = zip::end_of(archive);
  zip::End64 end64 = zip::end64_of(archive);
  end.comment = comment;
  if ((form & 2U) != 0) disturb(end.count, input);
  if ((form & 2U) != 0) disturb(end.list_begin, input);
  if ((form & 4U) != 0) disturb(end64.at, input);
  if ((form & 4U) != 0) disturb(end64.list_size, input);
  return archive.data() + archive.list() + ((form & 8U) != 0 ? end64.bytes() : "") + end.bytes();
}

void check_refused(const Error& error) {
  const std::string message = error.what();
  const bool plain = std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; });
  require(plain && !message.empty() && message.size() < 400, "the message is one printable line", message);
  require(error.kind() == ErrorKind::input, "the error blames the input", message);
}

void check_place(const Member& member, std::uint64_t size) {
  const std::uint64_t stored_size = member.contents.stored_size;
  require(member.begin < member.data && member.data <= size && stored_size <= size - member.data,
          "the member is inside the archive", member.name);
  require(member.data - member.begin == member.local.size(), "the data begins after the header", member.name);
}

/// Whether the member can be read.
bool check_data(const Member& member, std::string_view bytes) {
  const std::string_view data = bytes.substr(member.data, member.contents.stored_size);
  if (member.method == npz::Method::stored)
    return npz::crc32(std::as_bytes(std::span(data))) == member.contents.crc;
  if (member.method != npz::Method::deflated) return false;
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
  try {
    npz::inflate(reader_of(bytes), member.data, member.contents, [&](std::span<const std::byte> part) {
      size += part.size();
      require(size <= member.contents.size, "no more is inflated than the archive says");
      crc = npz::crc32(part, crc);
    });
  } catch (const Error& error) {
    check_refused(error);
    return false;
  }
  require(size == member.contents.size && crc == member.contents.crc,
          "the contents are what the archive says");
  return true;
}

/// Sends an archive, and what was read in it, to zipfile_opinion.py, if $CLIPPER_ZIPFILE starts it.
void send_to_zipfile(std::string_view bytes, std::string_view read) {
  static std::FILE* const opinion = [] {
    const char* const command = std::getenv("CLIPPER_ZIPFILE");
    std::FILE* const started = command == nullptr ? nullptr : ::popen(command, "w");
    if (started != nullptr)
      std::atexit([] {
        if (::pclose(opinion) != 0) std::_Exit(1);
      });
    return started;
  }();
  if (opinion == nullptr) return;
  for (const std::string_view text : {bytes, read}) {
    const std::string sized = zip::little(text.size(), 4).append(text);
    require(std::fwrite(sized.data(), 1, sized.size(), opinion) == sized.size(), "zipfile had no objection");
  }
}

/// The archive with the same data, written by the writer.
std::string written(const npz::Archive& archive, std::string_view bytes) {
  npz::ArchiveWriter writer(archive.comment);
  std::string result;
  for (const Member& member : archive.members) {
    writer.add(member, member.contents, result.size());
    result += npz::ArchiveWriter::local_header(member, member.contents);
    result += bytes.substr(member.data, member.contents.stored_size);
  }
  const std::uint64_t list_begin = result.size();
  return result + writer.list() + writer.end_records(list_begin);
}

void check_same(const npz::Archive& a, const npz::Archive& b) {
  require(a.comment == b.comment && a.members.size() == b.members.size(), "the archive stays the same");
  for (std::size_t i = 0; i < a.members.size(); ++i) {
    const Member& was = a.members[i];
    const Member& is = b.members[i];
    require(was.name == is.name && was.method == is.method, "the name and the method stay the same",
            was.name);
    require(was.contents.crc == is.contents.crc && was.contents.size == is.contents.size &&
                was.contents.stored_size == is.contents.stored_size,
            "the contents stay the same", was.name);
  }
}

void check_accepted(const npz::Archive& archive, std::string_view bytes) {
  require(archive.members.empty() || npz::can_be_archive(std::as_bytes(std::span(bytes))),
          "the first bytes are those of an archive with members");
  std::string lines;
  for (const char c : archive.comment) lines += fmt::format("{:02x}", static_cast<unsigned char>(c));
  for (const Member& member : archive.members) {
    check_place(member, bytes.size());
    const auto& [crc, contents_size, stored_size] = member.contents;
    lines += fmt::format("\n{} {} {} {} {} {} {:d}", member.name, static_cast<unsigned>(member.method), crc,
                         contents_size, stored_size, member.begin, check_data(member, bytes));
  }
  send_to_zipfile(bytes, lines);
  const std::string objection = zip::libzip_objection(bytes, archive);
  require(objection.empty(), "libzip reads the same archive", objection);
  const std::string again = written(archive, bytes);
  const npz::Archive read = npz::read_archive(reader_of(again), again.size());
  check_same(archive, read);
  require(written(read, again) == again, "writing again gives the same archive");
}

}  // namespace
}  // namespace clipper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace clipper;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.starts_with(fuzz::kRecipe))
    bytes = fuzz::built(fuzz::Bytes(std::span(data, size).subspan(fuzz::kRecipe.size())));
  npz::Archive archive;
  try {
    archive = npz::read_archive(fuzz::reader_of(bytes), bytes.size());
  } catch (const Error& error) {
    fuzz::check_refused(error);
    return 0;
  }
  fuzz::check_accepted(archive, bytes);
  return 0;
}
