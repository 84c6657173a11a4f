#include <clipper/clipper.hpp>

/// A static library that needs clipper, for other projects.
float relu6(float x) {
  clipper::clip(std::span(&x, 1), {.min = 0, .max = 6});
  return x;
}
