#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "element/dtype.hpp"
#include "element/number.hpp"
#include "element/tensor_layout.hpp"
#include "simd/levels.hpp"

/// Elements in memory: those that are stored, views of them, and plain ones, which kernels take: without
/// gaps, in this machine's byte order, and 1 for every byte of a bool that is not 0. Kernels know nothing
/// else; elements of other dtypes are widened where they are calculated with (element/small_floats.hpp).
namespace clipper {

/// Whether kernels take the elements as they are stored.
[[nodiscard]] bool is_decoded(const TensorLayout& stored) noexcept;

/// Whether elements of `size` bytes are aligned, as kernels want them.
[[nodiscard]] inline bool is_aligned(const void* elements, std::size_t size) noexcept {
  return reinterpret_cast<std::uintptr_t>(elements) % size == 0;
}

/// Makes stored elements at `in` plain ones at `out`: in the same memory, or in memory without a common byte.
/// Neither needs to be aligned.
void decode(const TensorLayout& stored, const std::byte* in, std::span<std::byte> out,
            SimdLevel level = simd_levels().back()) noexcept;

/// Makes plain elements stored ones.
void encode(const TensorLayout& stored, const std::byte* in, std::span<std::byte> out,
            SimdLevel level = simd_levels().back()) noexcept;

/// The same in place.
inline void decode(const TensorLayout& stored, std::span<std::byte> elements,
                   SimdLevel level = simd_levels().back()) noexcept {
  decode(stored, elements.data(), elements, level);
}

/// Copies elements from one view to another of the same shape, in C order. Strides are bytes from an element
/// to the next along each axis.
class StridedCopy {
 public:
  StridedCopy(std::span<const std::int64_t> shape, std::size_t size, std::span<const std::int64_t> from,
              std::span<const std::int64_t> to, SimdLevel level = simd_levels().back());

  /// Copies the elements `begin` to `begin + count - 1`. `from` is where the first element of the view is,
  /// `to` where the element `begin` goes, which must be the first one unless `to` has no gaps. No element of
  /// `to` has a byte in common with another element of either.
  void operator()(const std::byte* from, std::byte* to, std::uint64_t begin, std::uint64_t count) const;

  /// The bytes from an element to the next along an axis.
  struct Axis {
    std::int64_t extent;
    std::int64_t from;
    std::int64_t to;
  };

 private:
  /// How far away the parts of elements that lie at a position in C order are.
  [[nodiscard]] Axis place_of(std::uint64_t position) const;

  std::size_t size_;  ///< of a part of an element, up to 8 bytes
  SimdLevel level_;
  std::uint64_t parts_;     ///< of an element
  std::vector<Axis> axes_;  ///< as few as say the same; at least one
};

// Elements that are no data, among those that are.

/// Which elements of a dtype are no data: those whose bits are in the list, and every NaN if `nan`. The list
/// has both zeros or none, and of floats of one byte each NaN.
struct Nodata {
  DType dtype = DType::float32;
  std::vector<ElementBits> elements{};
  bool nan = false;

  [[nodiscard]] bool matches_nothing() const noexcept { return elements.empty() && !nan; }

  /// Adds the elements that equal the number. Returns false if there are none.
  bool add(const Number& number);
};

/// Sets flags[i] to 1 if element i is no data, otherwise to 0. Returns how many are. The elements are in this
/// machine's byte order and aligned to their size.
std::size_t find_nodata(const Nodata& nodata, const std::byte* elements, std::size_t count,
                        std::uint8_t* flags, SimdLevel level) noexcept;

/// The elements that are data, moved together to the beginning of the memory.
[[nodiscard]] std::span<std::byte> without_nodata(const Nodata& nodata, std::span<std::byte> elements,
                                                  SimdLevel level) noexcept;

/// Where a block of elements has no data.
class NodataPlaces {
 public:
  static constexpr std::size_t kMax = 1024;  ///< elements of a block

  NodataPlaces(const Nodata& nodata, const std::byte* elements, std::size_t count, SimdLevel level) noexcept;

  /// The elements whose flag is 1.
  explicit NodataPlaces(std::span<const std::uint8_t> flags) noexcept;

  /// The indexes of these elements, in order.
  [[nodiscard]] std::span<const std::uint16_t> all() const noexcept {
    return std::span(places_).first(size_);
  }

  /// The index of the first element that is data; the number of elements if there is none.
  [[nodiscard]] std::size_t first_data() const noexcept;

  /// Copies these elements, of `size` bytes, together, or from there to their places.
  void gather(const std::byte* elements, std::size_t size, std::byte* together) const noexcept;
  void scatter(const std::byte* together, std::size_t size, std::byte* elements) const noexcept;

  /// Writes the same element to all places.
  void fill(const std::byte* element, std::size_t size, std::byte* elements) const noexcept;

 private:
  void take(std::span<std::uint8_t, kMax> flags, std::size_t count) noexcept;

  std::size_t size_ = 0;
  std::array<std::uint16_t, kMax + 1> places_;
};

/// Memory for the elements of such a block.
struct alignas(64) BlockMemory : std::array<std::byte, NodataPlaces::kMax * sizeof(ElementBits)> {};

}  // namespace clipper
