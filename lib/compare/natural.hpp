#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "element/number.hpp"

namespace clipper {

/// An integer from 0, of any size.
class Natural {
 public:
  Natural() = default;
  explicit Natural(UInt128 value);

  /// The integer that decimal digits spell, times 10^power.
  Natural(std::string_view digits, std::uint64_t power);

  Natural& operator+=(const Natural& other);
  Natural& operator-=(const Natural& other);  ///< `other` must not be larger
  Natural& operator<<=(unsigned bits);
  [[nodiscard]] Natural operator*(const Natural& other) const;

  /// The value, if it is less than 2^128.
  [[nodiscard]] std::optional<UInt128> value() const;

  friend std::strong_ordering operator<=>(const Natural& a, const Natural& b);
  friend bool operator==(const Natural& a, const Natural& b) = default;

 private:
  void trim();

  std::vector<std::uint32_t> digits_;  ///< of base 2^32, the lowest first; the last one is not 0
};

}  // namespace clipper
