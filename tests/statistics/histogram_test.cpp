
#include "clip/clip_cases.hpp"
#include "element/element.hpp"
#include "statistics/reference_histogram.hpp"
#include "support/catch.hpp"

namespace clipper::testing {
namespace {

using cases::Elements;
using reference::edge;
using reference::number;

Elements finite_elements(DType dtype) {
  Elements elements = cases::elements_of(dtype, 500);
  std::erase_if(elements, [&](ElementBits bits) { return !std::isfinite(number(dtype, bits)); });
  return elements;
}

/// The histogram of these elements, made in one pass.
Histogram histogram_of(DType dtype, const Elements& elements) {
  if (elements.empty()) return {};
  const auto [lowest, highest] = std::ranges::minmax(
      elements, [&](ElementBits a, ElementBits b) { return number(dtype, a) < number(dtype, b); });
  Histogram histogram = histogram_for(dtype, lowest, highest);
  for (const ElementBits bits : elements) {
    std::size_t row = 0;
    while (row < histogram.rows && number(dtype, bits) >= edge(histogram, row + 1)) ++row;
    REQUIRE(row < histogram.rows);
    REQUIRE(number(dtype, bits) >= edge(histogram, row));
    ++histogram.counts[row];
  }
  return histogram;
}

/// Some elements, few or many, of any magnitudes or of about one.
Elements some_of(const Elements& elements, std::mt19937_64& random) {
  Elements some(random() % 40);
  const std::size_t first = random() % elements.size();
  const std::size_t apart = random() % 2 == 0 ? elements.size() : random() % 30 + 1;
  for (ElementBits& bits : some) bits = elements[(first + random() % apart) % elements.size()];
  return some;
}

}  // namespace

TEST_CASE("histograms of parts, added in any order, equal the histogram of one pass") {
  std::mt19937_64 random{1};
  for (const DTypeTraits& row : kKernelDTypes) {
    const Elements elements = finite_elements(row.dtype);
    for (int i = 0; i < 100; ++i) {
      std::vector<Histogram> parts;
      Elements all;
      for (std::size_t part = 0; part < 5; ++part) {
        const Elements some = some_of(elements, random);
        parts.push_back(histogram_of(row.dtype, some));
        all.insert(all.end(), some.begin(), some.end());
      }
      const Histogram whole = histogram_of(row.dtype, all);
      for (int order = 0; order < 4; ++order) {
        std::ranges::shuffle(parts, random);
        Histogram one_by_one;
        for (const Histogram& part : parts) one_by_one += part;
        CAPTURE(row.name, i, order);
        REQUIRE(one_by_one == whole);
        Histogram by_twos = parts[0];
        by_twos += parts[1];
        Histogram others = parts[2];
        others += parts[3];
        others += parts[4];
        REQUIRE((by_twos += others) == whole);
      }
    }
  }
}

TEST_CASE("rows are the fewest up to 20 whose width is a power of two") {
  std::mt19937_64 random{2};
  for (const DTypeTraits& row : kKernelDTypes) {
    const Elements elements = finite_elements(row.dtype);
    for (int i = 0; i < 500; ++i) {
      ElementBits low = elements[random() % elements.size()];
      ElementBits high = elements[random() % elements.size()];
      if (number(row.dtype, low) > number(row.dtype, high)) std::swap(low, high);
      const Histogram histogram = histogram_for(row.dtype, low, high);
      const long double lowest = number(row.dtype, low);
      const long double highest = number(row.dtype, high);
      CAPTURE(row.name, lowest, highest, histogram.exponent, histogram.rows);
      REQUIRE(histogram.rows >= 1);
      REQUIRE(histogram.rows <= Histogram::kMaxRows);
      CHECK(edge(histogram, 0) <= lowest);
      CHECK(lowest < edge(histogram, 1));
      CHECK(edge(histogram, histogram.rows - 1) <= highest);
      CHECK(highest < edge(histogram, histogram.rows));
      // Half the width would need too many rows, or exceed the precision of the elements.
      const int half = histogram.exponent - 1;
      const long double rows =
          std::floor(std::ldexp(highest, -half)) - std::floor(std::ldexp(lowest, -half)) + 1;
      const long double largest = std::max(std::fabs(lowest), std::fabs(highest));
      const int finest = !is_floating(row.dtype) ? 0
                         : largest == 0          ? -1074
                                                 : std::max(std::ilogb(largest) - 52, -1074);
      CHECK((rows > Histogram::kMaxRows || histogram.exponent == finest));
    }
  }
}

TEST_CASE("first_key() is the key of the least element of a row") {
  for (const DTypeTraits& of : kKernelDTypes) {
    const DType dtype = of.dtype;
    const Elements elements = finite_elements(dtype);
    std::mt19937_64 random{3};
    for (int i = 0; i < 5; ++i) {
      const Histogram histogram = histogram_of(dtype, some_of(elements, random));
      for (std::size_t row = 1; row < histogram.rows; ++row) {
        const std::int64_t first = first_key(dtype, histogram, row);
        const auto is_wrong = [&](ElementBits bits) {
          return (element_key(dtype, bits) >= first) != (number(dtype, bits) >= edge(histogram, row));
        };
        CAPTURE(of.name, histogram.exponent, row);
        CHECK(std::ranges::none_of(elements, is_wrong));
      }
    }
  }
}

TEST_CASE("edge_text() converts back to the edge exactly") {
  std::mt19937_64 random{4};
  for (const DTypeTraits& row : kKernelDTypes) {
    const Elements elements = finite_elements(row.dtype);
    for (int i = 0; i < 100; ++i) {
      const Histogram histogram = histogram_of(row.dtype, some_of(elements, random));
      for (std::size_t at = 0; histogram.rows > 0 && at <= histogram.rows; ++at) {
        const std::string text = edge_text(row.dtype, histogram, at);
        CAPTURE(row.name, text);
        if (is_floating(row.dtype))
          CHECK(std::strtod(text.c_str(), nullptr) == static_cast<double>(edge(histogram, at)));
        else
          CHECK(std::strtold(text.c_str(), nullptr) == edge(histogram, at));
      }
    }
  }
}

}  // namespace clipper::testing
