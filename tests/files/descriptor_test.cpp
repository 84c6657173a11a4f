#include "files/descriptor.hpp"

#include "support/refusal.hpp"

namespace clipper {
namespace {

int open_null() {
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) != -1;
}

}  // namespace

TEST_CASE("a descriptor is closed once, by its last owner") {
  const int fd = open_null();
  {
    Descriptor first(fd);
    Descriptor second(std::move(first));
    CHECK(first.get() == -1);  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    Descriptor third;
    third = std::move(second);
    CHECK(third.get() == fd);
    CHECK(is_open(fd));
  }
  CHECK_FALSE(is_open(fd));
}

TEST_CASE("a released descriptor is not closed") {
  const int fd = open_null();
  CHECK(Descriptor(fd).release() == fd);
  CHECK(is_open(fd));
  ::close(fd);
}

TEST_CASE("a system error names path, problem and reason") {
  CHECK(refusal(ErrorKind::io, [] { throw_system_error("out.npy", "cannot be written", ENOSPC); }) ==
        "out.npy: cannot be written: No space left on device");
}

TEST_CASE("only an interrupted call is repeated") {
  int calls = 0;
  CHECK(retry_interrupted([&] {
          errno = EINTR;
          return ++calls < 3 ? -1 : 7;
        }) == 7);
  CHECK(calls == 3);
  CHECK(retry_interrupted([&] {
          errno = EIO;
          ++calls;
          return -1;
        }) == -1);
  CHECK(calls == 4);
}

}  // namespace clipper
