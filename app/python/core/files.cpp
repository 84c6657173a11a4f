#include "python/core/files.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <clipper/clipper.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "python/core/arguments.hpp"
#include "python/core/without_gil.hpp"

namespace clipper::python {
namespace {

/// The value of a float of at most 32 bits.
double value_of(const DTypeTraits& dtype, ElementBits bits) {
  const int special = (1 << dtype.exponent_bits) - 1;  // of inf and NaN; half of it is 1's exponent
  const int exponent = static_cast<int>(bits >> dtype.fraction_bits) & special;
  const int leading = 1 << dtype.fraction_bits;
  const int fraction = static_cast<int>(bits) & (leading - 1);
  const int unit = std::max(exponent, 1) - special / 2 - dtype.fraction_bits;
  double value = std::ldexp(exponent == 0 ? fraction : leading + fraction, unit);
  if (exponent == special) value = fraction == 0 ? HUGE_VAL : std::nan("");
  return bits >> (8 * dtype.size - 1) == 0 ? value : -value;
}

/// The value of a float8, which is a float32.
double float8_value(DType dtype, ElementBits bits) {
  const auto element = static_cast<std::uint8_t>(bits);
  float value = 0;
  clip(dtype, &element, &value, 1, {.to = DType::float32});
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
  if (dtype == DType::float64) return nb::float_(std::bit_cast<double>(bits));
  return nb::float_(is_float8(dtype) ? float8_value(dtype, bits) : value_of(traits(dtype), bits));
}

nb::str name_of(DType dtype, const Meaning& meaning) {
  return nb::str(type_name(dtype, meaning).c_str());
}

/// A number, a bool, a scalar of numpy for dates and durations, or a complex number.
nb::object object_of(DType dtype, const Meaning& meaning, ElementBits bits, ElementBits imaginary = 0) {
  const nb::object number = number_of(dtype, bits);
  switch (meaning.kind) {
    case Meaning::Kind::number: break;
    case Meaning::Kind::boolean: return nb::bool_(bits != 0);
    case Meaning::Kind::datetime:
    case Meaning::Kind::timedelta:
      return nb::module_::import_("numpy").attr("int64")(number).attr("view")(name_of(dtype, meaning));
    case Meaning::Kind::complex:
      return nb::steal(PyComplex_FromDoubles(PyFloat_AsDouble(number.ptr()),
                                             PyFloat_AsDouble(number_of(dtype, imaginary).ptr())));
  }
  return number;
}

nb::object object_of(DType dtype, const Meaning& meaning, const std::optional<ElementBits>& bits) {
  return bits ? object_of(dtype, meaning, *bits) : nb::none();
}

nb::object shape_of(const std::vector<std::int64_t>& shape) {
  return nb::tuple(nb::cast(shape));
}

/// The names of the package's arguments for FileOptions.
FileOptions options_of(nb::handle dtype, bool ignore_trailing, bool no_cache, nb::handle threads) {
  FileOptions options;
  options.dtype = dtype_of_argument(dtype);
  options.ignore_trailing = ignore_trailing;
  options.no_cache = no_cache;
  options.threads = threads_of(threads);
  return options;
}

/// Calls work(options) until it ends, or until a signal such as Ctrl-C raises an exception.
template <class Work>
auto run(FileOptions options, Work work) {
  std::atomic<bool> stop = false;
  options.stop = &stop;
  return interruptible(stop, [&] { return work(options); });
}

nb::object object_of(const Counts& counts) {
  return nb::make_tuple(counts.elements, counts.raised, counts.lowered, counts.nan, counts.changed,
                        counts.replaced, counts.became_infinite, counts.became_zero);
}

/// A tuple with the arguments of the package's functions, in their order.
RequestArguments arguments_in(const nb::tuple& request) {
  std::array<nb::handle, 13> a;
  for (std::size_t i = 0; i < a.size(); ++i) a.at(i) = request[i];
  return {a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]};
}

nb::object clip_path(nb::handle in, nb::handle out, const nb::tuple& request,
                     std::vector<std::string> members, std::vector<std::string> only, nb::handle dtype,
                     bool ignore_trailing, bool overwrite, bool sync, bool no_cache, nb::handle threads) {
  FileOptions options = options_of(dtype, ignore_trailing, no_cache, threads);
  options.members = std::move(members);
  options.only = std::move(only);
  options.overwrite = overwrite;
  options.sync = sync;
  const std::string from = path_of(in);
  const std::string to = path_of(out);
  const HeldRequest held = request_of(arguments_in(request));
  return object_of(run(options, [&](const FileOptions& o) { return clip_file(from, to, held.request, o); }));
}

nb::object clip_path_in_place(nb::handle path, const nb::tuple& request, std::vector<std::string> members,
                              std::vector<std::string> only, nb::handle dtype, bool ignore_trailing,
                              bool direct, bool no_cache, nb::handle threads) {
  FileOptions options = options_of(dtype, ignore_trailing, no_cache, threads);
  options.members = std::move(members);
  options.only = std::move(only);
  options.direct = direct;
  const std::string name = path_of(path);
  const HeldRequest held = request_of(arguments_in(request));
  return object_of(run(options, [&](const FileOptions& o) { return clip_in_place(name, held.request, o); }));
}

nb::object compare_paths(nb::handle actual, nb::handle expected, nb::handle rtol, nb::handle atol,
                         std::optional<std::uint64_t> ulp, bool nan_equal, bool bits, std::size_t max_listed,
                         nb::handle dtype, bool ignore_trailing, bool no_cache, nb::handle threads) {
  CompareOptions compare;
  compare.rtol = number_of_argument("rtol", rtol).number;
  compare.atol = number_of_argument("atol", atol).number;
  compare.ulps = ulp;
  compare.nan_equal = nan_equal;
  compare.bits = bits;
  compare.max_listed = max_listed;
  const FileOptions options = options_of(dtype, ignore_trailing, no_cache, threads);
  const std::string first = path_of(actual);
  const std::string second = path_of(expected);
  const Comparison result =
      run(options, [&](const FileOptions& o) { return compare_files(first, second, compare, o); });
  nb::list mismatches;
  for (const Comparison::Mismatch& mismatch : result.first)
    mismatches.append(nb::make_tuple(
        nb::tuple(nb::cast(mismatch.index)),
        object_of(result.dtype, result.meaning, mismatch.actual, mismatch.actual_imaginary),
        object_of(result.dtype, result.meaning, mismatch.expected, mismatch.expected_imaginary)));
  return nb::make_tuple(result.equal(), result.summary, name_of(result.dtype, result.meaning),
                        shape_of(result.shape), result.compared, result.mismatches, nb::tuple(mismatches),
                        result.largest);
}

nb::object statistics_of_path(nb::handle path, nb::handle dtype, bool ignore_trailing, bool no_cache,
                              nb::handle threads) {
  const FileOptions options = options_of(dtype, ignore_trailing, no_cache, threads);
  const std::string name = path_of(path);
  const Statistics s = run(options, [&](const FileOptions& o) { return statistics(name, o); });
  const auto object = [&](const std::optional<ElementBits>& bits) {
    return object_of(s.dtype, s.meaning, bits);
  };
  return nb::make_tuple(name_of(s.dtype, s.meaning), shape_of(s.shape), s.count, s.nan, s.positive_infinite,
                        s.negative_infinite, object(s.min), object(s.max), s.mean, s.standard_deviation,
                        object(s.median));
}

nb::object percentiles_of_path(nb::handle path, nb::handle percentages, nb::handle dtype,
                               bool ignore_trailing, bool no_cache, nb::handle threads) {
  const FileOptions options = options_of(dtype, ignore_trailing, no_cache, threads);
  const std::string name = path_of(path);
  std::vector<Number> numbers;
  for (const nb::handle percentage : percentages) {
    // The shortest text of a float is what the user means: 99.9 is 999/10.
    const Given given = number_of_argument("percentages", percentage);
    numbers.push_back(parse_number(given.text).value_or(given.number));
  }
  const Tensor tensor = tensor_in(name, options);
  const auto found = run(options, [&](const FileOptions& o) { return percentiles(name, numbers, o); });
  nb::list results;
  for (const std::optional<ElementBits>& element : found)
    results.append(object_of(tensor.dtype, tensor.meaning, element));
  return results;
}

nb::object tensor_in_path(nb::handle path, nb::handle dtype, bool ignore_trailing, bool no_cache) {
  const Tensor tensor = tensor_in(path_of(path), options_of(dtype, ignore_trailing, no_cache, nb::int_(1)));
  return nb::make_tuple(name_of(tensor.dtype, tensor.meaning), shape_of(tensor.shape), tensor.fortran_order,
                        tensor.order == ByteOrder::little ? "little" : "big");
}

nb::object profile_names() {
  nb::list names;
  for (const Profile& row : profiles()) names.append(nb::str(row.name.data(), row.name.size()));
  return nb::tuple(names);
}

}  // namespace

void add_file_functions(nb::module_& module) {
  using nb::arg;
  const auto any = [](const char* name) { return nb::arg(name).none(); };
  module.def("clip_file", clip_path, arg("input"), arg("output"), arg("request"), arg("members"), arg("only"),
             any("dtype"), arg("ignore_trailing"), arg("overwrite"), arg("sync"), arg("no_cache"),
             arg("threads"));
  module.def("clip_in_place", clip_path_in_place, arg("path"), arg("request"), arg("members"), arg("only"),
             any("dtype"), arg("ignore_trailing"), arg("direct"), arg("no_cache"), arg("threads"));
  module.def("compare", compare_paths, arg("actual"), arg("expected"), arg("rtol"), arg("atol"), any("ulp"),
             arg("nan_equal"), arg("bits"), arg("max_listed"), any("dtype"), arg("ignore_trailing"),
             arg("no_cache"), arg("threads"));
  module.def("statistics", statistics_of_path, arg("path"), any("dtype"), arg("ignore_trailing"),
             arg("no_cache"), arg("threads"));
  module.def("percentiles", percentiles_of_path, arg("path"), arg("percentages"), any("dtype"),
             arg("ignore_trailing"), arg("no_cache"), arg("threads"));
  module.def("tensor_in", tensor_in_path, arg("path"), any("dtype"), arg("ignore_trailing"), arg("no_cache"));
  module.def("profiles", profile_names, "The names of all profiles, the systems whose rules clip() follows.");
}

}  // namespace clipper::python
