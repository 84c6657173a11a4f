#include <atomic>
#include <stdexcept>

#include "engine/engine.hpp"
#include "support/process.hpp"

namespace clipper::testing {
namespace {

constexpr std::uint64_t kLarge = 1 << 30;  // so much data that the engine starts its threads

Engine::Options with_threads(unsigned threads) {
  Engine::Options options;
  options.threads = threads;
  return options;
}

}  // namespace

TEST_CASE("in_order() writes in order what it makes, and gives a slot to one number at a time") {
  for (const unsigned threads : {1U, 2U, 7U})
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}}) {
      CAPTURE(threads, count);
      Engine engine(with_threads(threads));
      engine.prepare(kLarge);
      std::vector<std::atomic<std::uint64_t>> made(engine.slots());
      std::atomic<std::uint64_t> faults = 0;
      std::atomic<std::uint64_t> others = 0;
      std::uint64_t written = 0;
      engine.in_order(
          count,
          [&](std::uint64_t i, std::size_t slot) {
            if (made.at(slot).exchange(i + 1) != 0) ++faults;
            if (i > 0) ++others;
            // While the first number is made, other threads make numbers until no slot is left.
            if (i == 0 && count > 1) wait_until([&] { return others + 1 >= made.size(); });
          },
          [&](std::uint64_t i, std::size_t slot) {
            if (i != written++ || made.at(slot).exchange(0) != i + 1) ++faults;
          });
      CHECK(faults == 0);
      CHECK(written == count);
    }
}

TEST_CASE("after an exception in_order() begins nothing more, and throws it again") {
  for (const unsigned threads : {1U, 7U})
    for (const bool fails_in_make : {false, true}) {
      CAPTURE(threads, fails_in_make);
      Engine engine(with_threads(threads));
      engine.prepare(kLarge);
      const auto fail_at_50 = [](std::uint64_t i) {
        if (i == 50) throw std::runtime_error("50");
      };
      std::atomic<std::uint64_t> made = 0;
      std::uint64_t written = 0;
      const auto make = [&](std::uint64_t i, std::size_t /*slot*/) {
        ++made;
        if (fails_in_make) fail_at_50(i);
      };
      const auto write = [&](std::uint64_t i, std::size_t /*slot*/) {
        if (!fails_in_make) fail_at_50(i);
        ++written;
      };
      CHECK_THROWS_WITH(engine.in_order(1000, make, write), "50");
      CHECK(written <= 50);
      CHECK(made <= 50 + engine.slots());
    }
}

TEST_CASE("in_order() may be called for many inputs at once") {
  Engine engine(with_threads(4));
  std::array<std::atomic<std::uint64_t>, 8> sums{};
  engine.for_each(sums.size(), [&](std::size_t one) {
    std::vector<std::uint64_t> made(engine.slots());
    engine.in_order(
        200, [&](std::uint64_t i, std::size_t slot) { made.at(slot) = i; },
        [&](std::uint64_t /*i*/, std::size_t slot) { sums.at(one) += made.at(slot); });
  });
  for (const auto& sum : sums) CHECK(sum == 199 * 200 / 2);
}

}  // namespace clipper::testing
