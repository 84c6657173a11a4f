#pragma once

#include "error.hpp"
#include "support/catch.hpp"

namespace clipper {

/// The message of the Error that `work` must throw, with this kind.
template <class Work>
std::string refusal(ErrorKind kind, Work work) {
  try {
    work();
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(static_cast<int>(error.kind()) == static_cast<int>(kind));
    return error.what();
  }
  FAIL_CHECK("nothing was refused");
  return "";
}

}  // namespace clipper
