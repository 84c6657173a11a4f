#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "element/dtype.hpp"
#include "element/number.hpp"
#include "simd/levels.hpp"

/// Elements that are no data, among those that are.
namespace clipper {

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
