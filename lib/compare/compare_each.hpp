#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "compare/match.hpp"
#include "compare/mixed_pair.hpp"

/// The loop over pairs one by one.
namespace clipper {

inline void note_largest(ElementComparison& result, Difference difference, std::uint64_t position) noexcept {
  if (difference <= result.largest) return;
  result.largest = difference;
  result.largest_at = position;
}

template <class A, class E>
Mismatch mismatch_of(A a, E e, std::uint64_t position) noexcept {
  return {position, to_bits(a), to_bits(e)};
}
template <class T>
Mismatch mismatch_of(Complex<T> a, Complex<T> e, std::uint64_t position) noexcept {
  return {position, to_bits(a.real), to_bits(e.real), to_bits(a.imaginary), to_bits(e.imaginary)};
}

template <class A, class E>
void add_mismatch(A a, E e, std::uint64_t position, const ComparisonRule& rule, ElementComparison& result) {
  ++result.mismatches;
  if (result.first.size() < result.listed) result.first.push_back(mismatch_of(a, e, position));
  result.absolute = std::max(result.absolute, absolute_for(a, e, rule.tolerance));
  if constexpr (!std::integral<A> ? !TimeType<A> : !std::integral<E>)
    result.ulps = std::max(result.ulps, ulps_between(a, e, rule.float8).value_or(ElementComparison::kNoUlps));
}

template <class A, class E>
void compare_each(const A* a, const E* e, std::size_t count, std::uint64_t position,
                  const ComparisonRule& rule, ElementComparison& result) {
  for (std::size_t i = 0; i < count; ++i) {
    note_largest(result, difference_of(a[i], e[i]).value_or(0), position + i);
    if (!matches(a[i], e[i], rule)) add_mismatch(a[i], e[i], position + i, rule, result);
  }
}

}  // namespace clipper
