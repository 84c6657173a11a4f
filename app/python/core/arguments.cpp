#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "python/core/module.hpp"
#include "request_text.hpp"

namespace clipper::python {
namespace {

/// The number as messages quote it, without most of a hundred digits: "0.33333333333333...e+5".
std::string shortened(const std::string& number) {
  constexpr std::size_t kLongest = 60;
  constexpr std::size_t kShown = 20;
  if (number.size() <= kLongest) return number;
  const std::size_t exponent = number.find_first_of("eEpP");
  return number.substr(0, kShown) + "..." + (exponent == number.npos ? "" : number.substr(exponent));
}

Parameter given_of_int(nb::handle number) {
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

Parameter given_of_time(std::string_view field, nb::handle scalar) {
  const nb::object ticks = scalar.attr("astype")("int64");
  const auto type = nb::cast<std::string>(nb::str(nb::object(scalar.attr("dtype"))));
  const TimeUnit unit = unit_of(type);
  const auto count = nb::cast<std::int64_t>(ticks.attr("item")());
  if (count != kNaT && PyArray_IsScalar(scalar.ptr(), Timedelta)) return Parameter::duration(count, unit);
  std::string text = date_text(count, unit);
  if (unit.base == TimeUnit::Base::year && count != kNaT) text += "-01";
  if (std::optional<Parameter> date = Parameter::word(text)) return *std::move(date);
  throw Error(ErrorKind::usage, argument(field) + (" " + text + " is beyond the dates of clipper"));
}

/// An int or a float that has the exact value of a numpy scalar.
nb::object value_of_scalar(std::string_view field, nb::handle scalar) {
  const Array array(PyArray_FromScalar(scalar.ptr(), nullptr));
  const std::optional<ArrayType> type = type_of(array.get());
  if (!type) refuse_type(field, scalar, "a number of one of clipper's dtypes");
  return nb::steal(is_floating(type->dtype) ? PyNumber_Float(scalar.ptr()) : PyNumber_Index(scalar.ptr()));
}

Parameter given_of_array(std::string_view field, PyArrayObject* array, std::vector<Array>& arrays) {
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

std::string_view characters_of(nb::handle text) {
  Py_ssize_t size = 0;
  const char* const characters = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (characters == nullptr) throw nb::python_error();
  if (std::cmp_equal(std::strlen(characters), size)) return {characters, static_cast<std::size_t>(size)};
  PyErr_SetString(PyExc_ValueError, "embedded null byte");  // as Python says it of paths
  throw nb::python_error();
}

nb::object int_of(std::string_view field, nb::handle number, std::string_view expected) {
  if (!PyBool_Check(number.ptr()))
    if (PyObject* const index = PyNumber_Index(number.ptr())) return nb::steal(index);
  PyErr_Clear();
  refuse_type(field, number, expected);
}

std::string path_of(nb::handle path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) throw nb::python_error();
  const nb::bytes held = nb::steal<nb::bytes>(bytes);
  return {held.c_str(), held.size()};
}

Parameter number_of_argument(std::string_view field, nb::handle number) {
  if (PyFloat_Check(number.ptr())) return PyFloat_AsDouble(number.ptr());
  if (PyLong_Check(number.ptr())) return given_of_int(number);
  if (PyUnicode_Check(number.ptr())) return number_of_text(field, std::string(characters_of(number)));
  if (is_time(number)) {
    const Field* const row = field_named(field);
    if (row != nullptr && row->takes_dates()) return given_of_time(field, number);
  }
  if (PyArray_CheckScalar(number.ptr()) && !PyArray_Check(number.ptr()))
    return number_of_argument(field, value_of_scalar(field, number));
  refuse_type(field, number, "a number, text, a numpy array or a path");
}

bool needs_no_conversion(nb::handle value, std::optional<DType> dtype) {
  PyObject* const object = value.ptr();
  if (object == Py_None || PyFloat_Check(object) || PyLong_Check(object) || PyUnicode_Check(object))
    return true;
  if (PyArray_CheckExact(object)) {
    if (!dtype) return true;
    const auto type = type_of(reinterpret_cast<PyArrayObject*>(object));
    return type && type->dtype == dtype;
  }
  return !PyArray_Check(object) && PyArray_CheckScalar(object) && !PyArray_IsScalar(object, Bool);
}

nb::object plain(std::string_view field, nb::handle value, nb::handle dtype) {
  return nb::module_::import_("clipper._parameters")
      .attr("plain")(nb::str(field.data(), field.size()), value, dtype);
}

namespace {

/// A parameter, or nothing for None. An array is held in `held`, whose files say how a file is read.
std::optional<Parameter> given_of(std::string_view field, nb::handle object, HeldRequest& held) {
  if (object.is_none()) return std::nullopt;
  if (PyArray_CheckExact(object.ptr()))
    return given_of_array(field, reinterpret_cast<PyArrayObject*>(object.ptr()), held.arrays);
  if (PyUnicode_Check(object.ptr()))
    return number_of_text(field, std::string(characters_of(object)), held.reading);
  if (needs_no_conversion(object)) return number_of_argument(field, object);
  if (is_path(object)) return from_file(path_of(object), *held.options);
  return given_of(field, plain(field, object, nb::none()), held);
}

/// The divisor of clipper.reciprocal(s); null for other objects.
nb::object divisor_of(nb::handle object) {
  if (!PyTuple_Check(object.ptr()) || PyTuple_CheckExact(object.ptr())) return {};
  if (!nb::isinstance(object, nb::module_::import_("clipper._reciprocal").attr("reciprocal"))) return {};
  return object.attr("divisor");
}

bool is_sequence(nb::handle object) {
  return PyTuple_CheckExact(object.ptr()) || PyList_Check(object.ptr());
}

/// Sets a member of the request to what an object means.
struct SetMember {
  const Field& field;
  nb::handle object;
  HeldRequest& held;

  /// A text means what it means to the program, except where Python has objects of its own.
  void operator()(auto& member) const {
    if (PyUnicode_Check(object.ptr())) return set(std::string(characters_of(object)));
    take(member);
  }

  void operator()(bool& flag) const {
    if (!PyBool_Check(object.ptr()) && !PyArray_IsScalar(object.ptr(), Bool)) refuse("a bool");
    flag = PyObject_IsTrue(object.ptr()) != 0;
  }
  void operator()(std::optional<OrderedDType>& dtype) const { dtype = dtype_in("to", object); }
  void operator()(std::vector<std::int64_t>& axes) const {
    if (!PyTuple_Check(object.ptr()) && !PyList_Check(object.ptr())) return add_axis(object, axes);
    for (const nb::handle axis : nb::iter(object)) add_axis(axis, axes);
  }

 private:
  [[noreturn]] void refuse(std::string_view expected) const { refuse_type(field.name, object, expected); }

  void set(const std::string& text) const {
    set_text(field, held.request, text, held.reading);
    if (field.number() == nullptr) return;
    std::optional<Parameter>& given = held.request.*field.number();
    if (given && !given->dtype) given->text = shortened(given->text);
  }

  void take(std::optional<Parameter>& number) const {
    if (field.grammar == Field::Grammar::mask) return take_mask(number);
    const nb::object divisor = field.grammar == Field::Grammar::scale ? divisor_of(object) : nb::object();
    number = given_of(field.name, divisor ? nb::handle(divisor) : object, held);
    if (!number) refuse_type(field.name, divisor, "the reciprocal of a number, an array or a path");
    if (divisor) number = Parameter::reciprocal(*std::move(number));
  }

  /// Elements of bool are those of uint8.
  void take_mask(std::optional<Parameter>& mask) const {
    if (is_path(object)) return set("@" + path_of(object));
    refuse_masked(field.name, object);
    nb::object array = nb::module_::import_("numpy").attr("asarray")(object);
    if (PyArray_ISBOOL(reinterpret_cast<PyArrayObject*>(array.ptr()))) array = array.attr("view")("uint8");
    mask = given_of(field.name, array, held);
  }

  void take(OnNan& nan) const {
    nan = number_of_argument(
        field.name, needs_no_conversion(object) ? nb::borrow(object) : plain(field.name, object, nb::none()));
  }

  void take(std::optional<std::pair<Parameter, Parameter>>& range) const {
    constexpr std::string_view kExpected = "two numbers such as (0, 255)";
    if (!is_sequence(object) || nb::len(object) != 2) refuse(kExpected);
    const auto end = [&](const nb::object& number) {
      return PyUnicode_Check(number.ptr()) ? end_of_text(field, std::string(characters_of(number)))
                                           : given_of(field.name, number, held);
    };
    std::optional<Parameter> low = end(object[0]);
    std::optional<Parameter> high = end(object[1]);
    if (!low || !high) refuse(kExpected);
    range.emplace(*std::move(low), *std::move(high));
  }

  void take(std::vector<Parameter>& numbers) const {
    if (!is_sequence(object)) return add_number(object, numbers);
    for (const nb::handle number : nb::iter(object)) add_number(number, numbers);
  }

  /// 2 and math.inf, too.
  void take(std::optional<Norm>& /*norm*/) const { set(number_of_argument(field.name, object).text); }

  /// A choice of words.
  void take(auto& /*member*/) const { refuse("a str"); }

  void add_number(nb::handle number, std::vector<Parameter>& numbers) const {
    if (PyUnicode_Check(number.ptr())) return set(std::string(characters_of(number)));
    std::optional<Parameter> given = given_of(field.name, number, held);
    if (!given) refuse_type(field.name, number, "a number, or a list of numbers");
    numbers.push_back(*std::move(given));
  }

  void add_axis(nb::handle axis, std::vector<std::int64_t>& axes) const {
    int overflow = 0;
    const nb::object whole = int_of(field.name, axis, "an int or a tuple of ints");
    axes.push_back(PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow));
    if (overflow != 0) axes.back() = std::numeric_limits<std::int64_t>::max();
  }
};

void set_member(std::size_t place, nb::handle object, HeldRequest& held) {
  const Field& field = fields::kAll.at(place);
  std::visit([&](const auto member) { SetMember{field, object, held}(held.request.*member); }, field.member);
}

/// A request with one argument.
Request request_with(std::size_t place, nb::handle object) {
  RequestArguments arguments;
  arguments[place] = object;
  return request_of(arguments).request;
}

void warn_of_truncation(std::string_view field, nb::handle bound, const std::string& what, DType dtype) {
  const nb::object category = nb::module_::import_("clipper._errors").attr("TruncationWarning");
  const std::string text = std::string(field) + " " + nb::cast<std::string>(nb::str(bound)) + what +
                           ", because x has dtype " + std::string(traits(dtype).name);
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
  warn_of_truncation(field, bound, " is no integer: its fraction is cut off", dtype);
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
  const nb::str becomes(nb::steal(PyLong_FromDouble(element)));
  warn_of_truncation(field, bound, " becomes " + nb::cast<std::string>(becomes), dtype);
}

const Profile* profile_of(nb::handle profile) {
  if (PyUnicode_Check(profile.ptr()))
    if (const Profile* const found = profile_named(characters_of(profile))) return found;
  return request_with(kProfile, profile).profile;
}

std::optional<MinAboveMax> min_above_max_of(nb::handle word) {
  return word.is_none() ? std::nullopt : request_with(kMinAboveMax, word).min_above_max;
}

std::optional<OnNan::Action> nan_word_of(nb::handle nan) {
  if (nan.is_none()) return OnNan::by_profile;
  if (!PyUnicode_Check(nan.ptr())) return std::nullopt;
  const auto* const word = std::ranges::find(kNanWords, characters_of(nan));
  if (word == kNanWords.end()) return std::nullopt;
  return static_cast<OnNan::Action>(word - kNanWords.begin());
}

std::optional<OrderedDType> dtype_in(std::string_view field, nb::handle dtype) {
  if (dtype.is_none()) return std::nullopt;
  const bool is_text = PyUnicode_Check(dtype.ptr());
  if (is_text)
    if (const DTypeWord word = dtype_word(characters_of(dtype)); word.dtype) return word.dtype;
  PyArray_Descr* converted = nullptr;
  if (PyArray_DescrConverter(dtype.ptr(), &converted) == 0) {
    if (const nb::python_error error; !error.matches(PyExc_TypeError)) throw error;
    const nb::str text(dtype);
    const bool is_dtype = nb::cast<std::string>(dtype.type().attr("__name__")) == "dtype";  // torch's
    if (is_text || is_dtype || dtype_word(characters_of(text)).dtype)
      return dtype_of_text(field, characters_of(text));
    refuse_type(field, dtype, "a dtype, its name or a scalar type");
  }
  const nb::object descr = nb::steal(reinterpret_cast<PyObject*>(converted));
  const nb::object name = descr.attr("name");
  const bool as_typed = is_text && !dtype_named(characters_of(name));  // "U8" are 8 characters in numpy
  OrderedDType found = dtype_of_text(field, characters_of(as_typed ? dtype : nb::handle(name)));
  if (converted->byteorder == '>' && !is_foreign(found)) found.order = ByteOrder::big;
  return found;
}

unsigned threads_of(nb::handle threads) {
  if (!PyLong_Check(threads.ptr()) || PyBool_Check(threads.ptr()))
    return threads_of(int_of("threads", threads));
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(threads.ptr(), &overflow);
  if (overflow != 0 || value < 0 || value > 1024)
    throw Error(ErrorKind::usage, argument("threads") + " must be from 0 to 1024");
  return static_cast<unsigned>(value);
}

RequestArguments arguments_of(const nb::dict& given) {
  RequestArguments arguments;
  for (const auto& [name, value] : given) {
    const auto text = nb::cast<std::string>(nb::str(name));
    const auto* const place = std::ranges::find(kArgumentNames, text);
    if (place == kArgumentNames.end()) throw nb::type_error(("there is no argument '" + text + "'").c_str());
    arguments[static_cast<std::size_t>(place - kArgumentNames.begin())] = value;
  }
  return arguments;
}

void for_each_later_stage(nb::handle then,
                          const std::function<void(const RequestArguments&, const std::string&)>& use) {
  const nb::object stages = PyDict_Check(then.ptr()) ? nb::make_tuple(then) : nb::borrow(then);
  if (!is_sequence(stages)) refuse_type("then", then, "a dict or a list of dicts");
  std::size_t count = 0;
  for (const nb::handle stage : nb::iter(stages)) {
    const std::string name = stage_name(++count);
    with_path(name, [&] {
      try {
        if (!PyDict_Check(stage.ptr())) refuse_type("then", stage, "a dict or a list of dicts");
        const RequestArguments arguments = arguments_of(nb::borrow<nb::dict>(stage));
        if (arguments.is_given(kThen))
          throw Error(ErrorKind::usage, argument("then") + ": a stage has none of its own");
        use(arguments, name);
      } catch (const nb::builtin_exception& error) {  // a TypeError
        throw nb::type_error((name + ": " + error.what()).c_str());
      } catch (const nb::python_error& error) {
        const nb::object texts = error.value().attr("args");
        if (nb::len(texts) == 1)
          error.value().attr("args") = nb::make_tuple(name + ": " + nb::cast<std::string>(nb::str(texts[0])));
        throw;
      }
    });
  }
}

HeldRequest request_of(const RequestArguments& arguments, const FileOptions& files) {
  HeldRequest held{.options = &files, .reading = reading_of(files)};
  for (std::size_t i = 0; i < fields::kAll.size(); ++i)
    if (arguments.is_given(i)) set_member(i, arguments[i], held);
  check_texts(held.request);
  if (!arguments.is_given(kThen)) return held;
  for_each_later_stage(arguments[kThen], [&](const RequestArguments& stage, const std::string&) {
    HeldRequest later = request_of(stage, files);
    held.request.then.push_back(std::move(later.request));
    std::ranges::move(later.arrays, std::back_inserter(held.arrays));
  });
  return held;
}

/// Returns false for what is not remembered: text, integers of more than 63 bits, arrays unless they have one
/// element of the key's dtype.
bool PlanCache::read(nb::handle number, const Key& key, KeyParameter& parameter) {
  PyObject* const object = number.ptr();
  if (object == Py_None) return true;
  const bool is_float_scalar = PyArray_IsScalar(object, Float) || PyArray_IsScalar(object, Half);
  if (PyFloat_Check(object) || is_float_scalar) {
    parameter = {KeyParameter::Kind::real, std::bit_cast<std::uint64_t>(PyFloat_AsDouble(object))};
    return true;
  }
  if (PyArray_Check(object)) {
    auto* const array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_SIZE(array) != 1 || PyArray_NDIM(array) > key.rank || type_of(array) != key.type)
      return false;
    parameter.kind = KeyParameter::Kind::element;
    std::memcpy(&parameter.bits, PyArray_DATA(array), PyArray_ITEMSIZE(array));
    return true;
  }
  // A duration of numpy is a subclass of its integers.
  const bool is_numpy_integer = PyArray_IsScalar(object, Integer) && !PyArray_IsScalar(object, Timedelta);
  if (!PyLong_Check(object) && !is_numpy_integer) return false;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  parameter = {KeyParameter::Kind::integer, static_cast<std::uint64_t>(value)};
  return overflow == 0;
}

/// The argument as read() saw it. Another thread may have changed an array's element since.
nb::object PlanCache::as_read(nb::handle number, const KeyParameter& parameter) {
  if (parameter.kind != KeyParameter::Kind::element) return nb::borrow(number);
  const Array copy(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(number.ptr()), NPY_ANYORDER));
  std::memcpy(PyArray_DATA(copy.get()), &parameter.bits, PyArray_ITEMSIZE(copy.get()));
  return copy.object();
}

std::size_t PlanCache::place_of(const Key& key) {
  std::uint64_t hash = static_cast<std::uint64_t>(key.type.dtype) * 31 + key.rank;
  for (const KeyParameter& parameter : key.parameters)
    hash = (hash ^ parameter.bits ^ static_cast<std::uint64_t>(parameter.kind)) * 0x9E3779B97F4A7C15;
  return hash >> 56;
}

std::optional<PreparedClip> PlanCache::find(const RequestArguments& arguments, PyArrayObject* array,
                                            const ArrayType& type) {
  // Looked for first: reading a key takes time.
  const auto is_large_array = [](nb::handle bound) {
    return PyArray_CheckExact(bound.ptr()) && PyArray_SIZE(reinterpret_cast<PyArrayObject*>(bound.ptr())) > 1;
  };
  if (is_large_array(arguments[kMin]) || is_large_array(arguments[kMax]) || arguments.are_of_clipper() ||
      arguments.is_given(kThen))
    return std::nullopt;
  Key key;
  key.type = type;
  key.rank = static_cast<std::uint8_t>(PyArray_NDIM(array));
  const auto is_read = [&](std::size_t i) { return read(arguments[kRemembered[i]], key, key.parameters[i]); };
  for (std::size_t i = 0; i + 1 < kRemembered.size(); ++i)
    if (!is_read(i)) return std::nullopt;
  if (const auto action = nan_word_of(arguments[kNan]))
    key.nan = *action;
  else if (is_read(kRemembered.size() - 1))
    key.nan = OnNan::replace;
  else
    return std::nullopt;
  static const Profile* const own = profile_named("clipper");
  key.profile = arguments[kProfile].is_none() ? own : profile_of(arguments[kProfile]);
  key.min_above_max = min_above_max_of(arguments[kMinAboveMax]);

  Entry& entry = entries_[place_of(key)];
  if (!entry.prepared || !(entry.key == key)) {
    RequestArguments read = arguments;
    std::array<nb::object, kRemembered.size()> kept;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      kept[i] = as_read(arguments[kRemembered[i]], key.parameters[i]);
      read[kRemembered[i]] = kept[i];
    }
    entry.prepared.emplace(request_of(read).request, tensor_of(array, type));
    entry.key = key;
  }
  return entry.prepared;
}

}  // namespace clipper::python
