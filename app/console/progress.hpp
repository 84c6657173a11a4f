#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace clipper {

/// How far the work is.
struct Extent {
  std::uint64_t bytes = 0;  ///< of elements that are done with
  std::uint64_t all_bytes = 0;
  std::size_t files = 0;
  std::size_t all_files = 1;
};

/// "[#########           ]  45 %  1.8 of 4.0 GiB  850 MiB/s  3 s left", with the files in front if there are
/// several; cut to `columns`.
[[nodiscard]] std::string progress_text(const Extent& extent, double seconds, std::size_t columns);

/// A line on standard error that says how far the work is, for as long as this lives; then it is gone.
class Progress {
 public:
  enum class When : std::uint8_t {
    automatic,  ///< where standard error is a terminal, from the work's first half second on
    always,
    never,
  };

  /// `look` is called from another thread, at most ten times a second.
  Progress(When when, std::function<Extent()> look);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Writes a text in the line's place; the line comes back below it. False if the stream does not take it.
  bool print(std::FILE* stream, const std::string& text) noexcept;

 private:
  void show_until_the_end();
  void erase() noexcept;

  std::function<Extent()> look_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::thread thread_;
};

/// Removes the line; for a signal handler that ends the process.
void erase_progress() noexcept;

}  // namespace clipper
