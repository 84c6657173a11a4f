#include "engine/transfer.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/input_file.hpp"
#include "os/os.hpp"
#include "parallel/pool.hpp"
#include "simd/levels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace clipper {
namespace {

bool is_zero(std::span<const std::byte> bytes) {
  return bytes.front() == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace

Chunks chunks_of(const Plan& plan, std::size_t chunk_size, std::uint64_t data_offset) {
  const std::size_t size = traits(plan.output.dtype).size;
  const std::size_t written = chunk_size / plan.largest_element() * size;
  return {plan.slice.count, size, std::max(written / kSummedBlock * kSummedBlock, kSummedBlock), data_offset};
}

std::span<std::byte> Transfer::read_at(std::uint64_t chunk, std::byte* memory) const {
  const std::size_t count = chunks_[chunk].count;
  const std::size_t before = out_size_ > in_size_ ? count * (out_size_ - in_size_) : 0;
  return {memory + before, count * in_size_};
}

void Transfer::read(std::uint64_t chunk, std::byte* memory) const {
  input_.read_next_at(read_at(chunk, memory), begin() + chunks_[chunk].begin * in_size_);
}

StageCounts Transfer::clip_elements(std::uint64_t chunk, std::byte* memory, std::byte* result,
                                    std::size_t first, std::size_t count, Counting counting) {
  const std::byte* const in = read_at(chunk, memory).data() + first * in_size_;
  return clip_.clip(plan_.slice.first + chunks_[chunk].begin + first, in, result + first * out_size_, count,
                    counting);
}

/// Clips the chunk's blocks until too many are changed. Returns the number of clipped elements.
std::size_t Transfer::clip_blocks(std::uint64_t chunk, std::byte* memory, ChangedBlocks& changed,
                                  StageCounts& counts) {
  const auto [begin, count] = chunks_[chunk];
  const std::size_t max = count * out_size_ / ChangedBlocks::kSize / 32;
  const std::uint64_t offset = this->begin() + begin * in_size_;
  std::size_t length = (ChangedBlocks::kSize - offset % ChangedBlocks::kSize) / out_size_;
  for (std::size_t first = 0; first < count;
       first += std::exchange(length, ChangedBlocks::kSize / out_size_)) {
    length = std::min(length, count - first);
    const StageCounts block = clip_elements(chunk, memory, memory, first, length, Counting::on);
    counts += block;
    if (!block.changed) continue;
    changed.blocks.emplace_back(memory + first * out_size_, length * out_size_);
    changed.are_few = changed.blocks.size() <= max;
    if (!changed.are_few) return first + length;
  }
  return count;
}

StageCounts Transfer::clip(std::uint64_t chunk, std::byte* memory, Counting counting, ChangedBlocks* changed,
                           std::byte* result) {
  const std::size_t count = chunks_[chunk].count;
  if (result == nullptr) result = memory;
  StageCounts counts;
  const bool looks = changed != nullptr && changed->are_few;
  const std::size_t done = looks ? clip_blocks(chunk, memory, *changed, counts) : 0;
  if (done < count) counts += clip_elements(chunk, memory, result, done, count - done, counting);
  if (counting == Counting::on) {
    const std::lock_guard lock(counts_mutex_);
    counts_ += counts;
  }
  return counts;
}

void Transfer::write(std::uint64_t chunk, const std::byte* memory, OutputFile& output,
                     std::span<const std::byte> header, const ChangedBlocks* changed) const {
  const std::span bytes = written_at(chunk, memory);
  const std::uint64_t offset = header.size() + chunks_[chunk].begin * out_size_;
  const std::uint64_t shared = chunk == 0 ? 0 : offset;  // the first chunk is shared with the header
  const bool may_share = changed != nullptr && changed->are_few;
  if (may_share && output.share(input_, shared, offset + bytes.size() - shared)) {
    for (const std::span block : changed->blocks)
      output.write_at(block, offset + static_cast<std::size_t>(block.data() - memory));
  } else if (!output.is_regular()) {
    if (chunk == 0) output.write(header);
    output.write(bytes);
  } else if (keeps_holes_ && !may_share) {  // after share() the output may have other bytes than zeros
    if (chunk == 0) output.write_at(header, 0);
    write_around_holes(chunk, bytes, offset, output);
  } else if (chunk == 0) {
    output.write_start(header, bytes);
  } else {
    output.write_at(bytes, offset);
  }
}

/// `bytes` are those of the chunk, `offset` is where they begin in the output. A block at the end of the
/// tensor may be shorter than others.
void Transfer::write_around_holes(std::uint64_t chunk, std::span<const std::byte> bytes, std::uint64_t offset,
                                  const OutputFile& output) const {
  constexpr std::uint64_t kBlock = 4096;
  const auto [first, count] = chunks_[chunk];
  const std::uint64_t begin = this->begin() + first * in_size_;
  const std::uint64_t end = begin + count * in_size_;
  const bool is_last = first + count == plan_.slice.count;
  std::uint64_t written = offset;
  for (Hole hole = next_hole(input_, begin, end); hole.begin < hole.end;
       hole = next_hole(input_, hole.end, end)) {
    const std::uint64_t element = (hole.begin - begin + in_size_ - 1) / in_size_;
    const std::uint64_t from = (offset + element * out_size_ + kBlock - 1) / kBlock * kBlock;
    const std::uint64_t past = offset + (hole.end - begin) / in_size_ * out_size_;
    const std::uint64_t to = is_last && hole.end == end ? past : past / kBlock * kBlock;
    if (from >= to || !is_zero(bytes.subspan(from - offset, to - from))) continue;
    output.write_at(bytes.subspan(written - offset, from - written), written);
    written = to;
  }
  output.write_at(bytes.subspan(written - offset), written);
}

void Transfer::show_read(std::uint64_t chunk, std::byte* memory, const ByteObserver& observer) const {
  if (observer) observer(begin() + chunks_[chunk].begin * in_size_, read_at(chunk, memory));
}

void Transfer::show_written(std::uint64_t chunk, const std::byte* memory, std::span<const std::byte> header,
                            const ByteObserver& observer) const {
  if (!observer) return;
  const std::span bytes = written_at(chunk, memory);
  if (chunk != 0) return observer(header.size() + chunks_[chunk].begin * out_size_, bytes);
  // The last block of the header also has elements in it.
  std::vector<std::byte> start(header.begin(), header.end());
  const std::size_t more = std::min(bytes.size(), kSummedBlock - header.size() % kSummedBlock);
  start.insert(start.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(more));
  observer(0, start);
  if (more < bytes.size()) observer(start.size(), bytes.subspan(more));
}

std::size_t Transfer::shift(std::uint64_t chunk, std::uint64_t header_end) const {
  // AMD's Zen 4 copies five times slower if the destination is 1 to 63 bytes above the source, modulo 4096.
  if (plan_.changes_dtype()) return 0;  // input and output have different places in memory
  const auto is_slow = [](std::uint64_t above) { return above % 4096 - 1 < 63; };
  const std::uint64_t begin = chunks_[chunk].begin * in_size_;
  const std::uint64_t from = input_.begin() + this->begin() + begin;
  const std::uint64_t to = header_end + begin;
  std::size_t shift = 0;
  while (shift < kMaxShift && (is_slow(shift - from) || is_slow(to - shift))) shift += 64;
  return shift;
}

bool Transfer::is_refused(std::uint64_t chunk) const {
  return clip_.is_refused_before(plan_.slice.first + chunks_[chunk].begin + chunks_[chunk].count);
}

bool Transfer::comes_after_refusal(std::uint64_t chunk) const {
  return clip_.is_over_before(plan_.slice.first + chunks_[chunk].begin);
}

StageCounts Transfer::counts() const {
  const std::lock_guard lock(counts_mutex_);
  return counts_;
}

namespace {

#if defined(__x86_64__)
// In the widest vectors, because the CPU reads the next elements sooner the fewer instructions copy a block.
// A line of the elements ahead is asked for with each line that is written: all at once would fill the
// queues.

void prefetch_line(const std::byte* ahead, std::size_t i) noexcept {
  if (i % kCacheLine == 0) __builtin_prefetch(ahead + i);
}

void stream_baseline(const std::byte* from, std::byte* to, const std::byte* ahead) noexcept {
  for (std::size_t i = 0; i < kStreamedBlock; i += sizeof(__m128i)) {
    prefetch_line(ahead, i);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
}

[[gnu::target("arch=x86-64-v3,avx2,fma,f16c,bmi,bmi2,lzcnt,movbe")]] void stream_v3(
    const std::byte* from, std::byte* to, const std::byte* ahead) noexcept {
  for (std::size_t i = 0; i < kStreamedBlock; i += sizeof(__m256i)) {
    prefetch_line(ahead, i);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
  }
}

[[gnu::target(
    "arch=x86-64-v4,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,f16c,fma,bmi,bmi2,lzcnt,movbe")]] void
stream_v4(const std::byte* from, std::byte* to, const std::byte* ahead) noexcept {
  for (std::size_t i = 0; i < kStreamedBlock; i += sizeof(__m512i)) {
    prefetch_line(ahead, i);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i),
                        _mm512_load_si512(reinterpret_cast<const __m512i*>(from + i)));
  }
}
#endif

}  // namespace

bool should_stream([[maybe_unused]] const std::byte* out, [[maybe_unused]] std::size_t size,
                   [[maybe_unused]] unsigned threads) noexcept {
#if defined(__x86_64__)
  constexpr std::size_t kLarge = 16UL << 20;
  constexpr std::size_t kSecondLevel = 1UL << 20;  // of a result that stays in a thread's second-level cache
  if (size < kLarge || size / threads <= kSecondLevel) return false;
  return os::is_resident(out) && os::is_resident(out + size / 2) && os::is_resident(out + size - 1);
#else
  return false;
#endif
}

void stream_block([[maybe_unused]] const std::byte* from, [[maybe_unused]] std::byte* to,
                  [[maybe_unused]] const std::byte* ahead) noexcept {
#if defined(__x86_64__)
  switch (simd_levels().back()) {
    case SimdLevel::baseline: return stream_baseline(from, to, ahead);
    case SimdLevel::v3: return stream_v3(from, to, ahead);
    case SimdLevel::v4: return stream_v4(from, to, ahead);
  }
#endif
}

void finish_streaming() noexcept {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

namespace {

// Measured with 16 CPUs, see README.md. Fewer threads gain nothing; more gain little, and need memory.
constexpr unsigned kLeastThreads = 4;
constexpr unsigned kMostThreads = 8;
constexpr std::uint64_t kLeastSize = 64UL << 20;
constexpr std::size_t kMaxChunk = 256UL << 10;

}  // namespace

bool Engine::may_map(const Plan& plan, const InputFile& input, const OutputFile& output,
                     std::uint64_t header_end) const {
  return pool_ && !many_ && threads_ >= kLeastThreads && options_.mapping_cpus != 0 && input.is_regular() &&
         output.may_be_mapped() && plan.output_size() >= kLeastSize &&
         header_end % traits(plan.output.dtype).size == 0 && MappedBlock::is_fast() &&
         available_threads() >= options_.mapping_cpus;
}

/// A power of two, so that a block has whole chunks.
std::size_t Engine::mapped_chunk() const noexcept {
  return std::bit_floor(std::min(options_.chunk_size, kMaxChunk));
}

/// Only whole blocks are mapped; the first one has the header. A read into a page that the file system has
/// lost fails with EFAULT; a store there is MappedBlock's. `part` is the size of a chunk in the output.
void Engine::map_chunks(const Chunks& chunks, std::size_t part, std::uint64_t header_end,
                        const OutputFile& output, const MappedStep& step) {
  const std::uint64_t each = MappedBlock::kSize / part;
  const std::uint64_t before = header_end / part;
  const std::uint64_t first = before / each;
  const std::uint64_t last = (before + chunks.size() - 1) / each;
  std::atomic<std::uint64_t> next = first;
  const auto take_blocks = [&] {
    MappedBlock memory(output);
    for (std::uint64_t block = next++; block <= last; block = next++) {
      const bool is_whole = block != first && block != last;
      std::byte* const mapped = is_whole ? memory.map(block * MappedBlock::kSize) : nullptr;
      for (std::uint64_t i = 0; i < each; ++i) {
        const std::uint64_t chunk = block * each + i - before;  // a very large number before the first
        if (chunk >= chunks.size()) continue;
        go_on();
        step(chunk, buffer(Pool::this_thread()), mapped != nullptr ? mapped + i * part : nullptr);
      }
      memory.expect_stored();
    }
  };
  pool_->for_each(std::min(threads_, kMostThreads), Pool::Effort::uneven, [&](std::uint64_t /*number*/) {
    try {
      take_blocks();
    } catch (const Error& error) {
      next = last + 1;
      if (error.system_error() != EFAULT) throw;
      throw_system_error(output.path(), "cannot be written", EIO);
    }
  });
}

namespace {

constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, in <sys/mman.h> since glibc 2.35
constexpr std::size_t kAddresses = 2 * MappedBlock::kSize;  // has an aligned block

constinit thread_local MappedBlock* stored_in = nullptr;  // by this thread

}  // namespace

bool MappedBlock::is_fast() noexcept {
  static const bool has_huge_pages = os::is_linux(6, 16);
  return has_huge_pages;
}

MappedBlock::MappedBlock(const OutputFile& output) noexcept
    : output_(output),
      reserved_(
          os::mmap(nullptr, kAddresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  static const bool handled = (os::handle_bus_errors(repair), true);
  if (!handled || reserved_ == MAP_FAILED) return;
  auto* const first = static_cast<std::byte*>(reserved_);
  begin_ = first + (kSize - reinterpret_cast<std::uintptr_t>(first) % kSize) % kSize;
}

MappedBlock::~MappedBlock() {
  stored_in = nullptr;
  if (begin_ != nullptr) os::munmap(reserved_, kAddresses);
}

bool MappedBlock::place(int protection, int flags, int fd, std::uint64_t offset) const noexcept {
  return os::mmap(begin_, kSize, protection, flags | MAP_FIXED, fd, static_cast<off_t>(offset)) == begin_;
}

std::byte* MappedBlock::map(std::uint64_t offset) noexcept {
  if (begin_ == nullptr) return nullptr;
  if (!place(PROT_READ | PROT_WRITE, MAP_SHARED, output_.descriptor().get(), offset) ||
      os::madvise(begin_, kSize, MADV_HUGEPAGE) != 0 || os::madvise(begin_, kSize, kPopulateWrite) != 0)
    return nullptr;
  stored_in = this;
  return begin_;
}

void MappedBlock::expect_stored() const {
  if (failed_) throw_system_error(output_.path(), "cannot be written", EIO);
}

/// Gives the thread memory in place of the file's pages. Calls only what a signal handler may.
bool MappedBlock::repair(const void* address) noexcept {
  MappedBlock* const block = stored_in;
  if (block == nullptr) return false;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(block->begin_);
  if (reinterpret_cast<std::uintptr_t>(address) - begin >= kSize) return false;
  block->failed_ = true;
  return block->place(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

}  // namespace clipper
