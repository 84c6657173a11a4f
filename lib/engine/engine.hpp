#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "clip/clip.hpp"
#include "contract/plan.hpp"
#include "engine/transfer.hpp"
#include "files/input_file.hpp"
#include "files/journaled_file.hpp"
#include "files/output_file.hpp"
#include "simd/levels.hpp"

namespace clipper {

class Pool;

/// Bytes of a file that follow each other.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// A Plan over chunks and threads: read, clip, write. For one tensor or for many, one after the other or at
/// once.
///
/// Memory is bounded by threads and chunk size, whatever the tensors' sizes. Every thread count and chunk
/// size gives the same bytes.
class Engine {
 public:
  struct Options {
    unsigned threads = 0;                   ///< at the most; 0: available_threads()
    std::size_t chunk_size = 256UL * 1024;  ///< bytes that a thread handles at a time; at least 4096
    SimdLevel level = simd_levels().back();
  };

  explicit Engine(const Options& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  /// Gets the memory and the threads for a tensor of that many bytes. Whatever works on a tensor does it,
  /// too; called before, it gets them before the output is created. A tensor that fits a chunk gets no
  /// threads. Error{io} without memory.
  void prepare(std::uint64_t data_size);

  /// Calls `work(0)` to `work(count - 1)`, several at once; each may run() and read(). After an exception
  /// no further ones begin, and the first is thrown again.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& work);

  /// Writes `header`, then every element of the input, which stands behind its own header. The output is not
  /// committed. Error{input} if a stream is shorter or longer than its header says, or for a NaN with
  /// plan.refuse_nan. What is not counted is zero. `sum`, if asked for, becomes placed_sum() of all bytes
  /// that were written to a regular output.
  ElementCounts run(const Plan& plan, InputFile& input, OutputFile& output, std::span<const std::byte> header,
                    Counting counting = Counting::off, std::uint64_t* sum = nullptr);

  /// Reads a range of a file that is called `path`, and writes it to `offset` of a regular output if there
  /// is one. Returns placed_sum() of the bytes, as if they were a file; nothing if the file ends before.
  [[nodiscard]] std::optional<std::uint64_t> copy(const Descriptor& from, const std::string& path,
                                                  const ByteRange& range, const OutputFile* output,
                                                  std::uint64_t offset);

  /// Whether run() would change a regular file's elements: what it would count, complete if nothing changes
  /// or if asked for. Error{input} for a NaN as by run(), also if something changes.
  [[nodiscard]] ElementCounts scan(const Plan& plan, InputFile& input, Counting counting = Counting::off);

  /// Calls `look` with the elements of each chunk, which it may overwrite: several at once, from a file in
  /// any order. Error{input} as by run(), Error{io} if a file changes meanwhile.
  void read(const npy::Header& header, InputFile& input,
            const std::function<void(std::span<std::byte>)>& look);

  /// What is done with a chunk: its number, the memory for it.
  using Step = std::function<void(std::uint64_t, std::byte*)>;

  /// Calls `step` for every chunk: with `parallel` several at once and in any order, otherwise one after the
  /// other. The memory is chunk_size() bytes, or what was prepared for if that is less.
  void for_each_chunk(std::uint64_t count, bool parallel, const Step& step);

  /// Adds to done(). Called by a Step after it has handled that many bytes of elements.
  void add_done(std::uint64_t bytes) noexcept { done_ += bytes; }

  /// Changes every element of the file where it is. The file is not committed. What was changed before an
  /// interruption is not counted.
  ElementCounts rewrite(const Plan& plan, InputFile& input, JournaledFile& file);

  [[nodiscard]] SimdLevel level() const noexcept { return options_.level; }
  [[nodiscard]] std::size_t chunk_size() const noexcept { return options_.chunk_size; }
  [[nodiscard]] unsigned threads() const noexcept { return threads_; }  ///< 1 before prepare()

  /// The bytes of elements that are done with, of all tensors so far; for a look at it from another thread.
  [[nodiscard]] const std::atomic<std::uint64_t>& done() const noexcept { return done_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  using Memory = std::unique_ptr<std::byte[], Free>;

  /// Of all buffers together, and of the two parts that rewrite() has: each part waits twice for the disk.
  static constexpr std::size_t kMemory = 16UL << 20;

  /// What is done with a chunk of bytes: where it begins, the memory for it.
  using ByteStep = std::function<void(std::uint64_t, std::span<std::byte>)>;

  /// Calls `step` for every chunk of so many bytes, several at once.
  void for_each_chunk_of(std::uint64_t size, const ByteStep& step);
  void choose_threads();
  void take_each(std::uint64_t count, bool parallel, const std::function<void(std::uint64_t)>& take);
  void pipe_chunks(std::uint64_t count, const std::function<bool(std::uint64_t, std::byte*)>& read,
                   const Step& clip, const Step& write);
  /// Fills `part.after`, and both sums.
  ElementCounts clip_part(const Plan& plan, JournaledFile::Part& part);

  /// placed_sum() of a part of the file.
  [[nodiscard]] std::uint64_t sum(const InputFile& input, std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] static Memory allocate(std::size_t size);
  [[nodiscard]] std::byte* buffer(std::size_t index) const noexcept;

  Options options_;
  std::uint64_t prepared_for_ = 0;  ///< bytes of a tensor
  unsigned threads_ = 1;
  std::size_t buffers_ = 1;  ///< of a chunk each, in memory_
  Memory memory_;
  std::unique_ptr<Pool> pool_;  ///< of several threads
  bool many_ = false;           ///< in for_each(): every thread has its own tensor
  std::atomic<std::uint64_t> done_ = 0;
};

}  // namespace clipper
