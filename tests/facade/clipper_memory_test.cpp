#include "clipper.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

/// Texts in requests, and memory as `clip` takes it, for programs that include clipper.hpp.
namespace clipper::testing {
namespace {

TEST_CASE("a view of a temporary tensor has its shape") {
  const std::vector<float> values{1, 2, 3};
  const auto view_of = [](const std::vector<float>& v) { return TensorView{tensor_for(v), v.data()}; };
  const TensorView view = view_of(values);
  CHECK(statistics(view).mean == 2.0);
}

TEST_CASE("texts in a request are profiles, bounds and what becomes of NaN") {
  std::vector<float> values{1, 2, 3, 4, 5};
  clip(values, {.min = "25%", .max = std::string("4e0"), .nan = "error", .profile = "clipper"});
  CHECK(values == std::vector<float>{2, 2, 3, 4, 4});
  CHECK(Request{.profile = "onnx"}.profile == profile_named("onnx-13"));
  CHECK(refusal(ErrorKind::usage, [] { static_cast<void>(Request{.profile = "onx"}); }) ==
        "profile 'onx' is unknown");
}

TEST_CASE("an error about a text in a request names its field") {
  struct Row {
    std::string_view field;
    Request request;
    std::string text = "abc";
  };
  for (const Row& row :
       {Row{"min", {.min = "abc"}}, Row{"max", {.min = 0, .max = "1 5"}, "1 5"}, Row{"nan", {.nan = "abc"}},
        Row{"scale", {.scale = Parameter::reciprocal("abc")}}, Row{"divide_zero", {.divide_zero = "abc"}},
        Row{"max_norm", {.max_norm = "abc"}}, Row{"stretch", {.min = 0, .max = 1, .stretch = {{0, "abc"}}}},
        Row{"stretch_from", {.stretch = {{0, 1}}, .stretch_from = {{"abc", 1}}}},
        Row{"nodata", {.min = 0, .nodata = {1, "abc"}}}}) {
    std::vector<float> values{1};
    try {
      clip(values, row.request);
      FAIL(row.field);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(error.field() == row.field);
      CHECK(error.what() ==
            fmt::format("{}: '{}' is not a number, a percentage, a statistic, a date, true or false",
                        row.field, row.text));
    }
  }
  CHECK(refusal(ErrorKind::usage, [] { clip_file("in.npy", "out.npy", {.max = "101%"}); }) ==
        "max 101%: a percentile is a number from 0% to 100%");
}

TEST_CASE("statistics and percentiles of memory are those of a file with the same elements") {
  std::vector<float> values(3'000'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 100'003) / 8;
  values[5] = std::numeric_limits<float>::quiet_NaN();
  values[6] = -std::numeric_limits<float>::infinity();
  const TemporaryDirectory directory{{"x.npy", float32_file(values)}};
  const std::string path = directory / "x.npy";
  const Tensor tensor = tensor_in(path);
  const std::array percentages{Number(0), Number(33), *parse_number("99.9")};
  CHECK(percentiles(TensorView{tensor, values.data()}, percentages) == percentiles(path, percentages));
  const Statistics expected = statistics(path);
  for (const unsigned threads : {1U, 0U}) {
    const Statistics found = statistics(TensorView{tensor, values.data()}, threads);
    CHECK(found.nan == 1);
    CHECK(found.negative_infinite == 1);
    CHECK((found.min == expected.min && found.max == expected.max && found.median == expected.median));
    CHECK((found.mean == expected.mean && found.standard_deviation == expected.standard_deviation));
  }
  CHECK_FALSE(statistics(TensorView{Tensor{DType::int8, {0}}, nullptr}).median);
}

TEST_CASE("ranges of elements are compared and described like tensors, and texts are paths") {
  const std::vector<float> values{1, 2, 3, 6};
  const std::array<float, 4> others{1, 2, 3, 5};
  const Statistics found = statistics(values);
  CHECK((found.mean == 3 && found.dtype == DType::float32 && found.shape == std::vector<std::int64_t>{4}));
  CHECK(percentiles(std::span(values), std::array{Number(100)}).front()->bits == to_bits(6.F));
  CHECK(compare_memory(values, others, {.atol = 1}).equal());
  CHECK(compare_memory(values, others).summary.starts_with("1 of 4 differ (25 %); first [3] actual 6 "));
  CHECK(compare_memory(values, std::array{1, 2, 3}).reason == "dtype float32, expected int32");
  const TemporaryDirectory directory;
  CHECK(refusal(ErrorKind::io, [&] {
          static_cast<void>(statistics(directory / "none.npy"));
        }).ends_with("none.npy: cannot be opened: No such file or directory"));
  CHECK(refusal(ErrorKind::io, [] { static_cast<void>(statistics("none.npy")); }).starts_with("none.npy: "));
}

TEST_CASE("elements in the other byte order, with gaps and unaligned are described and compared") {
  const Tensor swapped{DType::int16, {2, 2}, false, ByteOrder::big, {}, {5, 2}};
  const std::string memory("\0\1\0\2?\0\3\0\4", 9);  // 1 2, a byte between the rows, 3 4
  const TensorView view{swapped, memory.data()};
  CHECK(statistics(view).mean == 2.5);
  CHECK(percentiles(view, std::array{Number(100)}).front()->bits == 4);
  const std::array<std::int16_t, 4> elements{1, 3, 2, 4};
  const Tensor fortran{DType::int16, {2, 2}, true};
  CHECK(compare_memory(view, {fortran, elements.data()}).equal());
  CHECK(refusal(ErrorKind::usage, [&] { PreparedClip({.min = 0}, swapped); }) ==
        "a tensor with strides must be copied first");
}

}  // namespace
}  // namespace clipper::testing
