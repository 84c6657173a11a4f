#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace clipper {

/// The width of the terminal that the descriptor leads to; 80 if it leads to something else.
[[nodiscard]] std::size_t terminal_columns(int fd);

/// The text on one line, harmless to a terminal: control characters and bytes that are not UTF-8, which file
/// names may hold, become \xNN.
[[nodiscard]] std::string escape_for_terminal(std::string_view text);

/// The values of --color, in the order of its words.
enum class ColorWhen : std::uint8_t {
  automatic,  ///< on a terminal, unless TERM is unset or "dumb" or NO_COLOR has a value (no-color.org)
  always,
  never,
};

/// What a colored text means.
enum class Ink : std::uint8_t { error, warning, good, bound };

/// Colors texts for one stream. Never give it names of files: escape_for_terminal() escapes color codes.
class Paint {
 public:
  Paint() = default;  ///< returns all texts unchanged
  Paint(ColorWhen when, int fd);

  [[nodiscard]] std::string operator()(Ink ink, std::string_view text) const;

 private:
  bool colors_ = false;
};

/// Sets --color for the whole process. Error lines are written by every thread and by main() after a command
/// has failed and its options are gone, so the choice cannot be passed to all of them. Until it is set:
/// automatic.
void set_color(ColorWhen when) noexcept;

/// The Paint of what is written to the descriptor, by the choice of set_color().
[[nodiscard]] Paint paint_for(int fd);

/// Lines of text, of which there may be many. Kept in blocks, because one string would need twice its memory
/// while it grows.
class LineBlocks {
 public:
  /// Adds a line, which contains no newline.
  void add(std::string_view line) {
    if (blocks_.empty() || blocks_.back().size() + line.size() >= kBlock) {
      const bool is_first = blocks_.empty();
      blocks_.emplace_back();
      if (!is_first) blocks_.back().reserve(kBlock);
    }
    blocks_.back().append(line) += '\n';
  }

  /// Calls `visit` with each line, in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const std::string_view block : blocks_)
      for (std::size_t begin = 0; begin < block.size();) {
        const std::size_t end = block.find('\n', begin);
        visit(block.substr(begin, end - begin));
        begin = end + 1;
      }
  }

  /// Whether the lines take more memory than one block.
  [[nodiscard]] bool is_large() const noexcept { return blocks_.size() > 1; }

 private:
  static constexpr std::size_t kBlock = 65536;

  std::vector<std::string> blocks_;
};

/// A field of CSV by RFC 4180: in quotes if it has a comma, a quote or the end of a line.
[[nodiscard]] std::string csv_field(std::string_view text);

/// A table for people, whose columns are as wide on a terminal as their widest cells; or CSV, where nothing
/// stands for a cell "-". The cells must not contain control characters: see escape_for_terminal().
class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  enum class Format : std::uint8_t { text, csv };

  struct Column {
    std::string heading;  ///< in capitals, except in CSV
    Align align = Align::left;
  };

  using Row = std::vector<std::string>;

  explicit Table(std::vector<Column> columns, Format format = Format::text);

  /// Adds a row, which has a cell for each column.
  void add(const Row& row);

  /// Calls `print` with parts of the text, in order: a line with the headings, and a line for each row, all
  /// of which begin with `indent`. Forgets these rows: rows that are added later get no other headings, and
  /// columns that are at least as wide.
  void print(std::string_view indent, const std::function<void(const std::string&)>& print);

  /// Whether the rows take so much memory that they should be printed before others are added.
  [[nodiscard]] bool is_large() const noexcept { return rows_.is_large(); }

  /// The whole text.
  [[nodiscard]] std::string text();

 private:
  void append_line(std::string_view row, std::string& text) const;

  std::vector<Column> columns_;
  Format format_;
  std::vector<std::size_t> widths_;
  LineBlocks rows_;  ///< cells, a tab after each
};

}  // namespace clipper
