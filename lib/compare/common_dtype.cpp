#include "compare/common_dtype.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "compare/comparison.hpp"
#include "element/byte_order.hpp"
#include "element/float8.hpp"
#include "element/half.hpp"
#include "element/number.hpp"

namespace clipper {
namespace {

template <class T>
T element_at(const RawElements& elements, std::size_t i) noexcept {
  T element;
  std::memcpy(&element, elements.data + i * sizeof(T), sizeof(T));
  return elements.order == kNativeOrder ? element : byteswap_if<Byteswap::yes>(element);
}

/// The order of two numbers whose nearest float64 are the same.
template <class A, class E>
int order_of(A a, E e) noexcept {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<E>) {
    return Int128{a} == Int128{e} ? 0 : Int128{a} < Int128{e} ? -1 : 1;
  } else if constexpr (std::is_integral_v<A>) {
    const auto whole = static_cast<Int128>(as_double(e));  // an integer, because it is near one
    return Int128{a} == whole ? 0 : Int128{a} < whole ? -1 : 1;
  } else if constexpr (std::is_integral_v<E>) {
    return -order_of(e, a);
  } else {
    return 0;
  }
}

template <class A, class E>
void to_float64(A a, E e, std::uint64_t& actual, std::uint64_t& expected) noexcept {
  double x = as_double(a);
  const double y = as_double(e);
  if (const int order = x == y ? order_of(a, e) : 0; order != 0)
    x = std::nextafter(x, order * std::numeric_limits<double>::infinity());
  actual = std::bit_cast<std::uint64_t>(x);
  expected = std::bit_cast<std::uint64_t>(y);
}

template <class A, class E>
void convert(A a, E e, bool to_integers, std::uint64_t& actual, std::uint64_t& expected) noexcept {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<E>) {
    if (to_integers) {
      actual = static_cast<std::uint64_t>(a);
      expected = static_cast<std::uint64_t>(e);
      return;
    }
  }
  to_float64(a, e, actual, expected);
}

bool has_64_bits(const DTypeTraits& dtype) noexcept {
  return dtype.size == sizeof(std::uint64_t);
}

}  // namespace

DType common_dtype(DType one, DType other) {
  const DTypeTraits& a = traits(one);
  const DTypeTraits& b = traits(other);
  if (is_floating(one) || is_floating(other)) return DType::float64;
  const auto is_unsigned = [](const DTypeTraits& x) { return x.kind == NumberKind::unsigned_integer; };
  if (is_unsigned(a) && is_unsigned(b)) return DType::uint64;
  const bool fits = !(is_unsigned(a) && has_64_bits(a)) && !(is_unsigned(b) && has_64_bits(b));
  return fits ? DType::int64 : DType::float64;
}

void to_common_dtype(const RawElements& actual, const RawElements& expected,
                     std::span<std::uint64_t> actual_result, std::span<std::uint64_t> expected_result) {
  std::array<float, kPairBlock> widened;
  const auto is_wide = [&](const RawElements& elements) {
    if (!is_float8(elements.dtype)) return false;
    widen(elements.dtype, elements.data, widened.data(), actual_result.size());
    return true;
  };
  const RawElements floats{DType::float32, kNativeOrder, reinterpret_cast<const std::byte*>(widened.data())};
  if (is_wide(actual)) return to_common_dtype(floats, expected, actual_result, expected_result);
  if (is_wide(expected)) return to_common_dtype(actual, floats, actual_result, expected_result);
  const bool to_integers = common_dtype(actual.dtype, expected.dtype) != DType::float64;
  with_type(actual.dtype, [&]<class A>() {
    with_type(expected.dtype, [&]<class E>() {
      for (std::size_t i = 0; i < actual_result.size(); ++i)
        convert(element_at<A>(actual, i), element_at<E>(expected, i), to_integers, actual_result[i],
                expected_result[i]);
    });
  });
}

}  // namespace clipper
