#include <numeric>

#include "clipper.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

/// Arrays and percentiles as parameters for programs that include clipper.hpp.
namespace clipper::testing {
namespace {

/// Files of a tensor of shape (2, 3) and of arrays that broadcast to it.
struct Files {
  TemporaryDirectory directory;
  std::string tensor = write("x.npy", "(2, 3)", {-1, 0, 1, 2, 3, 9});
  std::string lo = write("lo.npy", "(3,)", {0, 1, 2});
  std::string hi = write("hi.npy", "(2, 1)", {2, 5});
  std::string out = directory / "out.npy";

  [[nodiscard]] std::string write(std::string_view name, std::string_view shape,
                                  const std::vector<float>& elements) const {
    directory.write(name, tensor_of("<f4", elements, shape));
    return directory / name;
  }
};

std::vector<float> thousand() {
  std::vector<float> elements;
  for (int i = 0; i <= 1000; ++i) elements.push_back(static_cast<float>(i * 5 % 1001));
  return elements;
}

Request percentiles_as_bounds() {
  return {.min = Parameter::percentile(1), .max = Parameter::percentile(99)};
}

}  // namespace

TEST_CASE("files are clipped to arrays from files") {
  const Files files;
  const Request request{.min = from_file(files.lo), .max = from_file(files.hi)};
  const std::string expected = tensor_of<float>("<f4", {0, 1, 2, 2, 3, 5}, "(2, 3)");
  const Counts counts = clip_file(files.tensor, files.out, request);
  CHECK(counts.elements == 6);
  CHECK(counts.raised == 3);
  CHECK(counts.lowered == 1);
  CHECK(read_file(files.out) == expected);
  needs_posix("to replace an open file");
  for (const bool direct : {false, true}) {
    std::filesystem::copy_file(files.tensor, files.out, std::filesystem::copy_options::overwrite_existing);
    CHECK(clip_in_place(files.out, request, {.direct = direct}).raised == 3);
    CHECK(read_file(files.out) == expected);
  }
}

TEST_CASE("a file that a parameter or the input reads is no output") {
  const Files files;
  const std::string before = read_file(files.lo);
  const Request request{.min = from_file(files.lo), .max = 4};
  const std::string reads = ", which min reads";
  CHECK(refusal(ErrorKind::usage, [&] { clip_file(files.tensor, files.lo, request); }) ==
        files.tensor + " would be written to " + files.lo + reads);
  for (const bool direct : {false, true})
    CHECK(refusal(ErrorKind::usage, [&] { clip_in_place(files.lo, request, {.direct = direct}); }) ==
          files.lo + " would be written to " + files.lo + reads);
  const std::string one = files.write("one.npy", "(1,)", {1});
  CHECK(refusal(ErrorKind::usage, [&] { clip_file(files.tensor, one, {.bias = from_file(one)}); }) ==
        files.tensor + " would be written to " + one + ", which bias reads");
  CHECK(read_file(files.lo) == before);
  clip_file(files.lo, files.out, request);
}

TEST_CASE("arrays of other dtypes in memory are exact bounds") {
  const std::vector<std::uint8_t> x{0, 5, 9};
  const std::vector<double> fractions{1.5, 7.5, 7.5};
  const Tensor layout{.dtype = DType::float64, .shape = {3}};
  Request request{.min = from_memory(layout, fractions.data())};
  std::vector<std::uint8_t> cut(3);
  clip(TensorView{{.dtype = DType::uint8, .shape = {3}}, x.data()},
       WritableTensor{{.dtype = DType::uint8, .shape = {3}}, cut.data()}, request);
  CHECK(cut == std::vector<std::uint8_t>{1, 7, 9});
  request.to = DType::float32;
  std::vector<float> exact(3);
  clip(TensorView{{.dtype = DType::uint8, .shape = {3}}, x.data()},
       WritableTensor{{.dtype = DType::float32, .shape = {3}}, exact.data()}, request);
  CHECK(exact == std::vector<float>{1.5F, 7.5F, 9});
}

TEST_CASE("scale and bias can be arrays, mixed with numbers") {
  const Files files;
  clip_file(files.tensor, files.out, {.max = 12, .scale = from_file(files.hi), .bias = from_file(files.lo)});
  CHECK(read_file(files.out) == tensor_of<float>("<f4", {-2, 1, 4, 10, 12, 12}, "(2, 3)"));
  clip_file(files.tensor, files.out, {.scale = 2, .bias = from_file(files.lo)});
  CHECK(read_file(files.out) == tensor_of<float>("<f4", {-2, 1, 4, 4, 7, 20}, "(2, 3)"));
}

TEST_CASE("elements in memory are clipped to an array of shape (count,) or (1,)") {
  const Files files;
  std::vector<float> elements{-1, 9, 1};
  const Counts counts = clip(elements, {.min = from_file(files.lo), .max = 5});
  CHECK(elements == std::vector<float>{0, 5, 2});
  CHECK(counts.raised == 2);
  CHECK(counts.lowered == 1);
  const std::string one = files.write("one.npy", "(1,)", {1});
  clip(elements, {.min = from_file(one)});
  CHECK(elements == std::vector<float>{1, 5, 2});

  constexpr std::size_t kCount = 1'000'000;  // 4 MB: not held, and many chunks
  std::vector<float> bounds(kCount);
  std::iota(bounds.begin(), bounds.end(), 0.0F);
  const std::string many = files.write("many.npy", "(1000000,)", bounds);
  std::vector<float> zeros(kCount);
  CHECK(clip(zeros, {.min = from_file(many)}).raised == kCount - 1);
  CHECK((zeros == bounds));
}

TEST_CASE("a refused array leaves memory and files unchanged, and the error names the parameter") {
  const Files files;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::string bad = files.write("bad.npy", "(3,)", {0, nan, 2});
  std::vector<float> elements{-1, 9, 1};
  CHECK(refusal(ErrorKind::usage, [&] { clip(elements, {.min = from_file(bad)}); }) ==
        "min @" + bad + ": NaN at [1] cannot be a bound");
  CHECK(refusal(ErrorKind::input, [&] { clip(elements, {.bias = from_file(files.hi)}); }) ==
        "bias @" + files.hi + " has shape (2, 1); it must broadcast to (3,)");
  CHECK(elements == std::vector<float>{-1, 9, 1});
  const std::string before = read_file(files.tensor);
  for (const bool direct : {false, true})
    CHECK(refusal(ErrorKind::usage, [&] {
            clip_in_place(files.tensor, {.max = from_file(bad)}, {.direct = direct});
          }) == files.tensor + ": max @" + bad + ": NaN at [1] cannot be a bound");
  CHECK(read_file(files.tensor) == before);
}

TEST_CASE("an array is read once and serves many calls") {
  const Files files;
  const Request request{.min = from_file(files.lo)};
  std::filesystem::remove(files.lo);
  for (int i = 0; i < 2; ++i) clip_file(files.tensor, files.out, request);
  CHECK(read_file(files.out) == tensor_of<float>("<f4", {0, 1, 2, 2, 3, 9}, "(2, 3)"));
}

TEST_CASE("percentiles() finds the percentiles of a file") {
  const TemporaryDirectory directory{{"x.npy", float32_file(thousand())}};
  const std::array wanted{Number(50), *parse_number("99.95")};
  const auto found = percentiles(directory / "x.npy", wanted);
  REQUIRE(found.size() == 2);
  CHECK(from_bits<float>(found[0]->bits) == 500);
  CHECK(from_bits<float>(found[1]->bits) == 999.5F);
  for (const Number& bad : {Number(101), Number(-1), Number(99.9)})
    CHECK(refusal(ErrorKind::usage, [&] {
            return percentiles(directory / "x.npy", std::array{bad});
          }).ends_with(": a percentile is a number from 0 to 100 with max 16 decimal places"));
  directory.write("e.npy", float32_file({}));
  CHECK(percentiles(directory / "e.npy", wanted)[0] == std::nullopt);
  const std::array half{Number(50)};
  CHECK(percentiles(std::array<std::uint8_t, 2>{0, 1}, half)[0] == Scalar{DType::float64, to_bits(0.5)});
  CHECK(percentiles(std::array<std::uint8_t, 2>{0, 2}, half)[0] == Scalar{DType::uint8, 1});
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  CHECK(percentiles(std::array{kHighest - 1, kHighest}, half)[0] == Scalar{DType::int64, kHighest - 1});
}

TEST_CASE("files and memory are clipped to percentiles") {
  const TemporaryDirectory directory{{"x.npy", float32_file(thousand())}};
  const std::string expected = float32_file(clipped(thousand(), 10, 990));
  const Counts counts = clip_file(directory / "x.npy", directory / "y.npy", percentiles_as_bounds());
  CHECK(counts.raised == 10);
  CHECK(counts.lowered == 10);
  CHECK((directory.read("y.npy") == expected));
  std::vector<float> elements = thousand();
  CHECK(clip(elements, percentiles_as_bounds()).raised == 10);
  CHECK(elements == clipped(thousand(), 10, 990));

  std::vector<std::uint16_t> large(5'000'000);
  std::iota(large.begin(), large.end(), std::uint16_t{0});
  std::vector<std::uint16_t> out(large.size());
  clip(large, out, {.max = Parameter::percentile(50)}, 3);
  std::vector<std::uint16_t> sorted = large;
  std::ranges::nth_element(sorted, sorted.begin() + 2'499'999);
  for (std::uint16_t& x : large) x = std::min(x, sorted[2'499'999]);
  CHECK(out == large);

  CHECK(Parameter::percentile(99.9).expression.alone()->percentage == *parse_number("99.9"));

  // Elements at an odd address
  std::vector<std::byte> bytes(4 * 1001 + 1);
  const std::vector<float> in = thousand();
  std::memcpy(bytes.data() + 1, in.data(), 4 * in.size());
  clip(DType::float32, bytes.data() + 1, bytes.data() + 1, in.size(), percentiles_as_bounds());
  CHECK(std::memcmp(bytes.data() + 1, elements.data(), 4 * in.size()) == 0);

  needs_posix("to replace an open file");
  clip_in_place(directory / "x.npy", percentiles_as_bounds());
  CHECK((directory.read("x.npy") == expected));
}

TEST_CASE("memory without numbers is not clipped to percentiles") {
  std::vector<float> none;
  CHECK(clip(none, percentiles_as_bounds()).changed == false);
}

}  // namespace clipper::testing
