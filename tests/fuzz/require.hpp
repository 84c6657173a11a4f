#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace clipper::fuzz {

/// Ends the program, which every fuzzer takes for a find, unless the property holds.
inline void require(bool holds, const char* property, const std::string& details = "") {
  if (holds) return;
  std::fprintf(stderr, "violated: %s%s%s\n", property, details.empty() ? "" : ": ", details.c_str());
  std::abort();
}

}  // namespace clipper::fuzz
