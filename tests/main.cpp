#define CATCH_CONFIG_RUNNER  // version 2 defines the Session only where this is set
#include "support/catch.hpp"

int main(int argc, char** argv) {
  return Catch::Session().run(argc, argv);
}
