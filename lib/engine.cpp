#include "engine.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <mutex>

#include "error.hpp"
#include "threads.hpp"

namespace clipper {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStack = 512UL * 1024;  // of a worker; the deepest frames hold a kernel's tiles
constexpr std::uint64_t kPart =
    8UL * 1024 * 1024;                   // of a file that is changed in place: two waits for the disk each
constexpr std::size_t kMostChunks = 32;  // of a part; fewer bytes then, so that small tests have many parts
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

/// One tensor on its way. Every step is for the chunk of that number, with its elements at `memory`.
class Transfer {
 public:
  Transfer(const Plan& plan, InputFile& input, const Chunks& chunks)
      : plan_(plan), input_(input), chunks_(chunks) {}

  /// In any order from a regular file, otherwise one after the other.
  void read(std::uint64_t chunk, std::byte* memory) const {
    const auto [begin, count] = chunks_[chunk];
    const std::span bytes(memory, count * element_size_);
    if (input_.is_regular())
      input_.read_at(bytes, plan_.header.data_offset + begin * element_size_);
    else
      input_.read_exactly(bytes);
  }

  /// The chunk's counts, if it is counted.
  Counts clip(std::uint64_t chunk, std::byte* memory, SimdLevel level, Engine::Counting counting) {
    const auto [begin, count] = chunks_[chunk];
    Counts counts;
    if (counting == Engine::Counting::on) {
      counts = clip_and_count(plan_.operation, memory, memory, count, level);
      const std::lock_guard lock(counts_mutex_);
      counts_ += counts;
    } else {
      clipper::clip(plan_.operation, memory, memory, count, level);
    }
    if (plan_.refuse_nan) note_nan(chunk, memory);
    return counts;
  }

  /// In any order to a regular file, otherwise one after the other. The first chunk brings the header along.
  void write(std::uint64_t chunk, const std::byte* memory, OutputFile& output,
             std::span<const std::byte> header) const {
    const auto [begin, count] = chunks_[chunk];
    const std::span bytes(memory, count * element_size_);
    if (!output.is_regular()) {
      if (chunk == 0) output.write(header);
      output.write(bytes);
    } else if (chunk == 0) {
      output.write_start(header, bytes);
    } else {
      output.write_at(bytes, header.size() + begin * element_size_);
    }
  }

  /// Whether a NaN that is refused, as far as is known, stands in the chunk or before it.
  [[nodiscard]] bool is_refused(std::uint64_t chunk) const {
    return first_nan_ < chunks_[chunk].begin + chunks_[chunk].count;
  }
  [[nodiscard]] bool comes_after_nan(std::uint64_t chunk) const { return first_nan_ < chunks_[chunk].begin; }

  /// Throws for the first NaN if there was one that is refused.
  void refuse_nan() const {
    if (first_nan_ == kNone) return;
    const std::uint64_t position = first_nan_;
    throw Error(ErrorKind::input, fmt::format("{}: NaN at {} (element {})", input_.path(),
                                              npy::index_text(plan_.header, position), position));
  }

  [[nodiscard]] Counts counts() const {
    const std::lock_guard lock(counts_mutex_);
    return counts_;
  }

 private:
  void note_nan(std::uint64_t chunk, const std::byte* memory) {
    const auto [begin, count] = chunks_[chunk];
    const auto nan = find_nan(plan_.operation.dtype, plan_.operation.order, memory, count);
    if (!nan) return;
    std::uint64_t known = first_nan_;
    while (begin + *nan < known && !first_nan_.compare_exchange_weak(known, begin + *nan)) {
    }
  }

  const Plan& plan_;
  InputFile& input_;
  const Chunks& chunks_;
  std::size_t element_size_ = info(plan_.header.dtype).size;
  std::atomic<std::uint64_t> first_nan_ = kNone;
  mutable std::mutex counts_mutex_;
  Counts counts_;
};

}  // namespace

/// oneTBB's threads, more than cores if so asked, and the arena that all work is done in.
struct Engine::Pool {
  explicit Pool(unsigned threads)
      : count(tbb::global_control::max_allowed_parallelism, threads), arena(static_cast<int>(threads)) {}

  tbb::global_control count;
  tbb::global_control stack{tbb::global_control::thread_stack_size, kStack};
  tbb::task_arena arena;
};

void Engine::Free::operator()(std::byte* memory) const noexcept {
  std::free(memory);
}

Engine::Engine(const Options& options) : options_(options) {
  options_.chunk_size = std::max(kPage, options.chunk_size / kPage * kPage);
}

Engine::~Engine() = default;

void Engine::prepare(std::uint64_t data_size) {
  if (data_size <= prepared_for_) return;
  const bool small = data_size <= options_.chunk_size;
  const std::size_t size = small ? (data_size + kPage - 1) / kPage * kPage : options_.chunk_size;
  if (!small)
    threads_ = startable_threads(options_.threads != 0 ? options_.threads : available_threads(), kStack);
  // Two each, so that ordered reads and writes can go on while every thread clips.
  buffers_ = threads_ == 1 ? 1 : 2 * std::size_t{threads_};
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, buffers_ * size)));
  if (!memory_)
    throw Error(ErrorKind::io,
                fmt::format("cannot allocate {} KiB for {} threads", buffers_ * size / 1024, threads_));
  if (threads_ > 1) pool_ = std::make_unique<Pool>(threads_);
  prepared_for_ = small ? data_size : kNone;
}

void Engine::for_each(std::size_t count, const std::function<void(std::size_t)>& work) {
  prepare(kNone);
  if (!pool_) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  // One task each, or a task would go on to its next tensors after a failure elsewhere.
  const tbb::blocked_range<std::size_t> each(0, count, 1);
  const auto work_on = [&](const tbb::blocked_range<std::size_t>& one) { work(one.begin()); };
  const std::unique_ptr<bool, void (*)(bool*)> many(&many_, [](bool* flag) { *flag = false; });
  *many = true;
  pool_->arena.execute([&] { tbb::parallel_for(each, work_on, tbb::simple_partitioner()); });
}

std::byte* Engine::buffer(std::size_t index) const noexcept {
  return memory_.get() + index * options_.chunk_size;
}

/// In every thread and in any order if `parallel`, otherwise in the calling one. While a thread waits for the
/// last chunks of its tensor it must not begin another tensor, which could go on for long: hence isolate().
void Engine::for_each_chunk(std::uint64_t count, bool parallel, const Step& step) {
  if (!pool_) {
    for (std::uint64_t i = 0; i < count; ++i) step(i, buffer(0));
    return;
  }
  const auto take = [&](std::uint64_t i) {
    step(i, buffer(static_cast<std::size_t>(tbb::this_task_arena::current_thread_index())));
  };
  pool_->arena.execute([&] {
    if (parallel && count > 1)
      tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::uint64_t{0}, count, take); });
    else
      for (std::uint64_t i = 0; i < count; ++i) take(i);
  });
}

/// Reads and writes keep the order, as streams need; a chunk's memory is free again when it is written.
/// `read` returns false to end it.
void Engine::pipe_chunks(std::uint64_t count, const std::function<bool(std::uint64_t, std::byte*)>& read,
                         const Step& clip, const Step& write) {
  std::uint64_t next = 0;
  const auto read_next = [&](tbb::flow_control& control) {
    const std::uint64_t i = next++;
    if (i >= count || !read(i, buffer(i % buffers_))) control.stop();
    return i;
  };
  const auto clip_one = [&](std::uint64_t i) {
    clip(i, buffer(i % buffers_));
    return i;
  };
  const auto write_one = [&](std::uint64_t i) { write(i, buffer(i % buffers_)); };
  using tbb::filter_mode;
  pool_->arena.execute([&] {
    tbb::parallel_pipeline(
        buffers_, tbb::make_filter<void, std::uint64_t>(filter_mode::serial_in_order, read_next) &
                      tbb::make_filter<std::uint64_t, std::uint64_t>(filter_mode::parallel, clip_one) &
                      tbb::make_filter<std::uint64_t, void>(filter_mode::serial_in_order, write_one));
  });
}

Counts Engine::run(const Plan& plan, InputFile& input, OutputFile& output, std::span<const std::byte> header,
                   Counting counting) {
  const Chunks chunks(plan.header.count, info(plan.header.dtype).size, options_.chunk_size, header.size());
  Transfer transfer(plan, input, chunks);
  const auto read = [&](std::uint64_t chunk, std::byte* memory) {
    if (transfer.comes_after_nan(chunk)) return false;
    transfer.read(chunk, memory);
    return true;
  };
  const auto clip = [&](std::uint64_t chunk, std::byte* memory) {
    transfer.clip(chunk, memory, options_.level, counting);
  };
  const auto write = [&](std::uint64_t chunk, const std::byte* memory) {
    if (!transfer.is_refused(chunk)) transfer.write(chunk, memory, output, header);
  };

  output.reserve(header.size() + plan.header.data_size());
  if (chunks.size() == 0) output.write(header);
  const bool streams = !input.is_regular() || !output.is_regular();
  if (streams && pool_ && !many_)
    pipe_chunks(chunks.size(), read, clip, write);
  else
    for_each_chunk(chunks.size(), !streams, [&](std::uint64_t chunk, std::byte* memory) {
      if (!read(chunk, memory)) return;
      clip(chunk, memory);
      write(chunk, memory);
    });
  transfer.refuse_nan();
  if (!input.is_regular()) input.expect_end();
  return transfer.counts();
}

Counts Engine::scan(const Plan& plan, InputFile& input) {
  const Chunks chunks(plan.header.count, info(plan.header.dtype).size, options_.chunk_size, 0);
  Transfer transfer(plan, input, chunks);
  std::atomic<bool> changed = false;
  for_each_chunk(chunks.size(), true, [&](std::uint64_t chunk, std::byte* memory) {
    if (changed && !plan.refuse_nan) return;
    transfer.read(chunk, memory);
    if (transfer.clip(chunk, memory, options_.level, Counting::on).changed) changed = true;
  });
  transfer.refuse_nan();
  return transfer.counts();
}

Counts Engine::rewrite(const Plan& plan, InputFile& input, DirectFile& file) {
  const std::size_t chunk = options_.chunk_size;
  const std::uint64_t wanted = std::clamp(kPart, chunk, kMostChunks * chunk);
  const auto interrupted = file.begin(describe(plan), std::min(wanted, plan.header.data_size()));
  const std::size_t part = file.capacity();
  const std::unique_ptr<std::byte[], Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(kPage, 2 * part / kPage * kPage + kPage)));
  if (!memory) throw Error(ErrorKind::io, fmt::format("cannot allocate {} KiB", 2 * part / 1024));
  std::byte* const before = memory.get();
  std::byte* const after = before + part;

  Counts total;
  std::mutex total_mutex;
  const auto clip_part = [&](std::size_t length, const std::function<void(std::size_t, std::size_t)>& read) {
    std::atomic<bool> changed = false;
    for_each_chunk((length + chunk - 1) / chunk, true, [&](std::uint64_t i, std::byte*) {
      const std::size_t begin = i * chunk;
      const std::size_t size = std::min(chunk, length - begin);
      read(begin, size);
      const Counts counts = clip_and_count(plan.operation, before + begin, after + begin,
                                           size / info(plan.header.dtype).size, options_.level);
      if (counts.changed) changed = true;
      const std::lock_guard lock(total_mutex);
      total += counts;
    });
    return changed.load();
  };

  std::uint64_t at = plan.header.data_offset;
  const std::uint64_t end = at + plan.header.data_size();
  if (interrupted) {
    file.read_interrupted({before, interrupted->length});
    clip_part(interrupted->length, [](std::size_t, std::size_t) {});
    file.finish_interrupted({after, interrupted->length});
    at = interrupted->offset + interrupted->length;
  }
  while (at < end) {
    const std::size_t length = std::min<std::uint64_t>(part, end - at);
    const auto read = [&](std::size_t begin, std::size_t size) {
      input.read_at({before + begin, size}, at + begin);
    };
    if (clip_part(length, read)) file.change(at, {before, length}, {after, length});
    at += length;
  }
  return total;
}

}  // namespace clipper
