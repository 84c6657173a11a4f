#include <array>
#include <clipper/clipper.hpp>
#include <vector>

/// Clips elements in memory, in place and from one array to another. Exits with 0 if the results are right.
int main() {
  std::vector<float> values{-1.5F, 0.25F, 7.0F};
  const clipper::Counts counts = clipper::clip(values, {.min = 0, .max = 6});
  const bool in_place = values == std::vector{0.0F, 0.25F, 6.0F} && counts.raised == 1;

  const std::array<std::uint8_t, 3> in{1, 2, 200};
  std::array<std::uint8_t, 3> out{};
  clipper::clip(in, out, {.max = 6, .scale = 0.5, .bias = 1});
  return in_place && out == std::array<std::uint8_t, 3>{1, 2, 6} ? 0 : 1;
}
