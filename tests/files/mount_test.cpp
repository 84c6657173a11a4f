#include "files/mount.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "files/descriptor.hpp"
#include "support/catch.hpp"

namespace clipper::testing {

TEST_CASE("tmpfs is a file system of one machine; /proc is not a known one") {
  const Descriptor memory(::memfd_create("clipper-test", MFD_CLOEXEC));
  REQUIRE(memory.get() >= 0);
  CHECK(is_of_one_machine(memory.get()));
  const Descriptor process(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  REQUIRE(process.get() >= 0);
  CHECK_FALSE(is_of_one_machine(process.get()));
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const Descriptor input(ends[0]);
  const Descriptor output(ends[1]);
  CHECK_FALSE(is_of_one_machine(input.get()));
  CHECK_FALSE(is_of_one_machine(-1));
}

TEST_CASE("file systems of the kernel are not FUSE, whatever type is asked for") {
  const Descriptor memory(::memfd_create("clipper-test", MFD_CLOEXEC));
  const Descriptor process(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  for (const char* type : {"fuse.sshfs", "tmpfs", "proc", ""})
    for (const int fd : {memory.get(), process.get(), -1}) CHECK_FALSE(is_on_fuse(fd, type));
}

}  // namespace clipper::testing
