// The oracle of every case is the table of values that ml_dtypes gives (data/float8.tsv).

#include "clipper.hpp"
#include "element/element.hpp"
#include "element/small_floats.hpp"
#include "support/tsv.hpp"

namespace clipper {
namespace {

using Bytes = std::array<std::uint8_t, 256>;

Bytes all_elements() {
  Bytes elements;
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::uint8_t>(i);
  return elements;
}

/// The value of each element.
std::array<float, 256> values_of(DType dtype) {
  static const auto rows = tsv::read("float8.tsv");
  std::array<float, 256> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& hex = rows[i][1 + float8_index(dtype)];
    values[i] =
        hex == "nan" ? NAN : std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(hex, nullptr, 16)));
  }
  return values;
}

Counts clip(DType dtype, Bytes& elements, const Request& request) {
  return clip(dtype, elements.data(), elements.data(), elements.size(), request);
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// What is refused: the message for the elements of a format.
std::string refusal(DType dtype, const Request& request) {
  return message_of([&] {
    Bytes elements = all_elements();
    clip(dtype, elements, request);
  });
}

/// Clips all elements to one pair of bounds, which are elements. Returns what is wrong.
std::string check_bounds(DType dtype, const std::array<float, 256>& values, std::size_t lo, std::size_t hi) {
  Bytes actual = all_elements();
  const Counts counts =
      clip(dtype, actual, {.min = values[lo], .max = values[hi], .min_above_max = MinAboveMax::max});
  std::uint64_t raised = 0;
  std::uint64_t lowered = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_below = values[lo] <= values[hi] ? values[i] < values[lo] : values[i] < values[hi];
    const bool is_above = values[i] > values[hi];
    const bool takes_max = is_above || (values[lo] > values[hi] && values[i] < values[lo]);
    const std::size_t expected = std::isnan(values[i]) ? i : takes_max ? hi : is_below ? lo : i;
    raised += is_below ? 1 : 0;
    lowered += is_above ? 1 : 0;
    if (actual[i] != expected)
      return fmt::format("{:#x} in {:#x}, {:#x}: {:#x}, expected {:#x}\n", i, lo, hi, actual[i], expected);
  }
  if (counts.raised != raised || counts.lowered != lowered)
    return fmt::format("{:#x}, {:#x}: {} and {}, expected {} and {}\n", lo, hi, counts.raised, counts.lowered,
                       raised, lowered);
  return "";
}

}  // namespace

TEST_CASE("every float8 is clipped to every pair of bounds by the order of the values") {
  const DType dtype = GENERATE(from_range(kFloat8)).dtype;
  INFO(traits(dtype).name);
  const auto values = values_of(dtype);
  std::string wrong;
  for (std::size_t lo = 0; lo < values.size(); ++lo)
    for (std::size_t hi = lo % kStep; hi < values.size(); hi += kStep)
      if (!std::isnan(values[lo]) && !std::isnan(values[hi])) wrong += check_bounds(dtype, values, lo, hi);
  CHECK(wrong.substr(0, 1000) == "");
}

TEST_CASE("a result beyond a float8 without infinity is refused, or saturates") {
  for (const Float8& format : kFloat8) {
    const DType dtype = format.dtype;
    INFO(traits(dtype).name);
    const auto values = values_of(dtype);
    const std::string message = refusal(dtype, {.scale = 2});
    CHECK((message.find("is beyond the range of") == std::string::npos) == format.has_infinity());
    Bytes actual = all_elements();
    clip(dtype, actual, {.scale = 2, .to = dtype, .saturate = true});
    const double highest = values[format.highest];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double expected = std::clamp<double>(2.0 * values[i], -highest, highest);
      INFO(i);
      if (std::isnan(values[i]))
        CHECK(format.is_nan(actual[i]));
      else
        CHECK(values[actual[i]] == expected);
    }
  }
  Bytes zeros{};
  CHECK(message_of([&] {
          clip(DType::float8_e4m3fn, zeros, {.to = DType::float8_e8m0fnu});
        }).find("same memory") != std::string::npos);
  const std::array<float, 3> numbers{0, -1, 4};
  std::array<std::uint8_t, 3> scales{};
  const auto to_scales = [&](bool saturate) {
    clip(DType::float32, numbers.data(), scales.data(), 3,
         {.to = DType::float8_e8m0fnu, .saturate = saturate});
  };
  CHECK(message_of([&] { to_scales(false); }).starts_with("the result at element 0 is beyond the range of"));
  to_scales(true);
  CHECK(scales == std::array<std::uint8_t, 3>{0, 0, 129});
}

TEST_CASE("a bound beyond the range of a float8 is none, or is refused") {
  for (const Float8& format : kFloat8) {
    const DType dtype = format.dtype;
    INFO(traits(dtype).name);
    Bytes actual = all_elements();
    clip(dtype, actual, {.min = -1e40, .max = parse_number("1e40").value()});
    CHECK(actual == all_elements());
    clip(dtype, actual, {.min = -INFINITY, .max = INFINITY});
    CHECK(actual == all_elements());
    const std::string above = refusal(dtype, {.min = parse_number("1e40").value()});
    CHECK(above.find(fmt::format("min 1e+40 exceeds the {} maximum (", traits(dtype).name)) == 0);
    CHECK(refusal(dtype, {.max = -1e39}).find("max ") == 0);
    CHECK(refusal(dtype, {.min = NAN}) == "min nan: NaN cannot be a bound");
    CHECK(refusal(dtype, {.min = INFINITY}).empty() == format.has_infinity());
  }
  CHECK(refusal(DType::float8_e4m3fn, {.min = 500}) == "min 500 exceeds the float8_e4m3fn maximum (448)");
  CHECK(refusal(DType::float8_e4m3fn, {.min = 464}).empty());  // the tie that becomes 448
  CHECK(refusal(DType::float8_e8m0fnu, {.min = -5, .max = 1}).empty());
  CHECK(refusal(DType::float8_e8m0fnu, {.max = 0}).find("max 0 is below the float8_e8m0fnu minimum (5.87") ==
        0);
}

TEST_CASE("NaN of a float8 is replaced, kept or refused") {
  for (const Float8& format : kFloat8) {
    INFO(traits(format.dtype).name);
    Bytes actual = all_elements();
    const Counts counts = clip(format.dtype, actual, {.max = 2, .nan = 1});
    const Bytes before = all_elements();
    std::uint64_t nan = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      CHECK_FALSE(format.is_nan(actual[i]));
      if (!format.is_nan(before[i])) continue;
      ++nan;
      CHECK(widened(format.dtype, actual[i]) == 1.0F);
    }
    CHECK(counts.nan == nan);
    CHECK(refusal(format.dtype, {.max = 2, .nan = OnNan::error}).find("NaN at element ") == 0);
    CHECK(refusal(format.dtype, {.max = 2, .nan = 1e39}).find("is beyond the range of ") !=
          std::string::npos);
  }
}

TEST_CASE("arrays of float8 are bounds, and a percentile of float8 is exact") {
  for (const Float8& format : kFloat8) {
    const DType dtype = format.dtype;
    INFO(traits(dtype).name);
    const auto values = values_of(dtype);
    Bytes bounds;
    bounds.fill(static_cast<std::uint8_t>(nearest_element(dtype, Number{0.5})));
    bounds[3] = static_cast<std::uint8_t>(nearest_element(dtype, Number{2}));
    Bytes actual = all_elements();
    clip(dtype, actual, {.min = from_memory({dtype, {256}}, bounds.data())});
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(actual[i] == (values[i] < values[bounds[i]] ? bounds[i] : i));

    std::vector<float> numbers;
    for (const float value : values)
      if (!std::isnan(value)) numbers.push_back(value);
    std::ranges::sort(numbers);
    actual = all_elements();
    clip(dtype, actual, {.max = Parameter::percentile(Number(0))});
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isnan(values[i])) CHECK(values[actual[i]] == numbers.front());
  }
}

TEST_CASE("other profiles than clipper refuse float8") {
  for (const Profile& profile : profiles())
    if (profile.family != "clipper")
      CHECK(refusal(DType::float8_e5m2, {.min = 0, .max = 1, .profile = &profile})
                .find("; this tensor is float8_e5m2") != std::string::npos);
}

}  // namespace clipper
