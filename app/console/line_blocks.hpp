#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace clipper {

/// Lines of text, of which there may be many, in little memory.
class LineBlocks {
 public:
  /// The line is these texts, one after the other, which contain no \n and no \r. `middle` is kept once for
  /// successive lines that have the same.
  void add(std::string_view begin, std::string_view middle = {}, std::string_view end = {}) {
    keep(begin);
    keep(middle == middle_ ? kSame : middle);
    keep(end);
    middle_ = middle;
  }

  /// Calls `visit` with the three texts of each line, in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::array<std::string_view, 3> texts;
    std::size_t text = 0;
    std::string_view middle;
    for (const std::string_view block : blocks_)
      for (std::size_t begin = 0; begin < block.size();) {
        const std::size_t end = block.find('\n', begin);
        texts.at(text) = block.substr(begin, end - begin);
        begin = end + 1;
        if (++text < texts.size()) continue;
        text = 0;
        if (texts[1] != kSame) middle = texts[1];
        visit(texts[0], middle, texts[2]);
      }
  }

  /// Whether the lines take more memory than one block.
  [[nodiscard]] bool is_large() const noexcept { return blocks_.size() > 1; }

 private:
  static constexpr std::size_t kBlock = 65536;
  static constexpr std::string_view kSame = "\r";  ///< instead of the middle of the line before

  /// One string for all lines would need twice its memory while it grows.
  void keep(std::string_view text) {
    if (blocks_.empty() || blocks_.back().size() + text.size() >= kBlock) blocks_.emplace_back();
    if (is_large() && blocks_.back().empty()) blocks_.back().reserve(kBlock);
    blocks_.back().append(text) += '\n';
  }

  std::deque<std::string> blocks_;
  std::string middle_;  ///< of the last line
};

}  // namespace clipper
