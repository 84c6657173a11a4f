#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "contract/broadcast.hpp"
#include "npy/header.hpp"

namespace clipper {

/// Reads the elements of an array that belong to consecutive elements of the tensor. For one thread at a
/// time. Needs no more memory than a window on an array that is not held in memory.
class ArrayReader {
 public:
  /// Both must outlive this.
  ArrayReader(const Broadcast& broadcast, const ArrayParameter& parameter);

  /// Copies the array's elements for `count` elements of the tensor, from index `position` on, as they are in
  /// the file. `to` is aligned to the size of an element. Error{io} if the file cannot be read.
  void read(std::uint64_t position, std::size_t count, std::byte* to);

  [[nodiscard]] const ArrayParameter& parameter() const noexcept { return parameter_; }

  /// The index, in the array's file, of the element for the tensor's element at `position`.
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t position) const;

 private:
  using Index = std::array<std::uint64_t, npy::kMaxRank>;

  [[nodiscard]] std::uint64_t locate(std::uint64_t position, Index& index) const;
  template <class Bits>
  void read_rows(std::uint64_t position, std::size_t count, Bits* to);
  template <class Bits>
  void read_row(std::uint64_t offset, std::uint64_t stride, std::size_t count, Bits* to);
  template <class Bits>
  void read_contiguous(std::uint64_t offset, std::size_t count, Bits* to);
  template <class Bits>
  Bits element(std::uint64_t offset);

  const Broadcast& broadcast_;
  const ArrayParameter& parameter_;
  const npy::Header& header_;

  /// The elements of the array from window_begin_ to window_end_: all of them if the array is held.
  const std::byte* window_;
  std::uint64_t window_begin_ = 0;
  std::uint64_t window_end_;
  std::unique_ptr<std::byte[]> memory_;  ///< null if the array is held
};

}  // namespace clipper
