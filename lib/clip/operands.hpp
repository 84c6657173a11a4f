#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace clipper {

/// What a number of an Operation is for, if it may differ from element to element. The first ones are those
/// that people give, in the order of the arrays of a request (contract/arrays.hpp).
enum class Slot : std::uint8_t {
  lo,  ///< an element of the operation's dtype
  hi,
  scale,  ///< a float for Arithmetic::float32, a double for ::float64, a SignedInteger for ::integer
  bias,
  a,  ///< of a Normalization: a double, or a DoubleDouble, as the stride tells
  b,
  factor,
  below,  ///< ElementBits: Cast::below
  above,
  nan_result,  ///< ElementBits: Cast::nan
  nodata,      ///< ElementBits: what nodata elements become, which is nothing for a kernel
  nan,         ///< an element of the operation's dtype: what replaces NaN
  min,         ///< ElementBits: Cast::min
  max,
  wide_lo,  ///< a WideBound for Arithmetic::integer, in place of lo
  wide_hi,
};
inline constexpr std::size_t kSlots = 16;

/// The numbers of consecutive elements for one slot.
struct Operand {
  const std::byte* data =
      nullptr;             ///< the first element's, aligned; null: that of the operation holds for all
  std::size_t stride = 0;  ///< bytes from the number of an element to the next one's; 0: all are the same
};

/// The numbers of consecutive elements; of the Operation, dtype and arithmetic still count. lo and hi are
/// given unless all elements have the numbers of the operation.
class Operands {
 public:
  constexpr Operands() = default;

  [[nodiscard]] Operand& operator[](Slot slot) noexcept { return all_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] const Operand& operator[](Slot slot) const noexcept {
    return all_[static_cast<std::size_t>(slot)];
  }

  /// Gives each element a number of its own.
  template <class T>
  void set(Slot slot, const T* numbers) noexcept {
    (*this)[slot] = {reinterpret_cast<const std::byte*>(numbers), sizeof(T)};
  }

  /// The numbers of a slot whose stride is sizeof(T); null if it is not given.
  template <class T>
  [[nodiscard]] const T* as(Slot slot) const noexcept {
    return reinterpret_cast<const T*>((*this)[slot].data);
  }

  /// Whether elements have numbers of their own.
  [[nodiscard]] bool vary() const noexcept { return all_[0].data != nullptr; }

  /// Those of the elements after the first `count`.
  [[nodiscard]] Operands after(std::size_t count) const noexcept {
    Operands result;
    if (!vary()) return result;
    for (std::size_t i = 0; i < kSlots; ++i)
      result.all_[i] = {all_[i].data + count * all_[i].stride, all_[i].stride};
    return result;
  }

 private:
  std::array<Operand, kSlots> all_{};
};

/// In place of Operands: the numbers of the operation hold for all elements.
inline constexpr Operands kNumbers{};

/// The number of each element.
template <class T>
struct PerElement {
  const std::byte* data = nullptr;
  std::size_t stride = 0;

  PerElement() = default;
  /// The number of all elements.
  explicit PerElement(const T* number) noexcept : data(reinterpret_cast<const std::byte*>(number)) {}
  /// Those of a slot, or the number of the operation.
  PerElement(const Operand& given, const T& number) noexcept
      : data(given.data != nullptr ? given.data : reinterpret_cast<const std::byte*>(&number)),
        stride(given.stride) {}

  [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
    return *reinterpret_cast<const T*>(data + i * stride);
  }
};

}  // namespace clipper
