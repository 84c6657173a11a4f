#include <random>

#include "element/tensor_layout.hpp"
#include "memory/elements.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

using Numbers = std::vector<std::int64_t>;

/// A view of memory that has room for it.
struct View {
  View(const Numbers& shape, std::size_t size, const Numbers& strides) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      (strides[axis] < 0 ? first : last) += std::abs(strides[axis]) * (shape[axis] - 1);
    bytes.resize(static_cast<std::size_t>(first + last) + size);
    std::mt19937 random(1);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  }

  std::int64_t first = 1;  // not aligned
  std::int64_t last = 0;
  std::vector<std::byte> bytes;
};

/// Calls use(from, to) with the offsets of all elements, in C order.
template <class Use>
void for_each_element(const Numbers& shape, const Numbers& from, const Numbers& to, const Use& use) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t source = 0;
    std::int64_t target = 0;
    std::int64_t rest = i;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
      source += rest % shape[axis] * from[axis];
      target += rest % shape[axis] * to[axis];
    }
    use(source, target);
  }
}

/// Copies a view to memory without gaps, in parts, and back to its place.
void check(const Numbers& shape, std::size_t size, const Numbers& strides, bool overlap = false) {
  const View view(shape, size, strides);
  const Numbers packed = strides_without_gaps(shape, size, false);
  std::vector<std::byte> expected;
  for_each_element(shape, strides, packed, [&](std::int64_t from, std::int64_t /*to*/) {
    const auto element = view.bytes.begin() + view.first + from;
    expected.insert(expected.end(), element, element + static_cast<std::int64_t>(size));
  });
  const std::size_t count = expected.size() / size;
  for (const SimdLevel level : simd_levels()) {
    const StridedCopy gather(shape, size, strides, packed, level);
    for (const std::size_t part : {std::size_t{7}, std::size_t{100}, count}) {
      std::vector<std::byte> copied(1 + expected.size());  // from the second byte on: not aligned
      for (std::size_t begin = 0; begin < count; begin += part)
        gather(view.bytes.data() + view.first, &copied[1 + begin * size], begin,
               std::min(part, count - begin));
      CHECK(std::ranges::equal(std::span(copied).subspan(1), expected));
    }
  }
  if (overlap) return;
  View other(shape, size, strides);
  const std::vector<std::byte> before(other.bytes.size(), std::byte{42});
  other.bytes = before;
  StridedCopy(shape, size, packed, strides)(expected.data(), other.bytes.data() + other.first, 0, count);
  for_each_element(shape, strides, packed, [&](std::int64_t from, std::int64_t to) {
    CHECK(std::memcmp(&other.bytes[static_cast<std::size_t>(other.first + from)],
                      &expected[static_cast<std::size_t>(to)], size) == 0);
    std::memcpy(&other.bytes[static_cast<std::size_t>(other.first + from)], before.data(), size);
  });
  CHECK((other.bytes == before));
}

}  // namespace

TEST_CASE("elements of a view are copied in C order, from any one on, and back, and no other byte changes") {
  for (const std::int64_t size : {1, 2, 4, 8, 16}) {
    CAPTURE(size);
    for (const std::int64_t step : {-3, -2, -1, 1, 2, 3, 4, 5})
      for (const std::int64_t count : {1, 2, 63, 64, 65, 259}) {
        CAPTURE(step, count);
        check({count}, static_cast<std::size_t>(size), {step * size});
        check({count}, static_cast<std::size_t>(size), {step * size + (step < 0 ? -1 : 1)});
      }
    const auto bytes = static_cast<std::size_t>(size);
    check({5, 40, 3}, bytes, {40 * 4 * size, 4 * size, size});   // three of four channels
    check({5, 40, 3}, bytes, {40 * 3 * size, 3 * size, -size});  // channels backwards
    check({3, 5, 40}, bytes, {size, 40 * 3 * size, 3 * size});   // channels first
    check({6, 70}, bytes, {-100 * size, size});                  // a window
    check({6, 2, 35}, bytes, {70 * size, 35 * size, size});      // no gaps
    check({4, 1, 30, 1}, bytes, {size, 7, 4 * size, -9});        // Fortran's order
    check({2, 3, 2, 3, 2, 3}, bytes, {324 * size, 108 * size, -36 * size, 12 * size, 6 * size, 2 * size});
  }
}

TEST_CASE("short rows are copied in any order of rows and elements") {
  for (const std::int64_t size : {1, 2, 4, 8})
    for (const std::int64_t extent : {2, 3, 4, 7})
      for (const std::int64_t step : {-2, -1, 1, 2})
        for (const std::int64_t gap : {0, 1, 3})
          for (const std::int64_t rows : {1, 2, 16, 61}) {
            const std::int64_t distance = (std::abs(step) * (extent - 1) + 1 + gap) * size;
            CAPTURE(size, extent, step, gap, rows);
            for (const std::int64_t next : {distance, -distance, size})  // size: windows that overlap
              check({rows, extent}, static_cast<std::size_t>(size), {next, step * size}, next == size);
          }
}

TEST_CASE("views without elements and with one are copied") {
  const Numbers shape{3, 0, 1LL << 40};
  const Numbers strides{1LL << 62, 5, 1LL << 62};
  StridedCopy(shape, 8, strides, strides)(nullptr, nullptr, 0, 0);
  const Numbers none;
  double number = 0;
  const double other = 7;
  StridedCopy(none, 8, none, none)(reinterpret_cast<const std::byte*>(&other),
                                   reinterpret_cast<std::byte*>(&number), 0, 1);
  CHECK(number == other);
}

}  // namespace clipper
