#define CATCH_CONFIG_RUNNER  // version 2 defines the Session only where this is set

#include "os/os.hpp"
#include "parallel/pool.hpp"
#include "support/catch.hpp"

int main(int argc, char** argv) {
  clipper::os::begin(argc, argv);
  ::umask(022);  // another user, as whom some tests run clipper, must be able to read the tests' files
  clipper::Pool::own_process();  // as the program: more threads than CPUs, with small stacks
  return Catch::Session().run(argc, argv);
}
