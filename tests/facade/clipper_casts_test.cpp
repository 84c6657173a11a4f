#include "clipper.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

/// Other dtypes, rounding and replacements for programs that include clipper.hpp.
namespace clipper::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::size_t kMany = 3'000'001;  // more than 4 MiB of every dtype but uint8: several threads

template <class T>
std::string file_of(const std::vector<T>& elements) {
  const DTypeTraits& row = traits(dtype_of<T>());
  const std::string descr = (row.size == 1 ? "|" : "<") + std::string(row.descr);
  return tensor_of(descr, elements);
}

/// The elements that `in` becomes.
template <class To, class From>
std::vector<To> cast(const std::vector<From>& in, Request request, unsigned threads = 0) {
  std::vector<To> out(in.size());
  request.to = dtype_of<To>();
  clip(in, out, request, threads);
  return out;
}

/// Floats whose fractions are quarters, from -1000 to 1000.
std::vector<float> quarters() {
  std::vector<float> elements(kMany);
  for (std::size_t i = 0; i < kMany; ++i) elements[i] = static_cast<float>(i * 7919 % 8001) / 4 - 1000;
  return elements;
}

}  // namespace

TEST_CASE("to, round, saturate and scale are handed on, and counts include what the output's dtype changes") {
  // tests/clip/convert_test.cpp and tests/fuzz/clips_vs_exact.py have the arithmetic.
  const std::vector<double> in{-3.5, 0.5, 1.5, 2.5, 300.0, 1e300, -kInf};
  CHECK(cast<std::uint8_t>(in, {}) == std::vector<std::uint8_t>{0, 0, 2, 2, 255, 255, 0});
  CHECK(cast<std::int64_t>(in, {.min = -2, .max = 7.5, .round = Round::ceil}) ==
        std::vector<std::int64_t>{-2, 1, 2, 3, 8, 8, -2});
  CHECK(cast<float>(in, {.saturate = true}).back() == std::numeric_limits<float>::lowest());
  CHECK(cast<BFloat16>(std::vector<double>{1 + 0x1p-8 + 0x1p-30}, {})[0].bits == 0x3f81);
  CHECK(cast<float>(std::vector<Float16>{Float16{0x3c00}}, {.scale = 3}) == std::vector<float>{3});
  std::array<std::uint8_t, 7> out{};
  const Counts counts = clip(in, out, {.max = 7, .to = DType::uint8});
  CHECK(counts.elements == 7);
  CHECK(counts.raised == 2);
  CHECK(counts.lowered == 2);
  CHECK(counts.changed);
}

TEST_CASE("a file becomes another dtype in place, but not directly") {
  const TemporaryDirectory directory{{"x.npy", float32_file({-1, 0.5F, 9})}};
  const std::string path = directory / "x.npy";
  CHECK(refusal(ErrorKind::usage, [&] {
          clip_in_place(path, {.to = DType::uint8}, {.direct = true});
        }).find("direct") != std::string::npos);
  CHECK(read_file(path) == float32_file({-1, 0.5F, 9}));
  needs_posix("to replace an open file");
  CHECK(clip_in_place(path, {.max = 6, .to = DType::uint8}).lowered == 1);
  CHECK(read_file(path) == file_of(std::vector<std::uint8_t>{0, 0, 6}));
  clip_file(path, path, {.to = DType::float64});
  CHECK(read_file(path) == file_of(std::vector<double>{0, 0, 6}));
}

TEST_CASE("out must have elements of the result's dtype") {
  const std::vector<float> in{-1, 9};
  std::vector<std::uint8_t> bytes{1, 2};
  std::vector<float> floats{1, 2};
  CHECK(refusal(ErrorKind::usage, [&] { clip(in, bytes, {.max = 6}); }) ==
        "the result is float32, but out has elements of uint8");
  CHECK(refusal(ErrorKind::usage, [&] { clip(in, bytes, {.max = 6, .to = DType::int8}); }) ==
        "to is int8, but out has elements of uint8");
  CHECK(refusal(ErrorKind::usage, [&] { clip(in, floats, {.to = DType::uint8}); }) ==
        "to is uint8, but out has elements of float32");
  CHECK(refusal(ErrorKind::usage, [&] { clip(in, std::vector<std::uint8_t>(3), {.to = DType::uint8}); }) ==
        "in and out have different sizes");
  CHECK(bytes == std::vector<std::uint8_t>{1, 2});
  CHECK(floats == std::vector<float>{1, 2});
}

TEST_CASE("another dtype needs other memory") {
  std::vector<float> values{-1, 9, 2, 3};
  const std::vector<float> before = values;
  const Request to_uint8{.to = DType::uint8};
  CHECK(refusal(ErrorKind::usage, [&] { clip(values, to_uint8); }) ==
        "float32 elements cannot become uint8 in the same memory");
  const Request to_int32{.to = DType::int32};
  const PreparedClip prepared(to_int32, {DType::float32, {4}});
  CHECK_THROWS_AS(prepared.clip(values.data(), values.data(), 4), Error);
  const Request to_float64{.to = DType::float64};
  CHECK_THROWS_AS(clip(DType::float32, values.data() + 2, values.data(), 2, to_float64), Error);
  CHECK_THROWS_AS(clip(DType::float32, values.data(), values.data() + 3, 4, to_uint8), Error);
  CHECK(values == before);
  clip(values, {.round = Round::half_even, .to = DType::float32});
  CHECK(values == before);
  clip(values, {.scale = 0.25, .round = Round::floor});
  CHECK(values == std::vector<float>{-1, 2, 0, 0});
}

TEST_CASE("results have the byte order of the tensor") {
  const std::array<unsigned char, 8> one{0x3f, 0x80, 0, 0, 0x40, 0x40, 0, 0};  // 1, 3
  std::array<unsigned char, 4> out{};
  PreparedClip({.to = DType::int16}, {DType::float32, {2}, false, ByteOrder::big})
      .clip(one.data(), out.data(), 2);
  CHECK(out == std::array<unsigned char, 4>{0, 1, 0, 3});
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    PreparedClip({.to = DType::uint16}, {DType::uint8, {2}, false, order}).clip(one.data(), out.data(), 2);
    const bool is_big = order == ByteOrder::big;
    CHECK(out[is_big ? 1 : 0] == 0x3f);
    CHECK(out[is_big ? 0 : 1] == 0);
  }
}

TEST_CASE("elements beyond a bound are replaced") {
  std::vector<float> place{-1, 0, 3, 6, 7, kNan};
  const Counts counts =
      clip(place, {.min = 0, .max = 6, .nan = 2, .replace_below = kNan, .replace_above = -5});
  CHECK(std::isnan(place[0]));
  CHECK(std::vector(place.begin() + 1, place.end()) == std::vector<float>{0, 3, 6, -5, 2});
  CHECK(counts.raised == 1);
  CHECK(counts.lowered == 1);
  CHECK(counts.replaced == 2);
  CHECK(counts.nan == 1);
  CHECK(refusal(ErrorKind::usage, [&] { clip(place, {.max = 6, .replace_below = 1}); }) ==
        "replace_below requires min");
}

TEST_CASE("a reciprocal scale divides, as a number and as an array") {
  const std::vector<float> in{0.15F, 0.25F, -0.35F, 30};
  const std::vector<float> scales{0.1F, 0.05F, 0.1F, 1};
  const Parameter each = Parameter::reciprocal(from_memory({DType::float32, {4}}, scales.data()));
  CHECK(cast<std::uint8_t>(in, {.scale = Parameter::reciprocal(0.1F), .zero_point = 128}) ==
        std::vector<std::uint8_t>{130, 130, 124, 255});  // 0.15F / 0.1F is 1.5, 0.35F / 0.1F is 3.5
  CHECK(cast<std::int32_t>(in, {.scale = each}) == std::vector<std::int32_t>{2, 5, -4, 30});
  CHECK_THROWS_AS(cast<std::uint8_t>(in, {.scale = Parameter::reciprocal(0)}), Error);
}

TEST_CASE("arrays and percentiles are bounds of a cast") {
  const std::vector<float> in = quarters();
  std::vector<float> low(kMany);
  std::vector<std::int16_t> expected(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    low[i] = static_cast<float>(i % 5) - 2;
    expected[i] = static_cast<std::int16_t>(std::nearbyint(std::min(std::max(in[i], low[i]), 500.25F)));
  }
  const Request arrays{.min = from_memory({DType::float32, {kMany}}, low.data()), .max = 500.25};
  CHECK((cast<std::int16_t>(in, arrays) == expected));
  CHECK((cast<std::int16_t>(in, arrays, 1) == expected));

  for (std::size_t i = 0; i < kMany; ++i)
    expected[i] = static_cast<std::int16_t>(std::nearbyint(std::min(std::max(in[i], -500.0F), 500.0F)));
  const Request percentiles{.min = Parameter::percentile(25), .max = Parameter::percentile(75)};
  CHECK((cast<std::int16_t>(in, percentiles) == expected));

  low[kMany - 2] = kNan;
  CHECK(refusal(ErrorKind::usage, [&] { cast<std::int16_t>(in, arrays); }) ==
        fmt::format("min array: NaN at [{}] cannot be a bound", kMany - 2));
}

TEST_CASE("NaN cannot become an integer, unless another number replaces it") {
  for (const std::size_t count : {std::size_t{3}, kMany}) {
    std::vector<float> in(count, 1);
    in[count - 2] = kNan;
    const std::string position = fmt::format("NaN at element {}", count - 2);
    for (const unsigned threads : {0U, 1U})
      CHECK(refusal(ErrorKind::input, [&] { cast<std::uint8_t>(in, {}, threads); }) ==
            position + " cannot become uint8; to replace NaN, add nan=0");
    CHECK(refusal(ErrorKind::input, [&] { cast<Float16>(in, {.nan = OnNan::error}); }) == position);
    CHECK(cast<std::uint8_t>(in, {.nan = 7})[count - 2] == 7);
    CHECK(std::isnan(cast<double>(in, {})[count - 2]));
  }
  const std::vector<float> infinite{1, kInf};
  CHECK_THROWS_AS(cast<std::uint8_t>(infinite, {.scale = 0}), Error);
}

TEST_CASE("a request for another dtype is prepared once") {
  const PreparedClip prepared({.scale = 2, .to = DType::int8}, {DType::float32, {1}});
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}, kMany}) {
    const std::vector<float> in(count, 2.25F);
    std::vector<std::int8_t> out(count);
    prepared.clip(in.data(), out.data(), count);
    CHECK((out == std::vector<std::int8_t>(count, 4)));
    CHECK(prepared.clip_and_count(in.data(), out.data(), count, 2).changed == (count != 0));
    CHECK_FALSE(prepared.try_clip_with_arrays({.min = in.data()}, in.data(), out.data(), count));
  }
  CHECK_THROWS_AS(PreparedClip({.min = 300, .to = DType::uint8}, {DType::float32, {1}}), Error);
}

}  // namespace clipper::testing
