#include "compare/common_dtype.hpp"

#include <array>
#include <cstring>

#include "compare/comparison.hpp"
#include "element/float8.hpp"
#include "element/half.hpp"

namespace clipper {
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

bool has_64_bits(DType dtype) noexcept {
  return !is_floating(dtype) && traits(dtype).size == sizeof(std::uint64_t);
}

DType widest(DType dtype) noexcept {
  return is_floating(dtype) ? DType::float64 : is_unsigned(dtype) ? DType::uint64 : DType::int64;
}

}  // namespace

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
