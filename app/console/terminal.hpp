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

#include "console/diagnostics.hpp"

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
