#include "compare/mixed_comparison.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>

#include "compare/comparison.hpp"
#include "compare/match.hpp"
#include "element/float8.hpp"
#include "element/half.hpp"

namespace clipper {
namespace {

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

template <class T>
T element_at(const RawElements& elements, std::size_t i) noexcept {
  T element;
  std::memcpy(&element, elements.data + i * sizeof(T), sizeof(T));
  return element;
}

bool is_unsigned(DType dtype) noexcept {
  return traits(dtype).kind == NumberKind::unsigned_integer;
}

bool has_64_bits(DType dtype) noexcept {
  return !is_floating(dtype) && traits(dtype).size == sizeof(std::uint64_t);
}

DType widest(DType dtype) noexcept {
  return is_floating(dtype) ? DType::float64 : is_unsigned(dtype) ? DType::uint64 : DType::int64;
}

}  // namespace

void compare_mixed(const ElementPairs& pairs, const ComparisonRule& rule, SimdLevel level,
                   ElementComparison& result) {
  with_mixed_types(*pairs.actual_dtype, pairs.dtype, [&]<class A, class E>() {
    const std::span a(reinterpret_cast<const A*>(pairs.actual), pairs.count);
    const std::span e(reinterpret_cast<const E*>(pairs.expected), pairs.count);
    for (std::size_t i = 0; i < pairs.count && rule.metrics; i += kPairBlock) {
      const std::size_t count = std::min(kPairBlock, pairs.count - i);
      add_sums(a.subspan(i, count), e.subspan(i, count), rule.exact_metrics, level, *result.metrics);
    }
    compare_each(a.data(), e.data(), pairs.count, pairs.position, rule, result);
  });
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

PairDTypes common_dtypes(DType actual, DType expected) {
  const PairDTypes own{widest(actual), widest(expected)};
  if (own.actual == own.expected) return own;
  const bool has_float = is_floating(actual) || is_floating(expected);
  const auto fits = [&](DType dtype) { return !has_64_bits(dtype) || (!has_float && !is_unsigned(dtype)); };
  if (!fits(actual) || !fits(expected)) return own;
  const DType common = has_float ? DType::float64 : DType::int64;
  return {common, common};
}

void widen(const RawElements& elements, DType dtype, std::span<std::uint64_t> result) {
  if (is_float8(elements.dtype)) {
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
