#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npz/zip_builder.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

/// Archives that programs could read differently.

using namespace clipper;
using namespace std::string_literals;
using zip::End;
using zip::End64;
using zip::extra;
using zip::Fields;
using zip::kUnknown;
using zip::Zip;
using zip::zip64;
using zip::ZipMember;

namespace {

constexpr std::uint64_t kExbi = std::uint64_t{1} << 60U;

Zip two() {
  return {{{"v.npy", "the data of v"}, {"w.npy", "data of w"}}};
}

/// two(), with a change of its second member.
std::string with(const std::function<void(ZipMember&)>& change) {
  Zip zip = two();
  change(zip.members[1]);
  return zip::bytes_of(zip);
}

std::string with_both(const std::function<void(Fields&)>& change) {
  return with([&](ZipMember& w) { w.set(change); });
}

std::string with_local(const std::function<void(Fields&)>& change) {
  return with([&](ZipMember& w) { change(w.local); });
}

std::string with_listed(const std::function<void(Fields&)>& change) {
  return with([&](ZipMember& w) { change(w.listed); });
}

std::string with_name(const std::string& name, std::uint16_t flags = 0) {
  return with_both([&](Fields& fields) {
    fields.name = name;
    fields.flags = flags;
  });
}

std::string with_end(const std::function<void(End&)>& change) {
  End end = zip::end_of(two());
  change(end);
  return two().data() + two().list() + end.bytes();
}

std::string with_end64(const std::function<void(End64&)>& change, const std::string& between = "") {
  End64 end = zip::end64_of(two());
  change(end);
  return two().data() + two().list() + end.bytes() + between + zip::end_of(two()).bytes();
}

/// The parts of two() with other bytes between them.
std::string with_bytes(const std::string& before, const std::string& before_list,
                       const std::string& before_end, const std::string& after) {
  End end = zip::end_of(two());
  end.list_begin += static_cast<std::uint32_t>(before_list.size());
  return before + two().data() + before_list + two().list() + before_end + end.bytes() + after;
}

std::string with_descriptor(const std::string& descriptor) {
  return with([&](ZipMember& w) {
    w.set([](Fields& fields) { fields.flags = 8; });
    w.local.crc = w.local.size = w.local.stored_size = 0;
    w.descriptor = descriptor;
  });
}

/// An archive without members after `begin` bytes.
std::string with_list_at(std::uint32_t begin) {
  End end;
  end.list_begin = begin;
  return end.bytes();
}

std::string unicode_path(const std::string& name) {
  return extra(0x7075, "\1" + zip::little(0, 4) + name);
}

using Cases = std::vector<std::pair<std::string, std::string>>;

/// Each case: an archive, and the message that refuses it.
void check(const Cases& cases) {
  for (const auto& [bytes, message] : cases) {
    CAPTURE(message);
    CHECK(refusal(ErrorKind::input, [&archive = bytes] { zip::read(archive); }) == message);
  }
}

const std::string kNoEnd = "truncated: no end record of a zip archive";
const std::string kEndBefore = "damaged: the end record of the zip archive is not at the end";
const std::string kListPlace =
    "damaged: the list of members is not directly before the end record of the zip archive";
const std::string kDisks = "a part of a zip archive on several disks";
const std::string kMalformedList = "damaged: the list of members is malformed";
const std::string kLocator = "damaged: the ZIP64 end record is not where its locator says";
const std::string kMalformed64 = "damaged: the ZIP64 end record is malformed";
const std::string kDisagree64 = "damaged: the end record and the ZIP64 end record disagree";
const std::string kBefore = "there are bytes before the first member of the zip archive";

/// A message about the second member.
std::string about_w(const std::string& message, const std::string& name = "w.npy") {
  return "member '" + name + "': " + message;
}

}  // namespace

TEST_CASE("Every prefix of an archive is refused") {
  const std::string whole = zip::bytes_of(two());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(refusal(ErrorKind::input, [&] { zip::read(whole.substr(0, size)); }) == kNoEnd);
  }
}

TEST_CASE("Bytes around the records are refused") {
  const std::string whole = zip::bytes_of(two());
  check({
      {with_bytes("x", "", "", ""), kListPlace},
      {with_bytes("", "gap", "", ""), about_w("3 bytes after its data belong to no member")},
      {with_bytes("", "", "gap", ""), kListPlace},
      {with_bytes("", "", "", "x"), kEndBefore},
      {with_bytes("", "", "", "\n"), kEndBefore},
      {with_bytes("", "", "PK\5\5\0\0"s, ""), kListPlace},
      {whole + whole, kListPlace},
      {with([](ZipMember& w) { w.descriptor = "x"; }), about_w("1 bytes after its data belong to no member")},
      {"x" + with_list_at(1), kBefore},
  });
  Zip zip = two();
  zip.members[0].begin = 1;
  zip.members[1].begin = zip::Zip{{zip.members[0]}}.data().size() + 1;
  End end = zip::end_of(zip);
  ++end.list_begin;
  check({{"x" + zip.data() + zip.list() + end.bytes(), kBefore}});
}

TEST_CASE("An end record that is wrong is refused") {
  check({
      {with_end([](End& end) { end.count = end.count_here = 1; }),
       "damaged: there are bytes after the last entry of the list of members"},
      {with_end([](End& end) { end.count = end.count_here = 3; }),
       "damaged: the list of members is too short"},
      {with_end([](End& end) { end.count_here = 1; }), kDisks},
      {with_end([](End& end) { end.disk = 1; }), kDisks},
      {with_end([](End& end) { end.list_disk = 1; }), kDisks},
      {with_end([](End& end) { --end.list_size; }), kListPlace},
      {with_end([](End& end) { ++end.list_begin; }), kListPlace},
      {with_end([](End& end) { end.list_size = kUnknown; }), kListPlace},
      {with_end([](End& end) { end.list_begin = kUnknown; }), kListPlace},
      {with_end([](End& end) { end.count = end.count_here = 0xffff; }),
       "damaged: the list of members is too short"},
      {with_end([](End& end) {
         end.comment = "comment";
         end.comment_length = 6;
       }),
       kEndBefore},
      {with_end([](End& end) {
         end.comment = "comment";
         end.comment_length = 8;
       }),
       kEndBefore},
  });
}

TEST_CASE("An archive with two end records is refused, whichever programs take") {
  const auto ends_in = [](const std::string& comment) {
    return with_end([&](End& end) { end.comment = comment; });
  };
  check({
      {ends_in(End{}.bytes()), "ambiguous: two end records of a zip archive"},
      {ends_in("x" + zip::end_of(two()).bytes()), "ambiguous: two end records of a zip archive"},
      {ends_in(zip::bytes_of(two())), "ambiguous: two end records of a zip archive"},
      {ends_in(zip::bytes_of(two()) + "x"), kEndBefore},
      {ends_in("PK\5\6"), kNoEnd},
  });
}

TEST_CASE("A ZIP64 end record that is wrong is refused") {
  check({
      {with_end64([](End64& end) { ++end.at; }), kLocator},
      {with_end64([](End64& end) { end.at = 0; }), kLocator},
      {with_end64([](End64& end) { end.at = ~std::uint64_t{0}; }), kLocator},
      {with_end64([](End64& end) { end.locator_disk = 1; }), kDisks},
      {with_end64([](End64& end) { end.disks = 2; }), kDisks},
      {with_end64([](End64& end) { end.signature = "PK\6\5"; }), kMalformed64},
      {with_end64([](End64& end) { end.rest = 45; }), kMalformed64},
      {with_end64([](End64& end) { end.disk = 1; }), kDisks},
      {with_end64([](End64& end) { end.list_disk = 1; }), kDisks},
      {with_end64([](End64& end) { end.count_here = 1; }), kDisagree64},
      {with_end64([](End64& end) { end.count_here = end.count = 3; }), kDisagree64},
      {with_end64([](End64& end) { end.list_size = 0; }), kDisagree64},
      {with_end64([](End64& end) { end.list_begin = 1; }), kDisagree64},
      {with_end64([](End64&) {}, "gap"), kListPlace},
      {two().data() + two().list() + "PK\6\7" + std::string(16, '\0') + zip::end_of(two()).bytes(), kLocator},
      {"PK\6\7" + std::string(16, '\0') + zip::end_of({}).bytes(), kLocator},
  });
}

TEST_CASE("A ZIP64 end record with more members than the list can have is refused") {
  for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{65536}}) {
    End end = zip::end_of(two());
    End64 end64 = zip::end64_of(two());
    end.count = end.count_here = 0xffff;
    end64.count = end64.count_here = count;
    check({{two().data() + two().list() + end64.bytes() + end.bytes(),
            "damaged: the list of members is too short"}});
  }
}

TEST_CASE("A list that is wrong is refused") {
  check({
      {with_listed([](Fields& fields) { fields.signature = "PK\1\3"; }), kMalformedList},
      {with_listed([](Fields& fields) { fields.name_length = 60000; }), kMalformedList},
      {with_listed([](Fields& fields) { fields.extras_length = 60000; }), kMalformedList},
      {with_listed([](Fields& fields) { fields.extras = "abc"; }), about_w("its extra fields are malformed")},
      {with_listed([](Fields& fields) { fields.extras = "\1\2\5\0abc"s; }),
       about_w("its extra fields are malformed")},
      {with([](ZipMember& w) { w.disk = 1; }), about_w("it is on another disk")},
      {with_both([](Fields& fields) { fields.version = 64; }), about_w("it needs a later zip format")},
  });
}

TEST_CASE("A name that programs read differently is refused") {
  constexpr std::uint16_t kUtf8 = 1U << 11U;
  const std::string control = "its name has control characters";
  const std::string not_utf8 = "its name is not UTF-8, although the archive says so";
  check({
      {with_name("w\0.npy"s), about_w(control, "w\\x00.npy")},
      {with_name("w\n.npy"), about_w(control, "w\\x0a.npy")},
      {with_name("\x1b[2J"), about_w(control, "\\x1b[2J")},
      {with_name("w\x7f"), about_w(control, "w\\x7f")},
      {with_name("w\xc2\x85", kUtf8), about_w(control, "w\\xc2\\x85")},
      {with_name("w\xff", kUtf8), about_w(not_utf8, "w\\xff")},
      {with_name("w\x80", kUtf8), about_w(not_utf8, "w\\x80")},
      {with_name("w\xc0\xaf", kUtf8), about_w(not_utf8, "w\\xc0\\xaf")},
      {with_name("w\xed\xa0\x80", kUtf8), about_w(not_utf8, "w\\xed\\xa0\\x80")},
      {with_name("w\xf4\x90\x80\x80", kUtf8), about_w(not_utf8, "w\\xf4\\x90\\x80\\x80")},
      {with_name("w\xe2\x82", kUtf8), about_w(not_utf8, "w\\xe2\\x82")},
      {with_name("w\xe2\x82x", kUtf8), about_w(not_utf8, "w\\xe2\\x82x")},
      {with_name(""), about_w("a member has no name", "")},
      {with_name("v.npy"), "two members are named 'v.npy'"},
      {with_name("w/"), about_w("it is a directory with data", "w/")},
      {with_both([](Fields& fields) { fields.extras = unicode_path("x.npy"); }),
       about_w("its extra field 0x7075 gives it another name")},
      {with_local([](Fields& fields) { fields.extras = unicode_path("x.npy"); }),
       about_w("its extra field 0x7075 gives it another name")},
      {with_both([](Fields& fields) { fields.extras = extra(0x7075, "\1"); }),
       about_w("its extra field 0x7075 gives it another name")},
  });
  CHECK(zip::read(with_both([](Fields& fields) { fields.extras = unicode_path("w.npy"); })).members.size() ==
        2);
}

TEST_CASE("Encrypted members are refused") {
  for (const std::uint16_t flags : std::initializer_list<std::uint16_t>{0x1, 0x40, 0x2000})
    check({{with_both([=](Fields& fields) { fields.flags = flags; }), about_w("it is encrypted")}});
  check({{with_both([](Fields& fields) { fields.flags = 1U << 5U; }), about_w("it is a patch")}});
}

TEST_CASE("Headers that disagree with the list are refused") {
  const std::string disagree = "its two headers disagree about its ";
  for (const auto& change : {with_local, with_listed}) {
    check({
        {change([](Fields& fields) { fields.name = "x.npy"; }),
         about_w(disagree + "name", change == with_local ? "w.npy" : "x.npy")},
        {change([](Fields& fields) { fields.method = 12; }), about_w(disagree + "compression")},
        {change([](Fields& fields) { fields.flags = 1U << 11U; }), about_w(disagree + "flags")},
        {change([](Fields& fields) { fields.flags = 8; }), about_w(disagree + "flags")},
        {change([](Fields& fields) { ++fields.crc; }), about_w(disagree + "CRC-32")},
    });
  }
  check({
      {with_local([](Fields& fields) { fields.flags = 1; }), about_w(disagree + "flags")},
      {with_local([](Fields& fields) { fields.version = 45; }), about_w(disagree + "version")},
      {with_local([](Fields& fields) { fields.time = 1; }), about_w(disagree + "time")},
      {with_local([](Fields& fields) { ++fields.size; }), about_w(disagree + "size")},
      {with_local([](Fields& fields) { ++fields.stored_size; }), about_w(disagree + "size")},
      {with_listed([](Fields& fields) { ++fields.size; }),
       about_w("it is stored, but has 9 bytes instead of 10")},
      {with_local([](Fields& fields) { fields.signature = "PK\3\5"; }),
       about_w("it has no header at byte 48")},
      {with_local([](Fields& fields) { fields.name_length = 60000; }),
       about_w("its header overlaps the list of members")},
      {with_local([](Fields& fields) { fields.extras = "abc"; }), about_w("its extra fields are malformed")},
  });
}

TEST_CASE("ZIP64 fields that are wrong are refused") {
  const auto unknown_with = [](const std::string& extras) {
    return [=](Fields& fields) {
      fields.size = fields.stored_size = kUnknown;
      fields.extras = extras;
    };
  };
  const std::string too_short = about_w("its ZIP64 field is too short");
  const std::string too_long = about_w("its ZIP64 field is too long");
  const std::string disagrees = about_w("its ZIP64 field disagrees with its other fields");
  check({
      {with_both(unknown_with("")), too_short},
      {with_local(unknown_with("")), too_short},
      {with_both(unknown_with(zip64({9}))), too_short},
      {with_both(unknown_with(zip64({9, 9, 9}))), too_long},
      {with_both(unknown_with(zip64({9, 9}) + zip64({9, 9}))), about_w("it has two extra fields 0x0001")},
      {with_both(unknown_with(zip64({8, 8}))), about_w("1 bytes after its data belong to no member")},
      {with_both(unknown_with(zip64({8 * kExbi, 8 * kExbi}))), about_w("its data overlaps what follows it")},
      {with_both(unknown_with(zip64({~std::uint64_t{0}, ~std::uint64_t{0}}))),
       about_w("its data overlaps what follows it")},
      {with_local([](Fields& fields) {
         fields.extras = zip64({8, 8});
       }),
       disagrees},
      {with_listed([](Fields& fields) {
         fields.extras = zip64({9, 9});
       }),
       too_long},
      {with_listed([](Fields& fields) {
         fields.stored_size = kUnknown;
         fields.extras = zip64({9, 9});
       }),
       too_long},
      {with([](ZipMember& w) {
         w.begin = kUnknown;
         w.listed.extras = zip64({8 * kExbi});
       }),
       about_w("its header is not before the list of members")},
  });
}

TEST_CASE("Members that overlap are refused") {
  const Zip zip = two();
  const std::string overlaps = "its data overlaps what follows it";
  const auto at = [](std::uint64_t begin) { return with([=](ZipMember& w) { w.begin = begin; }); };
  const auto longer = [](Fields& fields) { fields.size = fields.stored_size = fields.size + 1; };
  const std::uint64_t list = zip.data().size();
  Zip inner{{{"v.npy", zip.members[1].local_header() + "data of w"}, zip.members[1]}};
  inner.members[1].absent = true;
  inner.members[1].begin = zip.members[0].local_header().size();
  Zip first = two();
  first.members[0].set(longer);
  check({
      {at(0), about_w(overlaps, "v.npy")},
      {at(1), about_w(overlaps, "v.npy")},
      {at(list), about_w("its header is not before the list of members")},
      {at(list - 1), about_w("43 bytes after its data belong to no member", "v.npy")},
      {at(list + 1), about_w("its header is not before the list of members")},
      {at(kUnknown - 1), about_w("its header is not before the list of members")},
      {with_both(longer), about_w(overlaps)},
      {zip::bytes_of(first), about_w(overlaps, "v.npy")},
      {zip::bytes_of(inner), about_w(overlaps, "v.npy")},
  });
}

TEST_CASE("A data descriptor that is wrong is refused") {
  const std::uint32_t crc = two().members[1].local.crc;
  const auto descriptor = [](std::uint32_t crc, std::uint64_t stored_size, std::uint64_t size,
                             std::size_t bytes) {
    return "PK\7\x08" + zip::little(crc, 4) + zip::little(stored_size, bytes) + zip::little(size, bytes);
  };
  CHECK(zip::read(with_descriptor(descriptor(crc, 9, 9, 4))).members.size() == 2);
  for (const std::string& wrong :
       {descriptor(crc + 1, 9, 9, 4), descriptor(crc, 8, 9, 4), descriptor(crc, 9, 8, 4),
        descriptor(crc, 9, 9, 8), descriptor(crc, 9, 9, 4).substr(0, 15), descriptor(crc, 9, 9, 4) + "x", ""s,
        descriptor(crc, 9, 9, 4).replace(0, 1, "Q")})
    check({{with_descriptor(wrong),
            about_w("its data descriptor is malformed, or disagrees with the list of members")}});
}

TEST_CASE("Sizes that are impossible are refused") {
  const auto deflated = [](std::uint32_t size) {
    return with_both([=](Fields& fields) {
      fields.method = 8;
      fields.size = size;
    });
  };
  CHECK(zip::read(deflated(9 * 1032)).members.size() == 2);
  check({
      {deflated(10 * 1032), about_w("10320 bytes cannot be deflated to 9")},
      {with_both([](Fields& fields) { fields.size = 8; }),
       about_w("it is stored, but has 9 bytes instead of 8")},
  });
}

TEST_CASE("What some programs refuse is refused") {
  const auto comment_not_utf8 = [](ZipMember& w) {
    w.set([](Fields& fields) { fields.flags = 1U << 11U; });
    w.comment = "\xff";
  };
  Zip locator = two();
  locator.members[0].comment = "PK\6\7" + std::string(16, 'x');
  check({
      {with(comment_not_utf8), about_w("its comment is not UTF-8, although the archive says so")},
      {zip::bytes_of(locator), about_w("ambiguous: it ends with a record of a zip archive", "v.npy")},
      {with_both([](Fields& fields) { fields.method = 99; }), about_w("it is encrypted")},
      {with_both([](Fields& fields) {
         fields.name = "w\xff";
         fields.extras = unicode_path("w\xff");
       }),
       about_w("its extra field 0x7075 gives it another name", "w\\xff")},
  });
}

TEST_CASE("Headers that take too much memory are refused") {
  const std::string too_long = "the headers of the members are too long";
  std::string many_fields;
  for (int i = 0; i < 2000; ++i) many_fields += extra(0x7777, "");
  for (const std::string& extras : {many_fields, extra(0x7777, std::string(60000, 'x'))}) {
    Zip zip;
    for (int i = 0; i < 560; ++i) zip.members.emplace_back("member " + std::to_string(i), "");
    for (ZipMember& member : zip.members) member.local.extras = extras;
    check({{zip::bytes_of(zip), too_long}});
    for (ZipMember& member : zip.members) std::swap(member.local.extras, member.listed.extras);
    check({{zip::bytes_of(zip), too_long}});
    zip.members.erase(zip.members.begin() + 110, zip.members.end());
    CHECK(zip::read(zip::bytes_of(zip)).members.size() == 110);
  }
}
