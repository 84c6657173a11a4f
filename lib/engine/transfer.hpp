#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "clip/clip.hpp"
#include "contract/plan.hpp"
#include "engine/tensor_clip.hpp"
#include "files/descriptor.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "parallel/pool.hpp"

/// The steps for one chunk of a tensor.
namespace clipper {

/// The chunks of a plan's elements: neither before nor after a cast they have more bytes than
/// `chunk_size` or kMinRoom. In the output they begin at multiples of kSummedBlock.
inline constexpr std::size_t kMinRoom = 8 * kSummedBlock;
[[nodiscard]] Chunks chunks_of(const Plan& plan, std::size_t chunk_size, std::uint64_t data_offset);

/// Sees bytes of a file and their offset. Called from many threads, in any order.
using ByteObserver = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

/// The blocks of a chunk that clipping changes, in its memory, if they are few: 1 in 32. To share a chunk and
/// write more blocks than that takes longer on XFS than to write the chunk.
struct ChangedBlocks {
  static constexpr std::size_t kSize = 4096;
  std::vector<std::span<const std::byte>> blocks;
  bool are_few = true;  ///< if false from the beginning, clipping does not look for blocks
};

/// The transfer of one tensor. Each function handles the chunk with the given number, whose elements are at
/// `memory`, and may be called from many threads.
class Transfer {
 public:
  Transfer(const Plan& plan, InputFile& input, const Chunks& chunks, const KernelOptions& options)
      : plan_(plan), input_(input), chunks_(chunks), clip_(plan, options, input.path()) {
    counts_.then.resize(plan.then.size());
  }

  /// The size of the chunk in the input.
  [[nodiscard]] std::uint64_t size(std::uint64_t chunk) const { return chunks_[chunk].count * in_size_; }

  /// Reads the chunk. From a stream, chunks must be read in order. `memory` is where the result begins; if
  /// elements become larger, those that are read lie at the end of its memory.
  void read(std::uint64_t chunk, std::byte* memory) const;

  /// Clips the chunk. Returns its counts; meaningless without counting. Fills `changed` if given, which the
  /// input and the output must allow: equal headers and dtypes, and the slice is the whole tensor. The result
  /// is at `memory`, or at `result` if given, which is elsewhere.
  StageCounts clip(std::uint64_t chunk, std::byte* memory, Counting counting,
                   ChangedBlocks* changed = nullptr, std::byte* result = nullptr);

  /// Writes the chunk, and the header before the first chunk. To a stream, chunks must be written in order.
  /// With few `changed` blocks writes only these, if the output can share the chunk with the input. After
  /// keep_holes() leaves out whole blocks of zeros that lie in holes of the input.
  void write(std::uint64_t chunk, const std::byte* memory, OutputFile& output,
             std::span<const std::byte> header, const ChangedBlocks* changed = nullptr) const;

  /// Only for a new output, which gets its final size.
  void keep_holes(const OutputFile& output, std::uint64_t size) {
    output.set_size(size);
    keeps_holes_ = true;
  }

  /// Shows the elements as read() has read them, at their offset in the input.
  void show_read(std::uint64_t chunk, std::byte* memory, const ByteObserver& observer) const;

  /// Shows the bytes that write() writes, at their offset in the output: at multiples of kSummedBlock if the
  /// chunk begins at one.
  void show_written(std::uint64_t chunk, const std::byte* memory, std::span<const std::byte> header,
                    const ByteObserver& observer) const;

  /// How far from the start of a page the chunk should be in memory, at most kMaxShift. `before_header` is
  /// the number of bytes before the header in the output.
  [[nodiscard]] std::size_t shift(std::uint64_t chunk, std::uint64_t header_end) const;
  static constexpr std::size_t kMaxShift = 128;

  /// Whether a refused NaN or parameter is known in this chunk or before it. comes_after_refusal(): before
  /// it, of the first stage.
  [[nodiscard]] bool is_refused(std::uint64_t chunk) const;
  [[nodiscard]] bool comes_after_refusal(std::uint64_t chunk) const;

  [[nodiscard]] TensorClip& tensor_clip() noexcept { return clip_; }

  /// The errors of TensorClip::expect_valid().
  void expect_valid() const { clip_.expect_valid(); }

  /// The sum over all counted chunks.
  [[nodiscard]] StageCounts counts() const;

 private:
  /// The elements of the chunk as they are read, in the memory of its result.
  [[nodiscard]] std::span<std::byte> read_at(std::uint64_t chunk, std::byte* memory) const;
  [[nodiscard]] std::span<const std::byte> written_at(std::uint64_t chunk, const std::byte* memory) const {
    return {memory, chunks_[chunk].count * out_size_};
  }

  /// Where the slice begins in the input's contents.
  [[nodiscard]] std::uint64_t begin() const { return input_.data_begin() + plan_.slice_offset(); }
  void write_around_holes(std::uint64_t chunk, std::span<const std::byte> bytes, std::uint64_t offset,
                          const OutputFile& output) const;
  StageCounts clip_elements(std::uint64_t chunk, std::byte* memory, std::byte* result, std::size_t first,
                            std::size_t count, Counting counting);
  [[nodiscard]] std::size_t clip_blocks(std::uint64_t chunk, std::byte* memory, ChangedBlocks& changed,
                                        StageCounts& counts);

  const Plan& plan_;
  InputFile& input_;
  const Chunks& chunks_;
  std::size_t in_size_ = traits(plan_.input.dtype).size;
  std::size_t out_size_ = traits(plan_.output.dtype).size;
  TensorClip clip_;
  bool keeps_holes_ = false;
  mutable std::mutex counts_mutex_;
  StageCounts counts_;
};

}  // namespace clipper
