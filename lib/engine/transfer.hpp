#pragma once

#include <algorithm>
#include <array>
#include <atomic>
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

/// The steps for one chunk of a tensor, and two ways to store results: past the caches, and in the pages of a
/// file.
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

// Results that are written past the caches. An ordinary store first reads the cache line that it overwrites:
// a third of all bytes that move, if the result is larger than the caches.

inline constexpr std::size_t kCacheLine = 64;

/// Bytes that are calculated at a time.
inline constexpr std::size_t kStreamedBlock = 1024;

/// How far before the elements that are clipped the CPU reads others. With 1024 bytes, 64 MiB take 0.94 of
/// the time of memcpy(), not 0.75.
inline constexpr std::size_t kReadAhead = 8UL << 10;

/// Whether a result of `size` bytes, which `threads` calculate, should be written past the caches: if it
/// would not stay in them, and if its pages exist. The kernel clears a new page in the caches, where
/// overwriting it is faster.
[[nodiscard]] bool should_stream(const std::byte* out, std::size_t size, unsigned threads) noexcept;

/// Copies a block, of which `to` is aligned to a cache line, past the caches. Lets the CPU read the block at
/// `ahead` meanwhile, which may be beyond the end of an array.
void stream_block(const std::byte* from, std::byte* to, const std::byte* ahead) noexcept;

/// The same for another array, whose block after the one at `from` is read.
inline void prefetch_next(const std::byte* from) noexcept {
  for (std::size_t i = 0; i < kStreamedBlock; i += kCacheLine) __builtin_prefetch(from + kStreamedBlock + i);
}

/// Makes what stream_block() wrote visible to other threads.
void finish_streaming() noexcept;

/// The number of elements before the first cache line of `out`.
[[nodiscard]] inline std::size_t elements_before_line(const std::byte* out, std::size_t size) noexcept {
  return (kCacheLine - reinterpret_cast<std::uintptr_t>(out) % kCacheLine) % kCacheLine / size;
}

/// Calls clip(begin, to, length) for all of `count` elements of `size` bytes: it reads those of `in` and
/// writes elements to `to`, which is their place in `out`, or a block that is then streamed to it. Stops if
/// clip() returns false.
template <class Clip>
void clip_streaming(const std::byte* in, std::byte* out, std::size_t count, std::size_t size,
                    const Clip& clip) {
  alignas(64) std::array<std::byte, kStreamedBlock> block;
  const std::size_t length = kStreamedBlock / size;
  std::size_t done = std::min(elements_before_line(out, size), count);
  bool goes_on = clip(0, out, done);
  for (; goes_on && count - done >= length; done += length) {
    goes_on = clip(done, block.data(), length);
    if (goes_on) stream_block(block.data(), out + done * size, in + done * size + kReadAhead);
  }
  if (goes_on) clip(done, out + done * size, count - done);
  finish_streaming();
}

/// Writes blocks of a file whose space is reserved by storing in its pages: several threads at once, where
/// pwrite() lets only one go on. For one thread. Handles SIGBUS: only for the program, not for the library.
class MappedBlock {
 public:
  /// Of a block, and what its offset is a multiple of: a huge page, which is mapped by one fault.
  static constexpr std::size_t kSize = 2UL << 20;

  /// Whether the kernel has huge pages of files: on ext4 since Linux 6.16. A fault for each 4 KiB takes
  /// longer than pwrite().
  [[nodiscard]] static bool is_fast() noexcept;

  /// `output` must outlive this.
  explicit MappedBlock(const OutputFile& output) noexcept;
  MappedBlock(const MappedBlock&) = delete;
  MappedBlock& operator=(const MappedBlock&) = delete;
  ~MappedBlock();

  /// Maps the block at this offset in place of the last one, and gets all its pages. Null if that fails:
  /// another way to write the block will tell why.
  [[nodiscard]] std::byte* map(std::uint64_t offset) noexcept;

  /// Error{io} if the file did not take all that was stored: stores succeed nevertheless.
  void expect_stored() const;

 private:
  [[nodiscard]] bool place(int protection, int flags, int fd, std::uint64_t offset) const noexcept;
  [[nodiscard]] static bool repair(const void* address) noexcept;

  const OutputFile& output_;
  void* reserved_;
  std::byte* begin_ = nullptr;  ///< in the reserved addresses; null if there are none
  std::atomic<bool> failed_ = false;
};

}  // namespace clipper
