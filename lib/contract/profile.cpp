#include "contract/profile.hpp"

#include <algorithm>
#include <array>

#include "element/number.hpp"
#include "element/percentage.hpp"
#include "error.hpp"

namespace clipper {
namespace {

using enum DType;

constexpr DTypeSet kSmallInts{int8, int16, int32, uint8, uint16, uint32};  // up to 32 bits
constexpr DTypeSet kInts = kSmallInts | DTypeSet{int64, uint64};
constexpr DTypeSet kAll = kInts | DTypeSet{float16, float32, float64, bfloat16};

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

constexpr std::array kProfiles{
    Profile{.family = "native", .name = "native", .system = "clipper", .dtypes = kAll},

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

Given::Given(Number value) : number(std::move(value)), text(decimal_text(number)) {}

Given Given::percentile(const Number& percentage) {
  const std::string text = decimal_text(percentage) + "%";
  if (!is_percentage(percentage))
    throw Error(ErrorKind::usage, text + ": a percentile is a number from 0% to 100%");
  Given given{Number{}, text};
  given.percentage = percentage;
  return given;
}

Given Given::percentile(double percentage) {
  return percentile(*parse_number(shortest_text(percentage)));
}

Given Given::reciprocal(Given divisor) {
  divisor.text.insert(0, "1/");
  divisor.divides = true;
  return divisor;
}

}  // namespace clipper
