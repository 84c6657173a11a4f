#define CLIPPER_LOADS_NUMPY
#include "python/core/module.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>

#include "clipper.hpp"
#include "contract/fields.hpp"

namespace nb = nanobind;

namespace clipper::python {
namespace {

constexpr const char* kKinds[] = {"",   "different", "usage",       "input",
                                  "io", "refused",   "not_durable", "cancelled"};

constexpr const char* kClipDoc =
    R"(Clips the elements of an array to bounds.

An element below min becomes min, one above max becomes max; all others keep their bits. With `to` or `round` the
result is then rounded once: it never wraps.

Args:
    x: array of int8 to int64, uint8 to uint64, float16, float32, float64, or ml_dtypes' bfloat16 or float8, of any
        shape, strides and byte order. Other objects become arrays by np.asarray or np.from_dlpack.
)";

constexpr const char* kClipDocEnd =
    R"(    then: a dict, or a list of dicts, of all arguments above for later stages, each of which clips what the one before
        gives: clip(clip(x, **a), **b) is clip(x, **a, then=b). Arrays in it do not enlarge x.
    out: array, or another package's tensor in this memory, of the result's shape and dtype that is written and
        returned; out=x clips in place, which needs the same dtype. It may hold anything after Ctrl-C, and after
        an error if scale divides, or if arguments besides min, max, scale, bias, nan, profile and min_above_max
        are given.
    dtype: "bfloat16" if x is raw bytes (|V2) or integers of two bytes that are bfloat16, the name of a float8
        for |V1 or integers of one byte; otherwise None, or x's own dtype.
    threads: max number of threads; 0: all CPUs that this process may use.
    a_min, a_max: min and max, as np.clip calls them.

A number is an int, float, Decimal, Fraction, a scalar of numpy, or text such as "0.1" or "1e400", which is exact.
min, max, scale, bias, subtract and divide may also be an array or a sequence of any numeric dtype that broadcasts
with x, or a path; so may mask, of bool or numbers. scale=reciprocal(s) divides by s. stretch and stretch_from may
be tuples, (0, 255), per_axis and nodata tuples or lists. A fraction as a bound of integers is cut off, with a
TruncationWarning. A bound of floats that becomes another integer also warns: 2049 as float16 is 2048. pooled is
for clip_file() only, of archives. None, or False for a bool, stands for what is not given.

Returns:
    out, or a new array of the shape that x and the arrays have in common, in the memory order that np.clip's
    result has, with x's dtype (or `to`) and byte order; bfloat16 of ml_dtypes always has this machine's byte
    order. A scalar if there are no dimensions.

Raises:
    ClipperError: with kind and field, for what the program clipper refuses.

>>> import numpy as np
>>> clip(np.array([-3.5, 0.25, 7], np.float32), 0, 6)
array([0.  , 0.25, 6.  ], dtype=float32)
>>> x = np.arange(5)
>>> clip(x, max=3, out=x) is x
True
>>> x
array([0, 1, 2, 3, 3])
>>> clip(np.array([-3.5, 0.5, 1.5, 300]), to="uint8")
array([  0,   0,   2, 255], dtype=uint8)
>>> clip(np.array([-1.0, 5, 9]), 0, 6, stretch=(0, 255), to="uint8")
array([  0, 212, 255], dtype=uint8)
>>> clip(np.array([[1.0, 3], [10, 30]]), subtract="mean", divide="std", per_axis=0)
array([[-1.,  1.],
       [-1.,  1.]])
>>> clip(np.array([0.0, 0, 0, 0, 10]), max="mean+1std")
array([0., 0., 0., 0., 6.])
>>> clip(np.array([1.0, 2, 4, 8, 100]), subtract="median", divide="iqr", divide_zero="keep")
array([-0.5       , -0.33333333,  0.        ,  0.66666667, 16.        ])
>>> clip(np.arange(5.0), stretch=(0, 1), stretch_from=(1, "75%"))
array([-0.5,  0. ,  0.5,  1. ,  1.5])
>>> clip(np.array([[3.0, 4], [0, 1]]), max_norm=2.5, per_axis=0)
array([[1.5, 2. ],
       [0. , 1. ]])
>>> clip(np.array([1.0, 2, 3, 4, 90]), subtract="mean", divide="std", then={"max": 1, "round": "floor"})
array([-1., -1., -1., -1.,  1.])
>>> clip(np.array([[1, 9], [2, 8]]), max=np.array([5, 6]))
array([[1, 6],
       [2, 6]])
>>> clip(np.array([1, 2], np.uint8), min=300)
Traceback (most recent call last):
    ...
clipper._errors.ClipperError: min 300 exceeds the uint8 maximum (255)
)";

/// What a row says of its member (contract/fields.hpp), with the names of Python and without statuses.
std::string in_python(const Field& field) {
  std::string text =
      std::string(field.name) + (field.value.empty() ? "" : "=" + std::string(field.value)) + ": ";
  bool is_name = false;
  for (std::size_t i = 0; i < field.details.size(); ++i) {
    const std::string_view rest = field.details.substr(i);
    if (rest.starts_with("`--")) {
      is_name = true;
      text += '`';
      i += 2;
    } else if (rest.size() > 1 && rest[0] == '(' && rest[1] >= '0' && rest[1] <= '9') {
      text.pop_back();  // a space
      i += rest.find(')');
    } else {
      is_name = is_name && rest[0] != '`';
      text += rest[0] == '\n' ? ' ' : is_name && rest[0] == '-' ? '_' : rest[0];
    }
  }
  return text;
}

/// The arguments of fields::kAll, wrapped between words.
std::string described_arguments() {
  constexpr std::size_t kColumns = 110;
  std::string text;
  for (const Field& field : fields::kAll) {
    std::string line = "   ";
    const std::string words = in_python(field) + " ";
    for (std::size_t begin = 0; begin < words.size(); begin = words.find(' ', begin) + 1) {
      const std::string word = words.substr(begin, words.find(' ', begin) - begin);
      if (line.size() + 1 + word.size() > kColumns) {
        text += line + "\n";
        line = "       ";
      }
      line += " " + word;
    }
    text += line + "\n";
  }
  return text;
}

/// The module's words for a term of the library: advice that names an argument.
std::string_view words_for(const Term& term) {
  if (term.says == Says::advice && term.field == "min_above_max")
    return "; to allow this, pass min_above_max=\"max\" (as numpy) or \"min\"";
  if (term.says == Says::advice && term.field == "trailing")
    return "; to allow this, pass ignore_trailing=True";
  return term.words;
}

/// Raises for Error what `make` makes of it, a ClipperError.
void translate(const std::exception_ptr& exception, void* make) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    const std::string field(error.field());
    nb::object kind = nb::str(kKinds[static_cast<int>(error.kind())]);
    const std::string text = error.message().text_with(words_for);
    // As os.fsdecode: a path may have bytes that are no UTF-8.
    const nb::object decoded =
        nb::steal(PyUnicode_DecodeUTF8(text.data(), std::ssize(text), "surrogateescape"));
    const nb::object raised = nb::handle(static_cast<PyObject*>(make))(
        decoded, kind, field.empty() ? nb::none() : nb::object(nb::str(field.c_str())), error.system_error());
    PyErr_SetObject(raised.type().ptr(), raised.ptr());
  }
}

nb::handle error_maker;  // clipper._errors._error

/// The arguments of clip(): first those of the request.
constexpr std::size_t kX = kArgumentNames.size();
constexpr std::size_t kOut = kX + 1;
constexpr std::size_t kDtype = kX + 2;
constexpr std::size_t kThreads = kX + 3;
constexpr auto kNames = [] {
  std::array<const char*, kThreads + 1> all{};
  std::ranges::copy(kArgumentNames, all.begin());
  all[kX] = "x";
  all[kOut] = "out";
  all[kDtype] = "dtype";
  all[kThreads] = "threads";
  return all;
}();
constexpr std::array kPositional{kX, kMin, kMax, kOut};
std::array<PyObject*, kNames.size()> names;  // interned, as those of nearly all calls
std::array<PyObject*, kNames.size()> defaults;

/// Sorts the arguments of a call; false if there is one that clip() does not have, or two for one name.
bool sort_arguments(PyObject* const* given, Py_ssize_t count, PyObject* keywords,
                    std::array<PyObject*, kNames.size()>& sorted) {
  sorted.fill(nullptr);
  if (count > std::ssize(kPositional)) return false;
  for (Py_ssize_t i = 0; i < count; ++i) sorted[kPositional[i]] = given[i];
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_Size(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const keyword = PyTuple_GetItem(keywords, i);
    auto* name = std::find(names.begin(), names.end(), keyword);
    if (name == names.end())
      name = std::find_if(names.begin(), names.end(),
                          [&](PyObject* other) { return PyUnicode_Compare(other, keyword) == 0; });
    if (name == names.end()) return false;
    PyObject*& place = sorted.at(name - names.begin());
    if (place != nullptr) return false;
    place = given[count + i];
  }
  if (sorted[kX] == nullptr) return false;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted.at(i) == nullptr) sorted.at(i) = defaults.at(i);
  return true;
}

/// A call with arguments that clip() does not have.
nb::object clip_otherwise(PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  nb::list positional;
  nb::dict named;
  for (Py_ssize_t i = 0; i < count; ++i) positional.append(nb::handle(given[i]));
  for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_Size(keywords); ++i)
    named[nb::handle(PyTuple_GetItem(keywords, i))] = nb::handle(given[count + i]);
  const nb::object clip = nb::module_::import_("clipper._core").attr("clip");
  return nb::module_::import_("clipper._errors").attr("_other_arguments")(clip, nb::tuple(positional), named);
}

nb::object clip_of(PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  std::array<PyObject*, kNames.size()> a;
  if (!sort_arguments(given, count, keywords, a)) return clip_otherwise(given, count, keywords);
  return clip_array(a[kX], RequestArguments(a.data()), a[kOut], a[kDtype], a[kThreads]);
}

/// nanobind's way to call a function takes as long as clipping a few elements.
PyObject* clip(PyObject* /*module*/, PyObject* const* given, Py_ssize_t count, PyObject* keywords) noexcept {
  try {
    try {
      return clip_of(given, count, keywords).release().ptr();
    } catch (const Error&) {
      translate(std::current_exception(), error_maker.ptr());
    }
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const nb::builtin_exception& error) {  // the module throws only this one
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

/// As inspect reads it.
std::string clip_signature() {
  std::string text = "clip($module, x, min=None, max=None, out=None, *, ";
  for (std::size_t i = 0; i < kX; ++i)
    if (i != kMin && i != kMax)
      text += std::string(kNames.at(i)) + (RequestArguments::absent(i).is_none() ? "=None, " : "=False, ");
  return text + "dtype=None, threads=0, a_min=None, a_max=None)\n--\n\n";
}

/// What the package needs to know of the request: its arguments with their defaults, which of them may be
/// dates, and which are float64 if integers are given; and the names of dtypes by their codes in DLPack.
void add_request(nb::module_& module) {
  nb::dict defaults_by_name;
  nb::list dates;
  nb::list factors;
  for (std::size_t i = 0; i < kX; ++i) {
    const nb::str name(kNames.at(i));
    defaults_by_name[name] = RequestArguments::absent(i);
    if (i == kThen) continue;
    const Field& field = fields::kAll[i];
    if (field.takes_dates())
      dates.append(name);
    else if (field.broadcasts)
      factors.append(name);
  }
  module.attr("request") = defaults_by_name;
  module.attr("dates") = nb::tuple(dates);
  module.attr("factors") = nb::tuple(factors);
  nb::dict dlpack;
  for (const DTypeTraits& row : kDTypes)
    if (is_foreign(row.dtype)) dlpack[nb::int_(codes_of(row.dtype).dlpack)] = nb::str(row.name.data());
  module.attr("dlpack") = dlpack;
}

void add_clip(nb::module_& module) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    names.at(i) = PyUnicode_InternFromString(kNames.at(i));
    defaults.at(i) = i < kX ? RequestArguments::absent(i).ptr() : Py_None;
  }
  defaults[kThreads] = PyLong_FromLong(0);
  static const std::string documentation = clip_signature() + kClipDoc + described_arguments() + kClipDocEnd;
  static std::array<PyMethodDef, 2> functions = {
      {{"clip", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(clip)),
        METH_FASTCALL | METH_KEYWORDS, documentation.c_str()},
       {nullptr, nullptr, 0, nullptr}}};
  if (PyModule_AddFunctions(module.ptr(), functions.data()) != 0) throw nb::python_error();
}

}  // namespace

}  // namespace clipper::python

NB_MODULE(_core, module) {
  using namespace clipper::python;
  if (_import_array() < 0) throw nb::python_error();
  module.attr("__version__") = nb::str(clipper::version().data(), clipper::version().size());
  error_maker = nb::object(nb::module_::import_("clipper._errors").attr("_error")).release();
  nb::register_exception_translator(translate, error_maker.ptr());
  add_clip(module);
  add_request(module);
  add_file_functions(module);
}
