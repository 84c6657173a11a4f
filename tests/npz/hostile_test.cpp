#include <cstdio>

#include "npz/read_zip.hpp"
#include "support/refusal.hpp"
#include "support/skip.hpp"
#include "support/tsv.hpp"

/// Archives that programs could read differently.

using namespace clipper;
using zip::Zip;

namespace {

std::string output_of(const std::string& command) {
  testing::needs_posix("Python");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string text;
  std::array<char, 4096> bytes{};
  while (const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), pipe.get()))
    text.append(bytes.data(), got);
  return text;
}

}  // namespace

TEST_CASE("Archives that programs could read differently are refused; all others are what Python reads") {
  std::istringstream table(output_of("python3 -B " + testing::source_path("tests/faults/hostile_cases.py")));
  std::size_t refused = 0;
  for (std::string says, hex, read, sound; std::getline(table, says, '\t');) {
    std::getline(table, hex, says.empty() ? '\t' : '\n');
    CAPTURE(says, hex);
    const std::string bytes = tsv::from_hex(hex);
    if (!says.empty()) {
      CHECK(refusal(ErrorKind::input, [&] { zip::read(bytes); }) == says);
      ++refused;
      continue;
    }
    std::getline(table, read, '\t');
    std::getline(table, sound);
    const npz::Archive archive = zip::read(bytes);
    std::string found = archive.comment;
    for (const npz::Member& member : archive.members) {
      found += "\n" + member.name;
      const std::string data = bytes.substr(member.data, member.contents.stored_size);
      if (sound == "1" && member.method == npz::Method::stored)
        CHECK(zip::crc32_of(data) == member.contents.crc);
    }
    CHECK(found == tsv::from_hex(read));
  }
  CHECK(refused > 180);
}

TEST_CASE("Every prefix of an archive is refused") {
  const std::string whole = zip::bytes_of({{{"v.npy", "the data of v"}, {"w.npy", "data of w"}}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(refusal(ErrorKind::input, [&] { zip::read(whole.substr(0, size)); }) ==
          "truncated: no end record of a zip archive");
  }
}

TEST_CASE("Headers that take too much memory are refused") {
  const auto too_long = [](const Zip& zip) {
    const std::string bytes = zip::bytes_of(zip);
    CHECK(refusal(ErrorKind::input, [&] { zip::read(bytes); }) == "the headers of the members are too long");
  };
  std::string many_fields;
  for (int i = 0; i < 2000; ++i) many_fields += zip::extra(0x7777, "");
  for (const std::string& extras : {many_fields, zip::extra(0x7777, std::string(60000, 'x'))}) {
    Zip zip;
    for (int i = 0; i < 560; ++i) zip.members.emplace_back("member " + std::to_string(i), "");
    for (zip::ZipMember& member : zip.members) member.local.extras = extras;
    too_long(zip);
    for (zip::ZipMember& member : zip.members) std::swap(member.local.extras, member.listed.extras);
    too_long(zip);
    zip.members.erase(zip.members.begin() + 110, zip.members.end());
    CHECK(zip::read(zip::bytes_of(zip)).members.size() == 110);
  }
}
