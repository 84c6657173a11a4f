#include "engine/tensor_clip.hpp"

#include <random>

#include "support/parameter_arrays.hpp"
#include "support/refusal.hpp"

namespace clipper::testing {
namespace {

using Shape = std::vector<std::int64_t>;

TensorLayout header_of(const Shape& shape, bool fortran_order, DType dtype = DType::float32,
                       ByteOrder order = kNativeOrder) {
  TensorLayout header;
  header.dtype = dtype;
  header.order = order;
  header.fortran_order = fortran_order;
  header.shape = shape;
  for (const std::int64_t size : shape) header.count *= static_cast<std::uint64_t>(size);
  return header;
}

/// numpy's rule, one element at a time: where the array's element for this index is in the array's file.
std::size_t place_of(const TensorLayout& array, const std::vector<std::uint64_t>& index) {
  const std::size_t missing = index.size() - array.shape.size();
  std::size_t place = 0;
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    const std::size_t axis = array.fortran_order ? array.shape.size() - 1 - i : i;
    const auto size = static_cast<std::size_t>(array.shape[axis]);
    place = place * size + (size == 1 ? 0 : index[missing + axis]);
  }
  return place;
}

/// An array of a test: small integers, which every dtype holds.
struct Array {
  TensorLayout header;
  std::vector<float> elements;

  [[nodiscard]] float at(const std::vector<std::uint64_t>& index) const {
    return elements[place_of(header, index)];
  }

  [[nodiscard]] Parameter given(Held held) const {
    if (header.dtype == DType::float64)
      return array_of(header, std::vector<double>(elements.begin(), elements.end()), held);
    return array_of(header, elements, held);
  }
};

class Cases {
 public:
  explicit Cases(Shape shape) : shape_(std::move(shape)) {}

  Array array(const Shape& shape, float lowest, DType dtype = DType::float32) {
    const ByteOrder order = coin() ? ByteOrder::little : ByteOrder::big;
    Array result{header_of(shape, coin(), dtype, order), {}};
    std::generate_n(std::back_inserter(result.elements), result.header.count,
                    [&] { return lowest + static_cast<float>(random_() % 5); });
    return result;
  }

  /// Some axes have size 1, and some leading axes are missing.
  Shape broadcastable() {
    Shape shape = shape_;
    for (std::int64_t& size : shape)
      if (coin()) size = 1;
    const std::size_t missing = random_() % (shape.size() + 1);
    shape.erase(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(missing));
    return shape;
  }

  [[nodiscard]] bool coin() { return random_() % 2 == 0; }
  [[nodiscard]] std::size_t below(std::size_t limit) { return random_() % limit; }

 private:
  Shape shape_;
  std::mt19937 random_{1};
};

/// Clips in pieces of unequal lengths, as chunks and parts are.
std::vector<float> clipped_in_pieces(const Plan& plan, std::vector<float> elements, SimdLevel level,
                                     ElementCounts& counts) {
  TensorClip clip(plan, {level}, "in.npy");
  std::byte* const bytes = reinterpret_cast<std::byte*>(elements.data());
  std::size_t length = 1;
  for (std::size_t at = 0; at < elements.size(); at += length, length = length * 3 + 1) {
    length = std::min(length, elements.size() - at);
    std::byte* const piece = bytes + at * sizeof(float);
    counts += clip.clip(at, piece, piece, length, Counting::on);
  }
  clip.expect_valid();
  return elements;
}

void check_shape(const Shape& shape, int cases) {
  Cases random(shape);
  for (int i = 0; i < cases; ++i) {
    const TensorLayout header = header_of(shape, random.coin());
    const Array min = random.array(random.broadcastable(), -4);
    const Array max = random.array(random.broadcastable(), 1);
    const Array scale = random.array(random.broadcastable(), 1, DType::float64);
    const bool scales = random.coin();
    const Held held = random.coin() ? Held::yes : Held::no;
    INFO(fmt::format("case {}: {} order {}, min {}, max {}, scale {}, held {}", i, shape_text(shape),
                     header.fortran_order ? "F" : "C", shape_text(min.header.shape),
                     shape_text(max.header.shape), scales ? shape_text(scale.header.shape) : "no",
                     held == Held::yes));
    Request request;
    request.min = min.given(held);
    request.max = max.given(held);
    if (scales) request.scale = scale.given(held);
    if (min.header.count == 1) request.min = Parameter(min.elements[0]);
    if (max.header.count == 1) request.max = Parameter(max.elements[0]);
    if (scales && scale.header.count == 1) request.scale = Parameter(scale.elements[0]);

    std::vector<float> elements(header.count);
    std::vector<float> expected(header.count);
    ElementCounts expected_counts;
    for (std::size_t at = 0; at < elements.size(); ++at) {
      elements[at] = static_cast<float>(random.below(15)) - 7;
      const std::vector<std::uint64_t> index = index_of(header, at);
      const float g = scales ? elements[at] * scale.at(index) + 0.0F : elements[at];
      expected[at] = std::clamp(g, min.at(index), max.at(index));
      expected_counts.raised += expected[at] > g ? 1 : 0;
      expected_counts.lowered += expected[at] < g ? 1 : 0;
      expected_counts.changed |= expected[at] != elements[at];
    }
    const Plan plan = make_plan(request, header);
    for (const SimdLevel level : simd_levels()) {
      ElementCounts counts;
      REQUIRE(clipped_in_pieces(plan, elements, level, counts) == expected);
      REQUIRE(counts == expected_counts);
    }
  }
}

std::string refused(const Request& request, const TensorLayout& header, ErrorKind kind = ErrorKind::usage) {
  return refusal(kind, [&] {
    const Plan plan = make_plan(request, header);
    ElementCounts counts;
    static_cast<void>(clipped_in_pieces(plan, std::vector<float>(header.count), SimdLevel::baseline, counts));
  });
}

/// An array whose file another program changes: the first read returns `before`, later ones the elements.
class ChangedArray : public ArrayInMemory {
 public:
  ChangedArray(TensorLayout header, float before, float after)
      : ArrayInMemory(std::move(header), bytes_of(std::vector<float>(2, after)), Held::no),
        before_(bytes_of(std::vector<float>(2, before))) {}

  void read(std::uint64_t position, std::span<std::byte> elements) const override {
    ArrayInMemory::read(position, elements);
    if (reads_++ == 0) std::ranges::copy(std::as_bytes(std::span(before_)), elements.begin());
  }

 private:
  std::string before_;
  mutable int reads_ = 0;
};

}  // namespace

TEST_CASE("each element is clipped with the elements of the arrays that numpy's rule gives it") {
  for (const Shape& shape :
       {Shape{}, {1}, {7}, {2, 3}, {1, 5, 1}, {4, 1, 3, 2}, {3, 2, 2, 2, 5}, {6, 11, 13}})
    check_shape(shape, 60);
}

TEST_CASE("arrays are expanded for long rows, for long periods and for several tiles") {
  check_shape({3, 2, 700}, 30);   // rows of one number
  check_shape({5, 3, 6000}, 20);  // a period longer than a tile, and a longer one than is expanded once
  check_shape({20000, 3}, 20);    // short rows
  check_shape({3, 30000}, 10);
  check_shape({3, 40, 600}, 20);  // runs with elements of several rows
  check_shape({150, 300}, 10);    // columns far from each other
  check_shape({2, 600, 40}, 10);
}

TEST_CASE("a tensor without elements needs no parameters") {
  Request request;
  request.min = array_of<float>(header_of({0}, false), {}, Held::yes);
  const Plan plan = make_plan(request, header_of({3, 0}, false));
  ElementCounts counts;
  CHECK(clipped_in_pieces(plan, {}, SimdLevel::baseline, counts).empty());
}

TEST_CASE("the first refused parameter is named, whatever the order of the work") {
  const TensorLayout header = header_of({2, 3}, false);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  Request request;
  request.min = array_of<float>(header_of({3}, false), {0, nan, nan}, Held::yes);
  CHECK(refused(request, header) == "in.npy: min @array.npy: NaN at [1] cannot be a bound");
  request.min = array_of<float>(header_of({2, 1}, false), {0, 5}, Held::yes);
  request.max = Parameter(4);
  CHECK(refused(request, header) == "in.npy: min @array.npy (5) exceeds max 4 at [1, 0]");
  request.max = array_of<float>(header_of({3}, false), {7, 8, 4}, Held::no);
  CHECK(refused(request, header) == "in.npy: min @array.npy (5) exceeds max @array.npy (4) at [1, 2]");
  request.max = std::nullopt;
  request.scale = array_of<float>(header_of({3}, false), {7, -infinity, 4}, Held::no);
  CHECK(refused(request, header) == "in.npy: scale @array.npy: -inf at [1] is not a finite float32 number");
  request.scale = array_of<double>(header_of({3}, false, DType::float64), {7, 1e300, 4}, Held::no);
  CHECK(refused(request, header) == "in.npy: scale @array.npy: 1e+300 at [1] is not a finite float32 number");
}

TEST_CASE("a refused parameter that has changed when it is read again for the message is an error") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const TensorLayout header = header_of({2}, false);
  for (const auto parameter : {&Request::min, &Request::scale}) {
    Request request;
    Parameter given{Number{}, "@array.npy", DType::float32};
    given.shape = header.shape;
    given.array = std::make_shared<ChangedArray>(header, nan, 1.0F);
    request.*parameter = given;
    const Plan plan = make_plan(request, header);
    CHECK(refusal(ErrorKind::io, [&] { TensorClip clip(plan, {simd_levels().back()}, "in.npy"); }) ==
          "an array that is a parameter changed while it was read; try again");
  }
}

TEST_CASE("min above max at some elements follows min_above_max") {
  const TensorLayout header = header_of({4}, false);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Request request;
  request.min = array_of<float>(header_of({4}, false), {0, 5, 5, 0}, Held::yes);
  request.max = Parameter(4);
  const std::vector<float> elements{7, 7, nan, -7};
  const auto result = [&](MinAboveMax rule, OnNan nan_becomes) {
    request.min_above_max = rule;
    request.nan = nan_becomes;
    const Plan plan = make_plan(request, header);
    ElementCounts counts;
    return clipped_in_pieces(plan, elements, simd_levels().back(), counts);
  };
  CHECK(result(MinAboveMax::min, OnNan(-1)) == std::vector<float>{4, 5, -1, 0});
  CHECK(result(MinAboveMax::max, OnNan(-1)) == std::vector<float>{4, 4, -1, 0});
  CHECK(result(MinAboveMax::min, OnNan::min) == std::vector<float>{4, 5, 5, 0});
  CHECK(result(MinAboveMax::max, OnNan::min) == std::vector<float>{4, 4, 5, 0});
  CHECK(result(MinAboveMax::max, OnNan::max) == std::vector<float>{4, 4, 4, 0});
}

TEST_CASE("arrays are refused with the rules of other systems") {
  Request request;
  request.min = array_of<float>(header_of({3}, false), {0, 1, 2}, Held::yes);
  request.max = Parameter(4);
  request.profile = profile_named("openvino");
  CHECK(refused(request, header_of({3}, false)) ==
        "min @array.npy has shape (3,); OpenVINO Clamp-1 takes one number, profile clipper takes arrays");
}

TEST_CASE("an element for which min exceeds max does not change a number for later elements") {
  constexpr std::int64_t kCount = 400'000;  // many tiles
  const TensorLayout header = header_of({2, kCount}, false);
  Array array{header_of({kCount}, false), std::vector<float>(kCount, 0)};
  array.elements[1] = 5;
  std::vector<float> elements(2 * kCount, 3);
  ElementCounts counts;
  const auto clipped = [&](const Request& request) {
    return clipped_in_pieces(make_plan(request, header), elements, simd_levels().back(), counts);
  };
  std::vector<float> expected(2 * kCount, 2);
  expected[1] = expected[kCount + 1] = 5;
  CHECK((clipped({.min = array.given(Held::yes), .max = 2, .min_above_max = MinAboveMax::min}) == expected));

  for (float& x : array.elements) x = -x;
  elements.assign(2 * kCount, -3);
  expected.assign(2 * kCount, -3);
  expected[1] = expected[kCount + 1] = -4;
  CHECK((clipped({.min = -4, .max = array.given(Held::yes), .min_above_max = MinAboveMax::min}) == expected));
}

}  // namespace clipper::testing
