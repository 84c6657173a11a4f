
#include "npz/archive.hpp"
#include "npz/read_zip.hpp"
#include "support/files.hpp"
#include "support/tsv.hpp"

using namespace clipper;
using npz::ArchiveWriter;
using npz::Contents;
using npz::Member;

namespace {

/// The list of members and all bytes after it.
std::string list_of(const ArchiveWriter& writer, std::uint64_t begin) {
  return writer.list() + writer.end_records(begin);
}

std::string archive_bytes(const std::string& name) {
  return testing::read_file(testing::source_path("data/archives/" + name + ".npz"));
}

/// Writes all members of an archive again, with the same data.
std::string written_again(const std::string& bytes) {
  const npz::Archive archive = zip::read(bytes);
  ArchiveWriter writer(archive.comment);
  std::string result;
  for (const Member& member : archive.members) {
    writer.add(member, member.contents, result.size());
    result += ArchiveWriter::local_header(member, member.contents);
    result += bytes.substr(member.data, member.contents.stored_size);
  }
  return result + list_of(writer, result.size());
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes)
    for (const unsigned digit : {static_cast<unsigned char>(c) / 16U, static_cast<unsigned char>(c) % 16U})
      text += "0123456789abcdef"[digit];
  return text;
}

/// A member of an archive that was read.
Member read_member(const zip::ZipMember& member) {
  return zip::read(zip::bytes_of({{member}})).members[0];
}

Contents sized(std::uint64_t size) {
  return {0x89abcdef, size, size};
}

}  // namespace

TEST_CASE("The records of np.savez are those of Python's zipfile, for every size, place and count") {
  for (const auto& row : tsv::read("archives/records.tsv")) {
    CAPTURE(row[0], row[1], row[2], row[3], row[4], row[5]);
    const npz::Archive archive = zip::read(archive_bytes(row[0]));
    const Member& from = *std::ranges::find(archive.members, "f4.npy", &Member::name);
    const Contents contents{0x89abcdef, std::stoull(row[1]), std::stoull(row[2])};
    CHECK(hex(ArchiveWriter::local_header(from, contents)) == row[6]);
    ArchiveWriter writer(archive.comment);
    const std::size_t count = std::stoul(row[5]);
    for (std::size_t i = 0; i < count; ++i) writer.add(from, contents, std::stoull(row[3]));
    const std::string list = list_of(writer, std::stoull(row[4]));
    CHECK(hex(list.substr(list.rfind("PK\1\2"))) == row[7]);
  }
}

TEST_CASE("An archive that is written again is the same, unless sizes followed the data") {
  for (const auto& file : std::filesystem::directory_iterator(testing::source_path("data/archives"))) {
    const std::string name = file.path().stem().string();
    if (file.path().extension() != ".npz") continue;
    CAPTURE(name);
    const std::string bytes = archive_bytes(name);
    const std::string again = written_again(bytes);
    const bool is_streamed = name.find("streamed") != std::string::npos;
    CHECK((again == bytes) == !is_streamed);
    CHECK(written_again(again) == again);

    const npz::Archive before = zip::read(bytes);
    const npz::Archive after = zip::read(again);
    REQUIRE(after.members.size() == before.members.size());
    for (std::size_t i = 0; i < before.members.size(); ++i) {
      const Member& was = before.members[i];
      const Member& is = after.members[i];
      CHECK(is.name == was.name);
      CHECK(is.method == was.method);
      CHECK(is.contents.crc == was.contents.crc);
      CHECK(is.contents.size == was.contents.size);
      CHECK(bytes.substr(was.data, was.contents.stored_size) ==
            again.substr(is.data, is.contents.stored_size));
    }
  }
}

TEST_CASE("Other extra fields, comments, flags and an archive's comment are kept") {
  zip::ZipMember member("w.npy", "data");
  member.local.extras = zip::extra(0x7777, "a") + zip::zip64({4, 4}) + zip::extra(0x5455, "bcd");
  member.listed.extras = zip::extra(0x7777, "e");
  member.comment = "a comment";
  member.set([](zip::Fields& fields) { fields.flags = 1U << 11U | 1U << 1U; });
  const zip::Zip zip{{member, {"v.npy", "more"}}};
  zip::End end = zip::end_of(zip);
  end.comment = "the archive's comment";
  const std::string bytes = zip.data() + zip.list() + end.bytes();
  CHECK(written_again(bytes) == bytes);
}

TEST_CASE(
    "A new place beyond 2 GiB puts a ZIP64 field in front of the others, and a place before it takes it "
    "away") {
  zip::ZipMember member("w.npy", "data");
  member.listed.extras = zip::extra(0x7777, "e");
  const Member from = read_member(member);
  ArchiveWriter writer("");
  writer.add(from, from.contents, 0x80000000);
  const std::string list = list_of(writer, 0x80000100);
  CHECK(list.substr(46 + 5, 12 + 5) == zip::zip64({0x80000000}) + zip::extra(0x7777, "e"));

  Member far = from;
  far.listed = list.substr(0, 46 + 5 + 12 + 5);
  ArchiveWriter near("");
  near.add(far, from.contents, 0);
  CHECK(list_of(near, 100).substr(46 + 5, 5) == zip::extra(0x7777, "e"));
}

TEST_CASE("A member without ZIP64 field gets one if its deflated data could need it") {
  const Member from = read_member({"w.npy", "data"});
  const std::size_t length = from.local.size();
  const std::uint64_t last = 2045222521;  // times 1.05 is 2^31 - 1
  CHECK(ArchiveWriter::local_header(from, sized(last)).size() == length);
  CHECK(ArchiveWriter::local_header(from, sized(last + 1)).size() == length + 20);
  const std::string header = ArchiveWriter::local_header(from, {1, last + 1, 7});
  CHECK(header.substr(length) == zip::zip64({last + 1, 7}));
  CHECK(header.substr(4, 2) == zip::little(45, 2));
  CHECK(header.substr(14, 12) ==
        zip::little(1, 4) + zip::little(zip::kUnknown, 4) + zip::little(zip::kUnknown, 4));

  ArchiveWriter writer("");
  writer.add(from, {1, last + 1, 7}, 0);
  CHECK(list_of(writer, 100).substr(6, 2) ==
        zip::little(45, 2));  // libzip refuses less than in the local header
}

TEST_CASE("The length of a local header depends on the size only") {
  for (const std::string name : {"savez", "debian-savez", "zip-0", "streamed"}) {
    CAPTURE(name);
    const npz::Archive archive = zip::read(archive_bytes(name));
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1} << 31U, std::uint64_t{1} << 33U})
      for (const std::uint64_t stored_size : {size / 1000, size, size + size / 1000 + 20})
        CHECK(ArchiveWriter::local_header(archive.members[0], {7, size, stored_size}).size() ==
              ArchiveWriter::local_header(archive.members[0], sized(size)).size());
  }
}

TEST_CASE("Extra fields that leave no room for a ZIP64 field are refused") {
  zip::ZipMember member("w.npy", "data");
  member.set([](zip::Fields& fields) { fields.extras = zip::extra(0x7777, std::string(65520, 'x')); });
  const Member from = read_member(member);
  CHECK_THROWS_WITH(ArchiveWriter::local_header(from, sized(1ULL << 31U)),
                    "a member has too many extra fields");
  ArchiveWriter writer("");
  CHECK_THROWS_WITH(writer.add(from, from.contents, 1ULL << 31U), "a member has too many extra fields");
}

TEST_CASE("An archive with 65,536 members has ZIP64 end records, and is read again") {
  const std::string header = zip::ZipMember("", "").local_header();
  for (const std::size_t count : {65535U, 65536U}) {
    ArchiveWriter writer("");
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) {
      zip::ZipMember member(std::to_string(i), "");
      Member from;
      from.local = member.local_header();
      from.listed = member.entry(0);
      writer.add(from, {}, bytes.size());
      bytes += ArchiveWriter::local_header(from, {});
    }
    bytes += list_of(writer, bytes.size());
    CHECK(zip::read(bytes).members.size() == count);
    CHECK((bytes.find("PK\6\6") != std::string::npos) == (count == 65536));
  }
}
