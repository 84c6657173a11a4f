// The oracle is the table of values that ml_dtypes gives, and the definition: the nearest value, of two
// equally near ones the one whose last bit is 0.

#include <random>

#include "element/small_floats.hpp"
#include "support/tsv.hpp"

namespace clipper {
namespace {

constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();

/// An element and its value.
struct Row {
  std::uint8_t element;
  double value;
};

/// The values of data/float8.tsv in one of its columns.
std::vector<double> values_of(std::size_t format) {
  static const auto rows = tsv::read("float8.tsv");
  std::vector<double> values;
  for (const auto& row : rows) {
    const std::string& hex = row[1 + format];
    const auto bits = hex == "nan" ? 0x7fc00000U : static_cast<std::uint32_t>(std::stoul(hex, nullptr, 16));
    values.push_back(std::bit_cast<float>(bits));
  }
  return values;
}

/// Rounds by a search among all values.
class Reference {
 public:
  explicit Reference(std::size_t format) : format_(kFloat8[format]) {
    const std::vector<double> values = values_of(format);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_negative = std::signbit(values[i]);
      if (std::isfinite(values[i]) && !is_negative)
        rows_.push_back({static_cast<std::uint8_t>(i), values[i]});
    }
    std::ranges::sort(rows_, {}, &Row::value);
    const double highest = rows_.back().value;
    const double next =
        format_.sign() == 0 ? 2 * highest : highest + (highest - rows_[rows_.size() - 2].value);
    rows_.push_back({format_.beyond, next});
  }

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

  [[nodiscard]] std::uint8_t rounded(float x) const {
    const double magnitude = std::fabs(x);
    if (format_.sign() == 0 && x <= 0) return format_.nan;
    const Row* nearest = &rows_.front();
    for (const Row& row : rows_) {
      const double distance = std::fabs(row.value - magnitude);
      const double other = std::fabs(nearest->value - magnitude);
      // Without fraction, the last bit of the lower neighbour is its leading 1.
      const bool wins_tie = format_.sign() == 0 || (&row - rows_.data()) % 2 == 0;
      if (distance < other || (distance == other && wins_tie)) nearest = &row;
    }
    const std::uint8_t element = magnitude > rows_.back().value ? format_.beyond : nearest->element;
    const bool has_sign = format_.has_minus_zero() || (element != 0 && format_.sign() != 0);
    return has_sign && std::signbit(x) ? element | 0x80 : element;
  }

 private:
  const Float8& format_;
  std::vector<Row> rows_;  ///< not negative, in the order of the values, and one beyond the finite ones
};

std::string mismatch(std::size_t format, const Reference& reference, float x) {
  const std::uint8_t expected = reference.rounded(x);
  const std::uint8_t actual = Narrowing(kFloat8[format].dtype)(x);
  return actual == expected ? "" : fmt::format(" {}: {:#x}, expected {:#x};", x, actual, expected);
}

}  // namespace

TEST_CASE("a float8 has the value that ml_dtypes gives it") {
  for (std::size_t format = 0; format < kFloat8.size(); ++format) {
    INFO(traits(kFloat8[format].dtype).name);
    const std::vector<double> values = values_of(format);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto element = static_cast<std::uint8_t>(i);
      const std::uint32_t bits = kWidenedFloat8[format][i];
      INFO(i);
      CHECK(kFloat8[format].is_nan(element) == std::isnan(values[i]));
      if (std::isnan(values[i]))
        CHECK((bits & 0x7fffffff) > 0x7f800000);
      else
        CHECK(bits == std::bit_cast<std::uint32_t>(static_cast<float>(values[i])));
    }
  }
}

TEST_CASE("a float8 that is no signalling NaN is the result of narrowing its value") {
  for (std::size_t format = 0; format < kFloat8.size(); ++format) {
    const Narrowing narrow(kFloat8[format].dtype);
    for (int i = 0; i < 256; ++i) {
      INFO(traits(kFloat8[format].dtype).name << ' ' << i);
      const bool is_signalling = kFloat8[format].has_infinity() && (i & 0x7f) == 0x7d;
      const int expected = is_signalling ? i | 2 : i;
      CHECK(narrow(std::bit_cast<float>(kWidenedFloat8[format][static_cast<std::size_t>(i)])) == expected);
    }
  }
}

TEST_CASE("every float32 next to a float8, or to the middle of two, becomes the nearest float8") {
  for (std::size_t format = 0; format < kFloat8.size(); ++format) {
    INFO(traits(kFloat8[format].dtype).name);
    const Reference reference(format);
    const std::vector<Row>& rows = reference.rows();
    std::string wrong;
    const auto check = [&](double near) {
      const auto x = static_cast<float>(near);
      for (const float each : {std::nextafter(x, 0.0F), x, std::nextafter(x, kFloatInfinity)})
        for (const float with_sign : {each, -each}) wrong += mismatch(format, reference, with_sign);
    };
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      check(rows[i].value);
      check((rows[i].value + rows[i + 1].value) / 2);
    }
    check(rows.back().value);
    check(std::numeric_limits<float>::max());
    CHECK(wrong == "");
  }
}

TEST_CASE("every bfloat16, and a million other floats, become the nearest float8") {
  std::mt19937 random(44);  // NOLINT: the same numbers each time
  for (std::size_t format = 0; format < kFloat8.size(); ++format) {
    INFO(traits(kFloat8[format].dtype).name);
    const Reference reference(format);
    std::string wrong;
    for (std::uint32_t i = 0; i < 65536 + 160000; ++i) {
      const auto bits = i < 65536 ? i << 16 : static_cast<std::uint32_t>(random());
      const auto x = std::bit_cast<float>(bits);
      if (!std::isnan(x)) wrong += mismatch(format, reference, x);
    }
    CHECK(wrong == "");
  }
}

TEST_CASE("a NaN becomes a NaN of the same sign, if NaNs have a sign") {
  for (const Float8& format : kFloat8) {
    INFO(traits(format.dtype).name);
    const Narrowing narrow(format.dtype);
    for (std::uint32_t payload = 1; payload < 0x800000; payload = payload * 3 + 1)
      for (const std::uint32_t sign : {0U, 0x80000000U}) {
        const std::uint8_t element = narrow(std::bit_cast<float>(sign | 0x7f800000 | payload));
        CHECK(format.is_nan(element));
        if (format.has_minus_zero()) CHECK((element & 0x80) == sign >> 24);
      }
  }
}

}  // namespace clipper
