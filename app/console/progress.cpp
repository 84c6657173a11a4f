#include "console/progress.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string_view>
#include <system_error>
#include <utility>

#include "console/ending.hpp"
#include "console/terminal.hpp"

namespace clipper {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kFirst = 500ms;
constexpr auto kEachDrawn = 100ms;
constexpr auto kEachLogged = 10s;
constexpr std::string_view kErase = "\r\x1b[K";

std::atomic<bool> shown = false;

void write_to_standard_error(std::string_view text) noexcept {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // clipping continues without progress
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void redraw(const Extent& extent, double seconds) {
  // The last column stays free: some terminals begin a new line after it.
  const std::string text = progress_text(extent, seconds, terminal_columns(STDERR_FILENO) - 1);
  shown = true;
  write_to_standard_error(std::string(kErase) + text);
}

}  // namespace

Progress::Progress(When when, std::function<Extent()> look) : look_(std::move(look)) {
  const bool redraws = is_capable_terminal(STDERR_FILENO);
  if (when == When::never || (when == When::automatic && !redraws)) return;
  try {
    thread_ = std::thread([this, redraws] { show_until_the_end(redraws); });
  } catch (const std::system_error&) {
    return;  // without a thread, no line is shown
  }
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  end_.notify_one();
  thread_.join();
}

void Progress::show_until_the_end(bool redraws) {
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  for (std::chrono::milliseconds wait = kFirst; !end_.wait_for(lock, wait, [&] { return ended_; });
       wait = redraws ? kEachDrawn : kEachLogged) {
    if (redraws)
      redraw(look_(), seconds_since(start));
    else
      write_to_standard_error(progress_line(look_(), seconds_since(start), false));
  }
  if (redraws)
    erase_progress();
  else
    write_to_standard_error(progress_line(look_(), seconds_since(start), true));
}

bool Progress::print(std::FILE* stream, std::initializer_list<std::string_view> texts) noexcept {
  const std::lock_guard lock(mutex_);
  erase_progress();
  return write_texts(::fileno(stream), texts);
}

void erase_progress() noexcept {
  if (shown.exchange(false)) write_to_standard_error(kErase);
}

}  // namespace clipper
