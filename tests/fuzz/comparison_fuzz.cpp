
#include "clip/clip_cases.hpp"
#include "clip/clip_check.hpp"
#include "compare/reference_comparison.hpp"
#include "element/element.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/require.hpp"

/// The input is a rule and pairs of elements. Pairs of edge elements and of neighbours follow.
///
/// A rule and pairs of elements -> compare, in both byte orders, as a whole and in two parts. Count,
/// first mismatches and maxima are those of reference_comparison.hpp. With the tolerance that clipper
/// suggests, all pairs match
/// libFuzzer tries comparisons against the naive rule: -max_len=256
/// torture: 10000 | 300000 | 10000000
namespace clipper::fuzz {
namespace {

using reference::Decimal;
using reference::Pairs;
using reference::Rule;

Decimal take_tolerance(Bytes& input, DType dtype) {
  const std::uint64_t digits = input.take<std::uint32_t>() >> input.take() % 32;
  constexpr int kLowest = -330;  // rounds to 0
  constexpr int kHighest = 290;
  if (!is_floating(dtype)) return {digits, -(input.take() % 13)};
  if (input.take() % 2 == 0) return {digits, -(input.take() % 12)};
  return {digits, kLowest + input.take<std::uint16_t>() % (kHighest - kLowest)};
}

Rule take_rule(Bytes& input, DType dtype) {
  const unsigned given = input.take();
  Rule rule;
  if ((given & 1U) != 0) rule.absolute = take_tolerance(input, dtype);
  if ((given & 2U) != 0) rule.relative = take_tolerance(input, dtype);
  if ((given & 4U) != 0) rule.ulps = input.take<std::uint64_t>() >> input.take() % 64;
  rule.nan_equal = (given & 8U) == 0;
  rule.bits = (given & 0xf0U) == 0xf0U;
  return rule;
}

/// The pairs in the rest of the input, then random pairs, most of which are equal or close.
Pairs take_pairs(Bytes& input, DType dtype) {
  const std::size_t count = input.take<std::uint16_t>() % 2500;
  const unsigned seldom = input.take() % 12;
  std::mt19937_64 random(input.take<std::uint32_t>());
  const cases::Elements edges = cases::bounds_of(dtype);
  Pairs pairs{dtype, {}, {}};
  while (pairs.actual.size() < count) {
    const std::uint64_t number = random();
    ElementBits e = number % 2 == 0 ? edges[(number >> 8) % edges.size()] : random() >> (number >> 8) % 64;
    ElementBits a = e;
    if (!input.empty()) {
      a = input.take<ElementBits>();
      e = input.take() % 2 == 0 ? a + input.take() - 128 : input.take<ElementBits>();
    } else if (seldom == 0 || random() >> (64 - seldom) == 0) {
      a = number % 4 < 2 ? edges[random() % edges.size()] : e + (number >> 16) % 9 - 4;
    }
    pairs.actual.push_back(a & reference::all_ones(dtype));
    pairs.expected.push_back(e & reference::all_ones(dtype));
  }
  return pairs;
}

void check_parts(const Pairs& pairs, const ComparisonRule& rule, const ElementComparison& whole,
                 std::size_t cut) {
  ElementComparison sum = compare(pairs.part(cut, pairs.actual.size()), rule, cut);
  sum += compare(pairs.part(0, cut), rule);
  reference::copy_rounded(whole, sum);
  require(sum == whole, "comparing two parts gives the same as comparing the whole");
}

void check_advice(const Pairs& pairs, const Rule& rule, const ElementComparison& comparison) {
  if (rule.bits || comparison.mismatches == 0) return;
  const bool floating = is_floating(pairs.dtype);
  const DType type = floating ? DType::float64 : DType::uint64;
  ComparisonRule changed = rule.rule();
  if (!floating || std::isfinite(float_difference(comparison.absolute))) {
    changed.tolerance =
        Tolerance(number_of(type, static_cast<ElementBits>(comparison.absolute)), rule.relative.number());
    require(compare(pairs, changed).mismatches == 0, "with the suggested --atol all pairs match");
  }
  if (!floating || comparison.ulps == ElementComparison::kNoUlps) return;
  changed = rule.rule();
  changed.ulps = comparison.ulps;
  require(compare(pairs, changed).mismatches == 0, "with the suggested --ulp all pairs match");
}

}  // namespace
}  // namespace clipper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace clipper;
  fuzz::Bytes input({data, size});
  const DType dtype = kKernelDTypes[input.take() % kKernelDTypes.size()].dtype;
  const std::size_t listed = 1 + input.take() % 8;
  const reference::Rule rule = fuzz::take_rule(input, dtype);
  const std::size_t cut = input.take<std::uint16_t>();
  const reference::Pairs pairs = fuzz::take_pairs(input, dtype);

  const ComparisonRule made = rule.rule(listed);
  const ElementComparison found = compare(pairs, made);
  ElementComparison expected = reference::compare(pairs, rule, listed);
  reference::copy_rounded(found, expected);
  fuzz::require(found == expected, "compare finds what the naive rule finds",
                std::string(traits(dtype).name) + ", --atol " + rule.absolute.text() + " --rtol " +
                    rule.relative.text());
  fuzz::check_parts(pairs, made, found, cut % (pairs.actual.size() + 1));
  fuzz::check_advice(pairs, rule, found);
  return 0;
}
