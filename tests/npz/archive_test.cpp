#include "npz/archive.hpp"

#include "error.hpp"
#include "npz/read_zip.hpp"
#include "support/files.hpp"

using namespace clipper;
using zip::Zip;

namespace {

Zip two() {
  return {{{"v.npy", "the data of v"}, {"w.npy", "data of w"}}};
}

std::vector<std::string> names_of(const npz::Archive& archive) {
  std::vector<std::string> names;
  for (const npz::Member& member : archive.members) names.push_back(member.name);
  return names;
}

std::string data_of(std::string_view bytes, const npz::Member& member) {
  return std::string(bytes.substr(member.data, member.contents.stored_size));
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

TEST_CASE("np.load's key of a member is its name without .npy") {
  const npz::Archive archive = zip::read(zip::bytes_of({{{"w.npy", "1"}, {"w", "2"}, {"v.npy.npy", "4"}}}));
  CHECK(archive.members[0].key() == "w");
  CHECK(archive.members[2].key() == "v.npy");
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
