#include <sys/mman.h>
#include <sys/resource.h>

#include <chrono>

#include "files/descriptor.hpp"
#include "support/files.hpp"

namespace clipper::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kNow = 1'800'000'000s + 123'456'789ns;

struct stat changed_at(nanoseconds modified, nanoseconds attributes) {
  const auto time = [](nanoseconds since_epoch) {
    return timespec{since_epoch / 1s, (since_epoch % 1s).count()};
  };
  struct stat status {};
  status.st_mtim = time(modified);
  status.st_ctim = time(attributes);
  return status;
}

nanoseconds rest(nanoseconds changed, FileClock clock) {
  return rest_of_tick(changed_at(changed, changed), kNow, clock);
}

timespec in_future(const std::string& path) {
  timespec time = status_of(path).st_mtim;
  time.tv_sec += 3600;
  return time;
}

}  // namespace

TEST_CASE("where this kernel counts nanoseconds, only a change at the clock's present value is too recent") {
  CHECK(rest(kNow, FileClock::own) == 1ns);
  CHECK(rest(kNow - 1ns, FileClock::own) == 0ns);
  CHECK(rest(kNow - 4ms, FileClock::own) == 0ns);
  CHECK(rest(kNow + 3ms, FileClock::own) == 1ns);  // Linux 6.13 and later are ahead of the coarse clock
}

TEST_CASE("where both times of a file are whole seconds, a second must be over, and on FAT two") {
  const nanoseconds second = std::chrono::floor<std::chrono::seconds>(kNow);
  CHECK(rest(second, FileClock::own) == second + 1s - kNow);
  CHECK(rest(second - 1s, FileClock::own) == 0ns);
  CHECK(rest(second, FileClock::foreign) == 2s);       // even: perhaps FAT
  CHECK(rest(second - 1s, FileClock::foreign) == 1s);  // odd: not FAT; the other clock may be a second behind
  CHECK(rest(second - 2s, FileClock::foreign) == 2s);
  CHECK(rest(second - 4s, FileClock::foreign) == 0ns);
  // tar and rsync set whole seconds, but only as the modification time.
  CHECK(rest_of_tick(changed_at(second, kNow - 5ms), kNow, FileClock::own) == 0ns);
  CHECK(rest_of_tick(changed_at(second - 9s, kNow), kNow, FileClock::own) == 1ns);
}

TEST_CASE("the clock of another machine may be a second behind or any time ahead") {
  CHECK(rest(kNow, FileClock::foreign) == 10ms);
  CHECK(rest(kNow - 1s, FileClock::foreign) == 10ms);
  CHECK(rest(kNow - 1s - 10ms, FileClock::foreign) == 0ns);
  CHECK(rest(kNow + 1h, FileClock::foreign) == 10ms);
  CHECK(rest(kNow + 1h, FileClock::own) == 1ns);
}

TEST_CASE("a file that was just written, or has a time in the future, settles within ticks") {
  const TemporaryDirectory directory{{"file", "before"}};
  const Descriptor file(::open((directory / "file").c_str(), O_RDWR | O_CLOEXEC));
  for (const bool is_ahead : {false, true}) {
    CAPTURE(is_ahead);
    const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, in_future(directory / "file")};
    if (is_ahead) REQUIRE(::futimens(file.get(), times.data()) == 0);
    const struct stat settled = settled_status(file, "file");
    CHECK_FALSE(is_written(settled, status_of(directory / "file")));
    CHECK(has_same_attributes(settled, status_of(directory / "file")));
    REQUIRE(::pwrite(file.get(), "a", 1, 0) == 1);
    CHECK(is_written(settled, status_of(directory / "file")));
  }
}

TEST_CASE("a file in memory to which nobody can write again is not waited for") {
  const Descriptor memory(::memfd_create("file", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::pwrite(memory.get(), "a", 1, 0) == 1);
  REQUIRE(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) == 0);
  const auto sleeps = [] {
    struct rusage usage {};
    REQUIRE(::getrusage(RUSAGE_THREAD, &usage) == 0);
    return usage.ru_nvcsw;
  };
  const auto before = sleeps();
  CHECK(settled_status(memory, "file").st_size == 1);
  CHECK(sleeps() == before);
}

TEST_CASE("a pipe is not waited for") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const Descriptor input(ends[0]);
  const Descriptor output(ends[1]);
  CHECK(S_ISFIFO(settled_status(input, "pipe").st_mode));
}

}  // namespace clipper::testing
