#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "clip/clip.hpp"
#include "contract/plan.hpp"
#include "engine/transfer.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "simd/levels.hpp"

namespace clipper {

class Pool;

/// Consecutive bytes of a file.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// What sees the bytes of a regular file's tensor: of the elements that are read, and of all bytes that are
/// written, both from the beginning of the tensor's file on.
struct ByteObservers {
  ByteObserver read;
  ByteObserver written;
};

/// Error{io} if *stop is true; see FileOptions.
void expect_going_on(const std::atomic<bool>* stop);

/// Carries out a Plan in chunks and threads: read, clip, write. Works on one tensor, or on many, one after
/// the other or at once.
///
/// The number of threads and the chunk size bound the memory, whatever the size of the tensors. Every number
/// of threads and every chunk size gives the same bytes.
class Engine {
 public:
  struct Options {
    unsigned threads = 0;  ///< maximum; 0: those of the arena that the caller is in, or available_threads()
    std::size_t chunk_size = 0;  ///< bytes that a thread handles at a time, at least 4096; 0: cached_chunk()
    SimdLevel level = simd_levels().back();
    const std::atomic<bool>* stop = nullptr;  ///< see FileOptions
    std::function<void()> look{};             ///< called before each chunk of the thread that made the Engine
    bool is_team = false;                     ///< whether the threads are a Team: for for_each_chunk() only
    unsigned mapping_cpus = 0;  ///< CPUs that mapping a large new file takes (MappedBlock); 0: never
  };

  explicit Engine(const Options& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  /// At most `most` threads, unless the options name a number. Before anything that calls prepare().
  void limit_threads(unsigned most) noexcept { most_ = most; }

  /// How long the work on a tensor takes: deflating takes much longer than starting threads.
  enum class Cost : std::uint8_t { low, high };

  /// Allocates memory and starts threads for a tensor of `data_size` bytes. All functions that work on a
  /// tensor call this; an earlier call lets it fail before the output is created. A tensor of one chunk
  /// starts no threads, nor does one of low cost and up to 4 MiB, unless the options name a number; others of
  /// low cost start at most one for each chunk. Error{io} if there is not enough memory.
  void prepare(std::uint64_t data_size, Cost cost = Cost::low);

  /// Calls `work(0)` to `work(count - 1)`, several at once; each may call run() and read(). After an
  /// exception no further calls begin, and the first exception is thrown again.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& work);

  /// Throws the errors of TensorClip::expect_valid() for the plan's arrays before anything is written.
  void check(const Plan& plan, TensorClip& clip);

  /// Writes `header`, then every clipped element of the input. The caller commits the output. Error{input} if
  /// a stream is shorter or longer than its header says, or for a NaN if plan.refuse_nan. Without counting,
  /// the counts are zero. With Sharing::parts, `header` must be the input's; chunks in which few blocks
  /// change are shared with the input, and only these blocks are written.
  StageCounts run(const Plan& plan, InputFile& input, OutputFile& output, std::span<const std::byte> header,
                  Counting counting = Counting::off, const ByteObservers& observers = {},
                  Sharing sharing = Sharing::none);

  /// Calls `make(i, slot)` for the numbers 0 to count - 1, several at once, and `write(i, slot)` in order,
  /// each after its `make`. No two numbers have the same slot, of slots(), at the same time. `make` may call
  /// run() and read(). After an exception no further calls begin, and the first exception is thrown again.
  using SlotStep = std::function<void(std::uint64_t, std::size_t)>;
  void in_order(std::uint64_t count, const SlotStep& make, const SlotStep& write);
  [[nodiscard]] std::size_t slots() const noexcept;

  /// Reads a range of the file `from`, named `path` in errors, and writes it to `offset` of `output` if
  /// given, which must be regular. Returns placed_sum() of the range as if it began at offset 0; nothing if
  /// the file ends before.
  [[nodiscard]] std::optional<std::uint64_t> copy(const Descriptor& from, const std::string& path,
                                                  const ByteRange& range, const OutputFile* output,
                                                  std::uint64_t offset);

  /// Whether run() would change a regular file: the counts that run() would return. They are complete with
  /// Counting::on or if nothing changes; otherwise scan() stops at the first change. Error{input} for a NaN
  /// if plan.refuse_nan.
  [[nodiscard]] StageCounts scan(const Plan& plan, InputFile& input, Counting counting = Counting::off,
                                 const ByteObserver& read = {});

  /// Calls `look` with the decoded elements of each chunk (memory/elements.hpp), which it may overwrite, and
  /// with the index of their first element in the file: several chunks at once and, from a regular file, in
  /// any order. Error{input} as by run(); Error{io} if a regular file changes meanwhile. Of a regular file
  /// only the parts that `wanted` chooses are read, each as a chunk of its own: called with the index of a
  /// chunk's first element and the number of elements, it calls its last argument with those of each part.
  using TakePart = std::function<void(std::uint64_t, std::uint64_t)>;
  using Wanted = std::function<void(std::uint64_t, std::uint64_t, const TakePart&)>;
  void read(const TensorLayout& layout, InputFile& input,
            const std::function<void(std::uint64_t, std::span<std::byte>)>& look, const Wanted& wanted = {});

  /// Handles a chunk: its number, and the memory for it.
  using Step = std::function<void(std::uint64_t, std::byte*)>;

  /// Calls `step` for every chunk: with `parallel` several at once and in any order, otherwise in order. The
  /// memory has chunk_size() bytes, or less if prepare() was called for less.
  void for_each_chunk(std::uint64_t count, bool parallel, const Step& step);

  /// Adds to done(). Called by a Step after it has handled that many bytes of elements.
  void add_done(std::uint64_t bytes) noexcept { done_ += bytes; }

  /// Takes bytes back that were added to done(), because they will be read again.
  void take_back_done(std::uint64_t bytes) noexcept { done_ -= bytes; }

  /// Clips the elements of the file where they are, by a plan that gives the same result if it is carried out
  /// twice. The caller commits the file. Elements that were changed before an interruption are not counted.
  ElementCounts rewrite(const Plan& plan, InputFile& input, DirectFile& file);

  [[nodiscard]] SimdLevel level() const noexcept { return options_.level; }
  [[nodiscard]] KernelOptions kernel_options() const noexcept { return {options_.level, threads_}; }
  [[nodiscard]] std::size_t chunk_size() const noexcept { return options_.chunk_size; }

  /// At most chunk_size(): the bytes that a thread handles at a time of `size` bytes in memory, so that all
  /// threads have as much to do.
  [[nodiscard]] std::size_t chunk_in_memory(std::uint64_t size) const noexcept;
  [[nodiscard]] unsigned threads() const noexcept { return threads_; }  ///< 1 before prepare()

  /// The bytes of elements that are finished, for all tensors so far. Other threads may read it, to show
  /// progress.
  [[nodiscard]] const std::atomic<std::uint64_t>& done() const noexcept { return done_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  using Memory = std::unique_ptr<std::byte[], Free>;

  /// Max slots of in_order() for all callers together.
  static constexpr std::size_t kSlots = 24;

  /// For all buffers together, and for the two parts of rewrite(), where each part waits twice for the disk.
  static constexpr std::size_t kMemory = 16UL << 20;

  /// Handles a chunk of bytes: its offset, and the memory for it.
  using ByteStep = std::function<void(std::uint64_t, std::span<std::byte>)>;

  /// Calls `step` for every chunk of `size` bytes, several at once.
  void for_each_chunk_of(std::uint64_t size, const ByteStep& step);
  void go_on() const;  ///< expect_going_on(), and Options::look
  std::uint64_t choose_threads(std::uint64_t data_size);
  template <class Take>
  void take_each(std::uint64_t count, bool parallel, const Take& take);
  void stream_chunks(std::uint64_t count, const InputFile& input,
                     const std::function<bool(std::uint64_t, std::byte*)>& read, const Step& clip,
                     const Step& write);
  /// Clips the elements from the index `position` on. Throws the errors of TensorClip::expect_valid().
  ElementCounts clip_part(const Plan& plan, TensorClip& clip, std::uint64_t position,
                          std::span<const std::byte> before, std::span<std::byte> after);
  /// run() of a new file of the program: as for_each_chunk(), by fewer threads, and `step` also gets the
  /// chunk's place in a mapping of the output, or null if it is to write the chunk.
  using MappedStep = std::function<void(std::uint64_t, std::byte*, std::byte*)>;
  [[nodiscard]] bool may_map(const Plan& plan, const InputFile& input, const OutputFile& output,
                             std::uint64_t header_end) const;
  [[nodiscard]] std::size_t mapped_chunk() const noexcept;
  void map_chunks(const Chunks& chunks, std::size_t part, std::uint64_t header_end, const OutputFile& output,
                  const MappedStep& step);
  bool begin_output(const Plan& plan, const InputFile& input, const OutputFile& output,
                    std::size_t header_size, Sharing sharing, Transfer& transfer);
  [[nodiscard]] static Memory allocate(std::size_t size);
  [[nodiscard]] std::byte* buffer(std::size_t index) const noexcept;

  Options options_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::uint64_t prepared_for_ = 0;  ///< the largest data_size of prepare()
  unsigned threads_ = 1;
  unsigned most_ = std::numeric_limits<unsigned>::max();
  bool shares_ = false;         ///< whether the threads are those of an arena that the caller is in
  Memory memory_;               ///< of a chunk for each thread
  std::unique_ptr<Pool> pool_;  ///< null with one thread
  bool many_ = false;           ///< true in for_each(), where every thread has its own tensor
  std::atomic<std::uint64_t> done_ = 0;
};

/// An engine with at most `threads` threads that reads or writes `size` bytes of memory in less time than one
/// thread, or null; 0: those of the arena of oneTBB that the caller is in, or available_threads(). Outside of
/// an arena it is the engine of all tensors in memory of this process, for one caller at a time: others get
/// null meanwhile, and so does a child process, because the threads stay in the parent.
[[nodiscard]] std::shared_ptr<Engine> engine_with_threads(std::size_t size, unsigned threads);

/// The same; one without threads in place of null.
[[nodiscard]] std::shared_ptr<Engine> engine_for(std::size_t size, unsigned threads);

}  // namespace clipper
