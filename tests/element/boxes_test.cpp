#include <random>

#include "element/tensor_layout.hpp"
#include "support/catch.hpp"

namespace clipper::testing {
namespace {

using Shape = std::vector<std::int64_t>;
using Positions = std::vector<std::uint64_t>;

constexpr std::uint64_t kMaxima[]{1, 2, 3, 7, 16, 100, 5000};

/// Shapes: without axes, with one long axis, with axes of 1, and 60 random ones of 1 to 5 axes.
std::vector<Shape> shapes() {
  std::vector<Shape> result{{}, {1}, {1000}, {1, 1, 1}, {1000, 2}, {2, 1000}, {3, 1, 300}, {31, 37}};
  std::mt19937 random{1};
  for (int i = 0; i < 60; ++i) {
    Shape& shape = result.emplace_back(random() % 5 + 1);
    for (std::int64_t& extent : shape) extent = random() % 6 + 1;
  }
  return result;
}

/// Advances to the next index of a box in a memory order; false after the last one.
bool advance(Positions& index, const Positions& extent, bool fortran_order) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::size_t axis = fortran_order ? i : index.size() - 1 - i;
    if (++index[axis] < extent[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

/// The position in the tensor's file of the element with the index `begin` + `index`.
std::uint64_t position_of(const Positions& shape, const Positions& begin, const Positions& index,
                          bool fortran_order) {
  std::uint64_t position = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = fortran_order ? shape.size() - 1 - i : i;
    position = position * shape[axis] + begin[axis] + index[axis];
  }
  return position;
}

/// The positions of a box's elements, in the order of the file.
Positions positions_of(const Shape& shape, const Box& box, bool fortran_order) {
  Positions result;
  Positions index(shape.size());
  do {
    result.push_back(position_of({shape.begin(), shape.end()}, box.begin, index, fortran_order));
  } while (advance(index, box.extent, fortran_order));
  return result;
}

std::uint64_t product(const Shape& shape) {
  std::uint64_t result = 1;
  for (const std::int64_t extent : shape) result *= static_cast<std::uint64_t>(extent);
  return result;
}

std::vector<std::byte> in_memory(const Positions& numbers, std::size_t size) {
  std::vector<std::byte> bytes(numbers.size() * size);
  for (std::size_t i = 0; i < numbers.size(); ++i) std::memcpy(&bytes[i * size], &numbers[i], size);
  return bytes;
}

/// Whether the ranges cover these positions, follow each other in the box, and do not touch in the file.
bool are_all(const std::vector<FileRange>& runs, const Positions& elements) {
  Positions positions;
  for (const FileRange& run : runs) {
    const bool is_apart = positions.empty() || positions.back() + 1 < run.position;
    if (run.at != positions.size() || !is_apart) return false;
    for (std::uint64_t i = 0; i < run.count; ++i) positions.push_back(run.position + i);
  }
  return positions == elements;
}

}  // namespace

TEST_CASE("every element is in exactly one box, and no box has more elements than allowed") {
  for (const Shape& shape : shapes())
    for (const std::uint64_t max : kMaxima) {
      CAPTURE(shape, max);
      const Boxes boxes(shape, max);
      std::vector<int> seen(product(shape));
      for (std::uint64_t i = 0; i < boxes.size(); ++i) {
        const Box box = boxes[i];
        const Positions positions = positions_of(shape, box, false);
        REQUIRE(positions.size() == box.count());
        REQUIRE(box.count() <= max);
        for (const std::uint64_t position : positions) ++seen[position];
      }
      CHECK((seen == std::vector(seen.size(), 1)));
    }
}

TEST_CASE("a box is the whole tensor if it fits, otherwise more than half of the allowed size") {
  for (const Shape& shape : shapes())
    for (const std::uint64_t max : kMaxima) {
      CAPTURE(shape, max);
      const Boxes boxes(shape, max);
      CHECK((boxes.size() == 1) == (product(shape) <= max));
      CHECK(2 * boxes[0].count() > std::min(max, product(shape)));
    }
}

TEST_CASE("the ranges of a large tensor's boxes are about equally long in both memory orders") {
  CHECK(Boxes(Shape{10'000, 10'000}, 4096)[0].extent == Positions{64, 64});
  CHECK(Boxes(Shape{10'000, 3, 10'000}, 4096)[0].extent == Positions{64, 1, 64});
  CHECK(Boxes(Shape{2, 1'000'000, 1'000'000}, 4096)[0].extent == Positions{2, 32, 64});
}

TEST_CASE("ranges are the elements of a box in the order of the file, each as long as possible") {
  for (const Shape& shape : shapes())
    for (const std::uint64_t max : kMaxima)
      for (const bool fortran_order : {false, true}) {
        const Boxes boxes(shape, max);
        for (std::uint64_t i = 0; i < boxes.size(); ++i) {
          CAPTURE(shape, max, fortran_order, i);
          REQUIRE(
              are_all(boxes.ranges(boxes[i], fortran_order), positions_of(shape, boxes[i], fortran_order)));
        }
      }
}

TEST_CASE("reorder() moves elements to the other memory order, and its reverse moves them back") {
  for (const Shape& shape : shapes()) {
    if (shape.empty()) continue;  // both orders are the same: nothing to reorder
    const Boxes boxes(shape, 100);
    const Box box = boxes[boxes.size() - 1];
    Positions in_c;  // numbers that identify the elements
    Positions in_fortran(box.count());
    Positions index(shape.size());
    do {
      in_fortran[position_of(box.extent, Positions(shape.size()), index, true)] = in_c.size();
      in_c.push_back(in_c.size());
    } while (advance(index, box.extent, false));
    for (const std::size_t size : {1U, 2U, 4U, 8U}) {
      CAPTURE(shape, size);
      const std::vector<std::byte> c = in_memory(in_c, size);
      const std::vector<std::byte> fortran = in_memory(in_fortran, size);
      std::vector<std::byte> reordered(c.size());
      reorder(box, true, size, fortran, reordered);
      CHECK((reordered == c));
      reorder(box, false, size, c, reordered);
      CHECK((reordered == fortran));
    }
  }
}

}  // namespace clipper::testing
