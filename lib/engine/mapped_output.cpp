#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>

#include "engine/engine.hpp"
#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/mapped_block.hpp"
#include "parallel/pool.hpp"

namespace clipper {
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
        expect_going_on(options_.stop);
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

}  // namespace clipper
