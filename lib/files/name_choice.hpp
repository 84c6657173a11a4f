#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "error.hpp"
#include "files/container.hpp"

/// Names that patterns choose.
namespace clipper {

/// Whether a pattern of fnmatch() matches the whole text; * also stands for /.
[[nodiscard]] bool matches(const std::string& pattern, const std::string& text);
[[nodiscard]] bool matches_any(const std::vector<std::string>& patterns, const std::string& text);

/// Which members of archives are chosen by their names or np.load's keys. In an archive that has a member
/// called as a pattern is written, the pattern stands for this member only.
class NameChoice {
 public:
  enum class How : std::uint8_t { not_chosen, by_pattern, by_name };

  /// What has to have a member for each pattern, also for those of `excluded`: each archive, or one of many,
  /// which expect_used() checks.
  enum class Needed : bool { in_each, in_any };

  /// All members.
  NameChoice() : NameChoice({}, {}) {}

  /// Those that `patterns` match, without those that `excluded` matches. Without patterns all are chosen, by
  /// a pattern.
  NameChoice(std::vector<std::string> patterns, std::vector<std::string> excluded,
             Needed needed = Needed::in_each);

  [[nodiscard]] bool has_patterns() const noexcept { return !patterns_.empty(); }
  [[nodiscard]] bool has_excluded() const noexcept { return !excluded_.empty(); }

  /// Whether a file that is named and is no archive is refused.
  [[nodiscard]] bool needs_archive() const noexcept {
    return has_patterns() || (has_excluded() && !is_for_many());
  }

  /// What messages call the choice: that of `patterns`, or of `excluded` if there are no others.
  [[nodiscard]] Term term() const;

  [[nodiscard]] bool is_for_many() const noexcept { return needed_ == Needed::in_any; }

  /// How each member of the archive is chosen. Error{usage} for a pattern without a member, if each archive
  /// needs one. Callable from many threads.
  [[nodiscard]] std::vector<How> of(const Container& archive) const;

  /// Of many archives: Error{usage} for the first pattern that matched no member of all archives so far.
  void expect_used() const;

 private:
  std::vector<std::string> patterns_;
  std::vector<std::string> excluded_;
  Needed needed_;
  std::shared_ptr<std::deque<std::atomic<bool>>> used_;  ///< patterns_, then excluded_; copies share it
};

}  // namespace clipper
