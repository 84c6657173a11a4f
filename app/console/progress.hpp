#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "console/ending.hpp"

namespace clipper {

/// How far the work is.
struct Extent {
  std::uint64_t bytes = 0;      ///< of finished elements
  std::uint64_t all_bytes = 0;  ///< 0: unknown
  std::size_t files = 0;        ///< finished
  std::size_t all_files = 1;
};

/// "[#########           ]  45 %  3 of 12 files  1.8 of 4.0 GiB   850 MiB/s    3 s left", without the files
/// if there is only one. Never longer than `columns`: the bar shrinks first, then whole facts are left out,
/// in this order: bar, rate, files, bytes, time left, percentage.
[[nodiscard]] std::string progress_text(const Extent& extent, double seconds, std::size_t columns);

/// The same facts as a line of a log: "clipper:  45 %  1.8 of 4.0 GiB   850 MiB/s    3 s left\n". If the
/// work has ended, the time it took takes the place of the time left: "in 5 s".
[[nodiscard]] std::string progress_line(const Extent& extent, double seconds, bool ended);

[[nodiscard]] double seconds_since(std::chrono::steady_clock::time_point begin);

/// "850 MiB/s", of which the number takes at least `width` columns.
[[nodiscard]] std::string rate_text(double bytes, double seconds, int width = 0);

/// Shows on standard error how far the work is, as long as this object lives: on a terminal as one line that
/// is redrawn and erased at the end, elsewhere as a plain line of text every ten seconds and at the end. Work
/// that takes less than half a second shows no line on a terminal.
class Progress {
 public:
  enum class When : std::uint8_t {
    automatic,  ///< on a terminal
    always,
    never,
  };

  /// `look` is called from another thread, at most ten times a second.
  Progress(When when, std::function<Extent()> look);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

 private:
  void show_until_the_end(bool redraws);

  std::function<Extent()> look_;
  std::condition_variable end_;
  bool ended_ = false;
  std::thread thread_;
};

/// What is printed in place of the line, if one is shown, which is redrawn below.
class AboveProgress : public TextWriter {
 public:
  explicit AboveProgress(std::FILE* stream) noexcept;

 private:
  std::lock_guard<std::mutex> lock_;
};

/// Prints the texts in place of the line. False if the stream cannot be written.
bool print_above_progress(std::FILE* stream, std::initializer_list<std::string_view> texts) noexcept;

/// Erases the line, which is not drawn again. Safe in a signal handler that ends the process.
void end_progress() noexcept;

/// The Extent of files that one thread reads one after the other. Another thread may call extent().
class FileTally {
 public:
  /// `done` counts the bytes of elements read from all files, from 0 on. `size(i)` are the expected bytes of
  /// file i, 0 if unknown.
  FileTally(const std::atomic<std::uint64_t>& done, std::size_t files,
            const std::function<std::uint64_t(std::size_t)>& size);

  /// Corrects the size of the current file.
  void expect(std::uint64_t bytes) noexcept;

  /// Ends the current file, even if only a part of it or nothing was read.
  void next() noexcept;

  [[nodiscard]] Extent extent() const noexcept;

 private:
  const std::atomic<std::uint64_t>& done_;
  std::vector<std::uint64_t> sizes_;
  std::uint64_t begin_ = 0;  ///< value of done_ at the start of the current file
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::size_t> files_ = 0;
};

/// The size of a regular file; 0 for everything else, and for "-".
[[nodiscard]] std::uint64_t expected_bytes(const std::string& path);

}  // namespace clipper
