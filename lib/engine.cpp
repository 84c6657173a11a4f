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

#include "checksum.hpp"
#include "error.hpp"
#include "threads.hpp"

namespace clipper {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStack = 512UL * 1024;  // of a worker; the deepest frames hold a kernel's tiles
constexpr std::uint64_t kPart =
    8UL * 1024 * 1024;                   // of a file that is changed in place: waits twice for the disk
constexpr std::size_t kMostChunks = 32;  // of a part: a small chunk size makes small parts
constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

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

Engine::Memory Engine::allocate(std::size_t size) {
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(kPage, size / kPage * kPage + kPage)));
  if (!memory) throw Error(ErrorKind::io, fmt::format("cannot allocate {} KiB", size / 1024));
  return memory;
}

void Engine::prepare(std::uint64_t data_size) {
  if (data_size <= prepared_for_) return;
  const bool small = data_size <= options_.chunk_size;
  const std::size_t size = small ? (data_size + kPage - 1) / kPage * kPage : options_.chunk_size;
  if (!small)
    threads_ = startable_threads(options_.threads != 0 ? options_.threads : available_threads(), kStack);
  // Two each, so that ordered reads and writes can go on while every thread clips.
  buffers_ = threads_ == 1 ? 1 : 2 * std::size_t{threads_};
  memory_ = allocate(buffers_ * size);
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
    done_ += transfer.size(chunk);
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

Counts Engine::scan(const Plan& plan, InputFile& input, Counting counting) {
  const Chunks chunks(plan.header.count, info(plan.header.dtype).size, options_.chunk_size, 0);
  Transfer transfer(plan, input, chunks);
  std::atomic<bool> changed = false;
  std::atomic<std::uint64_t> scanned = 0;
  const bool complete = plan.refuse_nan || counting == Counting::on;
  for_each_chunk(chunks.size(), true, [&](std::uint64_t chunk, std::byte* memory) {
    if (changed && !complete) return;
    transfer.read(chunk, memory);
    if (transfer.clip(chunk, memory, options_.level, Counting::on).changed) changed = true;
    scanned += transfer.size(chunk);
    done_ += transfer.size(chunk);
  });
  if (changed) done_ -= scanned;  // it is going to be read again
  transfer.refuse_nan();
  return transfer.counts();
}

void Engine::read(const npy::Header& header, InputFile& input,
                  const std::function<void(std::span<std::byte>)>& look) {
  const std::size_t size = info(header.dtype).size;
  const Chunks chunks(header.count, size, options_.chunk_size, 0);
  const auto elements = [&](std::uint64_t chunk, std::byte* memory) {
    return std::span(memory, chunks[chunk].count * size);
  };
  const auto read = [&](std::uint64_t chunk, std::byte* memory) {
    if (input.is_regular())
      input.read_at(elements(chunk, memory), header.data_offset + chunks[chunk].begin * size);
    else
      input.read_exactly(elements(chunk, memory));
    return true;
  };
  const auto look_at = [&](std::uint64_t chunk, std::byte* memory) { look(elements(chunk, memory)); };

  if (!input.is_regular() && pool_ && !many_)
    pipe_chunks(chunks.size(), read, look_at, [](std::uint64_t, std::byte*) {});
  else
    for_each_chunk(chunks.size(), input.is_regular(), [&](std::uint64_t chunk, std::byte* memory) {
      read(chunk, memory);
      look_at(chunk, memory);
    });
  if (!input.is_regular()) input.expect_end();
  if (input.is_regular() && input.has_changed())
    throw Error(ErrorKind::io, fmt::format("{}: changed while it was read", input.path()));
}

std::uint64_t Engine::sum(const InputFile& input, std::uint64_t begin, std::uint64_t end) {
  const std::size_t chunk = options_.chunk_size;
  std::atomic<std::uint64_t> total = 0;
  for_each_chunk((end - begin + chunk - 1) / chunk, true, [&](std::uint64_t i, std::byte* memory) {
    const std::uint64_t at = begin + i * chunk;
    const std::span bytes(memory, std::min<std::uint64_t>(chunk, end - at));
    input.read_at(bytes, at);
    total += placed_sum(bytes, at);
  });
  return total;
}

Counts Engine::rewrite(const Plan& plan, InputFile& input, DirectFile& file) {
  const std::uint64_t wanted = std::clamp(kPart, options_.chunk_size, kMostChunks * options_.chunk_size);
  const auto interrupted =
      file.begin({describe(plan), std::min(wanted, plan.header.data_size()), plan.header.data_offset,
                  [this, &input](std::uint64_t begin, std::uint64_t end) { return sum(input, begin, end); }});
  const std::size_t capacity = file.capacity();
  const auto memory = allocate(2 * capacity);
  const auto before = [&](std::size_t length) { return std::span(memory.get(), length); };
  const auto part_at = [&](std::uint64_t offset, std::size_t length) {
    return DirectFile::Part{offset, before(length), std::span(memory.get() + capacity, length), 0, 0};
  };

  Counts total;
  std::uint64_t at = plan.header.data_offset;
  const std::uint64_t end = at + plan.header.data_size();
  if (interrupted) {
    file.read_interrupted(before(interrupted->length));
    DirectFile::Part part = part_at(interrupted->offset, interrupted->length);
    total += clip_part(plan, part);
    file.finish_interrupted(part);
    at = interrupted->offset + interrupted->length;
  }
  while (at < end) {
    const std::size_t length = std::min<std::uint64_t>(capacity, end - at);
    file.read(before(length), at);
    DirectFile::Part part = part_at(at, length);
    const Counts counts = clip_part(plan, part);
    if (counts.changed)
      file.change(part);
    else
      file.leave(part);
    total += counts;
    at += length;
    done_ += length;
  }
  return total;
}

Counts Engine::clip_part(const Plan& plan, DirectFile::Part& part) {
  const std::size_t chunk = options_.chunk_size;
  const std::size_t element_size = info(plan.header.dtype).size;
  Counts total;
  std::mutex mutex;
  for_each_chunk((part.before.size() + chunk - 1) / chunk, true, [&](std::uint64_t i, std::byte*) {
    const std::uint64_t at = i * chunk;
    const std::size_t size = std::min<std::size_t>(chunk, part.before.size() - at);
    const std::span before = part.before.subspan(at, size);
    const std::span after = part.after.subspan(at, size);
    const Counts counts =
        clip_and_count(plan.operation, before.data(), after.data(), size / element_size, options_.level);
    const std::uint64_t sum_before = placed_sum(before, part.offset + at);
    const std::uint64_t sum_after = counts.changed ? placed_sum(after, part.offset + at) : sum_before;
    const std::lock_guard lock(mutex);
    total += counts;
    part.sum_before += sum_before;
    part.sum_after += sum_after;
  });
  return total;
}

}  // namespace clipper
