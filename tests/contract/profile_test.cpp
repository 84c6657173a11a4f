#include "contract/header.hpp"

namespace clipper {
namespace {

using enum DType;
using AbsentBound = Profile::AbsentBound;
using Arrays = Profile::Arrays;
using Needed = Profile::Bounds;
using Carrier = Profile::Carrier;
using Inexact = Profile::Inexact;
using NanBound = Profile::NanBound;
using NanElement = Profile::NanElement;
using ScaleBias = Profile::ScaleBias;

}  // namespace

TEST_CASE("the profiles are listed in their order") {
  std::vector<std::string_view> names;
  for (const Profile& row : profiles()) names.push_back(row.name);
  CHECK(names == std::vector<std::string_view>{"clipper", "directml-clip1", "directml-1.0", "directml-2.1",
                                               "directml-3.0", "directml-5.0", "onnx-1", "onnx-6", "onnx-11",
                                               "onnx-12", "onnx-13", "openvino", "numpy-2", "pytorch-2",
                                               "stablehlo-1", "tosa-1.0-ignore", "tosa-1.0", "tensorflow-2",
                                               "webnn"});
}

TEST_CASE("profile_named() knows each name, and a family's name as its newest version") {
  for (const Profile& row : profiles()) CHECK(profile_named(row.name) == &row);
  CHECK(profile("directml").name == "directml-5.0");
  CHECK(profile("onnx").name == "onnx-13");
  CHECK(profile("tosa").name == "tosa-1.0");
  CHECK(profile("numpy").name == "numpy-2");
}

TEST_CASE("profile_named() knows no other name") {
  for (const std::string_view name : {"", "Clipper", "onnx-", "onnx-7", "onnx-1 ", "onnx-130", "directml-4.0",
                                      "directml-5", "openvino-1", "numpy-1", "torch"}) {
    INFO(name);
    CHECK(profile_named(name) == nullptr);
  }
}

TEST_CASE("each profile has the rules of its system") {
  struct Row {
    std::string_view name;
    std::size_t min_rank;
    std::size_t max_rank;
    Needed bounds;
    AbsentBound absent_bound;
    Carrier carrier;
    Inexact inexact;
    MinAboveMax min_above_max;
    NanBound nan_bound;
    ScaleBias scale_bias;
    Arrays arrays = Arrays::none;
    NanElement nan_element = NanElement::kept;
    ZeroTie zero_tie = ZeroTie::element;
  };
  constexpr std::size_t kAny = kMaxRank;
  const std::vector<Row> rows{
      {"clipper", 0, kAny, Needed::optional, AbsentBound::none, Carrier::element, Inexact::truncate,
       MinAboveMax::error, NanBound::error, ScaleBias::exact, Arrays::broadcast},
      {"directml-clip1", 1, 8, Needed::required, AbsentBound::none, Carrier::element, Inexact::error,
       MinAboveMax::min, NanBound::error, ScaleBias::float32},
      {"directml-1.0", 4, 4, Needed::required, AbsentBound::none, Carrier::float32, Inexact::truncate,
       MinAboveMax::min, NanBound::error, ScaleBias::float32},
      {"directml-2.1", 4, 4, Needed::required, AbsentBound::none, Carrier::float32, Inexact::truncate,
       MinAboveMax::min, NanBound::error, ScaleBias::float32},
      {"directml-3.0", 1, 8, Needed::required, AbsentBound::none, Carrier::float32, Inexact::truncate,
       MinAboveMax::min, NanBound::error, ScaleBias::float32},
      {"directml-5.0", 1, 8, Needed::required, AbsentBound::none, Carrier::float32, Inexact::truncate,
       MinAboveMax::min, NanBound::error, ScaleBias::float32},
      {"onnx-1", 0, kAny, Needed::optional, AbsentBound::float32_limits, Carrier::float32, Inexact::truncate,
       MinAboveMax::error, NanBound::error, ScaleBias::none},
      {"onnx-6", 0, kAny, Needed::optional, AbsentBound::float32_limits, Carrier::float32, Inexact::truncate,
       MinAboveMax::error, NanBound::error, ScaleBias::none},
      {"onnx-11", 0, kAny, Needed::optional, AbsentBound::dtype_limits, Carrier::element, Inexact::error,
       MinAboveMax::max, NanBound::ignored, ScaleBias::none},
      {"onnx-12", 0, kAny, Needed::optional, AbsentBound::dtype_limits, Carrier::element, Inexact::error,
       MinAboveMax::max, NanBound::ignored, ScaleBias::none},
      {"onnx-13", 0, kAny, Needed::optional, AbsentBound::dtype_limits, Carrier::element, Inexact::error,
       MinAboveMax::max, NanBound::ignored, ScaleBias::none},
      {"openvino", 0, kAny, Needed::required, AbsentBound::none, Carrier::float64, Inexact::inward,
       MinAboveMax::error, NanBound::error, ScaleBias::none},
      {"numpy-2", 0, kAny, Needed::optional, AbsentBound::none, Carrier::element, Inexact::no_bound,
       MinAboveMax::max, NanBound::poisons, ScaleBias::none, Arrays::broadcast},
      {"pytorch-2", 0, kAny, Needed::one, AbsentBound::none, Carrier::python, Inexact::error,
       MinAboveMax::max, NanBound::poisons, ScaleBias::none, Arrays::both},
      {"stablehlo-1", 0, kAny, Needed::required, AbsentBound::none, Carrier::element, Inexact::error,
       MinAboveMax::max, NanBound::poisons, ScaleBias::none, Arrays::same_shape, NanElement::kept,
       ZeroTie::ordered},
      {"tosa-1.0-ignore", 0, kAny, Needed::required, AbsentBound::none, Carrier::element, Inexact::error,
       MinAboveMax::error, NanBound::error, ScaleBias::none, Arrays::none, NanElement::min, ZeroTie::upper},
      {"tosa-1.0", 0, kAny, Needed::required, AbsentBound::none, Carrier::element, Inexact::error,
       MinAboveMax::error, NanBound::error, ScaleBias::none, Arrays::none, NanElement::canonical,
       ZeroTie::upper},
      {"tensorflow-2", 0, kAny, Needed::required, AbsentBound::none, Carrier::element, Inexact::error,
       MinAboveMax::min, NanBound::poisons, ScaleBias::none},
      {"webnn", 0, kAny, Needed::optional, AbsentBound::none, Carrier::element, Inexact::half_even,
       MinAboveMax::error, NanBound::error, ScaleBias::none},
  };
  CHECK(rows.size() == profiles().size());
  for (const Row& row : rows) {
    INFO(row.name);
    const Profile& actual = profile(row.name);
    CHECK(actual.min_rank == row.min_rank);
    CHECK((actual.max_rank == row.max_rank || (row.max_rank == kAny && actual.max_rank > kAny)));
    CHECK(actual.bounds == row.bounds);
    CHECK(actual.absent_bound == row.absent_bound);
    CHECK(actual.carrier == row.carrier);
    CHECK(actual.inexact == row.inexact);
    CHECK(actual.min_above_max == row.min_above_max);
    CHECK(actual.nan_bound == row.nan_bound);
    CHECK(actual.scale_bias == row.scale_bias);
    CHECK(actual.arrays == row.arrays);
    CHECK(actual.nan_element == row.nan_element);
    CHECK(actual.zero_tie == row.zero_tie);
  }
}

TEST_CASE("the name of a profile in messages is the system's name with its version") {
  CHECK(profile("clipper").system == "clipper");
  CHECK(profile("directml-2.1").system == "DirectML feature level 2.1");
  CHECK(profile("onnx-6").system == "ONNX Clip-6");
  CHECK(profile("openvino").system == "OpenVINO Clamp-1");
}

TEST_CASE("a DTypeSet has the dtypes that it was made of, and a union those of both sets") {
  constexpr DTypeSet kOne{uint8};
  constexpr DTypeSet kUnion = kOne | DTypeSet{bfloat16, int8};
  for (const DTypeTraits& row : kKernelDTypes) {
    INFO(row.name);
    CHECK(kOne.contains(row.dtype) == (row.dtype == uint8));
    CHECK(kUnion.contains(row.dtype) == (row.dtype == uint8 || row.dtype == bfloat16 || row.dtype == int8));
    CHECK_FALSE(DTypeSet{}.contains(row.dtype));
  }
}

}  // namespace clipper
