#pragma once

#include <string>
#include <string_view>

/// Paths that depend on where the source tree and the build directory are. Only paths.cpp is compiled with
/// them, so that ccache finds the other files again that another directory's build has compiled.
namespace clipper::testing {

/// source_path("data/in.npy"): a file of the source tree.
[[nodiscard]] std::string source_path(std::string_view path);

/// The program to test: $CLIPPER if set, otherwise the program of this build.
[[nodiscard]] std::string clipper_binary();

/// Debian's Python, which has python3-jsonschema.
[[nodiscard]] std::string debian_python();

}  // namespace clipper::testing
