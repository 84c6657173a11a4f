#include "parallel/pool.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>

#include "support/refusal.hpp"

namespace clipper::testing {

TEST_CASE("threads call the work for each number once") {
  const auto pool = Pool::start(3);
  REQUIRE(pool);
  for (const Pool::Effort effort : {Pool::Effort::even, Pool::Effort::uneven}) {
    std::vector<std::atomic<int>> calls(1000);
    std::atomic<bool> strange = false;
    pool->for_each(calls.size(), effort, [&](std::uint64_t i) {
      ++calls[i];
      if (Pool::this_thread() >= 3) strange = true;
    });
    for (const std::atomic<int>& each : calls) CHECK(each == 1);
    CHECK(!strange);
  }
}

TEST_CASE("an exception in the work is thrown again, and the threads can be reused") {
  const auto pool = Pool::start(3);
  REQUIRE(pool);
  const auto fail = [](std::uint64_t i) {
    if (i == 3) throw Error(ErrorKind::io, "no");
  };
  const auto nothing = [](std::uint64_t) {};
  const auto go_on = [](std::uint64_t) { return true; };
  for (int round = 0; round < 2; ++round) {
    CHECK(refusal(ErrorKind::io, [&] { pool->for_each(100, Pool::Effort::even, fail); }) == "no");
    CHECK(refusal(ErrorKind::io, [&] { pool->call([&] { fail(3); }); }) == "no");
    CHECK(refusal(ErrorKind::io, [&] { pool->pipe(100, 6, fail, nothing); }) == "no");
    CHECK(refusal(ErrorKind::io, [&] { pool->pipe(100, 6, nothing, fail); }) == "no");
    const auto fail_to_read = [&](std::uint64_t i) {
      fail(i);
      return true;
    };
    for (const auto reads : {Pool::Reads::in_order, Pool::Reads::at_once}) {
      const auto in_turns = [&](const auto& read, const Pool::Work& clip, const Pool::Work& write) {
        return refusal(ErrorKind::io, [&] { pool->in_turns(100, reads, read, clip, write); });
      };
      CHECK(in_turns(fail_to_read, nothing, nothing) == "no");
      CHECK(in_turns(go_on, fail, nothing) == "no");
      CHECK(in_turns(go_on, nothing, fail) == "no");
    }
  }
}

TEST_CASE("within a host's arena the threads are those of the arena") {
  Pool::start(2)->call([] {});
  CHECK(Pool::surrounding_threads() == 0);
  const tbb::global_control host(tbb::global_control::max_allowed_parallelism, 3);
  tbb::task_arena arena(3);
  arena.execute([&] {
    REQUIRE(Pool::surrounding_threads() == 3);
    std::atomic<int> strange = 0;
    static thread_local bool is_inside = false;
    tbb::parallel_for(0, 16, [&](int) {
      if (is_inside) ++strange;  // a thread that waits for the inner work has taken the host's
      is_inside = true;
      const auto pool = Pool::surrounding();
      pool->for_each(1000, Pool::Effort::uneven, [&](std::uint64_t) {
        if (Pool::this_thread() >= 3) ++strange;
      });
      is_inside = false;
    });
    CHECK(strange == 0);
  });
  CHECK(Pool::surrounding_threads() == 0);
}

TEST_CASE("nothing is written after a failure") {
  const auto pool = Pool::start(3);
  REQUIRE(pool);
  std::uint64_t written = 0;
  const auto fail = [](std::uint64_t i) {
    if (i == 3) throw Error(ErrorKind::io, "no");
  };
  static_cast<void>(
      refusal(ErrorKind::io, [&] { pool->pipe(100, 6, fail, [&](std::uint64_t) { ++written; }); }));
  CHECK(written <= 3);
}

TEST_CASE("in_turns() writes in order, and reads in order or at once") {
  const auto pool = Pool::start(3);
  REQUIRE(pool);
  for (const auto reads : {Pool::Reads::in_order, Pool::Reads::at_once}) {
    std::atomic<int> reading = 0;
    std::atomic<bool> at_once = false;
    std::atomic<int> writing = 0;
    std::atomic<bool> strange = false;
    std::uint64_t written = 0;
    const auto read = [&](std::uint64_t i) {
      if (++reading > 1) at_once = true;
      if (i == 0 && reads == Pool::Reads::at_once)
        while (!at_once) std::this_thread::yield();
      --reading;
      return true;
    };
    const auto write = [&](std::uint64_t i) {
      if (++writing != 1 || written != i) strange = true;
      ++written;
      --writing;
    };
    pool->in_turns(
        1000, reads, read, [](std::uint64_t) {}, write);
    CHECK(written == 1000);
    CHECK(!strange);
    CHECK(at_once == (reads == Pool::Reads::at_once));
  }
}

TEST_CASE("in_turns() writes all numbers below the one that fails or ends it, and none after it") {
  const auto pool = Pool::start(3);
  REQUIRE(pool);
  for (const auto reads : {Pool::Reads::in_order, Pool::Reads::at_once})
    for (const bool fails : {false, true}) {
      std::uint64_t written = 0;
      const auto read = [&](std::uint64_t i) {
        if (fails && i >= 50) throw Error(ErrorKind::io, std::to_string(i));
        return i < 50;
      };
      const auto run = [&] {
        pool->in_turns(
            1000, reads, read, [](std::uint64_t) {}, [&](std::uint64_t) { ++written; });
      };
      if (fails)
        CHECK(refusal(ErrorKind::io, run) == "50");
      else
        run();
      CHECK(written == 50);
    }
}

}  // namespace clipper::testing
