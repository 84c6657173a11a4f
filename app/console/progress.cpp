#include "console/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "console/terminal.hpp"

namespace clipper {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kFirst = 500ms;
constexpr auto kEach = 100ms;
constexpr std::string_view kErase = "\r\x1b[K";
constexpr std::size_t kBar = 20;

std::atomic<bool> shown = false;

void write_to_terminal(std::string_view text) noexcept {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody is told less for it
}

bool is_terminal() {
  const char* const name = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && name != nullptr && std::string_view(name) != "dumb";
}

struct Unit {
  double bytes;
  const char* name;
};

Unit unit_of(double bytes) {
  constexpr std::array kUnits{Unit{1024. * 1024 * 1024 * 1024, "TiB"}, Unit{1024. * 1024 * 1024, "GiB"},
                              Unit{1024. * 1024, "MiB"}, Unit{1024, "KiB"}};
  for (const Unit& unit : kUnits)
    if (bytes >= unit.bytes) return unit;
  return {1, "B"};
}

std::string time_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(std::min(seconds, 1e9)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

std::string progress_text(const Extent& extent, double seconds, std::size_t columns) {
  const auto all = static_cast<double>(extent.all_bytes);
  const double done = std::min(static_cast<double>(extent.bytes), all);
  const double share = all > 0 ? done / all : 0;
  const double rate = seconds > 0 ? done / seconds : 0;
  const Unit unit = unit_of(all);
  const Unit rate_unit = unit_of(rate);
  const auto full = static_cast<std::size_t>(share * kBar);
  std::string text =
      fmt::format("[{}{}] {:3.0f} %", std::string(full, '#'), std::string(kBar - full, ' '), share * 100);
  if (extent.all_files > 1) text += fmt::format("  {} of {} files", extent.files, extent.all_files);
  text += fmt::format("  {:.1f} of {:.1f} {}  {:.0f} {}/s", done / unit.bytes, all / unit.bytes, unit.name,
                      rate / rate_unit.bytes, rate_unit.name);
  if (rate > 0) text += fmt::format("  {} left", time_text((all - done) / rate));
  return text.substr(0, columns);
}

Progress::Progress(When when, std::function<Extent()> look) : look_(std::move(look)) {
  if (when == When::never || (when == When::automatic && !is_terminal())) return;
  try {
    thread_ = std::thread([this] { show_until_the_end(); });
  } catch (const std::system_error&) {
    return;  // no thread, no line
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

void Progress::show_until_the_end() {
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  for (auto wait = kFirst; !end_.wait_for(lock, wait, [&] { return ended_; }); wait = kEach) {
    const std::chrono::duration<double> time = Clock::now() - start;
    // The last column stays free: a terminal may go to the next line after it.
    const std::string text = progress_text(look_(), time.count(), terminal_columns(STDERR_FILENO) - 1);
    shown = true;
    write_to_terminal(std::string(kErase) + text);
  }
  erase_progress();
}

bool Progress::print(std::FILE* stream, const std::string& text) noexcept {
  const std::lock_guard lock(mutex_);
  erase_progress();
  return std::fputs(text.c_str(), stream) >= 0 && std::fflush(stream) == 0;
}

void erase_progress() noexcept {
  if (shown.exchange(false)) write_to_terminal(kErase);
}

}  // namespace clipper
