#include "python/core/given.hpp"

#include <utility>

#include "command_line/nearest_name.hpp"

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

Given given_of_text(std::string_view field, const std::string& text) {
  if (text.starts_with('@')) return from_file(text.substr(1));
  const bool is_percentile = text.ends_with('%') && (field == "min" || field == "max");
  if (takes_words(field))
    if (std::optional<Given> word = Given::word(text)) return *std::move(word);
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
  const std::size_t bracket = type.find('[') + 1;  // 0 if there is none
  const TimeUnit unit = bracket == 0
                            ? TimeUnit{}
                            : *parse_unit(std::string_view(type).substr(bracket, type.size() - bracket - 1));
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
  if (const std::optional<std::string_view> meant = nearest_name(word, words))
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

Given number_of_argument(std::string_view field, nb::handle number) {
  if (PyFloat_Check(number.ptr())) return PyFloat_AsDouble(number.ptr());
  if (PyLong_Check(number.ptr())) return given_of_int(number);
  if (PyUnicode_Check(number.ptr())) return given_of_text(field, std::string(characters_of(number)));
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

std::optional<Given> given_of(std::string_view field, nb::handle object, std::vector<Array>& arrays) {
  if (object.is_none()) return std::nullopt;
  if (PyArray_CheckExact(object.ptr()))
    return given_of_array(field, reinterpret_cast<PyArrayObject*>(object.ptr()), arrays);
  if (is_plain(object)) return number_of_argument(field, object);
  if (is_path(object)) return from_file(path_of(object));
  return given_of(field, plain(field, object, nb::none()), arrays);
}

std::optional<Given> scale_of(nb::handle object, std::vector<Array>& arrays) {
  nb::object divisor;
  if (PyUnicode_Check(object.ptr()) && characters_of(object).starts_with("1/"))
    divisor = object.attr("removeprefix")("1/");
  else if (nb::isinstance(object, nb::module_::import_("clipper._reciprocal").attr("reciprocal")))
    divisor = object.attr("divisor");
  if (!divisor) return given_of("scale", object, arrays);
  if (divisor.is_none()) refuse_type("scale", divisor, "the reciprocal of a number, an array or a path");
  return Given::reciprocal(*given_of("scale", divisor, arrays));
}

}  // namespace clipper::python
