#include <atomic>
#include <set>

#include "console/terminal.hpp"
#include "support/files.hpp"

namespace clipper {
namespace {

constexpr std::uint64_t kGib = 1UL << 30U;

/// The facts of a progress line, without padding and without the bar.
std::set<std::string> facts_of(std::string text) {
  if (text.starts_with('[')) text.erase(0, text.find("] ") + 2);
  std::set<std::string> facts;
  for (std::size_t end = 0; !text.empty(); text.erase(0, end)) {
    text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
    end = std::min(text.find("  "), text.size());
    if (end > 0) facts.insert(text.substr(0, end));
  }
  return facts;
}

/// The width of the bar between its brackets.
std::size_t bar_of(const std::string& text) {
  return text.starts_with('[') ? text.find(']') - 1 : 0;
}

struct Work {
  Extent extent;
  double seconds;
};

constexpr auto kHuge = std::numeric_limits<std::uint64_t>::max();
constexpr std::array kWorks{
    Work{{kGib, 4 * kGib, 0, 1}, 2},
    Work{{kGib, 4 * kGib, 3, 12}, 2},
    Work{{kGib, 400 * kGib, 3, 10'000}, 200},
    Work{{4 * kGib, 4 * kGib, 1, 1}, 0.6},
    Work{{5 * kGib, 4 * kGib, 1, 1}, 0.6},  // a file that has grown
    Work{{0, 100, 0, 1}, 0.5},
    Work{{0, 0, 0, 1}, 0},
    Work{{kGib, 0, 3, 12}, 9},  // unknown number of bytes
    Work{{1, kHuge, 0, kHuge}, 1e9},
    Work{{kHuge, kHuge, kHuge, kHuge}, 1e-9},
};

}  // namespace

TEST_CASE("The progress line has as many facts as fit its width") {
  const Extent one{kGib, 4 * kGib, 0, 1};
  CHECK(progress_text(one, 2, 39) == " 25 %  1.0 of 4.0 GiB    6 s left");
  CHECK(progress_text(one, 2, 59) == "[##         ]  25 %  1.0 of 4.0 GiB   512 MiB/s    6 s left");
  CHECK(progress_text(one, 2, 79) ==
        "[#######                        ]  25 %  1.0 of 4.0 GiB   512 MiB/s    6 s left");
  CHECK(progress_text(one, 2, 119) ==
        "[##########                              ]  25 %  1.0 of 4.0 GiB   512 MiB/s    6 s left");
  CHECK(progress_text(one, 2, 199) == progress_text(one, 2, 119));

  const Extent many{kGib, 4 * kGib, 3, 12};
  CHECK(progress_text(many, 200, 39) == " 25 %  1.0 of 4.0 GiB  10:00 left");
  CHECK(progress_text(many, 200, 59) == " 25 %   3 of 12 files  1.0 of 4.0 GiB  10:00 left");
  CHECK(progress_text(many, 200, 79) ==
        "[###            ]  25 %   3 of 12 files  1.0 of 4.0 GiB     5 MiB/s  10:00 left");
}

TEST_CASE("The progress line leaves out what is unknown") {
  CHECK(progress_text({0, 100, 0, 1}, 0.5, 39) == "[       ]   0 %    0 of 100 B     0 B/s");
  CHECK(progress_text({kGib, 0, 3, 12}, 2, 59) == " 25 %   3 of 12 files  1.0 GiB   512 MiB/s    6 s left");
  CHECK(progress_text({}, 0, 79) == "0 B     0 B/s");
  CHECK(progress_text({1, 10'000, 0, 1}, 1, 79).ends_with("2:46:39 left"));
}

TEST_CASE("The progress line shows 100 % only if all bytes are done") {
  CHECK(progress_text({999, 1000, 0, 1}, 1, 4).empty());
  CHECK(progress_text({999, 1000, 0, 1}, 1, 5) == " 99 %");
  CHECK(progress_text({1000, 1000, 0, 1}, 1, 5) == "100 %");
}

TEST_CASE("A progress line fits every width, and a wider line has all facts of a narrower line") {
  for (const auto& [extent, seconds] : kWorks) {
    const std::set<std::string> all = facts_of(progress_text(extent, seconds, 1000));
    std::set<std::string> narrower;
    std::size_t shorter_bar = 0;
    for (std::size_t columns = 0; columns <= 200; ++columns) {
      const std::string text = progress_text(extent, seconds, columns);
      CAPTURE(columns, text);
      CHECK(text.size() <= columns);
      const std::set<std::string> facts = facts_of(text);
      CHECK(std::ranges::includes(facts, narrower));
      CHECK(std::ranges::includes(all, facts));  // no fact is cut
      CHECK(bar_of(text) >= shorter_bar);
      CHECK((bar_of(text) == 0 || facts == all));
      CHECK(bar_of(text) <= 40);
      narrower = facts;
      shorter_bar = bar_of(text);
    }
    CHECK(narrower == all);
    CHECK(shorter_bar == (extent.all_bytes == 0 && extent.all_files == 1 ? 0 : 40));
  }
}

TEST_CASE("A progress line for a log has all facts, no bar, and at the end the time taken") {
  CHECK(progress_line({kGib, 4 * kGib, 3, 12}, 2, false) ==
        "clipper:  25 %   3 of 12 files  1.0 of 4.0 GiB   512 MiB/s    6 s left\n");
  CHECK(progress_line({4 * kGib, 4 * kGib, 1, 1}, 2, true) ==
        "clipper: 100 %  4.0 of 4.0 GiB     2 GiB/s  in 2 s\n");
  CHECK(progress_line({}, 0, true) == "clipper: 0 B     0 B/s  in 0 s\n");
}

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
  const std::vector<std::uint64_t> sizes{100, 0, 50};
  FileTally tally(done, sizes.size(), [&](std::size_t i) { return sizes[i]; });
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
  const testing::TemporaryDirectory directory{{"x", "12345"}};
  CHECK(expected_bytes(directory / "x") == 5);
  CHECK(expected_bytes(directory / "missing") == 0);
  CHECK(expected_bytes(directory.path()) == 0);
  CHECK(expected_bytes("/dev/null") == 0);
  CHECK(expected_bytes("-") == 0);
}

}  // namespace clipper
