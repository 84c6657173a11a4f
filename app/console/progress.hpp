#pragma once

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <thread>

#include "console/progress_text.hpp"

namespace clipper {

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

  /// Erases the line and writes a text in its place; the line is redrawn below the text. False if the stream
  /// cannot be written.
  bool print(std::FILE* stream, std::initializer_list<std::string_view> texts) noexcept;
  bool print(std::FILE* stream, std::string_view text) noexcept { return print(stream, {text}); }

 private:
  void show_until_the_end(bool redraws);

  std::function<Extent()> look_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::thread thread_;
};

/// Erases the line. Safe in a signal handler that ends the process.
void erase_progress() noexcept;

}  // namespace clipper
