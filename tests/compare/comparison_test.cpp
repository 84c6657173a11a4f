#include "compare/comparison.hpp"

#include <bit>

#include "clip/clip_cases.hpp"
#include "compare/compare_files.hpp"
#include "compare/reference_comparison.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

using cases::Elements;
using reference::Pairs;
using reference::Rule;

const std::vector<Rule> kRules{
    {},
    {.absolute = {1}},
    {.absolute = {100}, .relative = {10, -2}},
    {.relative = {1, -2}},
    {.relative = {25, -2}},
    {.relative = {150, -2}},
    {.absolute = {~std::uint64_t{0}}},
    {.absolute = {(std::uint64_t{1} << 53) + 1}},
    {.ulps = 0},
    {.ulps = 1},
    {.ulps = 2},
    {.absolute = {3}, .ulps = 1000},
    {.ulps = ~std::uint64_t{0}},
    {.nan_equal = false},
    {.absolute = {2}, .relative = {50, -2}, .ulps = 7, .nan_equal = false},
    {.bits = true},
};

void check(const Pairs& pairs, const Rule& rule, const ElementComparison& comparison) {
  ElementComparison expected = reference::compare(pairs, rule);
  reference::copy_rounded(comparison, expected);
  CHECK(comparison == expected);
}

/// Pairs of each element with itself, its neighbours by bits and by value, its negative, and another element.
Pairs edge_pairs(DType dtype) {
  Pairs pairs{dtype, {}, {}};
  const Elements elements = cases::elements_of(dtype, 2'000);
  const ElementBits ones = reference::all_ones(dtype);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const ElementBits x = elements[i];
    for (const ElementBits other : {x, (x + 1) & ones, (x - 1) & ones, (x + 900) & ones,
                                    x ^ reference::sign_bit(dtype), elements[i * 7919 % elements.size()]}) {
      pairs.actual.push_back(x);
      pairs.expected.push_back(other);
    }
  }
  return pairs;
}

/// `count` pairs of 1.0 and the next element, with the pair (`actual`, `expected`) at position `at`.
Pairs near_one(DType dtype, std::size_t count, std::size_t at, ElementBits actual, ElementBits expected) {
  Pairs pairs{dtype, Elements(count, cases::one(dtype)), Elements(count, cases::one(dtype) + 1)};
  pairs.actual[at] = actual;
  pairs.expected[at] = expected;
  return pairs;
}

using reference::Pairs;

/// The text of one pair of elements of different values.
FileComparison comparison_of(const Pairs& pair, const ComparisonRule& rule) {
  FileComparison files;
  files.layout.dtype = pair.dtype;
  files.layout.shape = {1};
  files.layout.count = 1;
  files.comparison = compare(pair, rule);
  return files;
}

/// What is in `text` after `before`, up to a comma, a space or a parenthesis.
std::string word_after(std::string_view text, std::string_view before) {
  const std::size_t begin = text.find(before) + before.size();
  return std::string(text.substr(begin, text.find_first_of(",; )", begin) - begin));
}

bool is_near(double found, double expected, double error) {
  return std::fabs(found - expected) <= error * std::fabs(expected);
}

/// The pairs of elements that are finite.
Pairs finite(const Pairs& pairs) {
  Pairs result{pairs.dtype, {}, {}};
  for (std::size_t i = 0; i < pairs.actual.size(); ++i) {
    const auto is_finite = [&](ElementBits x) {
      return !is_floating(pairs.dtype) || std::isfinite(reference::value(pairs.dtype, x));
    };
    if (!is_finite(pairs.actual[i]) || !is_finite(pairs.expected[i])) continue;
    result.actual.push_back(pairs.actual[i]);
    result.expected.push_back(pairs.expected[i]);
  }
  return result;
}

template <class Check>
void for_random_pairs(DType dtype, const Check& check) {
  const cases::Elements elements = cases::elements_of(dtype, 2'000);
  std::mt19937_64 random{17};
  const auto element = [&] { return elements[random() % elements.size()]; };
  for (int i = 0; i < 2'000; ++i) {
    const Pairs pair{dtype, {element()}, {element()}};
    check(pair);
  }
}

}  // namespace

TEST_CASE("every pair of elements is judged as by the oracle") {
  for (const DTypeTraits& row : kDTypes) {
    const Pairs pairs = edge_pairs(row.dtype);
    for (std::size_t i = 0; i < kRules.size(); ++i) {
      CAPTURE(row.name, i);
      check(pairs, kRules[i], compare(pairs, kRules[i].rule()));
    }
  }
}

TEST_CASE("every SIMD level, and every division into whole blocks, gives the same comparison and metrics") {
  const bool with_special = GENERATE(true, false);
  for (const DTypeTraits& row : kDTypes) {
    const Pairs pairs = with_special ? edge_pairs(row.dtype) : finite(edge_pairs(row.dtype));
    for (const Rule& rule : kRules) {
      ComparisonRule with_metrics = rule.rule();
      with_metrics.metrics = true;
      with_metrics.exact_metrics = (&rule - kRules.data()) % 2 != 0;
      const auto at_level = [&](SimdLevel level, const ComparisonRule& asked) {
        return compare(pairs, asked, 0, level);
      };
      const ElementComparison all = at_level(SimdLevel::baseline, with_metrics);
      const ElementComparison without = compare(pairs, rule.rule());
      CAPTURE(row.name, &rule - kRules.data());
      for (const SimdLevel level : simd_levels()) {
        CHECK(at_level(level, with_metrics) == all);
        CHECK(at_level(level, rule.rule()) == without);
      }
      ElementComparison sum;
      sum.dtype = row.dtype;
      sum.listed = with_metrics.listed;
      sum.metrics.emplace();
      for (std::size_t begin = 0; begin < pairs.actual.size(); begin += 3 * kPairBlock)
        sum +=
            compare(pairs.part(begin, std::min(begin + 3 * kPairBlock, pairs.actual.size())), with_metrics);
      CHECK(metrics_of(*sum.metrics, 1).rmse == metrics_of(*all.metrics, 1).rmse);
      CHECK((*sum.metrics == *all.metrics));
    }
  }
}

TEST_CASE("metrics of extreme float64 elements neither overflow nor vanish") {
  for (const double unit : {1.0, 1e-308, 4.9e-324, 1e300, 1e-170}) {
    CAPTURE(unit);
    Pairs pairs{DType::float64, {}, {}};
    for (const double x : {3.0, 4.0, 0.0}) pairs.actual.push_back(to_bits(x * unit));
    for (const double x : {4.0, 3.0, 0.0}) pairs.expected.push_back(to_bits(x * unit));
    ComparisonRule rule;
    rule.metrics = true;
    const Metrics metrics = metrics_of(*compare(pairs, rule).metrics, 3);
    CHECK(is_near(metrics.cosine.value(), 0.96, 1e-13));
    CHECK(is_near(metrics.rmse.value(), std::sqrt(2.0 / 3) * unit, unit < 1e-307 ? 1 : 1e-13));
    CHECK(is_near(metrics.sqnr.value(), 10 * std::log10(12.5), 1e-13));
    CHECK(is_near(metrics.relative.value(), 1.0 / 3, unit < 1e-307 ? 0.1 : 1e-13));
  }
}

TEST_CASE("a pair is judged alone as among others") {
  for (const DTypeTraits& row : kDTypes) {
    const Pairs pairs = edge_pairs(row.dtype);
    std::mt19937_64 random{1};
    for (const Rule& rule : kRules)
      for (int i = 0; i < 300; ++i) {
        const std::size_t at = random() % pairs.actual.size();
        const Pairs one = pairs.part(at, at + 1);
        CAPTURE(row.name, one.actual[0], one.expected[0], &rule - kRules.data());
        check(one, rule, compare(one, rule.rule()));
      }
  }
}

TEST_CASE("any number of pairs is compared, and a mismatch is found at any position in and around a block") {
  for (const DTypeTraits& row : kDTypes) {
    const Pairs pairs = edge_pairs(row.dtype);
    for (std::size_t length = 0; length <= 67; ++length)
      check(pairs.part(length, 2 * length), {}, compare(pairs.part(length, 2 * length), Rule{}.rule()));
    const Rule rule{.absolute = {1}};
    const ElementBits far = is_floating(row.dtype) ? reference::infinity(row.dtype) : 100;
    for (const std::size_t count : {1024u, 1031u, 2049u})
      for (const std::size_t at : {0u, 7u, 8u, 1022u, 1023u}) {
        CAPTURE(row.name, count, at);
        const Pairs block = near_one(row.dtype, count, at, far, cases::one(row.dtype));
        check(block, rule, compare(block, rule.rule()));
        const Pairs last = near_one(row.dtype, count, count - 1, cases::one(row.dtype), far);
        check(last, rule, compare(last, rule.rule()));
      }
  }
}

TEST_CASE("the largest difference within the tolerance is found at any position of a block") {
  const Rule rule{.absolute = {100}};
  for (const DTypeTraits& row : kDTypes)
    for (std::size_t at = 0; at < 1030; at += 13) {
      CAPTURE(row.name, at);
      const ElementBits one = cases::one(row.dtype);
      const Pairs pairs = near_one(row.dtype, 1030, at, one + 9, one);
      check(pairs, rule, compare(pairs, rule.rule()));
    }
}

TEST_CASE("NaN and infinities are found among elements that match") {
  for (const DTypeTraits& row : kDTypes) {
    if (!is_floating(row.dtype)) continue;
    const ElementBits inf = reference::infinity(row.dtype);
    const Elements specials{inf, inf | reference::sign_bit(row.dtype), inf + 1,
                            reference::all_ones(row.dtype), 0};
    for (const ElementBits a : specials)
      for (const ElementBits e : specials)
        for (const Rule& rule : {Rule{.absolute = {1000}, .relative = {10, -2}},
                                 Rule{.absolute = {1000}, .relative = {10, -2}, .nan_equal = false}}) {
          CAPTURE(row.name, a, e, rule.nan_equal);
          const Pairs pairs = near_one(row.dtype, 1030, 500, a, e);
          check(pairs, rule, compare(pairs, rule.rule()));
        }
  }
}

TEST_CASE("parts in any order give the same result") {
  for (const DTypeTraits& row : kDTypes) {
    const Pairs all = edge_pairs(row.dtype);
    const std::size_t count = std::min<std::size_t>(all.actual.size(), 3'000);
    const Pairs pairs = all.part(0, count);
    const ComparisonRule rule = Rule{.absolute = {1}}.rule(9);
    const ElementComparison whole = compare(pairs, rule);
    CAPTURE(row.name);
    std::vector<ElementComparison> parts;
    for (std::size_t begin = 0; begin < count; begin += 211)
      parts.push_back(compare(pairs.part(begin, std::min<std::size_t>(begin + 211, count)), rule, begin));
    std::mt19937 random{2};
    for (int i = 0; i < 20; ++i) {
      std::ranges::shuffle(parts, random);
      ElementComparison sum;
      sum.dtype = row.dtype;
      sum.listed = rule.listed;
      for (const ElementComparison& part : parts) sum += part;
      CHECK(sum == whole);
    }
  }
}

TEST_CASE("limits of subnormal pairs do not depend on their order") {
  constexpr ElementBits kDistance = 127;
  const auto pairs_of = [](const Elements& expected) {
    Pairs pairs{DType::float64, {}, expected};
    for (const ElementBits e : expected) pairs.actual.push_back(e + kDistance);
    return pairs;
  };
  const ElementComparison one = compare(pairs_of({1'000'000'000, 997'000'000}), ComparisonRule{});
  const ElementComparison other = compare(pairs_of({997'000'000, 1'000'000'000}), ComparisonRule{});
  CHECK(one.relative == other.relative);
  CHECK(one.largest_relative == 127.0 / 997e6);
  CHECK(other.largest_relative == 127.0 / 997e6);
}

TEST_CASE("the reported limits let all pairs match, and smaller ones do not") {
  std::mt19937_64 random{3};
  for (const DTypeTraits& row : kDTypes) {
    const bool floating = is_floating(row.dtype);
    const Pairs all = edge_pairs(row.dtype);
    for (int i = 0; i < 500; ++i) {
      const std::size_t begin = random() % (all.actual.size() - 4);
      const Pairs pairs = all.part(begin, begin + random() % 4 + 1);
      const Rule given = kRules[static_cast<std::size_t>(i) % 6];
      const ElementComparison comparison = compare(pairs, given.rule());
      if (comparison.mismatches == 0) continue;
      const auto passes = [&](const Number& absolute, std::optional<std::uint64_t> ulps) {
        ComparisonRule rule = given.rule();
        rule.tolerance = Tolerance(absolute, given.relative.number());
        rule.ulps = ulps;
        return compare(pairs, rule).mismatches == 0;
      };
      CAPTURE(row.name, pairs.actual, pairs.expected, given.absolute.digits, given.relative.digits);
      if (!floating) {
        CHECK(passes(static_cast<std::uint64_t>(comparison.absolute), {}));
        CHECK(!passes(static_cast<std::uint64_t>(comparison.absolute) - 1, {}));
        continue;
      }
      const auto absolute = float_difference(comparison.absolute);
      if (std::isfinite(absolute)) CHECK(passes(absolute, {}));
      if (std::isfinite(absolute) && given.relative.digits == 0)
        CHECK(!passes(std::nextafter(absolute, 0.0), {}));
      if (comparison.ulps == ElementComparison::kNoUlps) continue;
      CHECK(passes(given.absolute.number(), comparison.ulps));
      CHECK(!passes(given.absolute.number(), comparison.ulps - 1));
    }
  }
}

TEST_CASE("integers are compared exactly, with tolerances relative to the expected element") {
  const auto match = [](DType dtype, ElementBits a, ElementBits e, const ComparisonRule& rule) {
    return compare({dtype, {a}, {e}}, rule).mismatches == 0;
  };
  const auto tolerant = [](const char* absolute, const char* relative) {
    ComparisonRule rule;
    rule.tolerance = Tolerance(*parse_number(absolute), *parse_number(relative));
    return rule;
  };
  constexpr std::uint64_t kExact = 1ULL << 53;
  CHECK_FALSE(match(DType::int64, kExact + 1, kExact, {}));
  CHECK_FALSE(match(DType::uint64, ~0ULL, ~0ULL - 1, {}));
  CHECK(match(DType::int64, 1ULL << 63, ~0ULL >> 1, tolerant("18446744073709551615", "0")));
  CHECK_FALSE(match(DType::int64, 1ULL << 63, ~0ULL >> 1, tolerant("18446744073709551614.5", "0")));
  CHECK(match(DType::uint8, 13, 10, tolerant("0", "0.3")));  // 0.3 * 10 is 3, although no float64 is 0.3
  CHECK_FALSE(match(DType::uint8, 14, 10, tolerant("0.9", "0.3")));
  CHECK(match(DType::uint64, 2, 1, tolerant("0", "1e300")));
  CHECK_FALSE(match(DType::uint64, ~0ULL, ~0ULL - 1, tolerant("0", "1e-39")));
  CHECK(match(DType::uint64, ~0ULL, ~0ULL - 1, tolerant("0", "1e-19")));
  const ElementBits six = to_bits(6.0F);
  CHECK(match(DType::float32, six - 1, six, tolerant("4.76837158203125e-07", "0")));
  CHECK_FALSE(match(DType::float32, six - 1, six, tolerant("4.768371582031249e-07", "0")));
  CHECK(match(DType::float32, to_bits(0.0F), to_bits(-0.0F), {}));
  // The tolerance is relative to the expected element.
  CHECK(match(DType::float64, to_bits(9.0), to_bits(10.0), tolerant("0", "0.1")));
  CHECK_FALSE(match(DType::float64, to_bits(10.0), to_bits(9.0), tolerant("0", "0.1")));
  // A difference or tolerance that overflows float64 is not treated as infinity.
  CHECK_FALSE(match(DType::float64, to_bits(-1.7e308), to_bits(1.5e308), tolerant("0", "1.5")));
  CHECK(match(DType::float64, to_bits(-1.7e308), to_bits(1.7e308), tolerant("0", "2")));
  // Here the rounded |a - e| - R*|e| is too small as A.
  const Pairs rounded{DType::float64, {to_bits(8.975833787720589)}, {to_bits(2.6589740864338696)}};
  ComparisonRule passing = tolerant("0", "0.1");
  passing.tolerance = Tolerance(float_difference(compare(rounded, passing).absolute), *parse_number("0.1"));
  CHECK(compare(rounded, passing).mismatches == 0);
}

TEST_CASE(
    "the tolerance that the text suggests lets the elements pass, for every dtype and relative tolerance") {
  for (const DTypeTraits& row : kDTypes)
    for (const reference::Decimal relative : {reference::Decimal{}, reference::Decimal{1, -2}}) {
      int suggested = 0;
      for_random_pairs(row.dtype, [&](const Pairs& pair) {
        const ComparisonRule rule = reference::Rule{.relative = relative}.rule();
        const FileComparison files = comparison_of(pair, rule);
        if (std::isfinite(files.comparison.relative) && files.comparison.mismatches != 0) {
          const std::string report = report_text(files, rule, ToleranceNames{"atol=", "ulp=", "rtol="});
          ComparisonRule wider;
          wider.tolerance =
              Tolerance(Number(), parse_number(word_after(report, "would pass with rtol=")).value());
          CAPTURE(row.name, report);
          CHECK(compare(pair, wider).mismatches == 0);
        }
        if (!passing_absolute(files.comparison, Compared::values)) return;
        const std::string text = summary_text(files, Compared::values, ToleranceNames{"atol=", "ulp="});
        CAPTURE(row.name, text);
        const Number absolute = parse_number(word_after(text, "would pass with atol=")).value();
        ComparisonRule wider;
        wider.tolerance = Tolerance(absolute, relative.number());
        CHECK(compare(pair, wider).mismatches == 0);
        ++suggested;
      });
      CHECK(suggested > 100);
    }
}

TEST_CASE("a difference is shown with three digits, rounded to nearest") {
  for (const DTypeTraits& row : kDTypes) {
    if (!is_floating(row.dtype)) continue;
    int rounded_down = 0;
    for_random_pairs(row.dtype, [&](const Pairs& pair) {
      const FileComparison files = comparison_of(pair, {});
      const double largest = float_difference(files.comparison.largest);
      if (files.comparison.mismatches == 0 || largest == 0 || largest > 1.79e308) return;
      const std::string text = summary_text(files, Compared::values, ToleranceNames{"atol=", "ulp="});
      CAPTURE(row.name, text, largest);
      const std::string shown = word_after(text, "max abs ");
      const double value = std::strtod(shown.c_str(), nullptr);
      CHECK(std::fabs(value / largest - 1) <= 0.00501);
      CHECK(text.find(" (" + shown + ", ") != std::string::npos);
      if (value < largest) ++rounded_down;
    });
    CHECK(rounded_down > 100);
  }
}

}  // namespace clipper
