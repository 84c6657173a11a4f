#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "console/table.hpp"
#include "contract/arrays.hpp"

namespace clipper {

/// What follows json_start() in a line of --json.
struct JsonRest {
  std::string member;
  std::string plan;
  std::string result;
  std::vector<std::shared_ptr<const ParameterArray>> found;  ///< for each kValues of the plan
};

/// The lines of --json about one file or about the members of an archive, in little memory: the plans of
/// members that follow each other are often the same.
class JsonLines {
 public:
  /// What all lines begin with: see json_start().
  void set_start(std::string start) { start_ = std::move(start); }

  void add(JsonRest json);

  /// Prints the lines, and with them the values of found arrays, of which there may be millions. Allocates
  /// nothing. Returns errno of a line that cannot be written, 0 otherwise.
  [[nodiscard]] int print(std::FILE* stream) const noexcept;

  [[nodiscard]] bool is_large() const noexcept { return texts_.is_large() || found_size_ > kLargeFound; }

 private:
  static constexpr std::string_view kSame = "=";  ///< no JSON
  static constexpr std::size_t kLargeFound = 65536;

  std::string start_;
  LineBlocks texts_;
  std::vector<std::shared_ptr<const ParameterArray>> found_;  ///< of the plans in texts_
  std::size_t found_size_ = 0;                                ///< bytes
  std::string plan_;                                          ///< of the last line
  std::size_t plan_found_ = 0;                                ///< how many of found_ it has
};

}  // namespace clipper
