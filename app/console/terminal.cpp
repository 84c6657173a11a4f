#include "console/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "npy/dict.hpp"
#include "os/os.hpp"

namespace clipper {

std::size_t terminal_columns(int fd) {
  constexpr std::size_t kUsual = 80;
  const std::size_t columns = os::columns(fd);
  return columns != 0 ? columns : kUsual;
}

std::string escape_for_terminal(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    std::string_view rest = text;
    const bool is_printed = npy::is_printed(npy::take_code_point(rest).value_or(0));
    const std::size_t length = is_printed ? text.size() - rest.size() : 1;
    if (is_printed)
      line += text.substr(0, length);
    else
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    text.remove_prefix(length);
  }
  return line;
}

namespace {

std::atomic<ColorWhen> chosen = ColorWhen::automatic;

/// SGR parameters (ECMA-48) of each Ink.
constexpr std::array<std::string_view, 4> kParameters{
    "1;31",  // bold red
    "1;33",  // bold yellow
    "32",    // green
    "36",    // cyan
};

bool has_no_color() {
  const char* const value = std::getenv("NO_COLOR");
  return value != nullptr && *value != '\0';
}

/// Longer cells do not widen their column.
constexpr std::size_t kWidestColumn = 50;

/// How many columns of a terminal the text takes: fmt pads to columns, of which a character takes 1 or 2.
std::size_t columns_of(const std::string& text) {
  return 2 * text.size() - fmt::format("{:{}}", text, text.size()).size();
}

constexpr std::string_view kGap = "  ";
constexpr std::size_t kShortestBar = 5;
constexpr std::size_t kLongestBar = 40;

/// In the order in which the line shows them.
enum Fact : std::uint8_t { percentage, files, bytes, rate, time };

constexpr std::array kByValue{percentage, time, bytes, files, rate};

/// The texts of all facts, empty if unknown. The padding keeps each as wide as it will be later, so that the
/// line does not jitter.
using Facts = std::array<std::string, kByValue.size()>;

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

std::string bytes_text(double done, double all) {
  const Unit unit = unit_of(std::max(done, all));
  const int digits = unit.bytes > 1 ? 1 : 0;
  const std::string done_text = fmt::format("{:.{}f}", done / unit.bytes, digits);
  if (all == 0) return fmt::format("{} {}", done_text, unit.name);
  const std::string all_text = fmt::format("{:.{}f}", all / unit.bytes, digits);
  return fmt::format("{:>{}} of {} {}", done_text, all_text.size(), all_text, unit.name);
}

/// Whether the share of the work that is done is known: of the bytes or, if these are unknown, of many files.
bool has_share(const Extent& extent) {
  return extent.all_bytes != 0 || extent.all_files > 1;
}

/// How much of the work is done, from 0 to 1.
double share_of(const Extent& extent) {
  const auto share = [](auto done, auto all) {
    return all == 0 ? 0 : std::min(1., static_cast<double>(done) / static_cast<double>(all));
  };
  return extent.all_bytes == 0 ? share(extent.files, extent.all_files)
                               : share(extent.bytes, extent.all_bytes);
}

Facts facts_of(const Extent& extent, double seconds) {
  const auto all = static_cast<double>(extent.all_bytes);
  const double done = all > 0 ? share_of(extent) * all : static_cast<double>(extent.bytes);
  Facts facts;
  facts[bytes] = bytes_text(done, all);
  facts[rate] = rate_text(done, seconds, 4);
  if (extent.all_files > 1) {
    const std::string all_files = fmt::format("{}", extent.all_files);
    facts[files] = fmt::format("{:>{}} of {} files", extent.files, all_files.size(), all_files);
  }
  if (!has_share(extent)) return facts;
  const double share = share_of(extent);
  facts[percentage] = fmt::format("{:>3.0f} %", std::floor(share * 100));
  if (share * seconds > 0) facts[time] = fmt::format("{:>5} left", time_text((1 - share) / share * seconds));
  return facts;
}

std::string bar_text(double share, std::size_t width) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  return fmt::format("[{}{}]", std::string(full, '#'), std::string(width - full, ' '));
}

std::string joined(const Facts& facts) {
  std::string text;
  for (const std::string& fact : facts)
    if (!fact.empty()) text.append(text.empty() ? "" : kGap).append(fact);
  return text;
}

using namespace std::chrono_literals;

constexpr auto kFirst = 500ms;
constexpr auto kEachDrawn = 100ms;
constexpr auto kEachLogged = 10s;
constexpr std::string_view kErase = "\r\x1b[K";

std::atomic<bool> shown = false;
std::atomic<bool> drawing = false;
std::atomic<bool> drawing_ends = false;
std::mutex printing;  ///< held while the line or a text is printed

void write_to_standard_error(std::string_view text) noexcept {
  if (os::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // clipping continues without progress
}

void erase_progress() noexcept {
  if (shown.exchange(false)) write_to_standard_error(kErase);
}

void redraw(const Extent& extent, double seconds) {
  // Three columns stay free: two for ^C, which the terminal shows after the line, and the last one, after
  // which some terminals begin a new line, which kErase would erase instead of this one.
  constexpr std::size_t kFree = 3;
  const std::size_t columns = std::max(terminal_columns(STDERR_FILENO), kFree) - kFree;
  const std::string text = progress_text(extent, seconds, columns);
  drawing = true;
  if (!drawing_ends) {
    shown = true;
    write_to_standard_error(std::string(kErase) + text);
  }
  drawing = false;
}

}  // namespace

Paint::Paint(ColorWhen when, int fd)
    : colors_(when == ColorWhen::always ||
              (when == ColorWhen::automatic && !has_no_color() && os::is_capable_terminal(fd))) {}

std::string Paint::operator()(Ink ink, std::string_view text) const {
  if (!colors_) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kParameters.at(static_cast<std::size_t>(ink)), text);
}

void set_color(ColorWhen when) noexcept {
  chosen = when;
}

Paint paint_for(int fd) {
  return {chosen, fd};
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field.append(c == '"' ? 2 : 1, c);
  return field + '"';
}

Table::Table(std::vector<Column> columns, Format format) : columns_(std::move(columns)), format_(format) {
  Row headings;
  for (const Column& column : columns_) {
    std::string& heading = headings.emplace_back(column.heading);
    if (format == Format::text)
      std::ranges::transform(heading, heading.begin(),
                             [](char c) { return 'a' <= c && c <= 'z' ? c - 'a' + 'A' : c; });
  }
  widths_.resize(columns_.size());
  add(headings);
}

void Table::add(const Row& row) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    widths_[i] = std::max(widths_[i], std::min(columns_of(row[i]), kWidestColumn));
    line.append(row[i]) += '\t';
  }
  rows_.add(line);
}

void Table::append_line(std::string_view row, std::string& text) const {
  for (std::size_t i = 0; !row.empty(); ++i) {
    const std::string_view cell = row.substr(0, row.find('\t'));
    row.remove_prefix(cell.size() + 1);
    if (format_ == Format::csv) {
      text += (i == 0 ? "" : ",") + (cell == "-" ? "" : csv_field(cell));
      continue;
    }
    const bool is_right = columns_[i].align == Align::right;
    text += is_right ? fmt::format("{:>{}}", cell, widths_[i]) : fmt::format("{:{}}", cell, widths_[i]);
    text += "  ";
  }
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

void Table::print(std::string_view indent, const std::function<void(const std::string&)>& print) {
  constexpr std::size_t kPart = 65536;
  std::string part;
  rows_.for_each([&](std::string_view row) {
    part += indent;
    append_line(row, part);
    if (part.size() < kPart) return;
    print(part);
    part.clear();
  });
  if (!part.empty()) print(part);
  rows_ = {};
}

std::string Table::text() {
  std::string text;
  print("", [&](const std::string& part) { text += part; });
  return text;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string rate_text(double bytes, double seconds, int width) {
  const double per_second = seconds > 0 ? bytes / seconds : 0;
  const Unit unit = unit_of(per_second);
  return fmt::format("{:>{}.0f} {}/s", per_second / unit.bytes, width, unit.name);
}

std::string progress_text(const Extent& extent, double seconds, std::size_t columns) {
  const Facts all = facts_of(extent, seconds);
  Facts shown;
  for (const Fact fact : kByValue) {
    shown[fact] = all[fact];
    if (joined(shown).size() <= columns) continue;
    shown[fact].clear();
    return joined(shown);
  }
  const std::string text = joined(shown);
  const std::size_t around_bar = std::string_view("[] ").size();
  if (!has_share(extent) || text.size() + around_bar + kShortestBar > columns) return text;
  const std::size_t width = std::min(columns - text.size() - around_bar, kLongestBar);
  return bar_text(share_of(extent), width) + " " + text;  // the percentage is padded to three digits
}

std::string progress_line(const Extent& extent, double seconds, bool ended) {
  Facts facts = facts_of(extent, seconds);
  if (ended) facts[time] = "in " + time_text(seconds);
  return fmt::format("clipper: {}\n", joined(facts));
}

Progress::Progress(When when, std::function<Extent()> look) : look_(std::move(look)) {
  const bool redraws = os::is_capable_terminal(STDERR_FILENO);
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
    const std::lock_guard lock(printing);
    ended_ = true;
  }
  end_.notify_one();
  thread_.join();
}

void Progress::show_until_the_end(bool redraws) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(printing);
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

AboveProgress::AboveProgress(std::FILE* stream) noexcept : TextWriter(os::fileno(stream)), lock_(printing) {
  erase_progress();
}

bool print_above_progress(std::FILE* stream, std::initializer_list<std::string_view> texts) noexcept {
  return AboveProgress(stream).write(texts);
}

/// A signal handler may have interrupted the thread that draws, or the terminal may take nothing.
void end_progress() noexcept {
  drawing_ends = true;
  for (int waited = 0; drawing && waited < 100; ++waited) std::this_thread::sleep_for(1ms);
  erase_progress();
}

FileTally::FileTally(const std::atomic<std::uint64_t>& done, std::size_t files,
                     const std::function<std::uint64_t(std::size_t)>& size)
    : done_(done) {
  for (std::size_t i = 0; i < files; ++i) bytes_ += sizes_.emplace_back(size(i));
}

void FileTally::expect(std::uint64_t bytes) noexcept {
  bytes_ += bytes - sizes_[files_];
  sizes_[files_] = bytes;
}

void FileTally::next() noexcept {
  expect(done_ - begin_);
  begin_ = done_;
  ++files_;
}

Extent FileTally::extent() const noexcept {
  return {done_, bytes_, files_, sizes_.size()};
}

std::uint64_t expected_bytes(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = path == "-" ? 0 : std::filesystem::file_size(os::native(path), error);
  return error ? 0 : size;
}

}  // namespace clipper
