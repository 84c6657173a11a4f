// Compares the bytes of a block first. If they differ, a vectorized pass tests whether all pairs are surely
// within the tolerance. Only if they are not, the block is compared pair by pair.

#include "compare/comparison.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <iterator>

#include "compare/match.hpp"
#include "compare/pair_loops.hpp"

namespace clipper {
namespace {

struct SurveyBlock {
  template <SimdLevel kLevel, class T>
  [[gnu::always_inline]] static Survey run(const T* a, const T* e, std::size_t count,
                                           const Tolerance& tolerance) noexcept {
    return survey<vector_bytes(kLevel)>(a, e, count, tolerance);
  }
};

struct SumBlock {
  template <SimdLevel kLevel, class T>
  [[gnu::always_inline]] static BlockSums run(const T* a, const T* e, std::size_t count,
                                              const Tolerance& tolerance, Survey* found) noexcept {
    return sum_block<vector_bytes(kLevel)>(a, e, count, tolerance, *found);
  }
};

struct SumEqualBlock {
  template <SimdLevel kLevel, class T>
  [[gnu::always_inline]] static BlockSums run(const T* e, std::size_t count) noexcept {
    return sum_equal_block<vector_bytes(kLevel)>(e, count);
  }
};

/// Whether a sum of squares of float64 may lack what squares have lost below the smallest float64, or above
/// the largest.
bool is_extreme(double squares) noexcept {
  return !(squares >= 0x1p-800 && squares <= 0x1p1000);
}

/// Whether the sums of float64 elements must be calculated again with a larger range.
bool are_extreme(const BlockSums& sums, const double* a, const double* e, std::size_t count) noexcept {
  const auto any = [&](const auto& is_true) {
    for (std::size_t i = 0; i < count; ++i)
      if (is_true(a[i], e[i])) return true;
    return false;
  };
  return (is_extreme(sums.actual) && any([](double x, double) { return x != 0; })) ||
         (is_extreme(sums.expected) && any([](double, double y) { return y != 0; })) ||
         (is_extreme(sums.difference) && any([](double x, double y) { return x != y; }));
}

/// Adds the pairs of a block, exactly if that is asked for or needed. BlockSums of small integers are exact.
template <class T>
void add_sums(const BlockSums& block, const T* a, const T* e, std::size_t count, bool exact,
              MetricSums& sums) noexcept {
  bool extreme = false;
  if constexpr (std::is_same_v<T, double>) extreme = are_extreme(block, a, e, count);
  if (!extreme && (!exact || kIsSmallInteger<T> || !block.finite)) return add(block, sums);
  PairSums pairs;
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>)
      pairs.add(a[i], e[i]);
    else
      pairs.add(as_double(a[i]), as_double(e[i]));
    if (extreme) pairs.note_relative(as_double(a[i]), as_double(e[i]));
  }
  if (!extreme) pairs.note_relative(block.relative);
  sums += pairs.total();
}

/// A block of elements.
template <class T>
void compare_block(const T* a, const T* e, std::size_t count, std::uint64_t position,
                   const ComparisonRule& rule, SimdLevel level, ElementComparison& result) {
  Survey all{};
  if (rule.metrics)
    add_sums(run_loop<SumBlock>(level, a, e, count, rule.tolerance, &all), a, e, count, rule.exact_metrics,
             *result.metrics);
  else if (!rule.bits)
    all = run_loop<SurveyBlock>(level, a, e, count, rule.tolerance);
  if (rule.bits || !all.all_within) {
    compare_each(a, e, count, position, rule, result);
    return;
  }
  for (std::size_t i = 0; i < count && all.largest > result.largest; ++i)
    note_largest(result, *difference_of(a[i], e[i]), position + i);
}

ElementComparison empty_result(const ElementPairs& pairs, const ComparisonRule& rule) {
  ElementComparison result;
  result.dtype = pairs.dtype;
  result.meaning = pairs.meaning;
  result.actual_dtype = pairs.actual_dtype;
  result.listed = rule.listed;
  result.compared = pairs.count;
  if (rule.metrics) result.metrics.emplace();
  return result;
}

template <class T>
ElementComparison compare_as(const ElementPairs& pairs, const ComparisonRule& rule, SimdLevel level) {
  const T* const a = reinterpret_cast<const T*>(pairs.actual);
  const T* const e = reinterpret_cast<const T*>(pairs.expected);
  const bool equal_bytes_match = rule.bits || rule.nan_equal || std::is_integral_v<T>;
  ElementComparison result = empty_result(pairs, rule);
  ComparisonRule without_metrics = rule;  // for NaN that does not match NaN
  without_metrics.metrics = false;
  for (std::size_t i = 0; i < pairs.count; i += kPairBlock) {
    const std::size_t count = std::min(kPairBlock, pairs.count - i);
    const bool equal = std::memcmp(a + i, e + i, count * sizeof(T)) == 0;
    if (equal && equal_bytes_match && !rule.metrics) continue;
    if (equal && rule.metrics)
      add_sums(run_loop<SumEqualBlock>(level, e + i, count), e + i, e + i, count, rule.exact_metrics,
               *result.metrics);
    if (equal && equal_bytes_match) continue;
    compare_block(a + i, e + i, count, pairs.position + i, equal ? without_metrics : rule, level, result);
  }
  return result;
}

template <TimeType T>
void add_pair(T a, T e, PairSums& sums) noexcept {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (is_nat(a) || is_nat(e)) return sums.add(kNan, kNan);
  sums.add(a.ticks, e.ticks);
  sums.note_relative(static_cast<long double>(a.ticks), static_cast<long double>(e.ticks));
}

template <class T>
void add_pair(Complex<T> a, Complex<T> e, PairSums& sums) noexcept {
  sums.add(as_double(a.real), as_double(e.real));
  sums.add(as_double(a.imaginary), as_double(e.imaginary));
  const double difference = modulus_of_difference(a, e);
  if (difference != 0) sums.note_relative(difference / modulus(e));
}

/// Dates, durations and complex numbers.
template <class T>
ElementComparison compare_parts(const ElementPairs& pairs, const ComparisonRule& rule) {
  ElementComparison result = empty_result(pairs, rule);
  const bool is_equal = std::memcmp(pairs.actual, pairs.expected, pairs.count * sizeof(T)) == 0;
  if (is_equal && (rule.bits || rule.nan_equal) && !rule.metrics) return result;
  const T* const a = reinterpret_cast<const T*>(pairs.actual);
  const T* const e = reinterpret_cast<const T*>(pairs.expected);
  if (rule.metrics) {
    PairSums sums;
    for (std::size_t i = 0; i < pairs.count; ++i) add_pair(a[i], e[i], sums);
    *result.metrics += sums.total();
  }
  compare_each(a, e, pairs.count, pairs.position, rule, result);
  return result;
}

/// Elements of a dtype without kernels, by blocks that are widened.
ElementComparison compare_widened(const ElementPairs& pairs, ComparisonRule rule, SimdLevel level) {
  rule.widened = pairs.dtype;
  std::array<float, kPairBlock> a;
  std::array<float, kPairBlock> e;
  ElementComparison result = empty_result(pairs, rule);
  result.compared = 0;
  for (std::size_t i = 0; i < pairs.count; i += kPairBlock) {
    const std::size_t count = std::min(kPairBlock, pairs.count - i);
    widen(pairs.dtype, pairs.actual + i, a.data(), count);
    widen(pairs.dtype, pairs.expected + i, e.data(), count);
    ElementComparison part = compare_as<float>({.dtype = DType::float32,
                                                .actual = reinterpret_cast<std::byte*>(a.data()),
                                                .expected = reinterpret_cast<std::byte*>(e.data()),
                                                .count = count,
                                                .position = pairs.position + i},
                                               rule, level);
    for (Mismatch& mismatch : part.first) {
      const std::uint64_t at = mismatch.position - pairs.position;
      mismatch.actual = std::to_integer<ElementBits>(pairs.actual[at]);
      mismatch.expected = std::to_integer<ElementBits>(pairs.expected[at]);
    }
    result += part;
  }
  return result;
}

/// Returns f.operator()<A, E>() for the types of the actual and the expected elements.
template <class F>
decltype(auto) with_mixed_types(DType actual, DType expected, const F& f) {
  const auto with_actual = [&]<class E>() -> decltype(auto) {
    if constexpr (!std::same_as<E, std::int64_t>)
      if (actual == DType::int64) return f.template operator()<std::int64_t, E>();
    if constexpr (!std::same_as<E, std::uint64_t>)
      if (actual == DType::uint64) return f.template operator()<std::uint64_t, E>();
    if constexpr (!std::same_as<E, double>) return f.template operator()<double, E>();
    __builtin_unreachable();
  };
  if (expected == DType::int64) return with_actual.template operator()<std::int64_t>();
  if (expected == DType::uint64) return with_actual.template operator()<std::uint64_t>();
  return with_actual.template operator()<double>();
}

/// Sets the elements as float64. False if that does not have one of them.
template <class T>
bool set_doubles(std::span<const T> elements, std::span<double> result) noexcept {
  bool all = true;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    result[i] = static_cast<double>(elements[i]);
    if constexpr (std::integral<T>) all &= static_cast<Int128>(result[i]) == Int128{elements[i]};
  }
  return all;
}

template <class A, class E>
void add_sums(std::span<const A> a, std::span<const E> e, bool exact, SimdLevel level, MetricSums& sums) {
  std::array<double, kPairBlock> x;
  std::array<double, kPairBlock> y;
  if (!exact && set_doubles(a, std::span(x)) && set_doubles(e, std::span(y))) {
    ComparisonRule rule;
    rule.metrics = true;
    sums += *compare({.dtype = DType::float64,
                      .actual = reinterpret_cast<std::byte*>(x.data()),
                      .expected = reinterpret_cast<std::byte*>(y.data()),
                      .count = a.size(),
                      .position = 0},
                     rule, level)
                 .metrics;
    return;
  }
  PairSums pairs;
  for (std::size_t i = 0; i < a.size(); ++i) {
    pairs.add(a[i], e[i]);
    pairs.note_relative(static_cast<long double>(a[i]), static_cast<long double>(e[i]));
  }
  sums += pairs.total();
}

/// Elements of two dtypes.
ElementComparison compare_mixed(const ElementPairs& pairs, const ComparisonRule& rule, SimdLevel level) {
  ElementComparison result = empty_result(pairs, rule);
  with_mixed_types(*pairs.actual_dtype, pairs.dtype, [&]<class A, class E>() {
    const std::span a(reinterpret_cast<const A*>(pairs.actual), pairs.count);
    const std::span e(reinterpret_cast<const E*>(pairs.expected), pairs.count);
    for (std::size_t i = 0; i < pairs.count && rule.metrics; i += kPairBlock) {
      const std::size_t count = std::min(kPairBlock, pairs.count - i);
      add_sums(a.subspan(i, count), e.subspan(i, count), rule.exact_metrics, level, *result.metrics);
    }
    compare_each(a.data(), e.data(), pairs.count, pairs.position, rule, result);
  });
  return result;
}

std::optional<Difference> mixed_difference(const ElementComparison& comparison, const Mismatch& mismatch) {
  return with_mixed_types(*comparison.actual_dtype, comparison.dtype, [&]<class A, class E>() {
    return difference_of(from_bits<A>(mismatch.actual), from_bits<E>(mismatch.expected));
  });
}

std::optional<std::uint64_t> mixed_ulps(const ElementComparison& comparison, const Mismatch& mismatch) {
  return with_mixed_types(*comparison.actual_dtype, comparison.dtype, [&]<class A, class E>() {
    return ulps_between(from_bits<A>(mismatch.actual), from_bits<E>(mismatch.expected));
  });
}

}  // namespace

ElementComparison& ElementComparison::operator+=(const ElementComparison& other) {
  compared += other.compared;
  mismatches += other.mismatches;
  if (other.largest > largest || (other.largest == largest && other.largest_at < largest_at)) {
    largest = other.largest;
    largest_at = other.largest_at;
  }
  if (metrics && other.metrics) *metrics += *other.metrics;
  absolute = std::max(absolute, other.absolute);
  ulps = std::max(ulps, other.ulps);
  relative = std::max(relative, other.relative);
  largest_relative = std::max(largest_relative, other.largest_relative);
  if (other.nan != 0) nan_at = nan == 0 ? other.nan_at : std::min(nan_at, other.nan_at);
  nan += other.nan;
  std::vector<Mismatch> merged;
  std::ranges::merge(first, other.first, std::back_inserter(merged), {}, &Mismatch::position,
                     &Mismatch::position);
  if (merged.size() > listed) merged.resize(listed);
  first = std::move(merged);
  return *this;
}

ComparisonRule for_dtype(ComparisonRule rule, DType dtype) {
  if (!rule.preset) return rule;
  const PresetTolerance preset = preset_tolerance(*rule.preset, dtype);
  rule.tolerance = {parse_number(preset.absolute).value(), parse_number(preset.relative).value()};
  return rule;
}

ElementComparison compare(const ElementPairs& pairs, const ComparisonRule& rule, SimdLevel level) {
  if (pairs.actual_dtype) return compare_mixed(pairs, rule, level);
  switch (pairs.meaning.kind) {
    case LogicalType::Kind::number:
      if (!has_kernels(pairs.dtype)) return compare_widened(pairs, rule, level);
      break;
    case LogicalType::Kind::boolean: break;
    case LogicalType::Kind::datetime: return compare_parts<Date>(pairs, rule);
    case LogicalType::Kind::timedelta: return compare_parts<Duration>(pairs, rule);
    case LogicalType::Kind::complex:
      if (pairs.dtype == DType::float32) return compare_parts<Complex<float>>(pairs, rule);
      return compare_parts<Complex<double>>(pairs, rule);
  }
  return with_type(pairs.dtype, [&]<class T>() { return compare_as<T>(pairs, rule, level); });
}

std::optional<Difference> difference_of(const ElementComparison& comparison, const Mismatch& mismatch) {
  const DType dtype = comparison.dtype;
  if (comparison.actual_dtype) return mixed_difference(comparison, mismatch);
  if (!has_kernels(dtype))
    return difference_of(widened(dtype, mismatch.actual), widened(dtype, mismatch.expected));
  return with_type(comparison.dtype, [&]<class T>() -> std::optional<Difference> {
    const T a = from_bits<T>(mismatch.actual);
    const T e = from_bits<T>(mismatch.expected);
    if constexpr (std::is_same_v<T, std::int64_t>)
      if (comparison.meaning.is_time()) return difference_of(Date{a}, Date{e});
    if constexpr (std::is_floating_point_v<T>)
      if (comparison.meaning.is_complex())
        return difference_of(Complex<T>{a, from_bits<T>(mismatch.actual_imaginary)},
                             Complex<T>{e, from_bits<T>(mismatch.expected_imaginary)});
    return difference_of(a, e);
  });
}

std::optional<std::uint64_t> ulps_between(const ElementComparison& comparison, const Mismatch& mismatch) {
  const DType dtype = comparison.dtype;
  if (comparison.actual_dtype) return mixed_ulps(comparison, mismatch);
  if (!has_kernels(dtype))
    return ulps_between(widened(dtype, mismatch.actual), widened(dtype, mismatch.expected), dtype);
  return with_type(comparison.dtype, [&]<class T>() -> std::optional<std::uint64_t> {
    if constexpr (std::is_integral_v<T>) {
      return std::nullopt;
    } else {
      const auto real = ulps_between(from_bits<T>(mismatch.actual), from_bits<T>(mismatch.expected));
      const auto imaginary =
          ulps_between(from_bits<T>(mismatch.actual_imaginary), from_bits<T>(mismatch.expected_imaginary));
      return real && imaginary ? std::optional(std::max(*real, *imaginary)) : std::nullopt;
    }
  });
}

namespace {

template <class T>
T element_at(const RawElements& elements, std::size_t i) noexcept {
  T element;
  std::memcpy(&element, elements.data + i * sizeof(T), sizeof(T));
  return element;
}

bool is_unsigned(DType dtype) noexcept {
  return traits(dtype).kind == NumberKind::unsigned_integer;
}

DType widest(DType dtype) noexcept {
  return is_floating(dtype) ? DType::float64 : is_unsigned(dtype) ? DType::uint64 : DType::int64;
}

}  // namespace

PairDTypes common_dtypes(DType actual, DType expected) {
  const PairDTypes own{widest(actual), widest(expected)};
  if (own.actual == own.expected) return own;
  const bool has_float = is_floating(actual) || is_floating(expected);
  const auto fits = [&](DType dtype) {
    return !is_long_integer(dtype) || (!has_float && !is_unsigned(dtype));
  };
  if (!fits(actual) || !fits(expected)) return own;
  const DType common = has_float ? DType::float64 : DType::int64;
  return {common, common};
}

void widen(const RawElements& elements, DType dtype, std::span<std::uint64_t> result) {
  if (!has_kernels(elements.dtype)) {
    std::array<float, kPairBlock> floats;
    widen(elements.dtype, elements.data, floats.data(), result.size());
    return widen({DType::float32, reinterpret_cast<const std::byte*>(floats.data())}, dtype, result);
  }
  const bool to_floats = dtype == DType::float64;
  with_type(elements.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < result.size(); ++i) {
      const T x = element_at<T>(elements, i);
      if constexpr (std::is_integral_v<T>)
        result[i] = to_floats ? to_bits(as_double(x)) : static_cast<std::uint64_t>(x);
      else
        result[i] = to_bits(as_double(x));
    }
  });
}

}  // namespace clipper
