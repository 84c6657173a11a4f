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

/// What can be asked for: a Request, by the rules of a Profile. The contracts of the systems that clipper
/// stands in for are data, one Profile each.
namespace clipper {

/// Some of the dtypes.
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

/// What happens when min is above max, as given or as elements of the tensor's dtype.
enum class MinAboveMax : std::uint8_t {
  error,  ///< Error{usage}
  min,    ///< DirectML, max(Min, min(x, Max)): every element becomes min, NaN stays
  max,    ///< ONNX Clip-11 and later, numpy: every element becomes max, NaN stays
};

/// The rules of one system in one version. Programs choose one of profiles(), by profile_named(), and do not
/// make their own.
struct Profile {
  /// Whether a request may lack a bound. DirectML and OpenVINO Clamp-1 have both always.
  enum class Bounds : std::uint8_t { optional, required };

  /// What stands in for a bound that is not given.
  enum class AbsentBound : std::uint8_t {
    none,            ///< nothing is clipped on that side
    float32_limits,  ///< ONNX Clip-1, Clip-6: the lowest or largest finite float32, converted like a given
                     ///< bound
    dtype_limits,  ///< ONNX Clip-11 and later: the dtype's lowest or largest finite value; infinities become
                   ///< finite
  };

  /// The type that the system carries bounds in, before they become elements.
  enum class Carrier : std::uint8_t {
    element,  ///< the tensor's own
    float32,  ///< DirectML: FLOAT Min and Max; ONNX Clip-1, Clip-6: float attributes
    float64,  ///< OpenVINO Clamp-1: double attributes; of float16 and bfloat16 they then pass through float32
  };

  /// What becomes of a bound that no element of an integer dtype is.
  enum class Inexact : std::uint8_t {
    truncate,  ///< a fraction is cut off; beyond the range saturates, if that does not break the bound
    inward,    ///< OpenVINO Clamp-1: ceil(min), floor(max), saturating
    error,     ///< ONNX Clip-12 and later, whose bounds are tensors of that dtype: Error{usage}
  };

  /// What NaN as a bound of a float tensor does: Error{usage}, or no bound on that side, as in ONNX Runtime.
  enum class NanBound : std::uint8_t { error, ignored };

  /// Scale and bias: of any precision; rounded to float32 first (DML_SCALE_BIAS has two FLOATs); or no part
  /// of the operator, and an Error{usage}.
  enum class ScaleBias : std::uint8_t { exact, float32, none };

  std::string_view family;   ///< the versions of one system: "onnx"
  std::string_view name;     ///< what profile_named() takes: "onnx-6"
  std::string_view system;   ///< as in messages: "ONNX Clip-6"
  DTypeSet dtypes;           ///< of tensors; another one is an Error{input}
  std::size_t min_rank = 0;  ///< dimensions that a tensor may have; more or fewer are an Error{input}
  std::size_t max_rank = std::numeric_limits<std::size_t>::max();
  Bounds bounds = Bounds::optional;
  AbsentBound absent_bound = AbsentBound::none;
  Carrier carrier = Carrier::element;
  Inexact inexact = Inexact::truncate;
  MinAboveMax min_above_max = MinAboveMax::error;
  NanBound nan_bound = NanBound::error;
  ScaleBias scale_bias = ScaleBias::exact;
};

/// Every profile, never destroyed; those of one family follow each other, oldest first.
[[nodiscard]] std::span<const Profile> profiles() noexcept;

/// The profile called `name`, one of profiles(), or null. A family's name means its newest: "onnx" is
/// "onnx-13".
[[nodiscard]] const Profile* profile_named(std::string_view name) noexcept;

/// A number of a request, and how messages quote it. Made of a plain number where a request is written:
/// `{.min = 0, .max = 6}`.
struct Given {
  Number number;
  std::string text;            ///< as it was typed: "300", "1e3", "@lo.npy"
  std::optional<DType> dtype;  ///< of the file that the number was read from; nothing if it was typed
  bool opaque = false;         ///< the file says `|V2`, which is bfloat16 only where the tensor is

  // NOLINTBEGIN(google-explicit-constructor): a Request's member is written as a number.

  /// A C++ number but bool and long double, exactly; see Number. Its text is the shortest that converts back
  /// to it: of the float 0.1F it is "0.1", and the bound is the float's value, not 1/10.
  template <class T>
  requires(std::is_arithmetic_v<T>&& std::constructible_from<Number, T>) Given(T value)
      : number(value), text(shortest_text(value)) {}

  /// Quoted by all its decimal digits.
  Given(Number value);
  // NOLINTEND(google-explicit-constructor)

  /// For programs that read numbers from a command line or a file; the members say what is what.
  Given(Number value, std::string quoted, std::optional<DType> of_file = std::nullopt, bool is_opaque = false)
      : number(std::move(value)), text(std::move(quoted)), dtype(of_file), opaque(is_opaque) {}

 private:
  template <class T>
  [[nodiscard]] static std::string shortest_text(T value) {
    std::array<char, 32> text;
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
  }
};

/// What becomes of NaN among the results of a float tensor; integers have none.
struct OnNan {
  enum Action : std::uint8_t {
    keep,     ///< as in every system: NaN keeps its sign and payload
    error,    ///< Error{input} that names the first one's index
    min,      ///< becomes Request::min; Error{usage} if there is none
    max,      ///< becomes Request::max; Error{usage} if there is none
    replace,  ///< becomes `number`
  };

  Action action = keep;
  std::optional<Given> number;  ///< of `replace`; NaN is an Error{usage}

  OnNan() = default;

  // NOLINTBEGIN(google-explicit-constructor): a Request's member is written as what it is made of.

  /// `{.nan = clipper::OnNan::error}`; for `replace` give the number.
  OnNan(Action what) : action(what) {}

  /// `{.nan = 0}`: `replace` by what a Given is made of, rounded to the dtype.
  template <std::convertible_to<Given> T>
  OnNan(T value) : action(replace), number(std::move(value)) {}
  // NOLINTEND(google-explicit-constructor)
};

/// The names of OnNan's actions that need no number, in their order.
inline constexpr std::array<std::string_view, 4> kNanWords{"keep", "error", "min", "max"};

/// What is asked for: y = x * scale + bias, if there is one of them, then y < min becomes min and y > max
/// becomes max. Members that are not given do nothing, unless the profile says otherwise. What the profile
/// forbids is an Error{usage} of the function that takes the request.
struct Request {
  std::optional<Given> min{};
  std::optional<Given> max{};
  std::optional<Given> scale{};
  std::optional<Given> bias{};
  OnNan nan{};
  const Profile* profile = profile_named("native");  ///< not owned, never null
  std::optional<MinAboveMax> min_above_max{};        ///< instead of the profile's rule
};

}  // namespace clipper
