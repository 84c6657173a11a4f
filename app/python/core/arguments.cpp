#include "python/core/arguments.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace clipper::python {
namespace {

/// The dtype of this name.
DType dtype_of_name(std::string_view field, std::string_view name) {
  if (const std::optional<DType> found = dtype_named(name)) return *found;
  std::vector<std::string_view> names;
  for (const DTypeTraits& row : kDTypes) names.push_back(row.name);
  refuse_word(field, name, names);
}

/// What np.dtype() makes of the argument.
nb::object descr_of(std::string_view field, nb::handle dtype) {
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(dtype.ptr(), &descr) != 0) return nb::steal(reinterpret_cast<PyObject*>(descr));
  const nb::python_error error;
  if (!error.matches(PyExc_TypeError)) throw error;
  if (PyUnicode_Check(dtype.ptr())) dtype_of_name(field, characters_of(dtype));
  refuse_type(field, dtype, "a dtype, its name or a scalar type");
}

/// clipper's name of a dtype, or what np.dtype() takes; with `native` only in this machine's byte order.
std::optional<DType> dtype_in(std::string_view field, nb::handle dtype, bool native) {
  if (dtype.is_none()) return std::nullopt;
  if (PyUnicode_Check(dtype.ptr()))
    if (const std::optional<DType> found = dtype_named(characters_of(dtype))) return found;
  const nb::object descr = descr_of(field, dtype);
  if (native && !PyArray_ISNBO(reinterpret_cast<PyArray_Descr*>(descr.ptr())->byteorder))
    throw Error(ErrorKind::usage, argument(field) + (" '" + nb::cast<std::string>(descr.attr("str")) +
                                                     "' has a byte order; the result has that of the input"));
  const nb::object name = descr.attr("name");
  return dtype_of_name(field, characters_of(name));
}

std::optional<Round> round_of(nb::handle round) {
  if (round.is_none()) return std::nullopt;
  if (!PyUnicode_Check(round.ptr())) refuse_type("round", round, "a str");
  const std::string_view text = characters_of(round);
  const auto* const word = std::ranges::find(kRoundWords, text);
  if (word != kRoundWords.end()) return static_cast<Round>(word - kRoundWords.begin());
  refuse_word("round", text, kRoundWords);
}

bool saturate_of(nb::handle saturate) {
  if (!PyBool_Check(saturate.ptr())) refuse_type("saturate", saturate, "a bool");
  return saturate.is(Py_True);
}

void warn_of_truncation(const std::string& text) {
  const nb::object category = nb::module_::import_("clipper._errors").attr("TruncationWarning");
  if (PyErr_WarnEx(category.ptr(), text.c_str(), 1) < 0) throw nb::python_error();
}

}  // namespace

void warn_of_fraction(std::string_view field, nb::handle bound, nb::handle profile, DType dtype) {
  PyObject* const object = bound.ptr();
  if (PyFloat_Check(object) || PyArray_IsScalar(object, Floating)) {
    const double value = PyFloat_AsDouble(object);
    if (!std::isfinite(value) || value == std::trunc(value)) return;
  } else {
    if (!PyUnicode_Check(object)) return;
    const std::optional<Number> number = parse_number(characters_of(bound));
    if (!number || number->kind != Number::Kind::finite || std::ssize(number->digits) <= number->exponent)
      return;
  }
  if (profile_of(profile)->inexact != Profile::Inexact::truncate) return;
  const std::string text = std::string(field) + " " + nb::cast<std::string>(nb::str(bound)) +
                           " is no integer: its fraction is cut off, because x has dtype " +
                           std::string(traits(dtype).name);
  warn_of_truncation(text);
}

void warn_of_integer(std::string_view field, nb::handle bound, nb::handle /*profile*/, DType dtype) {
  constexpr std::int64_t kDigits = 20;  // as for the program's warning
  PyObject* const object = bound.ptr();
  const bool is_number = PyFloat_Check(object) || PyLong_Check(object) || PyArray_IsScalar(object, Number);
  std::optional<Number> number;
  if (PyUnicode_Check(object)) number = parse_number(characters_of(bound));
  if (is_number) number = number_of_argument(field, bound).number;
  if (!number || number->kind != Number::Kind::finite || number->exponent > kDigits) return;
  const std::uint64_t zero = 0;
  double element = 0;
  try {
    clip(dtype, &zero, &element, 1, {.min = *number, .max = *number, .to = DType::float64});
  } catch (const Error&) {
    return;  // beyond the range of the dtype
  }
  if (!std::isfinite(element) || element != std::trunc(element) || Number(element) == *number) return;
  const std::string text = std::string(field) + " " + nb::cast<std::string>(nb::str(bound)) + " becomes " +
                           nb::cast<std::string>(nb::str(nb::steal(PyLong_FromDouble(element)))) +
                           ", because x has dtype " + std::string(traits(dtype).name);
  warn_of_truncation(text);
}

const Profile* profile_of(nb::handle profile) {
  if (profile.is_none()) return profile_named("native");
  if (!PyUnicode_Check(profile.ptr())) refuse_type("profile", profile, "a str");
  const std::string_view name = characters_of(profile);
  if (const Profile* const found = profile_named(name)) return found;
  std::vector<std::string_view> names;
  std::string_view family;
  for (const Profile& row : profiles()) {
    if (row.family != family && row.family != row.name) names.push_back(row.family);
    names.push_back(row.name);
    family = row.family;
  }
  refuse_word("profile", name, names);
}

std::optional<MinAboveMax> min_above_max_of(nb::handle word) {
  if (word.is_none()) return std::nullopt;
  if (!PyUnicode_Check(word.ptr())) refuse_type("min_above_max", word, "a str");
  const std::string_view text = characters_of(word);
  if (text == "error") return MinAboveMax::error;
  if (text == "min") return MinAboveMax::min;
  if (text == "max") return MinAboveMax::max;
  refuse_word("min_above_max", text, std::array<std::string_view, 3>{"error", "min", "max"});
}

std::optional<OnNan::Action> nan_word_of(nb::handle nan) {
  if (nan.is_none()) return OnNan::by_profile;
  if (!PyUnicode_Check(nan.ptr())) return std::nullopt;
  const auto* const word = std::ranges::find(kNanWords, characters_of(nan));
  if (word == kNanWords.end()) return std::nullopt;
  return static_cast<OnNan::Action>(word - kNanWords.begin());
}

std::optional<DType> dtype_of_argument(nb::handle dtype) {
  return dtype_in("dtype", dtype, false);
}

std::optional<DType> to_of_argument(nb::handle to) {
  return dtype_in("to", to, true);
}

unsigned threads_of(nb::handle threads) {
  if (!PyLong_Check(threads.ptr())) refuse_type("threads", threads, "an int");
  constexpr long kMax = 1024;
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(threads.ptr(), &overflow);
  if (overflow != 0 || value < 0 || value > kMax)
    throw Error(ErrorKind::usage, argument("threads") + " must be from 0 to 1024");
  return static_cast<unsigned>(value);
}

HeldRequest request_of(const RequestArguments& arguments) {
  HeldRequest held;
  Request& request = held.request;
  request.profile = profile_of(arguments.profile);
  request.min = given_of("min", arguments.min, held.arrays);
  request.max = given_of("max", arguments.max, held.arrays);
  if (!arguments.scale.is_none()) request.scale = scale_of(arguments.scale, held.arrays);
  request.bias = given_of("bias", arguments.bias, held.arrays);
  request.min_above_max = min_above_max_of(arguments.min_above_max);
  if (const std::optional<OnNan::Action> action = nan_word_of(arguments.nan))
    request.nan = *action;
  else
    request.nan = number_of_argument(
        "nan", is_plain(arguments.nan) ? nb::borrow(arguments.nan) : plain("nan", arguments.nan, nb::none()));
  request.replace_below = given_of("replace_below", arguments.replace_below, held.arrays);
  request.replace_above = given_of("replace_above", arguments.replace_above, held.arrays);
  request.round = round_of(arguments.round);
  request.zero_point = given_of("zero_point", arguments.zero_point, held.arrays);
  request.to = to_of_argument(arguments.to);
  request.saturate = saturate_of(arguments.saturate);
  const bool keeps_nan = !arguments.nan.is_none() && request.nan.action == OnNan::keep;
  if (keeps_nan && request.to && !is_floating(*request.to))
    throw Error(ErrorKind::usage,
                argument("nan") +
                    (" 'keep' is impossible: " + std::string(traits(*request.to).name) + " has no NaN"));
  return held;
}

}  // namespace clipper::python
