#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "element/dtype.hpp"
#include "element/meaning.hpp"

namespace clipper {

/// A choice of tensors by their types.
class TypeChoice {
 public:
  /// The words besides those of dtype_word(). Float8 is chosen only by "all" or by its name.
  static constexpr std::array<std::string_view, 5> kKinds{"float", "int", "bool", "date", "all"};

  /// Also chooses the tensors that the word stands for. False for a word that names none.
  [[nodiscard]] bool add(std::string_view word);

  [[nodiscard]] bool contains(DType dtype, const Meaning& meaning) const;

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
