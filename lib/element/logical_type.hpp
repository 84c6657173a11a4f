#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "element/dtype.hpp"

/// Types of numpy whose elements are stored as those of a dtype, but mean something else: bool, datetime64,
/// timedelta64, complex numbers.
#pragma GCC visibility push(default)
namespace clipper {

/// The unit of dates and durations: "25s" is 25 seconds.
struct TimeUnit {
  enum class Base : std::uint8_t {
    year,
    month,
    week,
    day,
    hour,
    minute,
    second,
    milli,
    micro,
    nano,
    pico,
    femto,
    atto,
    generic
  };

  Base base = Base::generic;
  std::int32_t multiplier = 1;

  friend bool operator==(TimeUnit, TimeUnit) = default;
};

/// What the elements of a tensor mean.
struct LogicalType {
  enum class Kind : std::uint8_t {
    number,     ///< the dtype says it all
    boolean,    ///< stored as uint8, where everything but 0 is true
    datetime,   ///< stored as int64: units since 1970
    timedelta,  ///< stored as int64: units
    complex,    ///< stored as pairs of float32 or float64
  };

  Kind kind = Kind::number;
  TimeUnit unit{};  ///< of datetime and timedelta

  [[nodiscard]] bool is_time() const { return kind == Kind::datetime || kind == Kind::timedelta; }
  [[nodiscard]] bool is_complex() const { return kind == Kind::complex; }
  friend bool operator==(const LogicalType&, const LogicalType&) = default;
};

/// The date or duration that is none, "NaT".
inline constexpr std::int64_t kNaT = std::numeric_limits<std::int64_t>::min();

/// The unit that numpy writes between brackets: "ns", "25s". Nothing for other texts.
[[nodiscard]] std::optional<TimeUnit> parse_unit(std::string_view text);

/// "[25s]"; nothing for the generic unit.
[[nodiscard]] std::string unit_text(TimeUnit unit);

/// The type as numpy prints it: "float32", "bool", "datetime64[25s]", "complex64".
[[nodiscard]] std::string type_name(DType dtype, const LogicalType& meaning);

/// A date as numpy prints it, as precisely as the unit: "2020-02-29", "1969-12-31T23:59:59.999", "NaT".
[[nodiscard]] std::string date_text(std::int64_t ticks, TimeUnit unit);

/// A point in time as typed: "2020-02-29", "-0044-03-15T12", as np.datetime64 reads them, but without time
/// zones.
struct DateText {
  std::int64_t year = 0;
  int month = 1;
  int day = 1;
  int second = 0;  ///< of the day
  std::int64_t attosecond = 0;
};

/// Nothing for other texts. A year alone is a number, not a date.
[[nodiscard]] std::optional<DateText> parse_date(std::string_view text);

/// The date in this unit, which is not kNaT. Nothing if the unit does not have exactly this date.
[[nodiscard]] std::optional<std::int64_t> ticks_of(const DateText& date, TimeUnit unit);

/// A duration in another unit, if that has it exactly and it is not kNaT. Years and months are no number of
/// days.
[[nodiscard]] std::optional<std::int64_t> ticks_of(std::int64_t ticks, TimeUnit from, TimeUnit to);

/// The element as element_text() of its dtype, or as "True", "2020-02-29", "NaT" or "1-2j".
[[nodiscard]] std::string element_text(DType dtype, const LogicalType& meaning, ElementBits element,
                                       ElementBits imaginary = 0);

}  // namespace clipper
#pragma GCC visibility pop
