#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "clip/clip.hpp"
#include "clip/clip_vectors.hpp"
#include "simd/levels.hpp"
#include "simd/vector.hpp"

/// Parameters of a kernel: numbers of an Operation that hold for all elements, or ParameterVectors.
namespace clipper {

/// In place of ParameterVectors: the numbers of the operation hold for all elements.
struct NoVectors {};

[[gnu::always_inline]] inline bool replaces_nan(const Operation& operation, const NoVectors&) noexcept {
  return operation.nan.has_value();
}
[[gnu::always_inline]] inline bool replaces_nan(const Operation&, const ParameterVectors& vectors) noexcept {
  return vectors.nan != nullptr;
}

/// The size of a scale or bias in ParameterVectors.
[[nodiscard]] constexpr std::size_t factor_size(Arithmetic arithmetic) noexcept {
  switch (arithmetic) {
    case Arithmetic::none: return 0;
    case Arithmetic::float32: return sizeof(float);
    case Arithmetic::float64: return sizeof(double);
    case Arithmetic::integer: return sizeof(Operation::Integer);
  }
  __builtin_unreachable();
}

[[gnu::always_inline]] inline NoVectors after(std::size_t /*count*/, const NoVectors& vectors,
                                              std::size_t /*element_size*/,
                                              std::size_t /*factor_size*/) noexcept {
  return vectors;
}

/// The parameters of the elements after the first `count`.
[[gnu::always_inline]] inline ParameterVectors after(std::size_t count, const ParameterVectors& vectors,
                                                     std::size_t element_size,
                                                     std::size_t factor_size) noexcept {
  const auto moved = [](const std::byte* vector, std::size_t size) __attribute__((always_inline)) {
    return vector == nullptr ? nullptr : vector + size;
  };
  return {moved(vectors.lo, count * element_size), moved(vectors.hi, count * element_size),
          moved(vectors.nan, count * element_size), moved(vectors.scale, count * factor_size),
          moved(vectors.bias, count * factor_size)};
}

/// Memory for the parameters of the last elements, fewer than a vector's. Zeros follow, because the
/// ParameterVectors end with the last element.
template <class Vectors>
class Padded {
 public:
  [[gnu::always_inline]] NoVectors copy(const NoVectors& vectors, std::size_t /*elements_size*/,
                                        std::size_t /*factors_size*/) noexcept {
    return vectors;
  }
};

template <>
class Padded<ParameterVectors> {
 public:
  /// Not inlined, because it would be more than half of a kernel.
  [[gnu::noinline]] ParameterVectors copy(const ParameterVectors& vectors, std::size_t elements_size,
                                          std::size_t factors_size) noexcept {
    memory_ = {};
    const auto copy_to = [](auto& to, const std::byte* from, std::size_t size) -> const std::byte* {
      if (size != 0 && from != nullptr) std::memcpy(to.data(), from, size);
      return to.data();
    };
    auto& [lo, hi, nan, scale, bias] = memory_;
    return {copy_to(lo, vectors.lo, elements_size), copy_to(hi, vectors.hi, elements_size),
            copy_to(nan, vectors.nan, elements_size), copy_to(scale, vectors.scale, factors_size),
            copy_to(bias, vectors.bias, factors_size)};
  }

 private:
  static constexpr std::size_t kMaxSize = 2 * vector_bytes(SimdLevel::v4);  // factors of halves: two vectors

  std::array<std::array<std::byte, kMaxSize>, 5> memory_;
};

/// What a Rule takes: the parameters of one vector of elements. V: a Vector, or a FloatPair for halves.
template <class V>
struct Parameters {
  V lo{};
  V hi{};
  V nan{};    ///< for NanElements::replace
  V scale{};  ///< for ScaledRule
  V bias{};
};

}  // namespace clipper
