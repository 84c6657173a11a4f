#include "npz/library.hpp"

#include "support/refusal.hpp"

using namespace clipper;

TEST_CASE("A library or function that is missing is not the archive's fault") {
  CHECK(refusal(ErrorKind::io, [] { const npz::Library library("libnone.so.7"); }) ==
        "libnone.so.7: cannot open shared object file: No such file or directory; .npz archives need it");
  CHECK_THAT(refusal(ErrorKind::io,
                     [] {
                       int (*function)() = nullptr;
                       npz::Library("libc.so.6").find("no_such_function", function);
                     }),
             Catch::Matchers::EndsWith("undefined symbol: no_such_function; .npz archives need it"));
}
