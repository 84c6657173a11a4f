#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"
#include "element/logical_type.hpp"
#include "error.hpp"
#include "files/container.hpp"

/// Which tensors are chosen: by patterns of their names, and by their types.
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

/// A choice of tensors by their types.
class TypeChoice {
 public:
  /// The words besides those of dtype_word(). Float8 is chosen only by "all" or by its name.
  static constexpr std::array<std::string_view, 5> kKinds{"float", "int", "bool", "date", "all"};

  /// Also chooses the tensors that the word stands for. False for a word that names none.
  [[nodiscard]] bool add(std::string_view word);

  [[nodiscard]] bool contains(DType dtype, const LogicalType& meaning) const;

  /// Whether it has bool, dates or durations.
  [[nodiscard]] bool has_meanings() const { return bool_ || date_ || other_; }

  [[nodiscard]] static TypeChoice all();
  [[nodiscard]] static TypeChoice floats();
  [[nodiscard]] static TypeChoice numbers();  ///< floats and integers

 private:
  std::uint32_t dtypes_ = 0;  ///< a bit for each dtype
  bool bool_ = false;
  bool date_ = false;
  bool other_ = false;
};

}  // namespace clipper
