#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <mutex>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/input_file.hpp"
#include "memory/elements.hpp"
#include "os/os.hpp"
#include "parallel/pool.hpp"

namespace clipper {
namespace {

constexpr std::size_t kPage = 4096;  // size unit of chunks and parts
static_assert(kPage % kSummedBlock == 0);
static_assert(Transfer::kMaxShift <= kPage);    // each buffer has a page more than its chunk
constexpr std::size_t kOfPool = 8UL << 20;      // memory of oneTBB itself, without its threads
constexpr std::size_t kOfThread = 256UL << 10;  // besides its stack
constexpr std::uint64_t kAlone = 4UL << 20;     // bytes that one thread clips before oneTBB has started
constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kMaxChunks =
    32;  // max chunks in a part of rewrite(); a small chunk size makes small parts

// Bytes that one thread reads and writes in less time than several, from its own second-level cache. Measured
// with two threads, see app/python/core/README.md, and with 16, see README.md of this folder.
constexpr std::size_t kSmall = 4UL << 20;                // for two threads
constexpr std::size_t kSmallBesideSleeping = 2UL << 20;  // for more threads that must be woken up
constexpr std::size_t kSmallBesideAwake = 256UL << 10;
constexpr std::size_t kLeast = 64UL << 10;  // bytes of a chunk in memory

std::unique_ptr<Engine> start_engine(std::size_t size, unsigned threads, bool is_team = false) {
  Engine::Options options;
  options.threads = threads;
  options.is_team = is_team;
  auto engine = std::make_unique<Engine>(options);
  engine->prepare(size);
  return engine;
}

/// Starting an engine with threads takes as long as clipping several MiB.
class SharedEngine {
 public:
  /// Null while another caller has it, and in a child of the process that has started it.
  static std::shared_ptr<Engine> get(unsigned threads) {
    SharedEngine* const shared = &instance();
    std::unique_lock lock(shared->mutex_, std::try_to_lock);
    if (!lock || (shared->process_ != 0 && shared->process_ != os::getpid())) return nullptr;
    if (!shared->engine_ || shared->threads_ != threads) {
      shared->engine_.reset();
      shared->engine_ = start_engine(std::numeric_limits<std::size_t>::max(), threads, true);
      shared->process_ = os::getpid();
      shared->threads_ = threads;
    }
    static const AtExit ender;
    static_cast<void>(lock.release());
    return {shared->engine_.get(), [shared](Engine* /*engine*/) { shared->mutex_.unlock(); }};
  }

 private:
  /// Ends the threads before their code may leave the process with a plugin.
  struct AtExit {
    ~AtExit() {
      SharedEngine& shared = instance();
      const std::unique_lock lock(shared.mutex_, std::try_to_lock);
      if (lock && shared.process_ == os::getpid()) shared.engine_.reset();
    }
  };

  /// Never destroyed: other threads may use it at the exit.
  static SharedEngine& instance() {
    static auto* const shared = new SharedEngine;
    return *shared;
  }

  std::mutex mutex_;
  std::unique_ptr<Engine> engine_;
  unsigned threads_ = 0;
  pid_t process_ = 0;
};

/// Whether the threads of a team are awake if its last call was asked about.
bool follows_at_once() noexcept {
  using Clock = std::chrono::steady_clock;
  static std::atomic<Clock::time_point> last = Clock::time_point::min();
  const Clock::time_point now = Clock::now();
  return last.exchange(now, std::memory_order_relaxed) + std::chrono::microseconds(Team::kAwake) > now;
}

/// Whether several threads read or write `size` bytes of memory in less time than one. Reads files when it is
/// called first.
bool is_worth_threads(std::size_t size, unsigned threads, bool are_surrounding) {
  static const bool has_many_cpus = available_threads() > 2;
  if (threads == 1 || size <= kSmallBesideAwake) return false;
  if (!has_many_cpus || threads == 2 || are_surrounding) return size > kSmall;
  return follows_at_once() || size > kSmallBesideSleeping;
}

/// Where clipping leaves what it finds and makes, besides the chunk's memory.
struct Target {
  ChangedBlocks* changed = nullptr;
  std::byte* mapped = nullptr;  ///< the chunk's place in a mapping of the output
};

/// The output of a tensor without elements.
void write_alone(std::span<const std::byte> header, OutputFile& output, const ByteObservers& observers) {
  output.write(header);
  if (observers.written) observers.written(0, header);
}

}  // namespace

void Engine::Free::operator()(std::byte* memory) const noexcept {
  os::free_aligned(memory);
}

Engine::Engine(const Options& options) : options_(options) {
  const std::size_t chunk = options.chunk_size != 0 ? options.chunk_size : cached_chunk();
  options_.chunk_size = std::clamp(chunk / kPage * kPage, kPage, kMemory);
}

Engine::~Engine() = default;

Engine::Memory Engine::allocate(std::size_t size) {
  Memory memory(os::allocate_aligned(kPage, size / kPage * kPage + kPage));
  if (!memory) throw Error(ErrorKind::io, fmt::format("cannot allocate {} KiB", size / 1024));
  return memory;
}

void Engine::prepare(std::uint64_t data_size, Cost cost) {
  const bool is_short = options_.threads == 0 && cost == Cost::low && data_size <= kAlone;
  const bool alone = !pool_ && (is_short || data_size <= options_.chunk_size);
  if (data_size <= prepared_for_ && (alone || pool_ || prepared_for_ == kNone)) return;
  const bool takes_all = pool_ || cost == Cost::high;
  prepared_for_ = 0;
  memory_.reset();
  pool_.reset();
  const std::uint64_t enough_for = alone ? data_size : choose_threads(takes_all ? kNone : data_size);
  const std::uint64_t chunk = std::max(options_.chunk_size, kMinRoom);
  const std::size_t size = alone ? (std::min(data_size, chunk) + kPage - 1) / kPage * kPage : chunk;
  memory_ = allocate(threads_ * (size + kPage));
  if (!alone && threads_ > 1 && options_.is_team) pool_ = Pool::start_team(threads_);
  if (!alone && threads_ > 1 && !options_.is_team)
    pool_ = shares_ ? Pool::surrounding() : Pool::start(threads_);
  if (!pool_) threads_ = 1;
  prepared_for_ = alone || pool_ ? enough_for : kNone;
}

/// Chooses the number of threads that the memory allows and that have a chunk each, and the size of
/// chunks. Returns the largest data size for which more threads would not be chosen.
std::uint64_t Engine::choose_threads(std::uint64_t data_size) {
  const auto chunk = [&](unsigned n) { return std::min(options_.chunk_size, kMemory / n / kPage * kPage); };
  const auto needed = [&](unsigned n) { return kOfPool + n * (Pool::stack() + kOfThread + chunk(n)); };
  const unsigned most = std::min(threads_with_files(), Pool::limit());
  const unsigned surrounding = options_.threads == 0 ? Pool::surrounding_threads() : 0;
  shares_ =
      surrounding != 0 && surrounding <= threads_with_files() && most > 1 && os::can_map(needed(surrounding));
  if (shares_) {
    threads_ = surrounding;
  } else {
    unsigned threads =
        std::min(options_.threads != 0 ? options_.threads : std::min(available_threads(), most_), most);
    const unsigned allowed = threads;
    while (threads > 1 && (threads - 1) * chunk(threads) >= data_size) --threads;
    if (threads == allowed) data_size = kNone;
    while (threads > 1 && !os::can_map(needed(threads))) threads /= 2;
    // oneTBB ends the process when it cannot start a thread.
    threads_ = os::startable_threads(threads, Pool::stack());
  }
  options_.chunk_size = chunk(threads_);
  return shares_ ? kNone : data_size;
}

void Engine::for_each(std::size_t count, const std::function<void(std::size_t)>& work) {
  prepare(kNone);
  if (!pool_) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  const std::unique_ptr<bool, void (*)(bool*)> many(&many_, [](bool* flag) { *flag = false; });
  *many = true;
  pool_->for_each(count, Pool::Effort::uneven, work);
}

void expect_going_on(const std::atomic<bool>* stop) {
  if (stop != nullptr && *stop) throw Error(ErrorKind::cancelled, "cancelled");
}

void Engine::go_on() const {
  expect_going_on(options_.stop);
  if (options_.look && std::this_thread::get_id() == caller_) options_.look();
}

std::size_t Engine::chunk_in_memory(std::uint64_t size) const noexcept {
  const auto parts = [](std::uint64_t whole, std::uint64_t part) { return (whole + part - 1) / part; };
  const std::uint64_t rounds = std::max<std::uint64_t>(parts(size, options_.chunk_size * threads_), 1);
  const std::uint64_t chunk = parts(parts(size, rounds * threads_), kPage) * kPage;
  return std::clamp(static_cast<std::size_t>(chunk), std::min(kLeast, options_.chunk_size),
                    options_.chunk_size);
}

std::byte* Engine::buffer(std::size_t index) const noexcept {
  return memory_.get() + index * (std::max(options_.chunk_size, kMinRoom) + kPage);
}

/// Calls `take` in all threads and in any order if `parallel`, otherwise in order in the calling thread.
template <class Take>
void Engine::take_each(std::uint64_t count, bool parallel, const Take& take) {
  const auto take_all = [&] {
    for (std::uint64_t i = 0; i < count; ++i) take(i);
  };
  if (!pool_)
    take_all();
  else if (parallel && count > 1)
    pool_->for_each(count, Pool::Effort::even, take);
  else
    pool_->call(take_all);
}

void Engine::for_each_chunk(std::uint64_t count, bool parallel, const Step& step) {
  take_each(count, parallel, [&](std::uint64_t i) {
    go_on();
    step(i, buffer(pool_ ? Pool::this_thread() : 0));
  });
}

/// A stream is read or written in order, each chunk by the thread that clips it.
void Engine::stream_chunks(std::uint64_t count, const InputFile& input,
                           const std::function<bool(std::uint64_t, std::byte*)>& read, const Step& clip,
                           const Step& write) {
  const auto memory = [&] { return buffer(Pool::this_thread()); };
  pool_->in_turns(
      count, input.is_regular() ? Pool::Reads::at_once : Pool::Reads::in_order,
      [&](std::uint64_t i) {
        go_on();
        return read(i, memory());
      },
      [&](std::uint64_t i) { clip(i, memory()); }, [&](std::uint64_t i) { write(i, memory()); });
}

std::size_t Engine::slots() const noexcept {
  if (!pool_) return 1;
  return many_ ? std::max<std::size_t>(kSlots / threads_, 1) : std::min<std::size_t>(kSlots, 2UL * threads_);
}

void Engine::in_order(std::uint64_t count, const SlotStep& make, const SlotStep& write) {
  const std::size_t slots = this->slots();
  const auto make_one = [&](std::uint64_t i) {
    go_on();
    make(i, i % slots);
  };
  if (!pool_ || count == 1)
    for (std::uint64_t i = 0; i < count; ++i) {
      go_on();
      make(i, 0);
      write(i, 0);
    }
  else
    pool_->pipe(count, slots, make_one, [&](std::uint64_t i) { write(i, i % slots); });
}

void Engine::check(const Plan& plan, TensorClip& clip) {
  if (clip.is_checked()) return;
  prepare(plan.slice.count * plan.largest_element());
  const Chunks chunks = chunks_of(plan, options_.chunk_size, 0);
  for_each_chunk(chunks.size(), true, [&](std::uint64_t i, std::byte* /*memory*/) {
    clip.check(plan.slice.first + chunks[i].begin, chunks[i].count);
  });
  clip.expect_valid();
}

/// Before the first byte is written. Returns whether the output's space is reserved.
bool Engine::begin_output(const Plan& plan, const InputFile& input, const OutputFile& output,
                          std::size_t header_size, Sharing sharing, Transfer& transfer) {
  if (!output.is_regular()) check(plan, transfer.tensor_clip());
  const std::uint64_t size = header_size + plan.output_size();
  if (!output.is_new() || !is_sparse(input) || !may_keep_zeros(plan, kernel_options()))
    return sharing != Sharing::parts && output.reserve(size);
  transfer.keep_holes(output, size);
  return false;
}

StageCounts Engine::run(const Plan& plan, InputFile& input, OutputFile& output,
                        std::span<const std::byte> header, Counting counting, const ByteObservers& observers,
                        Sharing sharing) {
  prepare(plan.slice.count * plan.largest_element());
  const std::uint64_t header_end = output.base() + header.size();
  const bool may = may_map(plan, input, output, header_end);
  const Chunks chunks = chunks_of(plan, may ? mapped_chunk() : options_.chunk_size, header_end);
  Transfer transfer(plan, input, chunks, kernel_options());
  const auto read = [&](std::uint64_t chunk, std::byte* memory) {
    if (transfer.comes_after_refusal(chunk)) return false;
    transfer.read(chunk, memory + transfer.shift(chunk, header_end));
    return true;
  };
  const auto clip = [&](std::uint64_t chunk, std::byte* memory, const Target& to = {}) {
    transfer.show_read(chunk, memory += transfer.shift(chunk, header_end), observers.read);
    transfer.clip(chunk, memory, counting, to.changed, to.mapped);
  };
  const auto write = [&](std::uint64_t chunk, std::byte* memory, const Target& to = {}) {
    memory += transfer.shift(chunk, header_end);
    if (!to.mapped && !transfer.is_refused(chunk)) transfer.write(chunk, memory, output, header, to.changed);
    transfer.show_written(chunk, to.mapped ? to.mapped : memory, header, observers.written);
    done_ += transfer.size(chunk);
  };
  const bool is_reserved = begin_output(plan, input, output, header.size(), sharing, transfer);
  if (chunks.size() == 0) write_alone(header, output, observers);
  const bool streams = !input.is_regular() || !output.is_regular();
  const auto step = [&](std::uint64_t chunk, std::byte* memory, std::byte* at = nullptr) {
    if (at && plan.input_size() <= plan.output_size()) memory = at - transfer.shift(chunk, header_end);
    if (!read(chunk, memory)) return;
    ChangedBlocks changed{.blocks = {}, .are_few = sharing == Sharing::parts};
    clip(chunk, memory, {&changed, at});
    write(chunk, memory, {&changed, at});
  };
  if (streams && pool_ && !many_)
    stream_chunks(chunks.size(), input, read, clip, write);
  else if (may && is_reserved)
    map_chunks(chunks, chunks[1].count * traits(plan.output.dtype).size, header_end, output, step);
  else
    for_each_chunk(chunks.size(), !streams, step);
  transfer.expect_valid();
  if (!input.is_regular()) input.expect_end();
  return transfer.counts();
}

void Engine::for_each_chunk_of(std::uint64_t size, const ByteStep& step) {
  const std::size_t chunk = options_.chunk_size;
  for_each_chunk((size + chunk - 1) / chunk, true, [&](std::uint64_t i, std::byte* memory) {
    const std::uint64_t at = i * chunk;
    step(at, {memory, static_cast<std::size_t>(std::min<std::uint64_t>(chunk, size - at))});
  });
}

std::optional<std::uint64_t> Engine::copy(const Descriptor& from, const std::string& path,
                                          const ByteRange& range, const OutputFile* output,
                                          std::uint64_t offset) {
  prepare(range.size);
  std::atomic<std::uint64_t> total = 0;
  std::atomic<bool> complete = true;
  for_each_chunk_of(range.size, [&](std::uint64_t at, std::span<std::byte> bytes) {
    if (!complete) return;
    if (read_at(from, bytes, range.offset + at, path) < bytes.size()) complete = false;
    total += placed_sum(bytes, at);
    if (output != nullptr) output->write_at(bytes, offset + at);
    done_ += bytes.size();
  });
  return complete ? std::optional(total.load()) : std::nullopt;
}

StageCounts Engine::scan(const Plan& plan, InputFile& input, Counting counting, const ByteObserver& read) {
  prepare(plan.slice.count * plan.largest_element());
  const Chunks chunks = chunks_of(plan, options_.chunk_size, 0);
  Transfer transfer(plan, input, chunks, kernel_options());
  std::atomic<bool> changed = false;
  std::atomic<std::uint64_t> scanned = 0;
  const bool complete = plan.may_refuse_elements() || counting == Counting::on;
  for_each_chunk(chunks.size(), true, [&](std::uint64_t chunk, std::byte* memory) {
    if (changed && !complete) return;
    transfer.read(chunk, memory);
    transfer.show_read(chunk, memory, read);
    if (transfer.clip(chunk, memory, Counting::on).changed) changed = true;
    scanned += transfer.size(chunk);
    done_ += transfer.size(chunk);
  });
  if (changed) done_ -= scanned;  // run() reads it again
  transfer.expect_valid();
  return transfer.counts();
}

void Engine::read(const TensorLayout& layout, InputFile& input,
                  const std::function<void(std::uint64_t, std::span<std::byte>)>& look,
                  const Wanted& wanted) {
  prepare(layout.data_size());
  const std::size_t size = traits(layout.dtype).size;
  const Chunks chunks(layout.count, size, options_.chunk_size, 0);
  const auto read = [&](const Chunks::Chunk& part, std::byte* memory) {
    input.read_next_at(std::span(memory, part.count * size), input.data_begin() + part.begin * size);
    return true;
  };
  const auto look_at = [&](const Chunks::Chunk& part, std::byte* memory) {
    const std::span elements(memory, part.count * size);
    decode(layout, elements, options_.level);
    look(part.begin, elements);
  };
  if (!input.is_regular() && pool_ && !many_) {
    stream_chunks(
        chunks.size(), input, [&](std::uint64_t i, std::byte* memory) { return read(chunks[i], memory); },
        [&](std::uint64_t i, std::byte* memory) {
          look_at(chunks[i], memory);
          done_ += chunks[i].count * size;
        },
        [](std::uint64_t, std::byte*) {});
  } else {
    for_each_chunk(chunks.size(), input.is_regular(), [&](std::uint64_t i, std::byte* memory) {
      const Chunks::Chunk chunk = chunks[i];
      const auto take = [&](std::uint64_t begin, std::uint64_t count) {
        read({begin, count}, memory);
        look_at({begin, count}, memory);
      };
      if (wanted && input.is_regular())
        wanted(chunk.begin, chunk.count, take);
      else
        take(chunk.begin, chunk.count);
      done_ += chunk.count * size;
    });
  }
  if (!input.is_regular()) input.expect_end();
  if (input.is_regular()) input.expect_unwritten();
}

ElementCounts Engine::rewrite(const Plan& plan, InputFile& input, DirectFile& file) {
  prepare(plan.input_size());
  TensorClip clip(plan, kernel_options(), input.path());
  check(plan, clip);
  file.begin(plan.fingerprint());
  const std::size_t capacity =
      std::min<std::uint64_t>({kMemory / 2, kMaxChunks * options_.chunk_size, plan.input_size()});
  const auto memory = allocate(2 * capacity);
  ElementCounts total;
  for (std::uint64_t at = 0; at < plan.input_size(); at += capacity) {
    const std::size_t length = std::min<std::uint64_t>(capacity, plan.input_size() - at);
    const std::span before(memory.get(), length);
    const std::span after(memory.get() + capacity, length);
    file.read(before, input.data_begin() + at);
    const ElementCounts counts = clip_part(plan, clip, at / traits(plan.input.dtype).size, before, after);
    if (counts.changed) file.write(before, after, input.data_begin() + at);
    total += counts;
    done_ += length;
  }
  return total;
}

ElementCounts Engine::clip_part(const Plan& plan, TensorClip& clip, std::uint64_t position,
                                std::span<const std::byte> before, std::span<std::byte> after) {
  const std::size_t chunk = options_.chunk_size;
  const std::size_t element_size = traits(plan.input.dtype).size;
  ElementCounts total;
  std::mutex mutex;
  take_each((before.size() + chunk - 1) / chunk, true, [&](std::uint64_t i) {
    const std::size_t at = i * chunk;
    const std::size_t size = std::min(chunk, before.size() - at);
    const StageCounts counts = clip.clip(position + at / element_size, before.data() + at, after.data() + at,
                                         size / element_size, Counting::on);
    const std::lock_guard lock(mutex);
    total += counts;
  });
  clip.expect_valid();
  return total;
}

std::shared_ptr<Engine> engine_with_threads(std::size_t size, unsigned threads) {
  const bool are_surrounding = threads == 0 && Pool::surrounding_threads() != 0;
  if (!is_worth_threads(size, threads, are_surrounding)) return nullptr;
  return are_surrounding ? start_engine(size, threads) : SharedEngine::get(threads);
}

std::shared_ptr<Engine> engine_for(std::size_t size, unsigned threads) {
  std::shared_ptr<Engine> engine = engine_with_threads(size, threads);
  return engine ? engine : start_engine(size, 1);
}

}  // namespace clipper
