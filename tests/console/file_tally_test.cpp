#include "console/file_tally.hpp"

#include <atomic>

#include "support/files.hpp"

namespace clipper {
namespace {

void check(const FileTally& tally, std::uint64_t bytes, std::uint64_t all_bytes, std::size_t files) {
  const Extent extent = tally.extent();
  CHECK(extent.bytes == bytes);
  CHECK(extent.all_bytes == all_bytes);
  CHECK(extent.files == files);
  CHECK(extent.all_files == 3);
}

}  // namespace

TEST_CASE("The expected bytes of a tally follow what is known about each file") {
  std::atomic<std::uint64_t> done = 0;
  FileTally tally(done, {100, 0, 50});
  check(tally, 0, 150, 0);
  done += 100;
  tally.next();
  check(tally, 100, 150, 1);
  tally.expect(1000);  // the size in the second file's header
  check(tally, 100, 1150, 1);
  done += 300;
  tally.next();  // after an error in the middle of the second file
  check(tally, 400, 450, 2);
  tally.next();  // the third file was refused
  check(tally, 400, 400, 3);
}

TEST_CASE("Only a regular file has a known size") {
  const testing::TemporaryDirectory directory;
  testing::write_file(directory / "x", "12345");
  CHECK(expected_bytes(directory / "x") == 5);
  CHECK(expected_bytes(directory / "missing") == 0);
  CHECK(expected_bytes(directory.path()) == 0);
  CHECK(expected_bytes("/dev/null") == 0);
  CHECK(expected_bytes("-") == 0);
}

}  // namespace clipper
