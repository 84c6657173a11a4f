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
/// has both zeros or none, and for float8 each NaN.
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

/// A block of elements as runs: of data, of no data, of data and so on. The first one may be empty.
class NodataRuns {
 public:
  static constexpr std::size_t kMax = 512;  ///< elements

  NodataRuns(const Nodata& nodata, const std::byte* elements, std::size_t count, SimdLevel level) noexcept;

  [[nodiscard]] std::size_t nodata() const noexcept { return nodata_; }

  /// The index of the element that is the `data`-th of those that are data.
  [[nodiscard]] std::size_t position(std::size_t data) const noexcept;

  enum class Which : std::uint8_t { data, nodata };

  /// Calls use(begin, length) for each run that is not empty.
  template <class Use>
  void for_each(Which which, const Use& use) const {
    for (std::size_t i = which == Which::data ? 0 : 1; i + 1 < size_; i += 2)
      if (const std::size_t begin = bounds_[i], end = bounds_[i + 1]; begin != end) use(begin, end - begin);
  }

  /// Copies elements of `size` bytes together, or from there to where they belong.
  void gather(Which which, const std::byte* elements, std::size_t size, std::byte* together) const noexcept;
  void scatter(Which which, const std::byte* together, std::size_t size, std::byte* elements) const noexcept;

 private:
  std::size_t nodata_;
  std::size_t size_ = 1;
  std::array<std::uint16_t, kMax + 3> bounds_;  // where runs begin, and the end
};

}  // namespace clipper
