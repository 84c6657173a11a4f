#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace clipper {

/// The member `version` of everything that is printed as JSON. A new meaning of a member raises it; a new
/// member does not.
inline constexpr int kJsonVersion = 1;

/// A JSON value that is printed: null, a scalar, a list, or an object whose members keep the order in which
/// they were added. Bytes of a text that are not UTF-8 become U+FFFD; a double that is infinite or NaN
/// becomes null. Where memory runs out, std::bad_alloc is thrown.
class Json {
 public:
  using Member = std::pair<std::string_view, Json>;

  Json() = default;  ///< null
  template <std::integral T>
  Json(T number) {  // NOLINT(google-explicit-constructor): as for all values below
    if constexpr (std::same_as<T, bool>)
      text_ = number ? "true" : "false";
    else
      text_ = std::to_string(number);
  }
  Json(double number);  // NOLINT(google-explicit-constructor)
  template <class T>
  requires std::convertible_to<const T&, std::string_view> Json(const T& text)  // NOLINT
      : text_(quoted(text)) {}
  template <class T>
  Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}  // NOLINT
  template <class T>
  Json(const std::vector<T>& values) : Json(list()) {  // NOLINT(google-explicit-constructor)
    for (const T& value : values) add(value);
  }
  Json(std::initializer_list<Member> members);  ///< an object

  [[nodiscard]] static Json list();  ///< an empty one

  Json& add(Json value);                        ///< to a list
  Json& add(std::string_view key, Json value);  ///< to an object, which has no such key

  /// In one line; with `indent` a line for each value, indented by so many spaces for each level.
  [[nodiscard]] std::string dump(std::size_t indent = 0) const;

 private:
  enum class Kind : std::uint8_t { scalar, list, object };

  static std::string quoted(std::string_view text);
  void append_to(std::string& text, std::size_t indent, std::size_t level) const;

  Kind kind_ = Kind::scalar;
  std::string text_ = "null";                          ///< a scalar's
  std::vector<std::pair<std::string, Json>> members_;  ///< of a list without keys
};

}  // namespace clipper
