#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/arrays.hpp"
#include "element/dtype.hpp"
#include "element/logical_type.hpp"

namespace clipper {

/// The member `version` of everything that is printed as JSON. A new meaning of a member raises it; a new
/// member does not.
inline constexpr int kJsonVersion = 1;

/// A JSON value to print: null, a scalar, a list, or an object whose members keep the order in which they
/// were added. A number that JSON readers may change becomes a string: "inf", "-inf", "nan", and an
/// integer beyond 2^53 in magnitude (RFC 8259, section 6). Bytes of a text that are not UTF-8 become U+FFFD:
/// add_name() keeps those of a name.
/// Throws std::bad_alloc if there is no memory.
class Json {
 public:
  using Member = std::pair<std::string_view, Json>;

  Json() = default;  ///< null
  template <std::integral T>
  Json(T number) {  // NOLINT(google-explicit-constructor): as for all values below
    if constexpr (std::same_as<T, bool>)
      text_ = number ? "true" : "false";
    else
      text_ = std::in_range<std::int64_t>(number) && is_exact(static_cast<std::int64_t>(number))
                  ? std::to_string(number)
                  : quoted(std::to_string(number));
  }
  /// The shortest decimal that reads back as the double. -0.0 keeps its point: readers take -0 for the
  /// integer 0.
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

  [[nodiscard]] static Json list() { return Json(Kind::list); }      ///< an empty list
  [[nodiscard]] static Json object() { return Json(Kind::object); }  ///< an empty object

  /// A value that is dumped already.
  [[nodiscard]] static Json verbatim(std::string text);

  /// The number that the text of an element or of a bound names: see parse_number(). Of a floating dtype, a
  /// JSON number if the double nearest to it has the same shortest decimal, or is a fraction with all these
  /// digits, otherwise its decimal as a string: "1e+400". Of an integer dtype, integers are JSON numbers up
  /// to 2^53.
  [[nodiscard]] static Json number(DType dtype, std::string_view text);

  /// Room for any number.
  using NumberText = std::array<char, 40>;

  /// number() of an element's text, dumped to `room`. Allocates nothing.
  [[nodiscard]] static std::string_view print(DType dtype, ElementBits element, NumberText& room) noexcept;

  Json& add(Json value);                        ///< to a list
  Json& add(std::string_view key, Json value);  ///< to an object, which has no such key

  /// Adds the name of a file or of a member of an archive to an object. If it is not UTF-8, also adds the
  /// member KEY_bytes, the name in base64.
  Json& add_name(std::string_view key, std::string_view name);

  /// On one line; with `indent`, one line per value, indented by `indent` spaces per level.
  [[nodiscard]] std::string dump(std::size_t indent = 0) const;

 private:
  enum class Kind : std::uint8_t { scalar, list, object };

  explicit Json(Kind kind) : kind_(kind) {}

  static constexpr bool is_exact(std::int64_t number) {
    constexpr std::int64_t kLargest = std::int64_t{1} << 53;
    return number >= -kLargest && number <= kLargest;
  }
  static std::string quoted(std::string_view text);
  void append_to(std::string& text, std::size_t indent, std::size_t level) const;
  [[nodiscard]] std::size_t size() const noexcept;  ///< of dump(), about

  Kind kind_ = Kind::scalar;
  std::string text_ = "null";                          ///< of a scalar
  std::vector<std::pair<std::string, Json>> members_;  ///< the keys of a list are empty
};

/// The begin of an object that is printed: its name in clipper.schema.json, and the version.
[[nodiscard]] Json named_object(std::string_view name);

/// An element: a number, true or false, or the text of a date or a complex number.
[[nodiscard]] Json element_json(DType dtype, const LogicalType& meaning, ElementBits element,
                                ElementBits imaginary = 0);

/// Stands for the values of an array that was found, of which there may be millions: they are printed in its
/// place. No JSON has it.
inline constexpr char kValues = '\x01';

/// The object `array` of clipper.schema.json: {"file": "lo.npy", "shape": [3, 1, 1]}; or with kValues,
/// {"values": [\x01], "shape": [3, 1, 1]}.
[[nodiscard]] Json array_json(const ArrayParameter& parameter);

/// The member `request` of clipper.schema.json: each field that is given, by its name and as typed.
[[nodiscard]] Json request_json(const Request& request);

}  // namespace clipper
