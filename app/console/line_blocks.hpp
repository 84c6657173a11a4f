#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace clipper {

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

}  // namespace clipper
