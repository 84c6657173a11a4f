#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace clipper {

/// oneTBB's threads; the only place that knows oneTBB.
///
/// An exception of the work ends it: nothing further begins, and the first exception is thrown again when
/// no thread works any more. An exception of oneTBB itself, which has run out of memory or threads, calls
/// std::terminate(): nobody can say then which threads still work.
class Pool {
 public:
  static constexpr std::size_t kStack =
      512UL * 1024;  ///< of a thread; the deepest frames hold a kernel's blocks

  /// Of the oneTBB library that is loaded: "2021.8.0 (interface 12080)".
  [[nodiscard]] static std::string version();

  /// So many threads, the calling one included. Null if oneTBB cannot start, in this call or in one before.
  [[nodiscard]] static std::unique_ptr<Pool> start(unsigned threads);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  using Work = std::function<void(std::uint64_t)>;
  enum class Effort : std::uint8_t { even, uneven };

  /// Calls `work(0)` to `work(count - 1)`, several at once and in any order. May be called in `work`: a
  /// thread that waits for the end of an inner call takes part in nothing else, which could go on for long.
  void for_each(std::uint64_t count, Effort effort, const Work& work);

  /// Calls all three for each number: `read` and `write` in order, `clip` several at once. `read` returns
  /// false to end it; it comes at most `ahead` numbers before `write`.
  void pipe(std::uint64_t count, std::size_t ahead, const std::function<bool(std::uint64_t)>& read,
            const Work& clip, const Work& write);

  /// Calls `work` in the calling thread, which has a number then.
  void call(const std::function<void()>& work);

  /// The number of the calling thread, in what the functions above call: less than the number of threads.
  [[nodiscard]] static std::size_t this_thread() noexcept;

 private:
  struct Threads;
  explicit Pool(std::unique_ptr<Threads> threads);

  std::unique_ptr<Threads> threads_;
};

}  // namespace clipper
