#include "npz/library.hpp"

#include "error.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace clipper;

TEST_CASE("A library or function that is missing is not the archive's fault") {
  CHECK(refusal(ErrorKind::io, [] { const npz::Library library("libnone.so.7"); }) ==
        "libnone.so.7 cannot be loaded; .npz archives need it");
  CHECK(refusal(ErrorKind::io, [] {
          int (*function)() = nullptr;
          npz::Library("libc.so.6").find("no_such_function", function);
        }) == "libc.so.6 cannot be loaded; .npz archives need it");
}
