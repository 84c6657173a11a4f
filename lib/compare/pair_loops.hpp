#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "compare/match.hpp"
#include "compare/tolerance.hpp"
#include "simd/conversions.hpp"
#include "simd/vector.hpp"

/// The loops over a block of pairs: templates that must be inlined into
/// functions compiled for an instruction set. The results do not depend on the instruction set.
namespace clipper {

/// What the vectorized pass finds out about a block.
struct Survey {
  bool all_within;  ///< true: all pairs match; false: unknown, and `largest` is meaningless
  Difference largest;
};

/// Calls `loop` with the block's elements: 16-bit floats as floats.
template <std::size_t kBytes, class T, class Loop>
[[gnu::always_inline]] inline auto with_floats(const T* a, const T* e, std::size_t count,
                                               const Loop& loop) noexcept {
  if constexpr (HalfType<T>) {
    std::array<float, kPairBlock> actual;
    std::array<float, kPairBlock> expected;
    widen_block<kBytes>(a, count, actual.data());
    widen_block<kBytes>(e, count, expected.data());
    return loop(actual.data(), expected.data());
  } else {
    return loop(a, e);
  }
}

/// Pairs that are taken together: as many lanes as the widest registers have, so that sums have the same
/// digits with all.
inline constexpr std::size_t kLanes = 8;

/// float64 lanes in registers of kBytes.
template <std::size_t kBytes>
struct Lanes {
  using Register = Vector<double, kBytes>;
  static constexpr std::size_t kEach = kBytes / sizeof(double);
  static constexpr std::size_t kCount = kLanes / kEach;
  std::array<Register, kCount> parts{};

  [[nodiscard, gnu::always_inline]] double operator[](std::size_t lane) const noexcept {
    return parts[lane / kEach][lane % kEach];
  }
};

/// Calls `step(part, a, e)` with registers of consecutive elements, which begin at lane `part` * kEach. The
/// last ones are filled up with zeros.
template <std::size_t kBytes, class T, class Step>
[[gnu::always_inline]] inline void for_each_register(const T* a, const T* e, std::size_t count,
                                                     const Step& step) noexcept {
  using L = Lanes<kBytes>;
  using Elements = Vector<T, L::kEach * sizeof(T)>;
  const auto take = [&](const T* from, const T* other) {
    for (std::size_t part = 0; part < L::kCount; ++part) {
      Elements x;
      Elements y;
      std::memcpy(&x, from + part * L::kEach, sizeof(x));
      std::memcpy(&y, other + part * L::kEach, sizeof(y));
      step(part, x, y);
    }
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) take(a + i, e + i);
  if (i == count) return;
  std::array<T, kLanes> last_a{};
  std::array<T, kLanes> last_e{};
  std::memcpy(last_a.data(), a + i, (count - i) * sizeof(T));
  std::memcpy(last_e.data(), e + i, (count - i) * sizeof(T));
  take(last_a.data(), last_e.data());
}

/// Makes the lanes positive.
template <class Register>
[[gnu::always_inline]] inline void drop_sign(Register& x) noexcept {
  using Bits = Vector<std::uint64_t, sizeof(Register)>;
  x = __builtin_bit_cast(Register, __builtin_bit_cast(Bits, x) & 0x7fff'ffff'ffff'ffffU);
}

/// |a - e| as float64: exact before it is rounded.
template <class Register, class Elements>
[[gnu::always_inline]] inline void set_distance(const Elements& a, const Elements& e,
                                                Register& result) noexcept {
  using T = std::remove_cvref_t<decltype(a[0])>;
  if constexpr (std::is_integral_v<T> && sizeof(T) == sizeof(std::uint64_t)) {
    using Unsigned = Vector<std::uint64_t, sizeof(Elements)>;
    const auto up = __builtin_bit_cast(Unsigned, a) - __builtin_bit_cast(Unsigned, e);
    const auto less = __builtin_bit_cast(Unsigned, a < e);
    convert_lanes((up ^ less) - less, result);
  } else {
    Register y;
    convert_lanes(a, result);
    convert_lanes(e, y);
    result -= y;
    drop_sign(result);
  }
}

/// The lanes of a Survey of floats.
template <std::size_t kBytes>
struct SurveyLanes {
  using Register = typename Lanes<kBytes>::Register;
  using Bits = Vector<std::int64_t, kBytes>;

  Lanes<kBytes> largest;
  Lanes<kBytes> excess;                               ///< of the differences over the tolerance
  std::array<Bits, Lanes<kBytes>::kCount> special{};  ///< negative if a difference was infinite or NaN

  static constexpr std::int64_t kLowestExponentBit = std::int64_t{1} << 52;

  /// `size` is |e|.
  [[gnu::always_inline]] void take(std::size_t part, const Register& difference, const Register& size,
                                   double absolute, double relative) noexcept {
    const Register over = difference - (absolute + relative * size);
    Register& most = largest.parts[part];
    most = difference > most ? difference : most;
    excess.parts[part] = over > excess.parts[part] ? over : excess.parts[part];
    special[part] |= __builtin_bit_cast(Bits, difference) + kLowestExponentBit;
  }

  [[nodiscard, gnu::always_inline]] Survey survey() const noexcept {
    constexpr std::size_t kEach = Lanes<kBytes>::kEach;
    Survey result{true, 0};
    double most = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const bool is_special = special[lane / kEach][lane % kEach] < 0;
      result.all_within = result.all_within && excess[lane] == 0 && !is_special;
      most = largest[lane] > most ? largest[lane] : most;
    }
    result.largest = to_bits(most);
    return result;
  }
};

template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline Survey survey_floats(const T* a, const T* e, std::size_t count,
                                                   const Tolerance& tolerance) noexcept {
  using Register = typename Lanes<kBytes>::Register;
  const double absolute = tolerance.absolute();
  const double relative = tolerance.relative();
  SurveyLanes<kBytes> lanes;
  for_each_register<kBytes>(a, e, count, [&](std::size_t part, const auto& actual, const auto& expected) {
    Register difference;
    Register size;
    convert_lanes(expected, size);
    set_distance(actual, expected, difference);
    drop_sign(size);
    lanes.take(part, difference, size, absolute, relative);
  });
  return lanes.survey();
}

template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline Survey survey(const T* a, const T* e, std::size_t count,
                                            const Tolerance& tolerance) noexcept {
  if constexpr (std::is_integral_v<T>) {
    UnsignedOfSize<sizeof(T)> largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto difference = distance(a[i], e[i]);
      largest = difference > largest ? difference : largest;
    }
    return {largest <= tolerance.whole(), largest};
  } else {
    return with_floats<kBytes>(a, e, count, [&](const auto* x, const auto* y) {
      return survey_floats<kBytes>(x, y, count, tolerance);
    });
  }
}

/// The lanes of BlockSums. The products, which may cancel, are added with what each addition rounds off.
template <std::size_t kBytes>
struct SumLanes {
  Lanes<kBytes> actual;
  Lanes<kBytes> expected;
  Lanes<kBytes> difference;
  Lanes<kBytes> product;
  Lanes<kBytes> rest;
  Lanes<kBytes> numerator;  ///< the largest |a - e| / |e| as a fraction, because a division takes long
  Lanes<kBytes> denominator;
};

template <std::size_t kBytes>
[[gnu::always_inline]] inline BlockSums total_of(const SumLanes<kBytes>& lanes) noexcept {
  BlockSums sums;
  double rest = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sums.actual += lanes.actual[lane];
    sums.expected += lanes.expected[lane];
    sums.difference += lanes.difference[lane];
    const double sum = sums.product + lanes.product[lane];
    const double added = sum - sums.product;
    rest += lanes.rest[lane] + ((sums.product - (sum - added)) + (lanes.product[lane] - added));
    sums.product = sum;
    const double numerator = lanes.numerator[lane];
    const double relative = numerator == 0 ? 0 : numerator / lanes.denominator[lane];
    sums.relative = relative > sums.relative ? relative : sums.relative;
  }
  sums.product += rest;
  sums.finite = std::isfinite(sums.actual + sums.expected);
  return sums;
}

template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline BlockSums sum_numbers(const T* a, const T* e, std::size_t count,
                                                    const Tolerance& tolerance, Survey& found) noexcept {
  using Register = typename Lanes<kBytes>::Register;
  const double absolute = tolerance.absolute();
  const double relative = tolerance.relative();
  SumLanes<kBytes> lanes;
  SurveyLanes<kBytes> surveyed;
  for (Register& one : lanes.denominator.parts) one = Register{} + 1;
  for_each_register<kBytes>(a, e, count, [&](std::size_t part, const auto& actual, const auto& expected) {
    Register x;
    Register y;
    convert_lanes(actual, x);
    convert_lanes(expected, y);
    Register d;
    set_distance(actual, expected, d);
    Register size = y;
    drop_sign(size);
    lanes.actual.parts[part] += x * x;
    lanes.expected.parts[part] += y * y;
    lanes.difference.parts[part] += d * d;
    const Register product = x * y;
    const Register before = lanes.product.parts[part];
    const Register sum = before + product;
    const Register added = sum - before;
    lanes.rest.parts[part] += (before - (sum - added)) + (product - added);
    lanes.product.parts[part] = sum;
    Register& numerator = lanes.numerator.parts[part];
    Register& denominator = lanes.denominator.parts[part];
    const auto is_larger = d * denominator > numerator * size;
    numerator = is_larger ? d : numerator;
    denominator = is_larger ? size : denominator;
    if constexpr (std::is_floating_point_v<T>) surveyed.take(part, d, size, absolute, relative);
  });
  if constexpr (std::is_floating_point_v<T>)
    found = surveyed.survey();
  else
    found = survey<kBytes>(a, e, count, tolerance);
  return total_of(lanes);
}

/// Adds products of T in lanes of 32 bits: the halves of large products apart, so that the sums of a block
/// cannot overflow.
template <class T, std::size_t kBytes, class Products>
struct ProductLanes {
  Products lower{};
  Products upper{};

  [[gnu::always_inline]] void take(const Products& products) noexcept {
    if constexpr (sizeof(T) == 1) {
      lower += products;
    } else {
      lower += products & 0xffff;
      upper += products >> 16;
    }
  }

  [[nodiscard, gnu::always_inline]] double total() const noexcept {
    std::int64_t sum = 0;
    for (std::size_t lane = 0; lane < kBytes / sizeof(std::int32_t); ++lane)
      sum += std::int64_t{lower[lane]} + std::int64_t{upper[lane]} * 0x10000;
    return static_cast<double>(sum);
  }
};

/// The elements of a block of small integers, widened and filled up with zeros, for registers of kBytes.
template <std::size_t kBytes>
struct WideBlock {
  using Register = Vector<std::int32_t, kBytes>;
  static constexpr std::size_t kWidth = kBytes / sizeof(std::int32_t);
  static_assert(kPairBlock % kWidth == 0);
  alignas(kBytes) std::array<std::int32_t, kPairBlock> elements;

  template <class T>
  [[gnu::always_inline]] WideBlock(const T* from, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) elements[i] = from[i];
    for (std::size_t i = count; i % kWidth != 0; ++i) elements[i] = 0;
  }

  [[gnu::always_inline]] void get(std::size_t position, Register& x) const noexcept {
    std::memcpy(&x, &elements[position], sizeof(x));
  }
};

/// sum_numbers() of integers of 8 and 16 bits, in integers: exact.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline BlockSums sum_small_integers(const T* a, const T* e,
                                                           std::size_t count) noexcept {
  using Signed = Vector<std::int32_t, kBytes>;
  using Unsigned = Vector<std::uint32_t, kBytes>;
  using Product = std::conditional_t<std::is_signed_v<T>, Signed, Unsigned>;
  constexpr std::size_t kWidth = WideBlock<kBytes>::kWidth;
  const WideBlock<kBytes> actual(a, count);
  const WideBlock<kBytes> expected(e, count);
  ProductLanes<T, kBytes, Unsigned> actual_squares;
  ProductLanes<T, kBytes, Unsigned> expected_squares;
  ProductLanes<T, kBytes, Unsigned> difference_squares;
  ProductLanes<T, kBytes, Product> products;
  Unsigned numerator{};  // the largest |a - e| / |e| as a fraction
  Unsigned denominator = Unsigned{} + 1;
  for (std::size_t i = 0; i < count; i += kWidth) {
    Signed x;
    Signed y;
    actual.get(i, x);
    expected.get(i, y);
    const auto u = __builtin_bit_cast(Unsigned, x);
    const auto v = __builtin_bit_cast(Unsigned, y);
    const auto d = __builtin_bit_cast(Unsigned, x < y ? y - x : x - y);
    const auto size = __builtin_bit_cast(Unsigned, y < 0 ? -y : y);
    actual_squares.take(u * u);
    expected_squares.take(v * v);
    difference_squares.take(d * d);
    products.take(__builtin_bit_cast(Product, u * v));
    const auto is_larger = d * denominator > numerator * size;
    numerator = is_larger ? d : numerator;
    denominator = is_larger ? size : denominator;
  }
  BlockSums sums{actual_squares.total(), expected_squares.total(), products.total(),
                 difference_squares.total()};
  for (std::size_t lane = 0; lane < kWidth; ++lane)
    if (numerator[lane] != 0)
      sums.relative = std::fmax(sums.relative, static_cast<double>(numerator[lane]) / denominator[lane]);
  return sums;
}

/// The same for a block of equal elements.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline BlockSums sum_equal_small_integers(const T* e, std::size_t count) noexcept {
  using Unsigned = Vector<std::uint32_t, kBytes>;
  const WideBlock<kBytes> expected(e, count);
  ProductLanes<T, kBytes, Unsigned> squares;
  for (std::size_t i = 0; i < count; i += WideBlock<kBytes>::kWidth) {
    Vector<std::int32_t, kBytes> y;
    expected.get(i, y);
    const auto v = __builtin_bit_cast(Unsigned, y);
    squares.take(v * v);
  }
  const double sum = squares.total();
  return {sum, sum, sum};
}

template <class T>
inline constexpr bool kIsSmallInteger = std::is_integral_v<T> && sizeof(T) < sizeof(std::int32_t);

/// The sums and the survey() of a block.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline BlockSums sum_block(const T* a, const T* e, std::size_t count,
                                                  const Tolerance& tolerance, Survey& found) noexcept {
  if constexpr (kIsSmallInteger<T>) {
    found = survey<kBytes>(a, e, count, tolerance);
    return sum_small_integers<kBytes>(a, e, count);
  } else {
    return with_floats<kBytes>(a, e, count, [&](const auto* x, const auto* y) {
      return sum_numbers<kBytes>(x, y, count, tolerance, found);
    });
  }
}

/// The same for a block of equal elements.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline BlockSums sum_equal_block(const T* e, std::size_t count) noexcept {
  if constexpr (kIsSmallInteger<T>) return sum_equal_small_integers<kBytes>(e, count);
  using Register = typename Lanes<kBytes>::Register;
  Lanes<kBytes> squares;
  with_floats<kBytes>(e, e, count, [&](const auto* x, const auto* y) {
    for_each_register<kBytes>(x, y, count, [&](std::size_t part, const auto&, const auto& expected) {
      Register value;
      convert_lanes(expected, value);
      squares.parts[part] += value * value;
    });
  });
  BlockSums sums;
  for (std::size_t lane = 0; lane < kLanes; ++lane) sums.actual += squares[lane];
  sums.finite = std::isfinite(sums.actual);
  sums.expected = sums.product = sums.actual;
  return sums;
}

}  // namespace clipper
