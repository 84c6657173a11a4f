#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "element/dtype.hpp"

/// What can be asked for. The contracts of the systems that clipper stands in for, one row each: SEMANTICS
/// section 5 as data.
namespace clipper {

class DTypeSet {
 public:
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (const DType dtype : dtypes) bits_ |= bit(dtype);
  }
  [[nodiscard]] constexpr bool contains(DType dtype) const { return (bits_ & bit(dtype)) != 0; }
  [[nodiscard]] friend constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  static constexpr unsigned bit(DType dtype) { return 1U << static_cast<unsigned>(dtype); }
  unsigned bits_ = 0;
};

/// What happens when min is above max.
enum class MinAboveMax : std::uint8_t {
  error,
  min,  ///< max(Min, min(x, Max)): every element becomes min, NaN stays
  max,  ///< min(Max, max(Min, x)): every element becomes max, NaN stays
};

struct Profile {
  enum class Bounds : std::uint8_t { optional, required };

  /// What stands in for a bound that is not given.
  enum class AbsentBound : std::uint8_t {
    none,            ///< nothing is clipped on that side
    float32_limits,  ///< the lowest or largest finite float32, converted like a given bound
    dtype_limits,    ///< the lowest or largest finite value of the dtype: an infinity becomes finite
  };

  /// The type that the system carries bounds in, before they become elements.
  enum class Carrier : std::uint8_t {
    element,  ///< the tensor's own
    float32,
    float64,  ///< float16 and bfloat16 bounds then pass through float32
  };

  /// A bound that an integer dtype does not have.
  enum class Inexact : std::uint8_t {
    truncate,  ///< a fraction is cut off; beyond the range saturates, if that does not break the bound
    inward,    ///< ceil(min), floor(max), saturating
    error,
  };

  enum class NanBound : std::uint8_t { error, ignored };

  enum class ScaleBias : std::uint8_t { exact, float32, none };

  std::string_view family;  ///< the versions of one system: "onnx"
  std::string_view name;    ///< as on the command line: "onnx-6"
  std::string_view system;  ///< as in messages: "ONNX Clip-6"
  DTypeSet dtypes;
  std::size_t min_rank = 0;
  std::size_t max_rank = std::numeric_limits<std::size_t>::max();
  Bounds bounds = Bounds::optional;
  AbsentBound absent_bound = AbsentBound::none;
  Carrier carrier = Carrier::element;
  Inexact inexact = Inexact::truncate;
  MinAboveMax min_above_max = MinAboveMax::error;
  NanBound nan_bound = NanBound::error;
  ScaleBias scale_bias = ScaleBias::exact;
};

/// Every profile; those of one family follow each other, oldest first.
[[nodiscard]] std::span<const Profile> profiles() noexcept;

/// The profile called `name`, or null. A family's name means its newest.
[[nodiscard]] const Profile* profile_named(std::string_view name) noexcept;

/// A number of a request, and how messages quote it. A plain number is one, too: its text is its decimal
/// digits, of a float the fewest that convert back to it.
struct Given {
  Number number;
  std::string text;            ///< as it was typed: "300", "1e3", "@lo.npy"
  std::optional<DType> dtype;  ///< of the file that the number was read from; nothing if it was typed
  bool opaque = false;         ///< the file says `|V2`, which is bfloat16 only where the tensor is

  template <class T>
  requires(std::is_arithmetic_v<T>&& std::constructible_from<Number, T>) Given(T value)
      : number(value), text(shortest_text(value)) {}
  Given(Number value);
  Given(Number value, std::string quoted, std::optional<DType> of_file = std::nullopt, bool is_opaque = false)
      : number(std::move(value)), text(std::move(quoted)), dtype(of_file), opaque(is_opaque) {}

 private:
  template <class T>
  [[nodiscard]] static std::string shortest_text(T value) {
    std::array<char, 32> text;
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
  }
};

/// What becomes of NaN among the results.
struct OnNan {
  enum Action : std::uint8_t {
    keep,
    error,    ///< an Error that names the first one
    min,      ///< becomes min, which is given
    max,      ///< becomes max, which is given
    replace,  ///< becomes `number`
  };

  Action action = keep;
  std::optional<Given> number;  ///< not NaN

  OnNan() = default;
  OnNan(Action what) : action(what) {}
  template <std::convertible_to<Given> T>
  OnNan(T&& value) : action(replace), number(std::forward<T>(value)) {}
};

/// The names of OnNan's actions that need no number, in their order.
inline constexpr std::array<std::string_view, 4> kNanWords{"keep", "error", "min", "max"};

/// The four numbers of the operation, and by which rules they become elements.
struct Request {
  std::optional<Given> min{};
  std::optional<Given> max{};
  std::optional<Given> scale{};
  std::optional<Given> bias{};
  OnNan nan{};
  const Profile* profile = profile_named("native");  ///< never null
  std::optional<MinAboveMax> min_above_max{};        ///< instead of the profile's rule
};

}  // namespace clipper
