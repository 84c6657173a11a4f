#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "files/output_file.hpp"

/// Results that are written past the caches. An ordinary store first reads the cache line that it overwrites:
/// a third of all bytes that move, if the result is larger than the caches.
namespace clipper {

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
