#include "clipper.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

/// Prepared requests and arrays in memory for programs that include clipper.hpp.
namespace clipper::testing {
namespace {

Tensor floats(std::vector<std::int64_t> shape) {
  return {DType::float32, std::move(shape)};
}

}  // namespace

TEST_CASE("a prepared request clips tensors of any number of elements") {
  const PreparedClip prepared({.min = 0, .max = 6}, floats({1}));
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}, std::size_t{3'000'001}}) {
    std::vector<float> in(count, 7.5F);
    std::vector<float> out(count);
    if (count != 0) in.front() = -1;
    prepared.clip(in.data(), out.data(), count);
    std::vector<float> expected(count, 6);
    if (count != 0) expected.front() = 0;
    CHECK(out == expected);
    const Counts counts = prepared.clip_and_count(in.data(), in.data(), count, 2);
    CHECK(in == expected);
    CHECK(counts.elements == count);
    CHECK(counts.raised == (count == 0 ? 0 : 1));
    CHECK(counts.lowered == (count == 0 ? 0 : count - 1));
  }
}

TEST_CASE("a request is prepared for a byte order, a rank and a dtype") {
  const std::array<std::byte, 4> seven{std::byte{0x40}, std::byte{0xE0}, std::byte{0}, std::byte{0}};
  std::array<std::byte, 4> out{};
  PreparedClip({.max = 5}, {DType::float32, {}, false, ByteOrder::big}).clip(seven.data(), out.data(), 1);
  CHECK(out == std::array{std::byte{0x40}, std::byte{0xA0}, std::byte{0}, std::byte{0}});

  const Request request{.min = 0, .max = 1, .profile = profile_named("directml-1.0")};
  CHECK_NOTHROW(PreparedClip(request, floats({1, 1, 1, 2})));
  CHECK_THROWS_AS(PreparedClip(request, floats({2})), Error);
  CHECK_THROWS_AS(PreparedClip({.min = 300}, {DType::uint8, {2}}), Error);
}

TEST_CASE("arrays in memory are parameters, in any memory order") {
  const std::array<float, 3> lo{0, 1, 2};
  const std::array<float, 6> in{-1, 0, 1, 2, 3, 9};
  std::array<float, 6> out{};
  const Request request{.min = from_memory(floats({3}), lo.data())};
  const PreparedClip prepared(request, floats({2, 3}));
  prepared.clip(in.data(), out.data(), 6);
  CHECK(out == std::array<float, 6>{0, 1, 2, 2, 3, 9});
  CHECK_THROWS_AS(prepared.clip(in.data(), out.data(), 5), Error);

  Tensor fortran = floats({3, 2});
  fortran.fortran_order = true;
  PreparedClip({.max = from_memory(floats({3, 1}), lo.data())}, fortran).clip(in.data(), out.data(), 6);
  CHECK(out == std::array<float, 6>{-1, 0, 1, 0, 1, 2});

  const double one = 3;
  const double tenth = 0.1;  // no float32
  CHECK_NOTHROW(PreparedClip({.min = from_memory({DType::float64}, &tenth)}, floats({2})));
  CHECK_THROWS_AS(PreparedClip({.min = from_memory(floats({2}), lo.data())}, floats({2, 3})), Error);
  CHECK(from_memory({DType::float64}, &one).number == Number(3));
}

TEST_CASE("a refused array changes no element") {
  const std::array<float, 2> lo{0, std::nanf("")};
  std::array<float, 2> values{-1, -1};
  const auto clip_to_lo = [&](std::int64_t repeats) {
    std::vector<float> many(static_cast<std::size_t>(2 * repeats), -1);
    const PreparedClip prepared({.min = from_memory(floats({2}), lo.data())}, floats({repeats, 2}));
    CHECK_THROWS_AS(prepared.clip(many.data(), many.data(), many.size()), Error);
    CHECK(many == std::vector<float>(many.size(), -1));
  };
  clip_to_lo(1);
  clip_to_lo(1'000'000);
  CHECK_THROWS_AS(
      PreparedClip({.scale = 2, .nan = OnNan::error}, floats({2})).clip(lo.data(), values.data(), 2), Error);
  CHECK_THROWS_AS(PreparedClip({.nan = OnNan::error}, floats({2})).clip(lo.data(), values.data(), 2), Error);
  CHECK(values == std::array<float, 2>{-1, -1});
}

TEST_CASE("a prepared request clips to arrays of other calls") {
  const PreparedClip prepared({.max = 6}, floats({1}));
  for (const std::size_t count : {std::size_t{1}, std::size_t{5000}, std::size_t{3'000'001}})
    for (const bool may_clobber_output : {false, true}) {
      std::vector<float> in(count, -1);
      std::vector<float> lo(count, 2);
      std::vector<float> hi(count, 4);
      in.back() = 9;
      std::vector<float> expected(count, 2);
      expected.back() = 4;
      std::vector<float> out(count);
      const auto clip = [&](const PreparedClip::BoundArrays& bounds) {
        return prepared.try_clip_with_arrays(bounds, in.data(), out.data(), count);
      };
      CHECK(clip({lo.data(), hi.data(), may_clobber_output}));
      CHECK(out == expected);
      CHECK(clip({lo.data(), nullptr, may_clobber_output}));
      expected.back() = 6;
      CHECK(out == expected);
      CHECK(clip({nullptr, hi.data(), may_clobber_output}));
      CHECK(out.back() == 4);
      lo[count / 2] = 7;
      CHECK_FALSE(clip({lo.data(), nullptr, true}));
      hi.back() = std::nanf("");
      CHECK_FALSE(clip({nullptr, hi.data(), true}));
      out = expected;
      CHECK_FALSE(clip({lo.data(), nullptr, false}));
      CHECK_FALSE(clip({nullptr, hi.data(), false}));
      CHECK(out == expected);
      hi.back() = 4;
      CHECK(prepared.try_clip_with_arrays({nullptr, hi.data(), may_clobber_output}, in.data(), in.data(),
                                          count));
      CHECK(in.back() == 4);
    }
}

TEST_CASE("a request that does more than compare elements is not clipped to arrays of other calls") {
  const std::array<float, 3> in{1, 2, 3};
  std::array<float, 3> out{};
  const PreparedClip::BoundArrays bounds{.min = in.data()};
  for (const Request& request : {Request{.scale = 2}, Request{.nan = OnNan::error}, Request{.nan = 0},
                                 Request{.profile = profile_named("onnx-13")},
                                 Request{.min = 2, .max = 1, .min_above_max = clipper::MinAboveMax::min}})
    CHECK_FALSE(PreparedClip(request, floats({2})).try_clip_with_arrays(bounds, in.data(), out.data(), 2));
  const PreparedClip prepared({}, floats({2}));
  const auto* const unaligned = reinterpret_cast<const float*>(reinterpret_cast<const char*>(in.data()) + 1);
  CHECK_FALSE(prepared.try_clip_with_arrays({.min = unaligned}, in.data(), out.data(), 2));
  CHECK_FALSE(prepared.try_clip_with_arrays(bounds, unaligned, out.data(), 2));
  CHECK_FALSE(prepared.try_clip_with_arrays(bounds, out.data(), out.data() + 1, 2));
  CHECK(out == std::array<float, 3>{});
}

TEST_CASE("large results are the same in new memory and in memory that exists") {
  constexpr std::size_t kCount = 4'500'003;  // more than 16 MiB
  std::vector<float> in(kCount + 1);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 251);
  const PreparedClip prepared({.min = 20, .max = 90}, floats({1}));
  const std::vector<float> lo(kCount, 20);
  std::vector<float> expected = in;
  prepared.clip(in.data(), expected.data(), kCount, 1);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kCount; ++i) wrong += expected[i] != std::clamp(in[i], 20.0F, 90.0F) ? 1 : 0;
  CHECK(wrong == 0);
  std::vector<float> place(in.begin(), in.end() - 1);
  prepared.clip(place.data(), place.data(), kCount, 1);
  CHECK(std::equal(place.begin(), place.end(), expected.begin()));
  for (const unsigned threads : {1U, 2U})
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
      const auto is_expected = [&](const float* out, float around) {
        const bool is_same = std::equal(out + offset, out + offset + kCount, expected.begin());
        return is_same && out[offset + kCount] == around && (offset == 0 || out[0] == around);
      };
      const std::unique_ptr<float, void (*)(void*)> fresh(
          static_cast<float*>(std::calloc(kCount + 2, sizeof(float))), std::free);
      prepared.clip(in.data(), fresh.get() + offset, kCount, threads);
      CHECK(is_expected(fresh.get(), 0));
      std::vector<float> out(kCount + 2, -1);
      prepared.clip(in.data(), out.data() + offset, kCount, threads);
      CHECK(is_expected(out.data(), -1));
      out.assign(kCount + 2, -1);
      CHECK(
          prepared.try_clip_with_arrays({.min = lo.data()}, in.data(), out.data() + offset, kCount, threads));
      CHECK(is_expected(out.data(), -1));
      out.assign(kCount + 2, -1);
      const Counts counts = prepared.clip_and_count(in.data(), out.data() + offset, kCount, threads);
      CHECK(is_expected(out.data(), -1));
      CHECK(counts.raised == (kCount + 250) / 251 * 20);
    }
}

TEST_CASE("percentiles of elements in memory are prepared") {
  const std::array<float, 5> in{0, 1, 2, 3, 4};
  std::array<float, 5> out{};
  const Request request{.min = Parameter::percentile(25), .max = Parameter::percentile(75)};
  PreparedClip(request, floats({5}), in.data()).clip(in.data(), out.data(), 5);
  CHECK(out == std::array<float, 5>{1, 1, 2, 3, 3});
}

TEST_CASE("the header of a file tells what tensor it holds") {
  const TemporaryDirectory directory{{"x.npy", npy_file(">i2", "True", "(2, 3)", std::string(12, '\0'))}};
  const Tensor tensor = tensor_in(directory / "x.npy");
  CHECK(tensor.dtype == DType::int16);
  CHECK(tensor.shape == std::vector<std::int64_t>{2, 3});
  CHECK(tensor.fortran_order);
  CHECK(tensor.order == ByteOrder::big);
}

TEST_CASE("a comparison has a summary, if the tensors differ") {
  const TemporaryDirectory directory{{"a.npy", float32_file({1, 2})}, {"b.npy", float32_file({1, 2.5})}};
  const std::string a = directory / "a.npy";
  const std::string b = directory / "b.npy";
  CHECK(compare_files(a, b).summary ==
        "1 of 2 differ (50 %); first [1] actual 2 expected 2.5 (0.5, 2097152 ulp); max abs 0.5 at [1]; would "
        "pass with atol=0.5 or ulp=2097152");
  CHECK(compare_files(a, b, {.atol = 0.5}).summary.empty());
}

TEST_CASE("tolerance and any_dtype are those of the program") {
  const std::vector<float> floats{1, 2, 1000};
  const std::vector<float> near{1, 2.000002F, 1000.001F};
  CHECK(compare_memory(floats, near, {.tolerance = "torch"}).equal());
  const Comparison numpy = compare_memory(floats, near, {.tolerance = "numpy", .max_listed = 0});
  CHECK(numpy.mismatches == 2);
  CHECK(numpy.report.starts_with("2 of 3 differ (66.7 %); tolerance=numpy\n"));
  const std::vector<float> nan{std::numeric_limits<float>::quiet_NaN()};
  CHECK(compare_memory(nan, nan, {.tolerance = "numpy"}).equal());
  CHECK_FALSE(compare_memory(nan, nan, {.tolerance = "torch"}).equal());
  CHECK(compare_memory(nan, nan, {.nan_equal = true, .tolerance = "torch"}).equal());
  const std::vector<std::int64_t> integers{1, 2, 1000};
  CHECK(compare_memory(integers, floats).reason == "dtype int64, expected float32");
  CHECK(compare_memory(integers, floats, {.any_dtype = true}).equal());
  CHECK(compare_memory(integers, near, {.tolerance = "allclose"}).equal());
  const Comparison mixed = compare_memory(integers, near, {.any_dtype = true});
  CHECK((mixed.dtype == DType::float64 && mixed.actual_dtype == DType::int64 && mixed.mismatches == 2));
  CHECK((mixed.first[0].actual == 2 && mixed.largest == double{1000.001F} - 1000));
  const TemporaryDirectory directory{{"a.npy", float32_file({1, 2})},
                                     {"e.npy", tensor_of<std::int16_t>("<i2", {1, 3})}};
  const Comparison files = compare_files(directory / "a.npy", directory / "e.npy", {.any_dtype = true});
  CHECK((files.dtype == DType::float64 && files.actual_dtype == DType::float64 && files.mismatches == 1));
  const auto refused = [&](const CompareOptions& compare) {
    return refusal(ErrorKind::usage, [&] { static_cast<void>(compare_memory(floats, near, compare)); });
  };
  CHECK(refused({.rtol = 1, .tolerance = "torch"}) == "tolerance and rtol cannot be used together");
  CHECK(refused({.any_dtype = true, .bits = true}) == "any_dtype and bits cannot be used together");
  CHECK(refused({.tolerance = "pytorch"}) == "tolerance: unknown value 'pytorch'; did you mean 'torch'?");
}

TEST_CASE("tensors in memory are compared as files are, in any order and of any type") {
  using Kind = LogicalType::Kind;
  const TemporaryDirectory directory;
  const std::string elements = bytes_of<std::int64_t>({1, 2, 3, 4, 5, kNaT});
  std::string other = bytes_of<std::int64_t>({1, 9, 3, 4, 5, 6});
  struct Row {
    std::string descr;
    Tensor tensor;
  };
  for (const Row& row :
       {Row{"<i8", {DType::int64, {2, 3}}}, Row{"<i8", {DType::int64, {2, 3}, true}},
        Row{">u4", {DType::uint32, {3, 4}, false, ByteOrder::big}},
        Row{"|b1", {DType::uint8, {48}, false, kNativeOrder, {Kind::boolean}}},
        Row{"<M8[s]", {DType::int64, {6}, false, kNativeOrder, {Kind::datetime, *parse_unit("s")}}},
        Row{"<c16", {DType::float64, {3}, false, kNativeOrder, {Kind::complex}}},
        Row{"<f2", {DType::float16, {0, 5}}}}) {
    CAPTURE(row.descr, row.tensor.fortran_order);
    std::string shape;
    for (const std::int64_t size : row.tensor.shape) shape += std::to_string(size) + ", ";
    const bool is_empty = row.tensor.shape.front() == 0;
    const auto file = [&](const std::string& name, const std::string& bytes) {
      write_file(directory / name, npy_file(row.descr, row.tensor.fortran_order ? "True" : "False",
                                            "(" + shape + ")", is_empty ? "" : bytes));
      return directory / name;
    };
    const Comparison in_files = compare_files(file("a.npy", elements), file("e.npy", other), {.rtol = 1e-9});
    const Comparison found =
        compare_memory({row.tensor, elements.data()}, {row.tensor, other.data()}, {.rtol = 1e-9});
    CHECK(found.summary == in_files.summary);
    CHECK(found.report == in_files.report);
    CHECK(found.compared == in_files.compared);
    CHECK(compare_memory({row.tensor, elements.data()}, {row.tensor, elements.data()}).equal());
  }
  const Tensor row{DType::int64, {6}};
  const Tensor column{DType::int64, {6, 1}};
  CHECK(compare_memory({row, elements.data()}, {column, other.data()}).reason ==
        "shape (6,), expected (6, 1)");
  CHECK(compare_memory({row, elements.data()}, {row, other.data()}, {.atol = 1, .max_listed = 2}).report ==
        "2 of 6 differ (33.3 %); atol=1\n  max abs 9223372036854775814 at [5], max rel 1.54e+18\n"
        "  [1] actual 2 expected 9 (7)\n  [5] actual -9223372036854775808 expected 6 (9223372036854775814)\n"
        "  would pass with atol=9223372036854775814");
  CHECK(refusal(ErrorKind::usage, [&] {
          static_cast<void>(compare_memory({row, elements.data()}, {row, other.data()}, {.rtol = -1}));
        }) == "rtol -1: must be a finite number, 0 or more");
}

TEST_CASE("a clip to arrays of other calls ends when it is stopped") {
  const PreparedClip prepared({}, floats({2}));
  const std::array<float, 2> max{2, 3};
  const PreparedClip::BoundArrays bounds{.max = max.data()};
  std::array<float, 2> elements{1, 9};
  std::atomic<bool> stop = true;
  const auto clip = [&] {
    return prepared.try_clip_with_arrays(bounds, elements.data(), elements.data(), 2, 1, &stop);
  };
  CHECK(refusal(ErrorKind::cancelled, clip) == "cancelled");
  stop = false;
  CHECK(clip());
  CHECK(elements == std::array<float, 2>{1, 3});
}

}  // namespace clipper::testing
