#include "element/logical_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>

#include "element/element.hpp"

namespace clipper {
namespace {

__extension__ using Int128 = __int128;  // has all seconds, and attoseconds of a day, of any unit

/// A unit's name in brackets, and how many of the next larger one in the table it has. Dates have as many
/// characters of the clock as the unit needs, and below seconds as many digits.
struct UnitRow {
  std::string_view name;
  std::int64_t per_day;  ///< of hours to seconds
  std::size_t clock;     ///< of "00:00:00"
  int digits;
};

/// In the order of TimeUnit::Base.
constexpr std::array<UnitRow, 14> kUnits{{{"Y", 0, 0, 0},
                                          {"M", 0, 0, 0},
                                          {"W", 1, 0, 0},
                                          {"D", 1, 0, 0},
                                          {"h", 24, 2, 0},
                                          {"m", 1440, 5, 0},
                                          {"s", 86400, 8, 0},
                                          {"ms", 86400, 8, 3},
                                          {"us", 86400, 8, 6},
                                          {"ns", 86400, 8, 9},
                                          {"ps", 86400, 8, 12},
                                          {"fs", 86400, 8, 15},
                                          {"as", 86400, 8, 18},
                                          {"generic", 0, 0, 0}}};

const UnitRow& row_of(TimeUnit unit) {
  return kUnits.at(static_cast<std::size_t>(unit.base));
}

/// How long a unit is: in months, or in attoseconds. 0 for the generic unit.
std::pair<Int128, bool> length_of(TimeUnit unit) {
  const UnitRow& row = row_of(unit);
  switch (unit.base) {
    case TimeUnit::Base::generic: return {0, false};
    case TimeUnit::Base::year: return {Int128{12} * unit.multiplier, true};
    case TimeUnit::Base::month: return {unit.multiplier, true};
    default: break;
  }
  Int128 length = Int128{86400 / row.per_day} * unit.multiplier * (unit.base == TimeUnit::Base::week ? 7 : 1);
  for (int i = row.digits; i < 18; ++i) length *= 10;
  return {length, false};
}

Int128 greatest_common_divisor(Int128 a, Int128 b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

/// Divides, rounding down, and leaves the rest.
Int128 divide(Int128& value, std::int64_t by) {
  Int128 rest = value % by;
  if (rest < 0) rest += by;
  const Int128 quotient = (value - rest) / by;
  value = rest;
  return quotient;
}

/// The date of a day since 1970 in the proleptic Gregorian calendar, counted from 0000-03-01 as in
/// Hinnant's "chrono-compatible low-level date algorithms".
std::string day_text(Int128 day) {
  Int128 rest = day + 719'468;
  const Int128 era = divide(rest, 146'097);
  const auto day_of_era = static_cast<std::int64_t>(rest);
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted = (5 * day_of_year + 2) / 153;  // months since March
  const std::int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  return fmt::format("{:04}-{:02}-{:02}", era * 400 + year_of_era + (month <= 2 ? 1 : 0), month,
                     day_of_year - (153 * shifted + 2) / 5 + 1);
}

/// The days from 1970 to a date, the inverse of day_text().
Int128 days_of(const DateText& date) {
  const Int128 years = Int128{date.year} - (date.month <= 2 ? 1 : 0);
  Int128 year_of_era = years;
  const Int128 era = divide(year_of_era, 400);
  const std::int64_t day_of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
  return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719'468;
}

bool is_leap(std::int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int days_in(std::int64_t year, int month) {
  constexpr std::array<int, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDays.at(static_cast<std::size_t>(month - 1)) + (month == 2 && is_leap(year) ? 1 : 0);
}

/// Takes the parts of a date from the begin of a text.
class DateParser {
 public:
  explicit DateParser(std::string_view text) : text_(text) {}

  /// Whether the text goes on, with one of `separators`.
  bool goes_on(std::string_view separators) {
    if (text_.empty() || separators.find(text_.front()) == std::string_view::npos) return false;
    text_.remove_prefix(1);
    return true;
  }

  /// A number of `min` to `max` digits. Nothing from then on if there is none, or if it is out of range.
  std::int64_t number(std::size_t min, std::size_t max, std::int64_t lowest, std::int64_t highest) {
    const std::size_t size = std::min(text_.find_first_not_of("0123456789"), text_.size());
    std::int64_t value = 0;
    std::from_chars(text_.data(), text_.data() + std::min(size, max), value);
    is_valid_ = is_valid_ && size >= min && size <= max && value >= lowest && value <= highest;
    text_.remove_prefix(size);
    return value;
  }

  [[nodiscard]] std::size_t left() const { return text_.size(); }
  [[nodiscard]] bool is_at_valid_end() const { return is_valid_ && text_.empty(); }

 private:
  std::string_view text_;
  bool is_valid_ = true;
};

std::string duration_text(std::int64_t ticks) {
  return ticks == kNaT ? "NaT" : fmt::format("{}", ticks);
}

std::string complex_text(DType dtype, ElementBits real, ElementBits imaginary) {
  const std::string text = element_text(dtype, imaginary);
  return element_text(dtype, real) + (text.starts_with('-') ? "" : "+") + text + "j";
}

}  // namespace

std::optional<TimeUnit> parse_unit(std::string_view text) {
  TimeUnit unit;
  const bool has_number = text.starts_with('0') || text.find_first_of("123456789") == 0;
  if (has_number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), unit.multiplier);
    if (error != std::errc{} || unit.multiplier <= 0 || text.starts_with('0')) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  const auto* const row = std::ranges::find(kUnits, text, &UnitRow::name);
  if (row == kUnits.end()) return std::nullopt;
  unit.base = static_cast<TimeUnit::Base>(row - kUnits.begin());
  if (unit.base == TimeUnit::Base::generic && has_number) return std::nullopt;
  return unit;
}

std::string unit_text(TimeUnit unit) {
  if (unit.base == TimeUnit::Base::generic) return "";
  return unit.multiplier == 1 ? fmt::format("[{}]", row_of(unit).name)
                              : fmt::format("[{}{}]", unit.multiplier, row_of(unit).name);
}

std::string type_name(DType dtype, const LogicalType& meaning) {
  switch (meaning.kind) {
    case LogicalType::Kind::number: break;
    case LogicalType::Kind::boolean: return "bool";
    case LogicalType::Kind::datetime: return "datetime64" + unit_text(meaning.unit);
    case LogicalType::Kind::timedelta: return "timedelta64" + unit_text(meaning.unit);
    case LogicalType::Kind::complex: return fmt::format("complex{}", 16 * traits(dtype).size);
  }
  return std::string(traits(dtype).name);
}

std::string date_text(std::int64_t ticks, TimeUnit unit) {
  if (ticks == kNaT || unit.base == TimeUnit::Base::generic) return duration_text(ticks);
  const UnitRow& row = row_of(unit);
  Int128 value = Int128{ticks} * unit.multiplier;
  if (unit.base == TimeUnit::Base::year) return fmt::format("{:04}", value + 1970);
  if (unit.base == TimeUnit::Base::month) {
    const Int128 year = divide(value, 12) + 1970;
    return fmt::format("{:04}-{:02}", year, value + 1);
  }
  if (unit.base == TimeUnit::Base::week) value *= 7;
  std::int64_t parts = 1;  // of a second
  for (int i = 0; i < row.digits; ++i) parts *= 10;
  Int128 fraction = value;
  Int128 clock = divide(fraction, parts);
  std::string text = day_text(divide(clock, row.per_day));
  if (row.clock == 0) return text;
  const auto second = static_cast<std::int64_t>(clock) * (86400 / row.per_day);
  text += 'T' +
          fmt::format("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60).substr(0, row.clock);
  if (row.digits != 0) text += fmt::format(".{:0{}}", static_cast<std::int64_t>(fraction), row.digits);
  return text;
}

std::optional<DateText> parse_date(std::string_view text) {
  constexpr std::size_t kYearDigits = 18;
  constexpr int kFractionDigits = 18;
  DateText date;
  const bool is_negative = text.starts_with('-');
  DateParser parser(text.substr(is_negative || text.starts_with('+') ? 1 : 0));
  const auto two_digits = [&](int lowest, int highest) {
    return static_cast<int>(parser.number(2, 2, lowest, highest));
  };
  date.year = parser.number(1, kYearDigits, 0, std::numeric_limits<std::int64_t>::max());
  if (is_negative) date.year = -date.year;
  if (!parser.goes_on("-")) return std::nullopt;
  date.month = two_digits(1, 12);
  if (parser.goes_on("-")) {
    date.day = two_digits(1, days_in(date.year, std::clamp(date.month, 1, 12)));
    if (parser.goes_on("T ")) {
      date.second = two_digits(0, 23) * 3600;
      if (parser.goes_on(":")) {
        date.second += two_digits(0, 59) * 60;
        if (parser.goes_on(":")) {
          date.second += two_digits(0, 59);
          if (parser.goes_on(".")) {
            const std::size_t digits = parser.left();
            date.attosecond = parser.number(1, kFractionDigits, 0, std::numeric_limits<std::int64_t>::max());
            for (std::size_t i = digits; i < kFractionDigits; ++i) date.attosecond *= 10;
          }
        }
      }
    }
  }
  return parser.is_at_valid_end() ? std::optional(date) : std::nullopt;
}

std::optional<std::int64_t> ticks_of(const DateText& date, TimeUnit unit) {
  using Base = TimeUnit::Base;
  const UnitRow& row = row_of(unit);
  const bool is_day = date.second == 0 && date.attosecond == 0;
  Int128 ticks = 0;
  if (unit.base == Base::generic) return std::nullopt;
  if (unit.base == Base::year || unit.base == Base::month) {
    if (!is_day || date.day != 1 || (unit.base == Base::year && date.month != 1)) return std::nullopt;
    ticks = Int128{date.year} - 1970;
    if (unit.base == Base::month) ticks = ticks * 12 + date.month - 1;
  } else {
    const std::int64_t seconds = 86400 / row.per_day;  // of a unit, if it is a second or longer
    std::int64_t attoseconds = 1'000'000'000'000'000'000;
    std::int64_t parts = 1;
    for (int i = 0; i < row.digits; ++i, attoseconds /= 10) parts *= 10;
    if (date.second % seconds != 0 || date.attosecond % attoseconds != 0) return std::nullopt;
    ticks = days_of(date) * row.per_day + date.second / seconds;
    if (__builtin_mul_overflow(ticks, Int128{parts}, &ticks)) return std::nullopt;
    ticks += date.attosecond / attoseconds;
    if (unit.base == Base::week && ticks % 7 != 0) return std::nullopt;
    if (unit.base == Base::week) ticks /= 7;
  }
  Int128 rest = ticks;
  ticks = divide(rest, unit.multiplier);
  if (rest != 0 || ticks <= kNaT || ticks > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(ticks);
}

std::optional<std::int64_t> ticks_of(std::int64_t ticks, TimeUnit from, TimeUnit to) {
  const auto [length, is_calendar] = length_of(from);
  const auto [other, is_other_calendar] = length_of(to);
  if (length == 0 || other == 0 || is_calendar != is_other_calendar) return std::nullopt;
  const Int128 common = greatest_common_divisor(length, other);
  Int128 result = ticks;
  if (result % (other / common) != 0) return std::nullopt;
  result /= other / common;
  if (__builtin_mul_overflow(result, length / common, &result) || result <= kNaT ||
      result > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return static_cast<std::int64_t>(result);
}

std::string element_text(DType dtype, const LogicalType& meaning, ElementBits element,
                         ElementBits imaginary) {
  switch (meaning.kind) {
    case LogicalType::Kind::number: break;
    case LogicalType::Kind::boolean: return element == 0 ? "False" : "True";
    case LogicalType::Kind::datetime: return date_text(from_bits<std::int64_t>(element), meaning.unit);
    case LogicalType::Kind::timedelta: return duration_text(from_bits<std::int64_t>(element));
    case LogicalType::Kind::complex: return complex_text(dtype, element, imaginary);
  }
  return element_text(dtype, element);
}

}  // namespace clipper
