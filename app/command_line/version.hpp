#pragma once

#include <string>

namespace clipper {

/// What --version prints: "clipper 0.1.0", and lines about this build and this CPU.
[[nodiscard]] std::string version_text();

}  // namespace clipper
