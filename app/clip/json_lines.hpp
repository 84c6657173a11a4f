#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "clip/clip_report.hpp"
#include "console/line_blocks.hpp"

namespace clipper {

/// The lines of --json about one file or about the members of an archive, in little memory: the plans of
/// members that follow each other are often the same.
class JsonLines {
 public:
  /// What all lines begin with: see json_start().
  void set_start(std::string start) { start_ = std::move(start); }

  void add(const JsonRest& json) {
    texts_.add(json.member);
    texts_.add(json.plan == plan_ ? kSame : json.plan);
    texts_.add(json.result);
    plan_ = json.plan;
  }

  /// Calls `visit` with the texts of each line, the last of which is "\n", in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::array<std::string_view, 3> texts;
    std::size_t count = 0;
    std::string_view plan;
    texts_.for_each([&](std::string_view text) {
      texts.at(count) = text;
      if (++count < texts.size()) return;
      count = 0;
      if (texts[1] != kSame) plan = texts[1];
      visit({std::string_view(start_), texts[0], plan, texts[2], std::string_view("\n")});
    });
  }

  [[nodiscard]] bool is_large() const noexcept { return texts_.is_large(); }

 private:
  static constexpr std::string_view kSame = "=";  ///< no JSON

  std::string start_;
  LineBlocks texts_;
  std::string plan_;  ///< of the last line
};

}  // namespace clipper
