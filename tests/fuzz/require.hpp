#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace clipper::fuzz {

/// Aborts the program if the property does not hold. Every fuzzer reports this as a find.
inline void require(bool holds, const char* property, const std::string& details = "") {
  if (holds) return;
  std::fprintf(stderr, "violated: %s%s%s\n", property, details.empty() ? "" : ": ", details.c_str());
  std::abort();
}

}  // namespace clipper::fuzz
