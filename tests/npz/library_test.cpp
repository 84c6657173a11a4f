#include "npz/archive.hpp"
#include "support/refusal.hpp"

using namespace clipper;

TEST_CASE("A library or function that is missing is not the archive's fault") {
  CHECK(refusal(ErrorKind::io, [] { static_cast<void>(npz::loaded_function("libnone.so.7", "inflate")); }) ==
        "libnone.so.7: cannot open shared object file: No such file or directory; .npz archives need it");
  CHECK_THAT(refusal(ErrorKind::io,
                     [] { static_cast<void>(npz::loaded_function("libc.so.6", "no_such_function")); }),
             Catch::Matchers::EndsWith("undefined symbol: no_such_function; .npz archives need it"));
}
