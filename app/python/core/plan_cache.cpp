#include "python/core/plan_cache.hpp"

#include <bit>
#include <cstring>

namespace clipper::python {

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
  if (is_large_array(arguments[kMin]) || is_large_array(arguments[kMax]) || arguments.act_after_clip() ||
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
