#include "compare/difference_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "compare/match.hpp"
#include "npy/header.hpp"

namespace clipper {
namespace {

constexpr std::size_t kBlock = 8192;  // elements written at a time, from the thread's stack

template <class T>
using DifferenceOf = std::conditional_t<std::is_integral_v<T>, UnsignedOfSize<sizeof(T)>,
                                        std::conditional_t<std::same_as<T, double>, double, float>>;

/// The dtype of DifferenceOf<T>.
DType difference_dtype(DType dtype) {
  const bool floats = is_floating(dtype);
  const std::size_t size = std::max(traits(dtype).size, floats ? sizeof(float) : 1);
  const auto is_same = [&](const DTypeTraits& row) {
    return row.size == size && row.kind == (floats ? NumberKind::floating : NumberKind::unsigned_integer);
  };
  return std::ranges::find_if(kDTypes, is_same)->dtype;
}

template <class T>
DifferenceOf<T> difference(T a, T e, bool nan_equal) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return distance(a, e);
  } else {
    const auto x = static_cast<DifferenceOf<T>>(as_double(a));
    const auto y = static_cast<DifferenceOf<T>>(as_double(e));
    if (x == y || (nan_equal && std::isnan(x) && std::isnan(y))) return 0;
    return std::fabs(x - y);
  }
}

/// The differences of float8 elements.
void fill_float8(std::span<float> block, const ElementPairs& pairs, std::size_t begin, bool nan_equal) {
  for (std::size_t i = 0; i < block.size(); ++i)
    block[i] =
        difference(widened(pairs.dtype, std::to_integer<ElementBits>(pairs.actual[begin + i])),
                   widened(pairs.dtype, std::to_integer<ElementBits>(pairs.expected[begin + i])), nan_equal);
}

template <class T>
void fill(std::span<DifferenceOf<T>> block, const ElementPairs& pairs, std::size_t begin, bool nan_equal) {
  const T* const a = reinterpret_cast<const T*>(pairs.actual) + begin;
  const T* const e = reinterpret_cast<const T*>(pairs.expected) + begin;
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = difference<T>(a[i], e[i], nan_equal);
}

}  // namespace

DifferenceFile::DifferenceFile(OutputFile output, const TensorLayout& expected, bool nan_equal)
    : output_(std::move(output)), nan_equal_(nan_equal) {
  const TensorLayout layout{.dtype = difference_dtype(expected.dtype),
                            .fortran_order = expected.fortran_order,
                            .shape = expected.shape,
                            .count = expected.count};
  const std::string text = npy::format(layout);
  data_offset_ = text.size();
  std::ignore = output_.reserve(data_offset_ + layout.data_size());
  output_.write(std::as_bytes(std::span(text)));
}

void DifferenceFile::write(const ElementPairs& pairs) const {
  with_type(is_float8(pairs.dtype) ? DType::float32 : pairs.dtype, [&]<class T>() {
    std::array<DifferenceOf<T>, kBlock> memory;
    for (std::size_t begin = 0; begin < pairs.count; begin += kBlock) {
      const std::span block = std::span(memory).first(std::min(kBlock, pairs.count - begin));
      if constexpr (std::is_same_v<T, float>)
        if (is_float8(pairs.dtype))
          fill_float8(block, pairs, begin, nan_equal_);
        else
          fill<T>(block, pairs, begin, nan_equal_);
      else
        fill<T>(block, pairs, begin, nan_equal_);
      output_.write_at(std::as_bytes(block),
                       data_offset_ + (pairs.position + begin) * sizeof(DifferenceOf<T>));
    }
  });
}

}  // namespace clipper
