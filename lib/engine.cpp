#include "engine.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>
#include <optional>

#include "error.hpp"
#include "threads.hpp"

namespace clipper {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStack = 512UL * 1024;  // of a worker; the deepest frames hold a kernel's tiles
constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

/// The cut of the elements into chunks. All but the first begin at a multiple of the chunk size in the output
/// file, so that no two threads write to one page.
class Chunks {
 public:
  Chunks(std::uint64_t count, std::size_t element_size, std::size_t chunk_size, std::size_t data_offset)
      : count_(count), each_(chunk_size / element_size) {
    const std::uint64_t until_boundary = (chunk_size - data_offset % chunk_size) / element_size;
    first_ = until_boundary == 0 ? each_ : until_boundary;
  }

  struct Chunk {
    std::uint64_t begin;  ///< elements before it
    std::size_t count;
  };

  [[nodiscard]] std::uint64_t size() const {
    if (count_ == 0) return 0;
    return count_ <= first_ ? 1 : 1 + (count_ - first_ + each_ - 1) / each_;
  }

  [[nodiscard]] Chunk operator[](std::uint64_t index) const {
    const std::uint64_t begin = index == 0 ? 0 : first_ + (index - 1) * each_;
    return {begin, static_cast<std::size_t>(std::min(index == 0 ? first_ : each_, count_ - begin))};
  }

 private:
  std::uint64_t count_;
  std::uint64_t each_;
  std::uint64_t first_;
};

/// While it lives, oneTBB has this many threads, more than cores if so asked.
struct Workers {
  explicit Workers(unsigned threads) : count(tbb::global_control::max_allowed_parallelism, threads) {}

  tbb::global_control count;
  tbb::global_control stack{tbb::global_control::thread_stack_size, kStack};
};

/// One tensor on its way from input to output. Elements are named by their position in the file.
class Transfer {
 public:
  Transfer(const Plan& plan, SimdLevel level, InputFile& input, OutputFile& output, std::size_t data_offset)
      : plan_(plan), level_(level), input_(input), output_(output), data_offset_(data_offset) {}

  /// `bytes_of(chunk, buffer)` is the memory for a chunk in the buffer of that number.
  template <class BytesOf>
  void run_serially(const Chunks& chunks, const BytesOf& bytes_of) {
    for (std::uint64_t i = 0; i < chunks.size(); ++i) {
      const Chunks::Chunk chunk = chunks[i];
      const std::span<std::byte> bytes = bytes_of(chunk, 0);
      if (!needed(chunk.begin)) return;
      read(bytes, chunk.begin);
      clip(bytes, chunk.begin);
      write(bytes, chunk.begin);
    }
  }

  /// Each thread reads, clips and writes a chunk at its place.
  template <class BytesOf>
  void run_anywhere(const Chunks& chunks, const BytesOf& bytes_of, unsigned threads) {
    const Workers workers(threads);
    tbb::task_arena arena(static_cast<int>(threads));
    arena.execute([&] {
      tbb::parallel_for(std::uint64_t{0}, chunks.size(), [&](std::uint64_t i) {
        const Chunks::Chunk chunk = chunks[i];
        const auto thread = static_cast<std::size_t>(tbb::this_task_arena::current_thread_index());
        const std::span<std::byte> bytes = bytes_of(chunk, thread);
        if (!needed(chunk.begin)) return;
        read(bytes, chunk.begin);
        clip(bytes, chunk.begin);
        write(bytes, chunk.begin);
      });
    });
  }

  /// Reads and writes keep the order, as a stream needs; a chunk's buffer is free again when it is written.
  template <class BytesOf>
  void run_in_order(const Chunks& chunks, const BytesOf& bytes_of, unsigned threads, std::size_t buffers) {
    const Workers workers(threads);
    tbb::task_arena arena(static_cast<int>(threads));
    std::uint64_t next = 0;
    const auto read_next = [&](tbb::flow_control& control) {
      const std::uint64_t i = next++;
      if (i >= chunks.size() || !needed(chunks[i].begin)) {
        control.stop();
        return i;
      }
      read(bytes_of(chunks[i], i % buffers), chunks[i].begin);
      return i;
    };
    const auto clip_chunk = [&](std::uint64_t i) {
      clip(bytes_of(chunks[i], i % buffers), chunks[i].begin);
      return i;
    };
    const auto write_chunk = [&](std::uint64_t i) {
      write(bytes_of(chunks[i], i % buffers), chunks[i].begin);
    };
    using tbb::filter_mode;
    arena.execute([&] {
      tbb::parallel_pipeline(
          buffers, tbb::make_filter<void, std::uint64_t>(filter_mode::serial_in_order, read_next) &
                       tbb::make_filter<std::uint64_t, std::uint64_t>(filter_mode::parallel, clip_chunk) &
                       tbb::make_filter<std::uint64_t, void>(filter_mode::serial_in_order, write_chunk));
    });
  }

  /// Throws for the first NaN if there was one that is refused.
  void refuse_nan() const {
    if (first_nan_ == kNone) return;
    const std::uint64_t position = first_nan_;
    throw Error(ErrorKind::input, fmt::format("{}: NaN at {} (element {})", input_.path(),
                                              npy::index_text(plan_.header, position), position));
  }

 private:
  void read(std::span<std::byte> bytes, std::uint64_t begin) {
    if (input_.is_regular())
      input_.read_at(bytes, plan_.header.data_offset + begin * element_size_);
    else
      input_.read_exactly(bytes);
  }

  void clip(std::span<std::byte> bytes, std::uint64_t begin) {
    const std::size_t count = bytes.size() / element_size_;
    clipper::clip(plan_.operation, bytes.data(), bytes.data(), count, level_);
    if (!plan_.refuse_nan) return;
    const auto nan = find_nan(plan_.operation.dtype, plan_.operation.order, bytes.data(), count);
    if (nan) note_nan(begin + *nan);
  }

  void write(std::span<const std::byte> bytes, std::uint64_t begin) {
    if (!needed(begin + bytes.size() / element_size_)) return;
    if (output_.is_regular())
      output_.write_at(bytes, data_offset_ + begin * element_size_);
    else
      output_.write(bytes);
  }

  /// Whether the elements before `end` are free of any NaN that is refused, as far as is known.
  [[nodiscard]] bool needed(std::uint64_t end) const { return end <= first_nan_; }

  void note_nan(std::uint64_t position) {
    std::uint64_t known = first_nan_;
    while (position < known && !first_nan_.compare_exchange_weak(known, position)) {
    }
  }

  const Plan& plan_;
  SimdLevel level_;
  InputFile& input_;
  OutputFile& output_;
  std::size_t data_offset_;
  std::size_t element_size_ = info(plan_.header.dtype).size;
  std::atomic<std::uint64_t> first_nan_ = kNone;
};

}  // namespace

void Engine::Free::operator()(std::byte* memory) const noexcept {
  std::free(memory);
}

Engine::Engine(const Options& options, const Plan& plan)
    : chunk_size_(std::max(kPage, options.chunk_size / kPage * kPage)), level_(options.level) {
  const std::uint64_t chunks = plan.header.data_size() / chunk_size_ + 1;
  if (chunks > 1)
    threads_ = startable_threads(options.threads != 0 ? options.threads : available_threads(), kStack);
  // Two each, so that ordered reads and writes can go on while every thread clips.
  const std::size_t buffers = threads_ == 1 ? 1 : 2 * std::size_t{threads_};
  for (std::size_t i = 0; i < buffers; ++i) {
    buffers_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(kPage, chunk_size_)));
    if (!buffers_.back())
      throw Error(ErrorKind::io, fmt::format("cannot allocate {} KiB for each of {} threads",
                                             2 * chunk_size_ / 1024, threads_));
  }
}

void Engine::run(const Plan& plan, InputFile& input, OutputFile& output, std::span<const std::byte> header) {
  const std::size_t element_size = info(plan.header.dtype).size;
  const Chunks chunks(plan.header.count, element_size, chunk_size_, header.size());
  Transfer transfer(plan, level_, input, output, header.size());
  const auto bytes_of = [&](const Chunks::Chunk& chunk, std::size_t buffer) {
    return std::span(buffers_[buffer].get(), chunk.count * element_size);
  };

  output.write(header);
  if (threads_ == 1)
    transfer.run_serially(chunks, bytes_of);
  else if (input.is_regular() && output.is_regular())
    transfer.run_anywhere(chunks, bytes_of, threads_);
  else
    transfer.run_in_order(chunks, bytes_of, threads_, buffers_.size());
  transfer.refuse_nan();
  if (!input.is_regular()) input.expect_end();
}

}  // namespace clipper
