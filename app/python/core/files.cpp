#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "clipper.hpp"
#include "counts.hpp"
#include "flows/saved_figures.hpp"
#include "python/core/module.hpp"

namespace clipper::python {
namespace {

/// The value of a float.
double value_of(DType dtype, ElementBits bits) {
  const std::size_t unused = kNativeOrder == ByteOrder::big ? sizeof bits - traits(dtype).size : 0;
  double value = 0;
  clip(dtype, reinterpret_cast<const std::byte*>(&bits) + unused, &value, 1, {.to = DType::float64});
  return value;
}

nb::object number_of(DType dtype, ElementBits bits) {
  switch (traits(dtype).kind) {
    case NumberKind::unsigned_integer: return nb::int_(bits);
    case NumberKind::signed_integer: {
      const auto unused = static_cast<int>(64 - 8 * traits(dtype).size);
      return nb::int_(static_cast<std::int64_t>(bits << unused) >> unused);
    }
    case NumberKind::floating: break;
  }
  return nb::float_(value_of(dtype, bits));
}

nb::str name_of(DType dtype, const LogicalType& meaning) {
  return nb::str(type_name(dtype, meaning).c_str());
}

/// A number, a bool, a scalar of numpy for dates and durations, or a complex number.
nb::object object_of(DType dtype, const LogicalType& meaning, ElementBits bits, ElementBits imaginary = 0) {
  const nb::object number = number_of(dtype, bits);
  switch (meaning.kind) {
    case LogicalType::Kind::number: break;
    case LogicalType::Kind::boolean: return nb::bool_(bits != 0);
    case LogicalType::Kind::datetime:
    case LogicalType::Kind::timedelta:
      return nb::module_::import_("numpy").attr("int64")(number).attr("view")(name_of(dtype, meaning));
    case LogicalType::Kind::complex:
      return nb::steal(PyComplex_FromDoubles(PyFloat_AsDouble(number.ptr()),
                                             PyFloat_AsDouble(number_of(dtype, imaginary).ptr())));
  }
  return number;
}

nb::object object_of(DType dtype, const LogicalType& meaning, const std::optional<ElementBits>& bits) {
  return bits ? object_of(dtype, meaning, *bits) : nb::none();
}

nb::object object_of(const LogicalType& meaning, const std::optional<Scalar>& scalar) {
  return scalar ? object_of(scalar->dtype, meaning, scalar->bits) : nb::none();
}

nb::object shape_of(const std::vector<std::int64_t>& shape) {
  return nb::tuple(nb::cast(shape));
}

bool is_true(nb::handle object) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

std::string text_of(const char* name, nb::handle text) {
  if (!PyUnicode_Check(text.ptr())) refuse_type(name, text, "text");
  return std::string(characters_of(text));
}

/// What the arguments of one of the package's functions, by name, say of files.
FileOptions options_of(const nb::dict& given) {
  FileOptions options;
  const auto take = [&](const char* name, const auto& set) {
    if (PyObject* const value = PyDict_GetItemString(given.ptr(), name)) set(name, nb::handle(value));
  };
  const auto take_flag = [&](const char* name, bool& flag) {
    take(name, [&](const char*, nb::handle value) { flag = is_true(value); });
  };
  const auto take_text = [&](const char* name, std::string& text) {
    if (const nb::object value = given[name]; !value.is_none()) text = text_of(name, value);
  };
  const auto take_texts = [&](const char* name, std::vector<std::string>& texts) {
    take(name, [&](const char* argument, nb::handle value) {
      if (PyUnicode_Check(value.ptr())) return texts.push_back(text_of(argument, value));
      for (const nb::handle text : nb::iter(value)) texts.push_back(text_of(argument, text));
    });
  };
  options.dtype = dtype_in("dtype", given["dtype"]);
  take_text("raw", options.raw);
  take_text("format", options.format);
  take_flag("to_raw", options.to_raw);
  take_flag("ignore_trailing", options.ignore_trailing);
  take_flag("no_cache", options.no_cache);
  take_flag("overwrite", options.overwrite);
  take_flag("sync", options.sync);
  take_flag("direct", options.direct);
  take_texts("members", options.members);
  take_texts("exclude_members", options.exclude_members);
  take_texts("only", options.only);
  take("fit", [&](const char*, nb::handle path) {
    if (!path.is_none()) options.fit = path_of(path);
  });
  options.threads = threads_of(given["threads"]);
  options.special_paths = true;
  return options;
}

/// Calls work(options) until it ends, or until `progress` or a signal such as Ctrl-C raises an exception.
/// This thread calls progress(done, all), which may be None, at most ten times a second, and at the end.
template <class Work>
auto run(FileOptions options, Work work, nb::handle progress = nb::none()) {
  if (!progress.is_none() && PyCallable_Check(progress.ptr()) == 0)
    refuse_type("progress", progress, "a function, or None");
  using Clock = std::chrono::steady_clock;
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::uint64_t> all = 0;
  options.stop = &stop;
  if (progress.is_none()) return interruptible(stop, [&] { return work(options); });
  options.progress = [&](std::uint64_t bytes, std::uint64_t of) {
    all = of;
    done = bytes;
  };
  const auto tell = [&] {
    return nb::steal(PyObject_CallFunction(progress.ptr(), "KK", static_cast<unsigned long long>(done.load()),
                                           static_cast<unsigned long long>(all.load())))
        .is_valid();
  };
  auto last = Clock::now();
  const auto look = [&] {
    if (!has_no_signal()) return false;
    if (all == 0 || Clock::now() - last < std::chrono::milliseconds(100)) return true;
    last = Clock::now();
    return tell();
  };
  auto result = interruptible(
      stop, [&] { return work(options); }, look);
  if (!tell()) throw nb::python_error();
  return result;
}

nb::object object_of(const Counts& counts) {
  nb::dict named;
  named["elements"] = counts.elements;
  named["changed"] = counts.changed;
  for (const CountedElements& row : kCountedElements) named[row.name.data()] = counts.*row.in_cpp;
  nb::list later;
  for (const Counts& stage : counts.then) later.append(object_of(stage));
  named["then"] = later;
  return named;
}

/// Those among the arguments of one of the package's functions, by name, of which the dict `request` has all
/// but the bounds.
RequestArguments arguments_in(const nb::dict& given) {
  RequestArguments arguments = arguments_of(nb::dict(given["request"]));
  for (const std::size_t bound : {kMin, kMax}) arguments[bound] = given[kArgumentNames.at(bound)];
  return arguments;
}

/// The request among the arguments, with what a file of figures has besides.
HeldRequest request_in(const nb::dict& given, const FileOptions& options) {
  HeldRequest held = request_of(arguments_in(given), options);
  if (const nb::object figures = given["apply"]; !figures.is_none())
    set_figures(held.request, path_of(figures), held.reading);
  return held;
}

nb::object clip_path(nb::handle in, nb::handle out, const nb::dict& given) {
  const FileOptions options = options_of(given);
  const std::string from = path_of(in);
  const std::string to = path_of(out);
  const HeldRequest held = request_in(given, options);
  return object_of(run(
      options, [&](const FileOptions& o) { return clip_file(from, to, held.request, o); },
      given["progress"]));
}

nb::object clip_path_in_place(nb::handle path, const nb::dict& given) {
  const FileOptions options = options_of(given);
  const std::string name = path_of(path);
  const HeldRequest held = request_in(given, options);
  return object_of(run(
      options, [&](const FileOptions& o) { return clip_in_place(name, held.request, o); },
      given["progress"]));
}

/// An int, 0 or more. Error{usage} or TypeError.
std::uint64_t whole_of(std::string_view field, nb::handle number) {
  const unsigned long long value = PyLong_AsUnsignedLongLong(int_of(field, number).ptr());
  if (PyErr_Occurred() == nullptr) return value;
  PyErr_Clear();
  throw Error(ErrorKind::usage, argument(field) + " must be from 0 to 2^64 - 1");
}

/// A number, or the text of one, which is no file's name.
Parameter typed_number(std::string_view field, nb::handle number, const std::string& expected) {
  if (!PyUnicode_Check(number.ptr())) return number_of_argument(field, number);
  const std::string text(characters_of(number));
  if (std::optional<Number> typed = parse_number(text)) return {*std::move(typed), text};
  throw Error(ErrorKind::usage, argument(field) + (": '" + text + "' is not " + expected));
}

/// Those among the arguments of the package's compare().
CompareOptions compare_options(const nb::dict& given) {
  CompareOptions compare;
  compare.rtol = typed_number("rtol", given["rtol"], "a finite number >= 0").number;
  compare.atol = typed_number("atol", given["atol"], "a finite number >= 0").number;
  if (!given["ulp"].is_none()) compare.ulp = whole_of("ulp", given["ulp"]);
  if (!given["tolerance"].is_none()) compare.tolerance = text_of("tolerance", given["tolerance"]);
  if (!given["nan_equal"].is_none()) compare.nan_equal = is_true(given["nan_equal"]);
  compare.any_dtype = is_true(given["any_dtype"]);
  compare.bits = is_true(given["bits"]);
  compare.max_listed = whole_of("max_listed", given["max_listed"]);
  return compare;
}

nb::object object_of(const Comparison& result) {
  nb::list mismatches;
  for (const Comparison::Mismatch& mismatch : result.first)
    mismatches.append(nb::make_tuple(
        nb::tuple(nb::cast(mismatch.index)),
        object_of(result.actual_dtype, result.meaning, mismatch.actual, mismatch.actual_imaginary),
        object_of(result.dtype, result.meaning, mismatch.expected, mismatch.expected_imaginary)));
  return nb::make_tuple(result.equal(), result.summary, name_of(result.dtype, result.meaning),
                        shape_of(result.shape), result.compared, result.mismatches, nb::tuple(mismatches),
                        result.largest, result.report);
}

nb::object compare_paths(nb::handle actual, nb::handle expected, const nb::dict& given) {
  const CompareOptions compare = compare_options(given);
  const FileOptions options = options_of(given);
  const std::string first = path_of(actual);
  const std::string second = path_of(expected);
  return object_of(
      run(options, [&](const FileOptions& o) { return compare_files(first, second, compare, o); }));
}

/// The array, or a copy of it without gaps.
Array without_gaps(nb::handle array) {
  auto* const given = reinterpret_cast<PyArrayObject*>(array.ptr());
  if (!is_contiguous(given)) return Array(PyArray_NewCopy(given, NPY_CORDER));
  Py_INCREF(array.ptr());
  return Array(array.ptr());
}

/// Two arrays. None if clipper does not compare the elements of one of them.
nb::object compare_arrays(nb::handle actual, nb::handle expected, const nb::dict& given) {
  if (!PyArray_Check(actual.ptr()) || !PyArray_Check(expected.ptr())) return nb::none();
  const CompareOptions compare = compare_options(given);
  const unsigned most = threads_of(given["threads"]);
  const Array first = without_gaps(actual);
  const Array second = without_gaps(expected);
  const std::optional<Tensor> a = comparable_tensor(first.get());
  const std::optional<Tensor> e = comparable_tensor(second.get());
  if (!a || !e) return nb::none();
  return object_of(work_on(PyArray_NBYTES(second.get()), [&](const std::atomic<bool>* stop) {
    return compare_memory({*a, PyArray_DATA(first.get())}, {*e, PyArray_DATA(second.get())}, compare, most,
                          stop);
  }));
}

nb::object object_of(const Statistics& s) {
  const auto object = [&](const std::optional<ElementBits>& bits) {
    return object_of(s.dtype, s.meaning, bits);
  };
  return nb::make_tuple(name_of(s.dtype, s.meaning), shape_of(s.shape), s.count, s.nan, s.positive_infinite,
                        s.negative_infinite, object(s.min), object(s.max), s.mean, s.standard_deviation,
                        object_of(s.meaning, s.median));
}

nb::object statistics_of_path(nb::handle path, const nb::dict& given) {
  const FileOptions options = options_of(given);
  const std::string name = path_of(path);
  return object_of(run(options, [&](const FileOptions& o) { return statistics(name, o); }));
}

/// Calls use(tensor, elements, threads, stop) for the numbers of an array; None if it has others.
template <class Use>
nb::object with_numbers(nb::handle array, const nb::dict& given, const Use& use) {
  const Array packed = without_gaps(array);
  const std::optional<ArrayType> type = type_of(packed.get());
  if (!type) return nb::none();
  const Tensor tensor = tensor_of(packed.get(), *type);
  const unsigned threads = threads_of(given["threads"]);
  return use(tensor, [&](const auto& find) {
    return work_on(PyArray_NBYTES(packed.get()), [&](const std::atomic<bool>* stop) {
      return find(TensorView{tensor, PyArray_DATA(packed.get())}, threads, stop);
    });
  });
}

nb::object tuple_of(const Tensor& tensor) {
  return nb::make_tuple(name_of(tensor.dtype, tensor.meaning), shape_of(tensor.shape), tensor.fortran_order,
                        tensor.order == ByteOrder::little ? "little" : "big");
}

nb::object info_of_array(nb::handle array, const nb::dict& given) {
  return with_numbers(array, given, [&](const Tensor& tensor, const auto& find) {
    if (!is_true(given["stats"])) return nb::make_tuple(tuple_of(tensor), nb::none());
    return nb::make_tuple(tuple_of(tensor),
                          object_of(find([](const auto&... a) { return statistics(a...); })));
  });
}

std::vector<Number> numbers_of(nb::handle percentages) {
  std::vector<Number> numbers;
  for (const nb::handle percentage : percentages) {
    // The shortest text of a float is what the user means: 99.9 is 999/10.
    const Parameter given = typed_number("percentages", percentage, "a percentage");
    numbers.push_back(parse_number(given.text).value_or(given.number));
  }
  return numbers;
}

nb::object list_of(const LogicalType& meaning, const std::vector<std::optional<Scalar>>& found) {
  nb::list results;
  for (const std::optional<Scalar>& scalar : found) results.append(object_of(meaning, scalar));
  return results;
}

nb::object percentiles_of_path(nb::handle path, nb::handle percentages, const nb::dict& given) {
  const FileOptions options = options_of(given);
  const std::string name = path_of(path);
  const std::vector<Number> numbers = numbers_of(percentages);
  const LogicalType meaning = tensor_in(name, options).meaning;
  return list_of(meaning, run(options, [&](const FileOptions& o) { return percentiles(name, numbers, o); }));
}

nb::object percentiles_of_array(nb::handle array, nb::handle percentages, const nb::dict& given) {
  const std::vector<Number> numbers = numbers_of(percentages);
  return with_numbers(array, given, [&](const Tensor& tensor, const auto& find) {
    return list_of(tensor.meaning, find([&](const TensorView& view, const auto&... others) {
                     return percentiles(view, numbers, others...);
                   }));
  });
}

nb::object tensor_in_path(nb::handle path, const nb::dict& given) {
  return tuple_of(tensor_in(path_of(path), options_of(given)));
}

nb::object profile_names() {
  nb::list names;
  for (const Profile& row : profiles()) names.append(nb::str(row.name.data(), row.name.size()));
  return nb::tuple(names);
}

}  // namespace

void add_file_functions(nb::module_& module) {
  nb::dict counts;
  for (const CountedElements& row : kCountedElements) counts[row.name.data()] = nb::str(row.details.data());
  module.attr("counts") = counts;
  module.def("clip_file", clip_path);
  module.def("clip_in_place", clip_path_in_place);
  module.def("compare", compare_paths);
  module.def("compare_arrays", compare_arrays);
  module.def("statistics", statistics_of_path);
  module.def("info_of_array", info_of_array);
  module.def("percentiles", percentiles_of_path);
  module.def("percentiles_of_array", percentiles_of_array);
  module.def("tensor_in", tensor_in_path);
  module.def("profiles", profile_names, "The names of all profiles, the systems whose rules clip() follows.");
}

}  // namespace clipper::python
