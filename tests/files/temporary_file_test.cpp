#include "files/temporary_file.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include "error.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"

namespace clipper::testing {

TEST_CASE("a temporary file has no name and is read at any offset") {
  const TemporaryDirectory directory;
  set_temporary_directory(directory.path());
  TemporaryFile file("a.npz:w", 6);
  file.write(bytes("abc"));
  file.write(bytes("def"));
  CHECK(directory.entries().empty());
  const Descriptor fd = file.release();
  std::array<std::byte, 4> read{};
  CHECK(read_at(fd, read, 2, "file") == 4);
  CHECK(static_cast<char>(read[0]) == 'c');
  set_temporary_directory("/var/tmp");
}

TEST_CASE("a temporary file that is larger than the free space is refused before it is written") {
  CHECK(refusal(ErrorKind::io, [] {
          const TemporaryFile file("a.npz:w", std::numeric_limits<std::uint64_t>::max());
        }) == "a.npz:w: cannot be inflated to /var/tmp: No space left on device; name another directory");
}

}  // namespace clipper::testing
