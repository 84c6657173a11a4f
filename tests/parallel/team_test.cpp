#include <atomic>
#include <chrono>

#include "parallel/pool.hpp"
#include "support/refusal.hpp"

namespace clipper::testing {

TEST_CASE("a team calls the work for each number once, awake, asleep and in between") {
  for (const bool stays_awake : {true, false}) {
    for (const unsigned threads : {1U, 2U, 3U, 16U}) {
      Team team(threads, stays_awake);
      std::uint64_t wrong = 0;
      for (std::uint64_t round = 0; round < 400; ++round) {
        const std::uint64_t count = round % 40;
        std::vector<std::atomic<int>> calls(count);
        std::atomic<std::uint64_t> strange = 0;
        if (round % 50 == 49) std::this_thread::sleep_for(std::chrono::microseconds(2 * Team::kAwake));
        team.share(count, [&](std::uint64_t i) {
          ++calls[i];
          if (static_cast<unsigned>(Team::this_thread()) >= threads) ++strange;
        });
        for (const std::atomic<int>& each : calls) wrong += each == 1 ? 0 : 1;
        wrong += strange;
      }
      CHECK(wrong == 0);
      CHECK(Team::this_thread() == -1);
    }
  }
}

TEST_CASE("threads of a team work at once") {
  Team team(3, false);
  std::atomic<int> present = 0;
  team.share(3, [&](std::uint64_t /*number*/) {
    ++present;
    while (present < 3) std::this_thread::yield();
  });
  CHECK(present == 3);
}

TEST_CASE("a pool of a team throws the exception of its work, and can be reused") {
  const auto pool = Pool::start_team(3);
  REQUIRE(pool);
  const auto fail = [](std::uint64_t i) {
    if (i == 3) throw Error(ErrorKind::io, "no");
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(refusal(ErrorKind::io, [&] { pool->for_each(100, Pool::Effort::even, fail); }) == "no");
    CHECK(refusal(ErrorKind::io, [&] { pool->call([&] { fail(3); }); }) == "no");
    std::size_t thread = 1;
    pool->call([&] { thread = Pool::this_thread(); });
    CHECK(thread == 0);
  }
}

}  // namespace clipper::testing
