#include <sched.h>

#include "engine/engine.hpp"
#include "os/os.hpp"
#include "parallel/pool.hpp"
#include "support/catch.hpp"

namespace clipper {

TEST_CASE("the affinity mask limits the number of threads") {
  cpu_set_t all;
  REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
  CHECK(available_threads() >= 1);
  CHECK(available_threads() <= static_cast<unsigned>(CPU_COUNT(&all)));

  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  const unsigned with_one = available_threads();
  REQUIRE(::sched_setaffinity(0, sizeof all, &all) == 0);
  CHECK(with_one == 1);
}

TEST_CASE("startable_threads() counts only threads that can be started") {
  constexpr std::size_t kStack = 1 << 20;
  constexpr std::size_t kMoreThanAddresses = std::size_t{1} << 60;
  CHECK(os::startable_threads(1, kStack) == 1);
  CHECK(os::startable_threads(4, kStack) == 4);
  CHECK(os::startable_threads(4, kMoreThanAddresses) == 1);
}

TEST_CASE("cached_chunk() is a power of two from 256 to 512 KiB") {
  const std::size_t chunk = cached_chunk();
  CHECK((chunk == 256UL << 10 || chunk == 512UL << 10));
  CHECK(Engine({.threads = 1}).chunk_size() == chunk);
}

}  // namespace clipper
