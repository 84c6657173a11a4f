#include "command_line/version.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "clipper.hpp"
#include "element/joined.hpp"
#include "parallel/pool.hpp"
#include "simd/levels.hpp"

namespace clipper {
namespace {

#ifdef __clang__
constexpr std::string_view kCompiler = __VERSION__;  // "Clang 14.0.6"
#else
constexpr std::string_view kCompiler = "g++ " __VERSION__;
#endif

#ifdef CLIPPER_INSTRUMENTED
constexpr std::string_view kInstrumented = ", with sanitizers";
#else
constexpr std::string_view kInstrumented = "";
#endif

}  // namespace

std::string version_text() {
  std::vector<std::string_view> levels;
  for (const SimdLevel level : simd_levels()) levels.push_back(to_string(level));
  return fmt::format(
      "clipper {}\n"
      "SIMD level: {} (this CPU has {})\n"
      "oneTBB: {}\n"
      "build: {}, {}{}\n",
      version(), levels.back(), joined(levels, ", "), Pool::version(), kCompiler, CLIPPER_BUILD_TYPE,
      kInstrumented);
}

}  // namespace clipper
