#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "clipper.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

/// Percentiles for programs that include clipper.hpp.
namespace clipper::testing {
namespace {

std::vector<float> thousand() {
  std::vector<float> elements;
  for (int i = 0; i <= 1000; ++i) elements.push_back(static_cast<float>(i * 5 % 1001));
  return elements;
}

Request percentiles_as_bounds() {
  return {.min = Given::percentile(1), .max = Given::percentile(99)};
}

}  // namespace

TEST_CASE("percentiles() finds the percentiles of a file") {
  const TemporaryDirectory directory{{"x.npy", float32_file(thousand())}};
  const std::array wanted{Number(50), *parse_number("99.95")};
  const auto found = percentiles(directory / "x.npy", wanted);
  REQUIRE(found.size() == 2);
  CHECK(from_bits<float>(*found[0]) == 500);
  CHECK(from_bits<float>(*found[1]) == 999.5F);
  for (const Number& bad : {Number(101), Number(-1), Number(99.9)})
    CHECK(refusal(ErrorKind::usage, [&] {
            static_cast<void>(percentiles(directory / "x.npy", std::array{bad}));
          }).ends_with(": a percentile is a number from 0 to 100 with max 16 decimal places"));
  directory.write("e.npy", float32_file({}));
  CHECK(percentiles(directory / "e.npy", wanted)[0] == std::nullopt);
}

TEST_CASE("files and memory are clipped to percentiles") {
  const TemporaryDirectory directory{{"x.npy", float32_file(thousand())}};
  const std::string expected = float32_file(clipped(thousand(), 10, 990));
  const Counts counts = clip_file(directory / "x.npy", directory / "y.npy", percentiles_as_bounds());
  CHECK(counts.raised == 10);
  CHECK(counts.lowered == 10);
  CHECK((directory.read("y.npy") == expected));
  clip_in_place(directory / "x.npy", percentiles_as_bounds());
  CHECK((directory.read("x.npy") == expected));

  std::vector<float> elements = thousand();
  CHECK(clip(elements, percentiles_as_bounds()).raised == 10);
  CHECK(elements == clipped(thousand(), 10, 990));

  std::vector<std::uint16_t> large(5'000'000);
  std::iota(large.begin(), large.end(), std::uint16_t{0});
  std::vector<std::uint16_t> out(large.size());
  clip(large, out, {.max = Given::percentile(50)}, 3);
  std::vector<std::uint16_t> sorted = large;
  std::ranges::nth_element(sorted, sorted.begin() + 2'499'999);
  for (std::uint16_t& x : large) x = std::min(x, sorted[2'499'999]);
  CHECK(out == large);

  CHECK(Given::percentile(99.9).percentage == *parse_number("99.9"));

  // Elements at an odd address
  std::vector<std::byte> bytes(4 * 1001 + 1);
  const std::vector<float> in = thousand();
  std::memcpy(bytes.data() + 1, in.data(), 4 * in.size());
  clip(DType::float32, bytes.data() + 1, bytes.data() + 1, in.size(), percentiles_as_bounds());
  CHECK(std::memcmp(bytes.data() + 1, elements.data(), 4 * in.size()) == 0);
}

TEST_CASE("memory without numbers has no percentiles") {
  std::vector<float> none;
  CHECK(refusal(ErrorKind::input, [&] { clip(none, percentiles_as_bounds()); }) ==
        "min 1%: the tensor has no elements");
}

}  // namespace clipper::testing
