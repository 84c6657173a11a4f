#include "engine/output_memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>

#include "engine/engine.hpp"
#include "error.hpp"
#include "files/descriptor.hpp"
#include "os/os.hpp"
#include "parallel/pool.hpp"
#include "simd/levels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace clipper {
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
