#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "contract/expression.hpp"
#include "element/dtype.hpp"
#include "element/logical_type.hpp"

/// A Request holds what the user wants; a Profile holds the rules of one system (NumPy, PyTorch, ONNX, ...)
/// as data.
#pragma GCC visibility push(default)
namespace clipper {

/// A set of dtypes.
class DTypeSet {
 public:
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (const DType dtype : dtypes) bits_ |= bit(dtype);
  }
  [[nodiscard]] static constexpr DTypeSet all() {
    DTypeSet every{};
    every.bits_ = ~0U;
    return every;
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

/// What happens if min exceeds max, as given or after conversion to the tensor's dtype.
enum class MinAboveMax : std::uint8_t {
  error,  ///< Error{usage}
  min,    ///< DirectML, max(Min, min(x, Max)): every element except NaN becomes min
  max,    ///< ONNX Clip-11 and later, NumPy: every element except NaN becomes max
};

/// The rules of one version of one system. Programs choose a profile from profiles(), or by profile_named(),
/// and do not define their own.
struct Profile {
  /// Which bounds a request must have: none; both, as for DirectML; at least one, as for PyTorch.
  enum class Bounds : std::uint8_t { optional, required, one };

  /// Whether bounds may be arrays.
  enum class Arrays : std::uint8_t {
    broadcast,   ///< they broadcast to the tensor's shape
    none,        ///< they are numbers
    both,        ///< PyTorch: as `broadcast`, but an array beside a number is an error
    same_shape,  ///< StableHLO: only of exactly the tensor's shape
  };

  /// The default of a bound that is not given.
  enum class AbsentBound : std::uint8_t {
    none,            ///< no bound
    float32_limits,  ///< ONNX Clip-1, Clip-6: the lowest or largest finite float32
    dtype_limits,    ///< ONNX Clip-11 and later: the dtype's lowest or largest finite value; clips infinities
  };

  /// The type in which the system's API takes bounds. A bound is rounded to this type first, then to the
  /// dtype.
  enum class Carrier : std::uint8_t {
    element,  ///< the tensor's dtype
    float32,  ///< DirectML: FLOAT Min and Max; ONNX Clip-1, Clip-6: float attributes
    float64,  ///< OpenVINO Clamp-1: double attributes, rounded to float32 on the way to float16 and bfloat16
    python,   ///< PyTorch: a Python int, which is exact; otherwise a Python float, as float64
  };

  /// How a fraction, or a number beyond the dtype's range, becomes a bound of an integer tensor.
  enum class Inexact : std::uint8_t {
    truncate,  ///< toward zero, then saturated; Error{usage} for a min above or a max below the dtype's range
    inward,    ///< OpenVINO Clamp-1: ceil(min), floor(max), then saturated
    error,     ///< ONNX Clip-12 and later, where bounds are elements of the dtype: Error{usage}
    half_even,  ///< WebNN: to the nearest integer, ties to even, then saturated
    no_bound,   ///< NumPy 2: as `error`, but an integer at or beyond the dtype's lowest value as min, or the
                ///< highest as max, is no bound
  };

  /// NaN as a bound of a float tensor: Error{usage}; no bound on that side, as in ONNX Runtime; or every
  /// element except NaN becomes that NaN. Of two, it is that of the bound which the system applies first.
  enum class NanBound : std::uint8_t { error, ignored, poisons };

  /// NaN as an element, unless Request::nan decides: it keeps its bits; becomes the positive quiet NaN of the
  /// dtype; or becomes min.
  enum class NanElement : std::uint8_t { kept, canonical, min };

  /// Scale and bias: used exactly; rounded to float32 first (DirectML: DML_SCALE_BIAS has two FLOATs); or
  /// Error{usage}, because the operator has none.
  enum class ScaleBias : std::uint8_t { exact, float32, none };

  std::string_view family;   ///< the system, without version: "onnx"
  std::string_view name;     ///< system and version, for profile_named(): "onnx-6"
  std::string_view system;   ///< for messages: "ONNX Clip-6"
  DTypeSet dtypes;           ///< the dtypes a tensor may have; Error{input} for any other
  bool takes_dates = false;  ///< and also bool, datetime64 and timedelta64
  std::size_t min_rank = 0;  ///< of a tensor, in dimensions; Error{input} outside of min_rank to max_rank
  std::size_t max_rank = std::numeric_limits<std::size_t>::max();
  Bounds bounds = Bounds::optional;
  AbsentBound absent_bound = AbsentBound::none;
  Carrier carrier = Carrier::element;
  Inexact inexact = Inexact::truncate;
  MinAboveMax min_above_max = MinAboveMax::error;
  NanBound nan_bound = NanBound::error;
  ScaleBias scale_bias = ScaleBias::exact;
  Arrays arrays = Arrays::none;
  NanElement nan_element = NanElement::kept;
  ZeroTie zero_tie = ZeroTie::element;

  /// The dtypes for which the system contradicts itself, or its document says nothing. The rule is then
  /// clipper's choice.
  struct Unspecified {
    DTypeSet nan_element{};
    DTypeSet nan_bound{};
    DTypeSet zero_tie{};
    DTypeSet subnormals{};  ///< elements and bounds that are subnormal: some machines flush them to zero
  } unspecified{};
};

/// What converts to a text, such as "onnx".
template <class T>
concept Text = std::convertible_to<const T&, std::string_view> && !std::same_as<T, std::nullptr_t>;

/// All profiles: those of one family together, the oldest first. They live until the program ends.
[[nodiscard]] std::span<const Profile> profiles() noexcept;

/// The profile called `name`, or null. A family's name means its newest profile: "onnx" is "onnx-13".
[[nodiscard]] const Profile* profile_named(std::string_view name) noexcept;

/// The profile of a request, by its address or its name: `{.profile = "onnx"}`.
class ProfileChoice {
 public:
  // NOLINTBEGIN(google-explicit-constructor): a Request's member is written as a name or a profile.
  ProfileChoice(const Profile* profile) : profile_(profile) {}

  /// Error{usage} unless profile_named() knows the name.
  template <Text T>
  ProfileChoice(const T& name) : ProfileChoice(known(name)) {}

  operator const Profile*() const noexcept { return profile_; }
  // NOLINTEND(google-explicit-constructor)

  const Profile* operator->() const noexcept { return profile_; }

 private:
  [[nodiscard]] static const Profile* known(std::string_view name);

  const Profile* profile_;
};

class ParameterArray;

/// Which norm of its elements a tensor or group has: the root of the sum of their squares, the sum of their
/// absolute values, or the greatest absolute value.
enum class Norm : std::uint8_t { two, one, infinity };

/// The names of the enumerators, in their order.
inline constexpr std::array<std::string_view, 3> kNormWords{"2", "1", "inf"};

/// A parameter of a request, and how messages quote it: a number, an array with a number for each element, or
/// an expression of the tensor's own elements. Plain numbers convert to it: `{.min = 0, .max =
/// 6}`.
struct Parameter {
  Number number;               ///< meaningless if there is an array, an expression, a list or a word
  std::string text;            ///< as it was typed: "300", "1e3", "@lo.npy", "1%"
  std::optional<DType> dtype;  ///< of the .npy file that was read; empty if the number was typed
  bool opaque = false;      ///< that file's dtype is `|V2`, which is bfloat16 only if the tensor is bfloat16
  ElementBits element = 0;  ///< the only element of that file, if it has one
  std::vector<std::int64_t> shape{};              ///< of that file's array
  std::shared_ptr<const ParameterArray> array{};  ///< that file's array, unless it has exactly one element

  Expression expression{};     ///< what is found in the elements
  std::vector<Number> list{};  ///< a number for each index along the only axis of Request::per_axis

  bool is_float = false;           ///< a C++ float, also a whole one, or such a text: 5.0, 1e3, inf
  bool divides = false;            ///< for scale: elements are divided by the number, not multiplied
  std::string found{};             ///< of a figure that has been found: the number's text, "6.5"
  bool needs_meaning = false;      ///< see word() and duration(): a number only for such a tensor
  std::optional<TimeUnit> unit{};  ///< see duration()

  /// Why a text means nothing, ": 'abc' is not a number, ...": functions that take the request throw it as an
  /// Error{usage} that begins with the member's name.
  std::string objection{};

  // NOLINTBEGIN(google-explicit-constructor): a Request's member is written as a number.

  /// The exact value of an integer, float or double. The text is the shortest that converts back to the
  /// value: for 0.1F it is "0.1", although the number is the float's value and not 1/10.
  template <class T>
  requires(std::is_arithmetic_v<T>&& std::constructible_from<Number, T>) Parameter(T value)
      : number(value), text(shortest_text(value)), is_float(std::is_floating_point_v<T>) {}

  /// The text is all decimal digits of the number.
  Parameter(Number value);

  /// `{.subtract = clipper::Statistic::mean}`.
  Parameter(Statistic of_elements);

  /// What a text means, as the program reads it, without files: `{.min = "1%"}`. A number, which is exact, a
  /// date, "true" or "false", a list, or an expression: "1%", "mean-3std". Other texts have an objection.
  template <Text T>
  Parameter(const T& typed) : Parameter(of_text(typed)) {}
  // NOLINTEND(google-explicit-constructor)

  /// For programs that read numbers from a command line or a file.
  Parameter(Number value, std::string quoted, std::optional<DType> of_file = std::nullopt,
            bool is_opaque = false);

  /// The percentile of the tensor's elements that are not NaN, from 0 to 100, as numpy's default method
  /// defines it, but exactly; it is converted once, as if it had been typed. Error{usage} for any other
  /// number.
  [[nodiscard]] static Parameter percentile(const Number& percentage);

  /// The percentile for the shortest decimal number that converts to this double: 99.9 is 999/10.
  [[nodiscard]] static Parameter percentile(double percentage);

  /// A bound of bool, datetime64 or timedelta64, or what replaces NaT: "2020-02-29" (see parse_date()),
  /// "true", "false"; "NaT" is refused as a bound. Nothing for other texts.
  [[nodiscard]] static std::optional<Parameter> word(std::string_view text);

  /// An expression of figures; nothing for other texts.
  [[nodiscard]] static std::optional<Parameter> expression_in(std::string_view text);

  /// The numbers of "0.485,0.456,0.406", which are those of the indexes along the only axis of
  /// Request::per_axis; nothing for other texts.
  [[nodiscard]] static std::optional<Parameter> list_in(std::string_view text);

  /// A bound of timedelta64 in any unit, of which the tensor's unit must have an exact number. The text is
  /// "36 h".
  [[nodiscard]] static Parameter duration(std::int64_t ticks, TimeUnit in);

  /// As scale: x is divided by the number or array, x / S, as ONNX QuantizeLinear does. The product with a
  /// rounded 1/S would differ. The text is "1/S".
  [[nodiscard]] static Parameter reciprocal(Parameter divisor);

 private:
  [[nodiscard]] static Parameter of_text(std::string_view typed);

  template <class T>
  [[nodiscard]] static std::string shortest_text(T value) {
    std::array<char, 32> text;
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
  }
};

/// What happens to a NaN in a float tensor, after scale and bias.
struct OnNan {
  enum Action : std::uint8_t {
    keep,        ///< NaN keeps its sign and payload, as in most systems
    error,       ///< Error{input} that names the index of the first NaN
    min,         ///< NaN becomes Request::min; Error{usage} if there is no min
    max,         ///< NaN becomes Request::max; Error{usage} if there is no max
    replace,     ///< NaN becomes `number`
    canonical,   ///< NaN becomes the positive quiet NaN of the dtype
    by_profile,  ///< as Profile::nan_element says
  };

  Action action = by_profile;
  std::optional<Parameter> number;  ///< for `replace`; Error{usage} if it is NaN

  OnNan() = default;

  // NOLINTBEGIN(google-explicit-constructor): a Request's member is written as an action or a number.

  /// `{.nan = clipper::OnNan::error}`.
  OnNan(Action what) : action(what) {}

  /// `{.nan = 0}`: `replace` by this number, rounded to the dtype of the result.
  template <std::convertible_to<Parameter> T>
  requires(!Text<T>) OnNan(T value) : action(replace), number(std::move(value)) {}

  /// One of kNanWords, or `replace` by what the text means to Parameter: `{.nan = "error"}`.
  template <Text T>
  OnNan(const T& typed) : OnNan(of_text(typed)) {}
  // NOLINTEND(google-explicit-constructor)

 private:
  [[nodiscard]] static OnNan of_text(std::string_view typed);
};

/// The names of OnNan's actions before `replace`, in the order of the enumerators.
inline constexpr std::array<std::string_view, 4> kNanWords{"keep", "error", "min", "max"};

/// What to do with a tensor's elements: y = x * scale + bias if one of the two is given, then y < min becomes
/// min and y > max becomes max. A bound that is not given is the profile's default (AbsentBound). Functions
/// that take a request throw Error{usage} for what the profile forbids.
struct Request {
  std::optional<Parameter> min{};
  std::optional<Parameter> max{};
  std::optional<Parameter> scale{};
  std::optional<Parameter> bias{};
  OnNan nan{};
  ProfileChoice profile = profile_named("clipper");  ///< not owned; Error{usage} if null
  std::optional<MinAboveMax> min_above_max{};        ///< overrides the profile's rule

  // Only for profile clipper: what happens after the clip, in this order. With scale or bias, bounds are then
  // numbers of the arithmetic (float32 for floats of up to 32 bits, otherwise float64, or integers if they
  // and the tensor are), and its results are not rounded to the tensor's dtype in between.

  /// Elements beyond a bound become this number, not the bound. Error{usage} without the bound, and if the
  /// output's dtype does not have the number. NaN is a number of the float dtypes.
  std::optional<Parameter> replace_below{};
  std::optional<Parameter> replace_above{};

  /// y = y * (max_norm / n) if the norm n of the clipped elements is more than max_norm, a number above 0:
  /// n is exact and rounded once to float64, quotient and product are float64. Error{input} for a norm that
  /// is NaN or infinite. An integer tensor needs `to` or `round`.
  std::optional<Parameter> max_norm{};
  std::optional<Norm> norm{};  ///< of max_norm; by default Norm::two

  /// y = (y - subtract) / divide in float64, with the clipped y. Numbers, arrays, or statistics or
  /// percentiles of the tensor's clipped elements. An integer tensor needs `to` or `round`.
  std::optional<Parameter> subtract{};
  std::optional<Parameter> divide{};  ///< Error{usage} for 0; Error{input} for a 0 of an array or statistic

  /// The divisor in place of a 0 of an array, a file or a statistic; not 0. 1 leaves such elements undivided.
  std::optional<Parameter> divide_zero{};

  /// From min, which becomes the first number, to max, which becomes the second: in float64,
  /// t = (y - min) / (max - min) and y = t * (second - first) + first. Error{usage} without two finite
  /// bounds, together with subtract, divide or min_above_max, and for a number that the output does not have.
  /// An integer tensor needs `to` or `round`.
  std::optional<std::pair<Parameter, Parameter>> stretch{};

  /// What the stretch maps to its two numbers in place of min and max, which are then optional: in float64,
  /// y = (y - a) / (b - a) * (second - first) + first, also beyond the two. Numbers, or percentiles or rules
  /// of the tensor's elements. Error{usage} if they are equal, Error{input} if they are found equal.
  std::optional<std::pair<Parameter, Parameter>> stretch_from{};

  /// Elements are rounded to integers. By default only if `to` is an integer dtype, half_even.
  std::optional<Round> round{};
  std::optional<Parameter>
      zero_point{};  ///< is added to the integer; Error{usage} unless `to` is an integer dtype

  /// The output's dtype. Integers saturate, and a NaN that `nan` does not replace is an Error{input}. Floats
  /// are rounded to nearest even, numbers beyond their range become infinite; in a dtype without infinity
  /// they are an Error{input}.
  std::optional<OrderedDType> to{};
  bool saturate = false;  ///< numbers beyond the range of a float dtype become the largest finite number

  /// Elements that equal one of these numbers, each rounded as a bound of floats, are no data: they keep
  /// their value in every step, and no percentile, count, or `nan` sees them. NaN stands for every NaN.
  /// Integers lack fractions, which no element equals. Error{usage} for a number that the output's dtype does
  /// not have, unless nodata_to says what nodata elements become.
  std::vector<Parameter> nodata{};
  std::optional<Parameter> nodata_to{};

  // Whose percentiles, statistics and norms parameters are: those of all elements of the tensor by default.

  /// Of each index along these axes of the shape, over all other axes. Negative axes count from the end.
  /// Error{input} for a tensor without such an axis. An index without data has no figure, and no such step.
  std::vector<std::int64_t> per_axis{};

  /// Of the elements for which this number or array, which broadcasts to the tensor, is not 0; NaN counts as
  /// true. Needs a figure, or mask_to. What is clipped are all elements, without mask_to.
  std::optional<Parameter> mask{};

  /// What the other elements become, whatever they are; no step and no count has them.
  std::optional<Parameter> mask_to{};

  /// Of all clipped tensors together, which must have one dtype, floats with max_norm alone any of floats:
  /// for the members of an archive in clip_file().
  bool pooled = false;

  /// Later stages, each of which takes what the one before gives as if a file were between them; they have
  /// none of their own. Errors of the first of these begin with "stage 2".
  std::vector<Request> then{};

  /// What happens to a NaN, by Request::nan and the profile: never OnNan::by_profile.
  [[nodiscard]] OnNan::Action action_on_nan() const noexcept;
};

}  // namespace clipper
#pragma GCC visibility pop
