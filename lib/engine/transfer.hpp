#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "clip/clip.hpp"
#include "contract/plan.hpp"
#include "engine/first_nan.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"

/// What is done with a chunk of a tensor.
namespace clipper {

/// The cut of a tensor's elements into chunks. All but the first begin at a multiple of the chunk size in the
/// output file, so that no two threads write to one page.
class Chunks {
 public:
  Chunks(std::uint64_t count, std::size_t element_size, std::size_t chunk_size, std::size_t data_offset);

  struct Chunk {
    std::uint64_t begin;  ///< elements before it
    std::size_t count;
  };

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] Chunk operator[](std::uint64_t index) const;

 private:
  std::uint64_t count_;
  std::uint64_t each_;
  std::uint64_t first_;
};

/// One tensor on its way. Every step is for the chunk of that number, with its elements at `memory`, and may
/// be called from many threads.
class Transfer {
 public:
  Transfer(const Plan& plan, InputFile& input, const Chunks& chunks)
      : plan_(plan), input_(input), chunks_(chunks) {}

  [[nodiscard]] std::uint64_t size(std::uint64_t chunk) const { return chunks_[chunk].count * element_size_; }

  /// In any order from a regular file, otherwise one after the other.
  void read(std::uint64_t chunk, std::byte* memory) const;

  /// Returns the chunk's counts, if it is counted.
  ElementCounts clip(std::uint64_t chunk, std::byte* memory, SimdLevel level, Counting counting);

  /// In any order to a regular file, otherwise one after the other. The first chunk brings the header along.
  void write(std::uint64_t chunk, const std::byte* memory, OutputFile& output,
             std::span<const std::byte> header) const;

  /// placed_sum() of the bytes that write() has written.
  [[nodiscard]] std::uint64_t sum(std::uint64_t chunk, const std::byte* memory,
                                  std::span<const std::byte> header) const;

  /// Whether a NaN that is refused, as far as is known, stands in the chunk or before it.
  [[nodiscard]] bool is_refused(std::uint64_t chunk) const;
  [[nodiscard]] bool comes_after_nan(std::uint64_t chunk) const;

  /// Error{input} for the first NaN if there was one that is refused.
  void refuse_nan() const;

  /// Of all chunks that were counted.
  [[nodiscard]] ElementCounts counts() const;

 private:
  const Plan& plan_;
  InputFile& input_;
  const Chunks& chunks_;
  std::size_t element_size_ = traits(plan_.header.dtype).size;
  FirstNan first_nan_;
  mutable std::mutex counts_mutex_;
  ElementCounts counts_;
};

}  // namespace clipper
