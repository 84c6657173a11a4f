#include "compare/comparison_text.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "clip/clip_cases.hpp"
#include "compare/reference_comparison.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

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

TEST_CASE(
    "the tolerance that the text suggests lets the elements pass, for every dtype and relative tolerance") {
  for (const DTypeTraits& row : kDTypes)
    for (const reference::Decimal relative : {reference::Decimal{}, reference::Decimal{1, -2}}) {
      int suggested = 0;
      for_random_pairs(row.dtype, [&](const Pairs& pair) {
        const FileComparison files = comparison_of(pair, reference::Rule{.relative = relative}.rule());
        if (!passing_absolute(files.comparison, Compared::values)) return;
        const std::string text = summary_text(files, Compared::values, {"atol=", "ulp="});
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
      const double largest = std::bit_cast<double>(files.comparison.largest);
      if (files.comparison.mismatches == 0 || largest == 0 || largest > 1.79e308) return;
      const std::string text = summary_text(files, Compared::values, {"atol=", "ulp="});
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
