#include "npz/archive.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "error.hpp"
#include "npz/read_zip.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace clipper;
using zip::Zip;
using zip::ZipMember;

namespace {

constexpr std::uint16_t kDescriptor = 8;

Zip two() {
  return {{{"v.npy", "the data of v"}, {"w.npy", "data of w"}}};
}

/// two(), with a change of its second member.
template <class Change>
Zip with(Change change) {
  Zip zip = two();
  change(zip.members[1]);
  return zip;
}

std::vector<std::string> names_of(const npz::Archive& archive) {
  std::vector<std::string> names;
  for (const npz::Member& member : archive.members) names.push_back(member.name);
  return names;
}

std::string data_of(std::string_view bytes, const npz::Member& member) {
  return std::string(bytes.substr(member.data, member.contents.stored_size));
}

/// A member whose sizes follow its data.
ZipMember streamed(const std::string& descriptor_signature, bool has_64) {
  ZipMember member("w.npy", "data of w");
  const std::size_t bytes = has_64 ? 8 : 4;
  member.descriptor = descriptor_signature + zip::little(member.local.crc, 4) +
                      zip::little(member.data.size(), bytes) + zip::little(member.data.size(), bytes);
  member.set([](zip::Fields& fields) { fields.flags = kDescriptor; });
  member.local.crc = member.local.size = member.local.stored_size = 0;
  if (has_64) member.local.extras = zip::zip64({0, 0});
  return member;
}

}  // namespace

TEST_CASE("The members are those of the list, in its order, with their places") {
  Zip zip = two();
  const std::string bytes = zip::bytes_of(zip);
  const npz::Archive archive = zip::read(bytes);
  CHECK(names_of(archive) == std::vector<std::string>{"v.npy", "w.npy"});
  CHECK(archive.comment.empty());
  const npz::Member& w = archive.members[1];
  CHECK(w.method == npz::Method::stored);
  CHECK(w.contents.crc == zip.members[1].local.crc);
  CHECK(w.contents.size == 9);
  CHECK(w.contents.stored_size == 9);
  CHECK(w.begin == zip.members[0].local_header().size() + zip.members[0].data.size());
  CHECK(data_of(bytes, w) == "data of w");
  CHECK(w.local == zip.members[1].local_header());
  CHECK(w.listed == zip.members[1].entry(w.begin));
}

TEST_CASE("The list may have another order than the data") {
  Zip zip = two();
  const auto second =
      static_cast<std::uint64_t>(zip.members[0].local_header().size() + zip.members[0].data.size());
  const std::string list = zip.members[1].entry(second) + zip.members[0].entry(0);
  const std::string bytes = zip.data() + list + zip::end_of(zip).bytes();
  const npz::Archive archive = zip::read(bytes);
  CHECK(names_of(archive) == std::vector<std::string>{"w.npy", "v.npy"});
  CHECK(data_of(bytes, archive.members[0]) == "data of w");
  CHECK(data_of(bytes, archive.members[1]) == "the data of v");
}

TEST_CASE("An archive may have no members, and a comment") {
  CHECK(zip::read(zip::End{}.bytes()).members.empty());
  zip::End end = zip::end_of(two());
  end.comment = "saved by np.savez";
  CHECK(zip::read(two().data() + two().list() + end.bytes()).comment == end.comment);
  end.comment = std::string(65535, 'x');
  CHECK(zip::read(two().data() + two().list() + end.bytes()).comment == end.comment);
}

TEST_CASE("ZIP64 end records are read, whether the end record has the numbers or not") {
  const Zip zip = two();
  zip::End end = zip::end_of(zip);
  const std::string before = zip.data() + zip.list() + zip::end64_of(zip).bytes();
  CHECK(zip::read(before + end.bytes()).members.size() == 2);
  end.count = end.count_here = 0xffff;
  end.list_size = end.list_begin = zip::kUnknown;
  CHECK(zip::read(before + end.bytes()).members.size() == 2);
}

TEST_CASE("Sizes and places are read from ZIP64 fields") {
  const auto unknown = [](zip::Fields& fields) { fields.size = fields.stored_size = zip::kUnknown; };
  const std::uint64_t size = 9;
  const std::uint64_t begin = zip::Zip{{two().members[0]}}.data().size();
  Zip zip = with([&](ZipMember& w) {
    w.set(unknown);
    w.begin = zip::kUnknown;
    w.local.extras = zip::extra(0xcafe, "") + zip::zip64({size, size});
    w.listed.extras = zip::zip64({size, size, begin}) + zip::extra(0xcafe, "x");
  });
  CHECK(zip::read(zip::bytes_of(zip)).members[1].contents.size == size);
  CHECK(zip::read(zip::bytes_of(zip)).members[1].begin == begin);

  // Python before 3.11.4: the sizes are in both places.
  zip = with([&](ZipMember& w) { w.local.extras = zip::zip64({size, size}); });
  CHECK(zip::read(zip::bytes_of(zip)).members[1].contents.size == size);
}

TEST_CASE("A member whose sizes follow its data is read") {
  for (const bool has_64 : {false, true})
    for (const std::string signature : {"", "PK\7\x08"}) {
      CAPTURE(has_64, signature.size());
      const std::string bytes = zip::bytes_of({{streamed(signature, has_64), {"v.npy", "data of v"}}});
      const npz::Archive archive = zip::read(bytes);
      CHECK(archive.members[0].contents.size == 9);
      CHECK(data_of(bytes, archive.members[1]) == "data of v");
    }
}

TEST_CASE("A name is only a name") {
  for (const std::string name : {"../w.npy", "/w.npy", "C:\\w.npy", "w", ".npy", "a b",
                                 "gr\x94\xe1"
                                 "e.npy",
                                 "w'.npy", "d/"}) {
    CAPTURE(name);
    CHECK(zip::read(zip::bytes_of({{{name, ""}}})).members[0].name == name);
  }
  Zip zip = with([](ZipMember& w) {
    w.set([](zip::Fields& fields) {
      fields.name = "größe \xf0\x9f\x8d\x8e.npy";
      fields.flags = 1U << 11U;
    });
  });
  CHECK(zip::read(zip::bytes_of(zip)).members[1].name == "größe \xf0\x9f\x8d\x8e.npy");
}

TEST_CASE("A member is found by its name or by np.load's key; the name wins") {
  const npz::Archive archive =
      zip::read(zip::bytes_of({{{"w.npy", "1"}, {"w", "2"}, {"v.npy", "3"}, {"v.npy.npy", "4"}}}));
  const auto found = [&](std::string_view name) { return archive.find(name)->name; };
  CHECK(found("w.npy") == "w.npy");
  CHECK(found("w") == "w");
  CHECK(found("v") == "v.npy");
  CHECK(found("v.npy") == "v.npy");
  CHECK(found("v.npy.npy") == "v.npy.npy");
  CHECK(archive.find("x") == nullptr);
  CHECK(archive.members[0].key() == "w");
  CHECK(archive.members[1].key() == "w");
}

TEST_CASE("An archive is recognised by its first four bytes") {
  const auto can_be = [](std::string_view text) { return npz::can_be_archive(testing::bytes(text)); };
  CHECK(can_be("PK\3\4"));
  CHECK(can_be("PK\5\6 and more"));
  CHECK_FALSE(can_be("PK\3"));
  CHECK_FALSE(can_be("PK\6\6"));
  CHECK_FALSE(can_be("\x93NUMPY"));
  CHECK_FALSE(can_be(""));
}

TEST_CASE("65,536 members are read with few calls, and a list of more than 400,000 is refused") {
  Zip zip;
  zip.members.assign(65536, {"", "x"});
  for (std::size_t i = 0; i < zip.members.size(); ++i)
    zip.members[i].set([&](zip::Fields& fields) { fields.name = "member " + std::to_string(i); });
  zip::End end = zip::end_of(zip);
  end.count = end.count_here = 0xffff;
  zip::End64 end64 = zip::end64_of(zip);
  const std::string data = zip.data();
  const std::string list = zip.list();
  const std::string bytes = data + list + end64.bytes() + end.bytes();
  std::size_t calls = 0;
  const npz::ReadAt read = zip::reader_of(bytes);
  const npz::Archive archive = npz::read_archive(
      [&](std::span<std::byte> to, std::uint64_t at) {
        ++calls;
        return read(to, at);
      },
      bytes.size());
  CHECK(archive.members.size() == 65536);
  CHECK(archive.members.back().name == "member 65535");
  CHECK(calls < 5000);

  end64.count = end64.count_here = 400001;
  const std::string more = data + list + end64.bytes() + end.bytes();
  CHECK_THROWS_WITH(zip::read(more), "more than 400000 members");
}

TEST_CASE("Errors of reading pass") {
  const std::string bytes = zip::bytes_of(two());
  const npz::ReadAt read = zip::reader_of(bytes);
  for (std::size_t good = 0; good < 3; ++good) {
    CAPTURE(good);
    std::size_t calls = 0;
    const npz::ReadAt fails = [&](std::span<std::byte> to, std::uint64_t at) {
      if (calls++ == good) throw Error(ErrorKind::io, "a.npz: cannot be read");
      return read(to, at);
    };
    CHECK_THROWS_WITH(npz::read_archive(fails, bytes.size()), "a.npz: cannot be read");
  }
}
