#include "console/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string_view>
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
namespace {

/// Longer cells do not widen their column.
constexpr std::size_t kWidestColumn = 50;

/// How many columns of a terminal the text takes: fmt pads to columns, of which a character takes 1 or 2.
std::size_t columns_of(const std::string& text) {
  return 2 * text.size() - fmt::format("{:{}}", text, text.size()).size();
}

}  // namespace

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

}  // namespace clipper
