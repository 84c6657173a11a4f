#include "contract/profile.hpp"

#include <algorithm>
#include <array>

#include "contract/bounds.hpp"
#include "element/number.hpp"
#include "element/text.hpp"
#include "error.hpp"

namespace clipper {
namespace {

using enum DType;

constexpr DTypeSet kSmallInts{int8, int16, int32, uint8, uint16, uint32};  // up to 32 bits
constexpr DTypeSet kInts = kSmallInts | DTypeSet{int64, uint64};
constexpr DTypeSet kFloats{float16, float32, float64, bfloat16};
constexpr DTypeSet kAll = kInts | kFloats;

// DML_ELEMENT_WISE_CLIP_OPERATOR_DESC: Min and Max are FLOAT and cast to the tensor's dtype, which truncates
// toward zero for integers; f(x) = max(Min, min(x, Max)); ScaleBias, two FLOATs, is applied first.
constexpr Profile directml(std::string_view name, std::string_view system, DTypeSet dtypes,
                           std::size_t min_rank, std::size_t max_rank) {
  return {.family = "directml",
          .name = name,
          .system = system,
          .dtypes = dtypes,
          .min_rank = min_rank,
          .max_rank = max_rank,
          .bounds = Profile::Bounds::required,
          .carrier = Profile::Carrier::float32,
          .min_above_max = MinAboveMax::min,
          .scale_bias = Profile::ScaleBias::float32};
}

// ONNX Clip-1, Clip-6: min and max are float attributes with the defaults -3.4028234663852886e+38 and
// 3.4028234663852886e+38.
constexpr Profile onnx_with_attributes(std::string_view name, std::string_view system) {
  return {.family = "onnx",
          .name = name,
          .system = system,
          .dtypes = {float16, float32, float64},
          .absent_bound = Profile::AbsentBound::float32_limits,
          .carrier = Profile::Carrier::float32,
          .scale_bias = Profile::ScaleBias::none};
}

// ONNX Clip-11 and later: min and max are tensors of the input's dtype with the defaults
// numeric_limits::lowest() and numeric_limits::max(); min above max gives max; ONNX Runtime ignores a NaN
// bound.
constexpr Profile onnx_with_inputs(std::string_view name, std::string_view system, DTypeSet dtypes) {
  return {.family = "onnx",
          .name = name,
          .system = system,
          .dtypes = dtypes,
          .absent_bound = Profile::AbsentBound::dtype_limits,
          .inexact = Profile::Inexact::error,
          .min_above_max = MinAboveMax::max,
          .nan_bound = Profile::NanBound::ignored,
          .scale_bias = Profile::ScaleBias::none};
}

// DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC: as in feature level 5.0, but Min and Max are a DML_SCALAR_UNION of
// the tensor's dtype.
constexpr Profile directml_clip1() {
  Profile row = directml("directml-clip1", "DirectML CLIP1", kInts | DTypeSet{float16, float32}, 1, 8);
  row.carrier = Profile::Carrier::element;
  row.inexact = Profile::Inexact::error;
  return row;
}

// TOSA 1.0 CLAMP: min and max are attributes of the tensor's dtype; apply_min(apply_max(x, min), max), which
// give the bound of two equal values only for max; apply_max of a zero and min gives the element.
constexpr Profile tosa(std::string_view name, std::string_view system, Profile::NanElement nan_element) {
  return {.family = "tosa",
          .name = name,
          .system = system,
          .dtypes = {int8, int16, float16, bfloat16, float32},
          .bounds = Profile::Bounds::required,
          .inexact = Profile::Inexact::error,
          .scale_bias = Profile::ScaleBias::none,
          .nan_element = nan_element,
          .zero_tie = ZeroTie::upper};
}

constexpr std::array kProfiles{
    Profile{.family = "clipper",
            .name = "clipper",
            .system = "clipper",
            .dtypes = DTypeSet::all(),
            .takes_dates = true,
            .arrays = Profile::Arrays::broadcast},

    // The first of its family, whose name means feature level 5.0.
    directml_clip1(),
    directml("directml-1.0", "DirectML feature level 1.0", {float16, float32}, 4, 4),
    directml("directml-2.1", "DirectML feature level 2.1", kSmallInts | DTypeSet{float16, float32}, 4, 4),
    directml("directml-3.0", "DirectML feature level 3.0", kSmallInts | DTypeSet{float16, float32}, 1, 8),
    directml("directml-5.0", "DirectML feature level 5.0", kInts | DTypeSet{float16, float32}, 1, 8),

    onnx_with_attributes("onnx-1", "ONNX Clip-1"),
    onnx_with_attributes("onnx-6", "ONNX Clip-6"),
    onnx_with_inputs("onnx-11", "ONNX Clip-11", {float16, float32, float64}),
    onnx_with_inputs("onnx-12", "ONNX Clip-12", kInts | DTypeSet{float16, float32, float64}),
    onnx_with_inputs("onnx-13", "ONNX Clip-13", kAll),

    // OpenVINO Clamp-1: the attributes are doubles; integers get ceil(min) and floor(max).
    Profile{.family = "openvino",
            .name = "openvino",
            .system = "OpenVINO Clamp-1",
            .dtypes = kAll,
            .bounds = Profile::Bounds::required,
            .carrier = Profile::Carrier::float64,
            .inexact = Profile::Inexact::inward,
            .scale_bias = Profile::ScaleBias::none},

    // np.clip(x, lo, hi) with bounds of x's dtype. For bfloat16 it returns float32.
    Profile{.family = "numpy",
            .name = "numpy-2",
            .system = "NumPy 2 clip",
            .dtypes = kInts | DTypeSet{float16, float32, float64},
            .takes_dates = true,
            .inexact = Profile::Inexact::no_bound,
            .min_above_max = MinAboveMax::max,
            .nan_bound = Profile::NanBound::poisons,
            .scale_bias = Profile::ScaleBias::none,
            .arrays = Profile::Arrays::broadcast,
            .unspecified = {.nan_bound = {float32, float64}, .zero_tie = {float32, float64}}},

    // torch.clamp with Python numbers, or with tensors of x's dtype.
    Profile{.family = "pytorch",
            .name = "pytorch-2",
            .system = "PyTorch 2 clamp",
            .dtypes = DTypeSet{int8, int16, int32, int64, uint8} | kFloats,
            .bounds = Profile::Bounds::one,
            .carrier = Profile::Carrier::python,
            .inexact = Profile::Inexact::error,
            .min_above_max = MinAboveMax::max,
            .nan_bound = Profile::NanBound::poisons,
            .scale_bias = Profile::ScaleBias::none,
            .arrays = Profile::Arrays::both,
            .unspecified = {.nan_element = {float16, bfloat16}, .nan_bound = kFloats, .zero_tie = kFloats}},

    // StableHLO clamp, jax.lax.clamp: minimum(maximum(operand, min), max), of which -0 < +0.
    Profile{.family = "stablehlo",
            .name = "stablehlo-1",
            .system = "StableHLO 1 clamp",
            .dtypes = kAll,
            .bounds = Profile::Bounds::required,
            .inexact = Profile::Inexact::error,
            .min_above_max = MinAboveMax::max,
            .nan_bound = Profile::NanBound::poisons,
            .scale_bias = Profile::ScaleBias::none,
            .arrays = Profile::Arrays::same_shape,
            .zero_tie = ZeroTie::ordered,
            .unspecified = {.nan_element = kFloats,
                            .nan_bound = kFloats,
                            .subnormals = {float32, float64, bfloat16}}},

    // The last of its family: PROPAGATE is the operator's default.
    tosa("tosa-1.0-ignore", "TOSA 1.0 CLAMP with IGNORE", Profile::NanElement::min),
    tosa("tosa-1.0", "TOSA 1.0 CLAMP", Profile::NanElement::canonical),

    // tf.clip_by_value with bounds of x's dtype: maximum(minimum(x, max), min).
    Profile{.family = "tensorflow",
            .name = "tensorflow-2",
            .system = "TensorFlow 2 clip_by_value",
            .dtypes = kAll,
            .bounds = Profile::Bounds::required,
            .inexact = Profile::Inexact::error,
            .min_above_max = MinAboveMax::min,
            .nan_bound = Profile::NanBound::poisons,
            .scale_bias = Profile::ScaleBias::none,
            .unspecified = {.nan_bound = kFloats,
                            .zero_tie = {float32, float64},
                            .subnormals = {float32, float64, bfloat16}}},

    // W3C WebNN clamp: MLNumber bounds are cast to the operand's dtype.
    Profile{.family = "webnn",
            .name = "webnn",
            .system = "WebNN clamp",
            .dtypes = {int8, uint8, int32, uint32, int64, uint64, float16, float32},
            .inexact = Profile::Inexact::half_even,
            .scale_bias = Profile::ScaleBias::none,
            .unspecified = {.nan_element = {float16, float32},
                            .nan_bound = {float16, float32},
                            .zero_tie = {float16, float32}}},
};

}  // namespace

std::span<const Profile> profiles() noexcept {
  return kProfiles;
}

const Profile* profile_named(std::string_view name) noexcept {
  const auto found = std::find_if(kProfiles.rbegin(), kProfiles.rend(),
                                  [=](const Profile& row) { return row.name == name || row.family == name; });
  return found == kProfiles.rend() ? nullptr : &*found;
}

OnNan::Action Request::action_on_nan() const noexcept {
  if (nan.action != OnNan::by_profile) return nan.action;
  switch (profile->nan_element) {
    case Profile::NanElement::kept: return OnNan::keep;
    case Profile::NanElement::canonical: return OnNan::canonical;
    case Profile::NanElement::min: return OnNan::min;
  }
  __builtin_unreachable();
}

Parameter::Parameter(Number value)
    : number(std::move(value)), text(decimal_text(number)), is_float(!is_integer(number)) {}

Parameter::Parameter(Number value, std::string quoted, std::optional<DType> of_file, bool is_opaque)
    : number(std::move(value)),
      text(std::move(quoted)),
      dtype(of_file),
      opaque(is_opaque),
      is_float(number.kind != Number::Kind::finite ||
               text.find_first_of(text.find_first_of("xX") == text.npos ? ".eE" : ".pP") != text.npos) {}

Parameter Parameter::of_text(std::string_view typed) {
  std::string text(typed);
  if (std::optional<Number> number = parse_number(typed)) return {*std::move(number), std::move(text)};
  if (std::optional<Parameter> given = word(typed)) return *std::move(given);
  if (std::optional<Parameter> numbers = list_in(typed)) return *std::move(numbers);
  if (std::optional<Parameter> expression = expression_in(typed)) return *std::move(expression);
  const bool is_percent = typed.ends_with('%') && parse_number(typed.substr(0, typed.size() - 1));
  Parameter given(Number{}, std::move(text));
  given.objection =
      is_percent ? " " + given.text + ": a percentile is a number from 0% to 100%"
                 : ": '" + given.text + "' is not a number, a percentage, a statistic, a date, true or false";
  return given;
}

OnNan OnNan::of_text(std::string_view typed) {
  const auto* const word = std::ranges::find(kNanWords, typed);
  if (word != kNanWords.end()) return static_cast<Action>(word - kNanWords.begin());
  return Parameter(typed);
}

const Profile* ProfileChoice::known(std::string_view name) {
  if (const Profile* const profile = profile_named(name)) return profile;
  refuse_request(Term{"profile", "profile"} + Message(" '" + std::string(name) + "' is unknown"));
}

Parameter Parameter::percentile(const Number& percentage) {
  const std::string text = decimal_text(percentage) + "%";
  if (!is_percentage(percentage)) refuse_request(text + ": a percentile is a number from 0% to 100%");
  Parameter given{Number{}, text};
  given.expression.terms = {{.figure = Expression::Figure{.percentage = percentage}}};
  return given;
}

Parameter::Parameter(Statistic of_elements)
    : text(kStatisticWords.at(static_cast<std::size_t>(of_elements))),
      expression{.terms = {{.figure = Expression::Figure{.statistic = of_elements}}}} {}

Parameter Parameter::percentile(double percentage) {
  return percentile(*parse_number(shortest_text(percentage)));
}

std::optional<Parameter> Parameter::expression_in(std::string_view text) {
  std::optional<Expression> read = clipper::expression_in(text);
  if (!read) return std::nullopt;
  Parameter given(Number{}, std::string(text));
  given.expression = *std::move(read);
  return given;
}

std::optional<Parameter> Parameter::word(std::string_view text) {
  constexpr std::array<std::string_view, 4> kWords{"true", "false", "NaT", "nat"};
  if (std::ranges::find(kWords, text) == kWords.end() && !parse_date(text)) return std::nullopt;
  Parameter word(Number{}, std::string(text));
  word.needs_meaning = true;
  return word;
}

std::optional<Parameter> Parameter::list_in(std::string_view text) {
  if (text.find(',') == text.npos) return std::nullopt;
  Parameter given(Number{}, std::string(text));
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? 0 : end + 1)) {
    end = text.find(',');
    std::string_view item = text.substr(0, end);
    item.remove_prefix(std::min(item.find_first_not_of(' '), item.size()));
    std::optional<Number> number = parse_number(item.substr(0, item.find_last_not_of(' ') + 1));
    if (!number) return std::nullopt;
    given.list.push_back(*std::move(number));
  }
  return given;
}

Parameter Parameter::duration(std::int64_t ticks, TimeUnit in) {
  if (in.base == TimeUnit::Base::generic) return ticks;
  const std::string unit = unit_text(in);
  Parameter given(ticks, std::to_string(ticks) + " " + unit.substr(1, unit.size() - 2));
  given.needs_meaning = true;
  given.unit = in;
  return given;
}

Parameter Parameter::reciprocal(Parameter divisor) {
  divisor.text.insert(0, "1/");
  divisor.divides = true;
  return divisor;
}

}  // namespace clipper
