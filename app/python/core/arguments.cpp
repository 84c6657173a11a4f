#include "python/core/arguments.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "element/nearest_name.hpp"

namespace clipper::python {
namespace {

/// The number as messages quote it, without most of a hundred digits: "0.33333333333333...e+5".
std::string quoted(const std::string& number) {
  constexpr std::size_t kLongest = 60;
  constexpr std::size_t kShown = 20;
  if (number.size() <= kLongest) return number;
  const std::size_t exponent = number.find_first_of("eEpP");
  return number.substr(0, kShown) + "..." + (exponent == number.npos ? "" : number.substr(exponent));
}

/// Whether the parameter can be a date, a duration, true or false.
bool takes_words(std::string_view field) {
  return field == "min" || field == "max" || field == "nan";
}

Given given_of_text(std::string_view field, const std::string& text, const FileOptions& files) {
  if (text.starts_with('@')) return from_file(text.substr(1), files);
  const bool is_percentile = text.ends_with('%') && (field == "min" || field == "max");
  if (takes_words(field))
    if (std::optional<Given> word = Given::word(text)) return *std::move(word);
  if (field == "subtract" || field == "divide") {
    if (std::optional<Given> statistic = Given::statistic_named(text)) return *std::move(statistic);
    if (!parse_number(text) && nearest_name(text, kStatisticWords))
      refuse_word(field, text, kStatisticWords, ", or a number");
  }
  std::optional<Number> number = parse_number(is_percentile ? text.substr(0, text.size() - 1) : text);
  if (!number && (text.ends_with(".npy") || text.find('/') != text.npos || text.find(".npz:") != text.npos))
    throw Error(ErrorKind::usage,
                argument(field) + (" '" + text + "' is not a number; a file is pathlib.Path('" + text +
                                   "') or '@" + text + "'"));
  if (!number && field == "nan") refuse_word(field, text, kNanWords, ", or a number");
  if (!number) throw Error(ErrorKind::usage, argument(field) + (" '" + text + "' is not a number"));
  if (!is_percentile) return {*std::move(number), quoted(text)};
  try {
    Given given = Given::percentile(*number);
    given.text = text;
    return given;
  } catch (const Error& error) {
    throw Error(error.kind(), argument(field) + " " + error.message());
  }
}

Given given_of_int(nb::handle number) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  if (overflow == 0) return value;
  // Hexadecimal, because Python limits the length of decimal text.
  const nb::object text = nb::steal(PyNumber_ToBase(number.ptr(), 16));
  return *parse_number(characters_of(text));
}

/// np.datetime64 and np.timedelta64.
bool is_time(nb::handle scalar) {
  return PyArray_IsScalar(scalar.ptr(), Datetime) || PyArray_IsScalar(scalar.ptr(), Timedelta);
}

Given given_of_time(std::string_view field, nb::handle scalar) {
  const nb::object ticks = scalar.attr("astype")("int64");
  const auto type = nb::cast<std::string>(nb::str(nb::object(scalar.attr("dtype"))));
  const TimeUnit unit = unit_of(type);
  const auto count = nb::cast<std::int64_t>(ticks.attr("item")());
  if (count != kNaT && PyArray_IsScalar(scalar.ptr(), Timedelta)) return Given::duration(count, unit);
  std::string text = date_text(count, unit);
  if (unit.base == TimeUnit::Base::year && count != kNaT) text += "-01";
  if (std::optional<Given> date = Given::word(text)) return *std::move(date);
  throw Error(ErrorKind::usage, argument(field) + (" " + text + " is beyond the dates of clipper"));
}

/// An int or a float that has the exact value of a numpy scalar.
nb::object value_of_scalar(std::string_view field, nb::handle scalar) {
  const Array array(PyArray_FromScalar(scalar.ptr(), nullptr));
  const std::optional<ArrayType> type = type_of(array.get());
  if (!type) refuse_type(field, scalar, "a number of one of clipper's dtypes");
  return nb::steal(is_floating(type->dtype) ? PyNumber_Float(scalar.ptr()) : PyNumber_Index(scalar.ptr()));
}

Given given_of_array(std::string_view field, PyArrayObject* array, std::vector<Array>& arrays) {
  const std::optional<ArrayType> type = type_of(array);
  if (!type)
    throw Error(ErrorKind::usage,
                argument(field) + (" array is " + dtype_text(array) + ", which is none of clipper's dtypes"));
  if (is_contiguous(array)) {
    Py_INCREF(reinterpret_cast<PyObject*>(array));
    arrays.emplace_back(reinterpret_cast<PyObject*>(array));
  } else {
    arrays.emplace_back(PyArray_NewCopy(array, NPY_CORDER));
  }
  PyArrayObject* const held = arrays.back().get();
  return from_memory(tensor_of(held, *type), PyArray_DATA(held));
}

bool is_path(nb::handle object) {
  return nb::hasattr(object, "__fspath__");
}

/// The nearest of the words, or of words like numpy2 and ONNX-14, which have a number too many or in
/// capitals, the nearest to their letters.
std::optional<std::string_view> meant_by(std::string_view word, std::span<const std::string_view> words) {
  if (const auto meant = nearest_name(word, words)) return meant;
  std::string lower(word);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (const auto meant = nearest_name(lower, words)) return meant;
  const std::string letters = lower.substr(0, lower.find_first_of("-.0123456789"));
  return letters.empty() ? std::nullopt : nearest_name(letters, words);
}

}  // namespace

Message argument(std::string_view field) {
  return Term{field, field};
}

void refuse_type(std::string_view field, nb::handle object, std::string_view expected) {
  const auto type = nb::cast<std::string>(object.type().attr("__name__"));
  throw nb::type_error((std::string(field) + " must be " + std::string(expected) + ", not " + type).c_str());
}

void refuse_word(std::string_view field, std::string_view word, std::span<const std::string_view> words,
                 std::string_view others) {
  std::string text = " '" + std::string(word) + "' is unknown; expected one of: ";
  for (const std::string_view& each : words) text += (&each == words.data() ? "" : ", ") + std::string(each);
  text += others;
  if (const std::optional<std::string_view> meant = meant_by(word, words))
    text += "; did you mean '" + std::string(*meant) + "'?";
  throw Error(ErrorKind::usage, argument(field) + text);
}

std::string_view characters_of(nb::handle text) {
  Py_ssize_t size = 0;
  const char* const characters = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (characters == nullptr) throw nb::python_error();
  return {characters, static_cast<std::size_t>(size)};
}

std::string path_of(nb::handle path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) throw nb::python_error();
  const nb::bytes held = nb::steal<nb::bytes>(bytes);
  return {held.c_str(), held.size()};
}

Given number_of_argument(std::string_view field, nb::handle number, const FileOptions& files) {
  if (PyFloat_Check(number.ptr())) return PyFloat_AsDouble(number.ptr());
  if (PyLong_Check(number.ptr())) return given_of_int(number);
  if (PyUnicode_Check(number.ptr())) return given_of_text(field, std::string(characters_of(number)), files);
  if (takes_words(field) && is_time(number)) return given_of_time(field, number);
  if (PyArray_CheckScalar(number.ptr()) && !PyArray_Check(number.ptr()))
    return number_of_argument(field, value_of_scalar(field, number));
  refuse_type(field, number, "a number, text, a numpy array or a path");
}

bool is_plain(nb::handle value, std::optional<DType> dtype) {
  PyObject* const object = value.ptr();
  if (object == Py_None || PyFloat_Check(object) || PyLong_Check(object) || PyUnicode_Check(object))
    return true;
  if (PyArray_CheckExact(object)) {
    if (!dtype) return true;
    const auto type = type_of(reinterpret_cast<PyArrayObject*>(object));
    return type && type->dtype == dtype;
  }
  if (PyTuple_Check(object)) return !PyTuple_CheckExact(object);  // clipper.reciprocal
  return !PyArray_Check(object) && PyArray_CheckScalar(object) && !PyArray_IsScalar(object, Bool);
}

nb::object plain(std::string_view field, nb::handle value, nb::handle dtype) {
  return nb::module_::import_("clipper._parameters")
      .attr("plain")(nb::str(field.data(), field.size()), value, dtype);
}

namespace {

/// A parameter, or nothing for None. An array is held in `held`, whose files say how a file is read.
std::optional<Given> given_of(std::string_view field, nb::handle object, HeldRequest& held) {
  if (object.is_none()) return std::nullopt;
  if (PyArray_CheckExact(object.ptr()))
    return given_of_array(field, reinterpret_cast<PyArrayObject*>(object.ptr()), held.arrays);
  if (is_plain(object)) return number_of_argument(field, object, held.files);
  if (is_path(object)) return from_file(path_of(object), held.files);
  return given_of(field, plain(field, object, nb::none()), held);
}

/// A scale is also clipper.reciprocal(s), or text: "1/0.05", "1/@s.npy".
std::optional<Given> scale_of(nb::handle object, HeldRequest& held) {
  nb::object divisor;
  if (PyUnicode_Check(object.ptr()) && characters_of(object).starts_with("1/"))
    divisor = object.attr("removeprefix")("1/");
  else if (nb::isinstance(object, nb::module_::import_("clipper._reciprocal").attr("reciprocal")))
    divisor = object.attr("divisor");
  if (!divisor) return given_of("scale", object, held);
  if (divisor.is_none()) refuse_type("scale", divisor, "the reciprocal of a number, an array or a path");
  return Given::reciprocal(*given_of("scale", divisor, held));
}

/// The dtype of this name.
DType dtype_of_name(std::string_view field, std::string_view name) {
  const DTypeWord word = dtype_word(name);
  if (word.dtype) return *word.dtype;
  if (!word.objection.empty())
    throw Error(ErrorKind::usage,
                argument(field) + (" '" + std::string(name) + "' " + std::string(word.objection)));
  std::vector<std::string_view> names;
  for (const DTypeTraits& row : kDTypes) names.push_back(row.name);
  refuse_word(field, name, names);
}

/// clipper's name of a dtype, what np.dtype() takes, or a word that np.dtype() does not know, such as
/// "bf16" and what str() makes of torch.float16. With `native` only in this machine's byte order.
std::optional<DType> dtype_in(std::string_view field, nb::handle dtype, bool native) {
  if (dtype.is_none()) return std::nullopt;
  const bool is_text = PyUnicode_Check(dtype.ptr());
  if (is_text)
    if (const std::optional<DType> found = dtype_named(characters_of(dtype))) return found;
  PyArray_Descr* converted = nullptr;
  if (PyArray_DescrConverter(dtype.ptr(), &converted) == 0) {
    if (const nb::python_error error; !error.matches(PyExc_TypeError)) throw error;
    const nb::str text(dtype);
    if (is_text || dtype_word(characters_of(text)).dtype) return dtype_of_name(field, characters_of(text));
    refuse_type(field, dtype, "a dtype, its name or a scalar type");
  }
  const nb::object descr = nb::steal(reinterpret_cast<PyObject*>(converted));
  if (native && !PyArray_ISNBO(converted->byteorder))
    throw Error(ErrorKind::usage, argument(field) + (" '" + nb::cast<std::string>(descr.attr("str")) +
                                                     "' has a byte order; the result has that of the input"));
  const nb::object name = descr.attr("name");
  const bool as_typed = is_text && !dtype_named(characters_of(name));  // "U8" are 8 characters in numpy
  return dtype_of_name(field, characters_of(as_typed ? dtype : nb::handle(name)));
}

/// A tuple or list of two numbers.
std::optional<std::pair<Given, Given>> stretch_of(nb::handle stretch, HeldRequest& held) {
  if (stretch.is_none()) return std::nullopt;
  const bool is_sequence = PyTuple_Check(stretch.ptr()) || PyList_Check(stretch.ptr());
  if (!is_sequence || nb::len(stretch) != 2) refuse_type("stretch", stretch, "two numbers such as (0, 255)");
  const nb::object low = stretch[0];
  const nb::object high = stretch[1];
  if (low.is_none() || high.is_none()) refuse_type("stretch", stretch, "two numbers such as (0, 255)");
  return std::pair(*given_of("stretch", low, held), *given_of("stretch", high, held));
}

/// A number, or a tuple or list of numbers.
std::vector<Given> nodata_of(nb::handle nodata, HeldRequest& held) {
  std::vector<Given> numbers;
  const auto add = [&](nb::handle number) {
    std::optional<Given> given = given_of("nodata", number, held);
    if (!given) refuse_type("nodata", number, "a number, or a list of numbers");
    numbers.push_back(*std::move(given));
  };
  if (PyTuple_CheckExact(nodata.ptr()) || PyList_Check(nodata.ptr()))
    for (const nb::handle number : nb::iter(nodata)) add(number);
  else if (!nodata.is_none())
    add(nodata);
  return numbers;
}

/// An int, or a tuple or list of ints.
std::vector<std::int64_t> axes_of(nb::handle axes) {
  std::vector<std::int64_t> result;
  const auto take = [&](nb::handle axis) {
    int overflow = 0;
    if (!PyLong_Check(axis.ptr()) || PyBool_Check(axis.ptr()))
      refuse_type("per_axis", axis, "an int or a tuple of ints");
    result.push_back(PyLong_AsLongLongAndOverflow(axis.ptr(), &overflow));
    if (overflow != 0) result.back() = std::numeric_limits<std::int64_t>::max();
  };
  if (axes.is_none()) return result;
  if (!PyTuple_Check(axes.ptr()) && !PyList_Check(axes.ptr()))
    take(axes);
  else
    for (const nb::handle axis : axes) take(axis);
  return result;
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

HeldRequest request_of(const RequestArguments& arguments, FileOptions files) {
  HeldRequest held{.files = std::move(files)};
  Request& request = held.request;
  request.profile = profile_of(arguments.profile);
  request.min = given_of("min", arguments.min, held);
  request.max = given_of("max", arguments.max, held);
  if (!arguments.scale.is_none()) request.scale = scale_of(arguments.scale, held);
  request.bias = given_of("bias", arguments.bias, held);
  request.min_above_max = min_above_max_of(arguments.min_above_max);
  if (const std::optional<OnNan::Action> action = nan_word_of(arguments.nan))
    request.nan = *action;
  else
    request.nan = number_of_argument(
        "nan", is_plain(arguments.nan) ? nb::borrow(arguments.nan) : plain("nan", arguments.nan, nb::none()));
  request.replace_below = given_of("replace_below", arguments.replace_below, held);
  request.replace_above = given_of("replace_above", arguments.replace_above, held);
  request.subtract = given_of("subtract", arguments.subtract, held);
  request.divide = given_of("divide", arguments.divide, held);
  request.stretch = stretch_of(arguments.stretch, held);
  request.per_axis = axes_of(arguments.per_axis);
  request.round = round_of(arguments.round);
  request.zero_point = given_of("zero_point", arguments.zero_point, held);
  request.to = to_of_argument(arguments.to);
  request.saturate = saturate_of(arguments.saturate);
  request.nodata = nodata_of(arguments.nodata, held);
  request.nodata_to = given_of("nodata_to", arguments.nodata_to, held);
  const bool keeps_nan = !arguments.nan.is_none() && request.nan.action == OnNan::keep;
  if (keeps_nan && request.to && !is_floating(*request.to))
    throw Error(ErrorKind::usage,
                argument("nan") +
                    (" 'keep' is impossible: " + std::string(traits(*request.to).name) + " has no NaN"));
  return held;
}

}  // namespace clipper::python
