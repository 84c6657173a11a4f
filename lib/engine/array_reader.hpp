#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "contract/broadcast.hpp"
#include "element/tensor_layout.hpp"

namespace clipper {

/// Reads the elements of an array that belong to consecutive elements of the tensor. For one thread at a
/// time. An array that is not held in memory is read through a window, or through a band if its memory order
/// is not that of the tensor.
class ArrayReader {
 public:
  /// Both must outlive this. `band_size`: max bytes of a band.
  ArrayReader(const Broadcast& broadcast, const ArrayParameter& parameter, std::size_t band_size);

  /// Copies the array's elements for `count` elements of the tensor, from index `position` on, as they are in
  /// the file. `to` is aligned to the size of an element. Error{io} if the file cannot be read.
  void read(std::uint64_t position, std::size_t count, std::byte* to);

  /// The array's elements for the elements of the tensor from index `position` on, if they lie in memory in
  /// the tensor's order, aligned and in this machine's byte order; otherwise null.
  [[nodiscard]] const std::byte* in_order(std::uint64_t position) const noexcept;

  /// Whether the element of the array for the tensor's element at `position` is in the band.
  [[nodiscard]] bool has_in_band(std::uint64_t position) const noexcept {
    return band_.begin <= position && position < band_.end;
  }

  [[nodiscard]] const ArrayParameter& parameter() const noexcept { return parameter_; }

  /// The index, in the array's file, of the element for the tensor's element at `position`.
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t position) const;

 private:
  using Index = std::array<std::uint64_t, kMaxRank>;

  /// Consecutive elements of the tensor, at some indexes of an axis along which the array's elements are near
  /// each other in the file, and at all indexes of the axes inside of it. The array is read by runs along
  /// that axis.
  struct Band {
    std::size_t axis = 0;
    std::uint64_t inner = 0;  ///< elements of the tensor at one index of the axis
    std::uint64_t steps = 0;  ///< max indexes of the axis; 0 if there is no band
    std::uint64_t begin = 0;  ///< the elements of the tensor that are in memory
    std::uint64_t end = 0;
    std::unique_ptr<std::byte[]> memory;
  };

  [[nodiscard]] std::uint64_t locate(std::uint64_t position, Index& index) const;
  [[nodiscard]] std::uint64_t advanced(Index& index, std::uint64_t offset, std::uint64_t steps,
                                       std::size_t outermost) const;
  void choose_band(std::size_t band_size);
  template <class Bits>
  void read_band(std::uint64_t position);
  template <class Bits>
  void read_rows(std::uint64_t position, std::size_t count, Bits* to);
  template <class Bits>
  void read_row(std::uint64_t offset, std::uint64_t stride, std::size_t count, Bits* to);
  template <class Bits>
  std::uint64_t repeat(std::uint64_t offset, std::uint64_t stride, std::uint64_t count, std::uint64_t times,
                       Bits* to);
  template <class Bits>
  void read_contiguous(std::uint64_t offset, std::size_t count, Bits* to);
  template <class Bits>
  Bits element(std::uint64_t offset);

  const Broadcast& broadcast_;
  const ArrayParameter& parameter_;
  const TensorLayout& layout_;

  /// The elements of the array from window_begin_ to window_end_: all of them if the array is held.
  const std::byte* window_;
  std::uint64_t window_begin_ = 0;
  std::uint64_t window_end_;
  std::unique_ptr<std::byte[]> memory_;  ///< null if the array is held
  Band band_;
};

}  // namespace clipper
