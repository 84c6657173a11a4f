#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "flows/figure_requests.hpp"
#include "python/core/module.hpp"

namespace clipper::python {

namespace {

PyArrayObject* array_in(nb::handle object) {
  return reinterpret_cast<PyArrayObject*>(object.ptr());
}

[[noreturn]] void refuse(std::string_view argument, const std::string& why) {
  throw Error(ErrorKind::usage, Term{argument, argument} + Message(" " + why));
}

nb::object of_parameters(const char* function) {
  return nb::module_::import_("clipper._parameters").attr(function);
}

/// x as an array: itself, the memory of another package's tensor, or a copy of a list or a number.
Array array_of(nb::handle x) {
  if (PyArray_CheckExact(x.ptr())) {
    Py_INCREF(x.ptr());
    return Array(x.ptr());
  }
  refuse_masked("x", x);
  if (PyUnicode_Check(x.ptr()) || PyBytes_Check(x.ptr()) || nb::hasattr(x, "__fspath__"))
    throw nb::type_error("x must be an array, not the path of a file, which clip_file() clips");
  if (!PyArray_Check(x.ptr()) && nb::hasattr(x, "__dlpack__"))
    return Array(of_parameters("array_of")(x).release().ptr());
  return Array(PyArray_FROM_O(x.ptr()));
}

ArrayType type_of_x(PyArrayObject* x, nb::handle dtype) {
  const std::optional<OrderedDType> given = dtype_in("dtype", dtype);
  const std::optional<ArrayType> type = type_of(x, given);
  if (!type) {
    const std::string_view kind(&PyArray_DESCR(x)->kind, 1);
    const bool is_raw = PyArray_DESCR(x)->type_num == NPY_VOID;
    const std::string advice =
        is_raw && PyArray_ITEMSIZE(x) == 2   ? "; if it is bfloat16, say dtype=\"bfloat16\""
        : is_raw && PyArray_ITEMSIZE(x) == 1 ? "; if it is a float8, say which one: dtype=\"float8_e4m3fn\""
        : kind == "b" || kind == "M" || kind == "m" ? "; np.clip takes it, and clip_file() files of it"
                                                    : "";
    throw Error(ErrorKind::input, Term{"x", "x"} + Message(" has dtype " + dtype_text(x) +
                                                           ", which is none of clipper's" + advice));
  }
  if (given && (given->dtype != type->dtype || given->order.value_or(type->order) != type->order))
    refuse("dtype", "is " + text_of(*given) + ", but x has dtype " + dtype_text(x));
  return *type;
}

void check_out(PyArrayObject* x, const ArrayType& type, const ArrayType& result, nb::handle out,
               nb::handle dtype) {
  PyArrayObject* const array = array_in(out);
  const std::string name(traits(result.dtype).name);
  const bool is_kept = result.dtype == type.dtype;
  if (array == x && !is_kept)
    refuse("out", "is x, whose elements cannot become " + name + " in the same memory");
  const std::optional<ArrayType> own =
      type_of(array, is_foreign(result.dtype) ? dtype_in("dtype", dtype) : std::nullopt);
  if (!own || own->dtype != result.dtype)
    refuse("out", "has dtype " + dtype_text(array) + ", but " +
                      (is_kept ? "x has dtype " + dtype_text(x) : "the result has dtype " + name));
  if (!have_same_shape(x, array))
    refuse("out", "has shape " + shape_text(array) + ", but the result has shape " + shape_text(x));
  if (!PyArray_ISWRITEABLE(array)) refuse("out", "is read-only");
}

/// Whether two arrays without gaps have a common byte.
bool overlap(PyArrayObject* a, PyArrayObject* b) {
  const std::less<const char*> before;
  return before(PyArray_BYTES(a), PyArray_BYTES(b) + PyArray_NBYTES(b)) &&
         before(PyArray_BYTES(b), PyArray_BYTES(a) + PyArray_NBYTES(a));
}

/// Whether the result can be written to `out` while x is read.
bool is_writable_meanwhile(PyArrayObject* out, PyArrayObject* x, const ArrayType& type,
                           const ArrayType& result) {
  if (type_of(out, result.dtype) != result || !have_same_layout(x, out)) return false;
  const bool is_in_place = PyArray_BYTES(x) == PyArray_BYTES(out) && type == result;
  return is_in_place || !overlap(x, out);
}

/// The elements, of one or two bytes, as unsigned integers.
Array as_integers(PyArrayObject* array) {
  PyArray_Descr* descr = PyArray_DescrFromType(PyArray_ITEMSIZE(array) == 1 ? NPY_UINT8 : NPY_UINT16);
  if (!PyArray_ISNOTSWAPPED(array)) {
    PyArray_Descr* const swapped = PyArray_DescrNewByteorder(descr, NPY_SWAP);
    Py_DECREF(reinterpret_cast<PyObject*>(descr));
    descr = swapped;
  }
  return Array(descr == nullptr ? nullptr : PyArray_View(array, descr, nullptr));
}

/// Copies elements of one dtype. numpy would convert bfloat16 that one array calls uint16 or raw bytes.
void copy(PyArrayObject* to, PyArrayObject* from) {
  const bool is_same = PyArray_EquivTypenums(PyArray_TYPE(to), PyArray_TYPE(from));
  const int failed =
      is_same ? PyArray_CopyInto(to, from) : PyArray_CopyInto(as_integers(to).get(), as_integers(from).get());
  if (failed != 0) throw nb::python_error();
}

void run(const PreparedClip& prepared, PyArrayObject* from, PyArrayObject* to, unsigned threads) {
  const auto count = static_cast<std::size_t>(PyArray_SIZE(from));
  work_on(PyArray_NBYTES(from), [&](const std::atomic<bool>* stop) {
    prepared.clip(PyArray_DATA(from), PyArray_DATA(to), count, threads, stop);
    return true;
  });
}

/// The same of an array with gaps; `to` has none and is in C order.
void run_view(const PreparedClip& prepared, PyArrayObject* from, const ArrayType& type, PyArrayObject* to,
              unsigned threads) {
  Tensor view = tensor_of(from, type);
  view.strides.assign(PyArray_STRIDES(from), PyArray_STRIDES(from) + PyArray_NDIM(from));
  work_on(PyArray_NBYTES(from), [&](const std::atomic<bool>* stop) {
    prepared.clip({view, PyArray_DATA(from)}, PyArray_DATA(to), threads, stop);
    return true;
  });
}

/// Prepares a request with parameters that are not remembered. Needs the elements of a contiguous array.
PreparedClip prepare(const HeldRequest& held, PyArrayObject* x, const ArrayType& type, unsigned threads) {
  const Tensor tensor = tensor_of(x, type);
  const void* const elements = PyArray_DATA(x);
  return work_on(PyArray_NBYTES(x), [&](const std::atomic<bool>* stop) {
    return PreparedClip(held.request, tensor, elements, threads, stop);
  });
}

/// Whether the array has an element for each of x's, of the same type and in the same order in memory.
bool lies_like(PyArrayObject* array, PyArrayObject* x, const ArrayType& type) {
  const int rank = PyArray_NDIM(array);
  const int outer = PyArray_NDIM(x) - rank;
  if (outer < 0 || type_of(array) != type || PyArray_SIZE(array) != PyArray_SIZE(x)) return false;
  if (!std::equal(PyArray_DIMS(array), PyArray_DIMS(array) + rank, PyArray_DIMS(x) + outer)) return false;
  if (PyArray_IS_C_CONTIGUOUS(array) && PyArray_IS_C_CONTIGUOUS(x)) return true;
  return outer == 0 && have_same_layout(x, array);
}

/// Clips to arrays that lie in memory like x, without preparing a request for them. Nothing if the arguments
/// are others, or if elements are refused.
std::optional<nb::object> clip_to_arrays(PlanCache& cache, const RequestArguments& arguments, const Array& x,
                                         const ArrayType& type, nb::handle out, unsigned threads) {
  for (std::size_t i = 0; i < kArgumentNames.size(); ++i)
    if (i != kMin && i != kMax && arguments.is_given(i)) return std::nullopt;
  if (type.order != kNativeOrder) return std::nullopt;
  PreparedClip::BoundArrays bounds;
  RequestArguments others = arguments;
  const auto take = [&](nb::handle& bound, const void*& elements) {
    if (!PyArray_Check(bound.ptr()) || !lies_like(array_in(bound), x.get(), type)) return true;
    elements = PyArray_DATA(array_in(bound));
    if (!out.is_none() && overlap(array_in(bound), array_in(out))) return false;
    bound = nb::none();
    return true;
  };
  if (!take(others[kMin], bounds.min) || !take(others[kMax], bounds.max)) return std::nullopt;
  if (bounds.min == nullptr && bounds.max == nullptr) return std::nullopt;
  const std::optional<PreparedClip> prepared = cache.find(others, x.get(), type);
  if (!prepared || (!out.is_none() && !is_writable_meanwhile(array_in(out), x.get(), type, type)))
    return std::nullopt;
  bounds.may_clobber_output = out.is_none();
  const Array to = out.is_none() ? new_like(x.get(), NPY_KEEPORDER) : Array(out.inc_ref().ptr());
  if (!have_same_layout(x.get(), to.get())) return std::nullopt;
  const auto count = static_cast<std::size_t>(PyArray_SIZE(x.get()));
  const bool clipped = work_on(PyArray_NBYTES(x.get()), [&](const std::atomic<bool>* stop) {
    return prepared->try_clip_with_arrays(bounds, PyArray_DATA(x.get()), PyArray_DATA(to.get()), count,
                                          threads, stop);
  });
  return clipped ? std::optional(to.object()) : std::nullopt;
}

/// The arrays among the parameters that broadcast with x.
std::vector<PyArrayObject*> arrays_in(const RequestArguments& arguments) {
  std::vector<PyArrayObject*> arrays;
  for (const nb::handle parameter : arguments.factors_and_bounds())
    if (PyArray_Check(parameter.ptr())) arrays.push_back(array_in(parameter));
  return arrays;
}

/// Whether an array has more axes than x, or more elements in one of them. Quick without arrays.
bool is_enlarged(PyArrayObject* x, const RequestArguments& arguments) {
  const auto is_broad = [&](nb::handle parameter) {
    return PyArray_CheckExact(parameter.ptr()) && is_broader(array_in(parameter), x);
  };
  return std::ranges::any_of(arguments.factors_and_bounds(), is_broad);
}

/// A new array with x's shape and, as np.clip's results have it, an order of axes that also depends on the
/// parameters, unless x is in C's order.
Array new_result(PyArrayObject* x, const ArrayType& type, const RequestArguments& arguments,
                 const ArrayType& result) {
  const auto cast = result == type ? std::nullopt : std::optional(result);
  std::vector<PyArrayObject*> arrays;
  if (!PyArray_IS_C_CONTIGUOUS(x)) arrays = arrays_in(arguments);
  std::erase_if(arrays, [&](PyArrayObject* array) { return !fits(array, x); });  // the request refuses them
  if (is_contiguous(x) && arrays.empty()) return cast ? new_like(x, *cast) : new_like(x, NPY_KEEPORDER);
  arrays.insert(arrays.begin(), x);
  return new_for(arrays, cast);
}

/// Whether no parameter belongs to some elements only: elements may then be clipped in any order.
bool is_free_of_order(const RequestArguments& arguments) {
  const auto is_number = [](nb::handle parameter) {
    PyObject* const object = parameter.ptr();
    return object == Py_None || PyFloat_Check(object) || PyLong_Check(object);
  };
  return std::ranges::all_of(arguments.factors_and_bounds(), is_number) && arguments[kNan].is_none() &&
         !arguments.is_given(kThen);
}

/// Kernels need elements without gaps, of which those of x are copied a part at a time. Where the result has
/// gaps, overlaps x or has another byte order, a new array takes its place.
nb::object clip_with(std::optional<PreparedClip> prepared, const RequestArguments& arguments, Array x,
                     const ArrayType& type, const ArrayType& result_type, nb::handle out, unsigned threads) {
  const Array result =
      out.is_none() ? new_result(x.get(), type, arguments, result_type) : Array(out.inc_ref().ptr());
  std::unique_ptr<HeldRequest> held;  // no optional, because clearing its 1,700 bytes takes time
  if (!prepared) {
    held = std::make_unique<HeldRequest>(request_of(arguments));
    if (!is_contiguous(x.get()) && has_figures(held->request))
      x = Array(PyArray_NewCopy(x.get(), NPY_CORDER));
    prepared = prepare(*held, x.get(), type, threads);
  }
  const auto overlaps_out = [&](const Array& array) { return overlap(array.get(), result.get()); };
  const bool is_direct = out.is_none() || (is_writable_meanwhile(result.get(), x.get(), type, result_type) &&
                                           (!held || std::ranges::none_of(held->arrays, overlaps_out)));
  const bool has_order = is_contiguous(x.get()) || !held || is_free_of_order(arguments);
  if (is_direct && has_order && have_same_layout(x.get(), result.get())) {
    try {
      run(*prepared, x.get(), result.get(), threads);
      return result.object();
    } catch (const Error& error) {  // run_view() tells the place of a refused element in C order
      if (!held || is_contiguous(x.get()) || error.kind() != ErrorKind::input) throw;
    }
  }
  if (is_direct && !is_contiguous(x.get()) && PyArray_IS_C_CONTIGUOUS(result.get())) {
    run_view(*prepared, x.get(), type, result.get(), threads);
    return result.object();
  }
  if (is_direct && !held) {
    copy(result.get(), x.get());
    run(*prepared, result.get(), result.get(), threads);
    return result.object();
  }
  const NPY_ORDER order = is_contiguous(x.get()) ? NPY_KEEPORDER : NPY_CORDER;
  const Array to = result_type == type ? new_like(x.get(), order) : new_like(x.get(), result_type, order);
  if (is_contiguous(x.get()))
    run(*prepared, x.get(), to.get(), threads);
  else
    run_view(*prepared, x.get(), type, to.get(), threads);
  copy(result.get(), to.get());
  return result.object();
}

/// The arguments, with plain bounds, and the references to what they have become. Cold: where
/// its code is inlined, a clip of a few elements takes 40 ns longer.
class PlainArguments {
 public:
  /// `descr` is numpy's dtype of the elements, or None for raw bytes. `place` is in front of warnings.
  [[gnu::cold]] PlainArguments(const RequestArguments& arguments, nb::handle descr, const ArrayType& type,
                               const std::string& place = "")
      : plain_(arguments) {
    const std::optional<DType> dtype = arguments.are_of_clipper() ? std::nullopt : std::optional(type.dtype);
    make_plain("min", plain_[kMin], min_, descr, dtype);
    make_plain("max", plain_[kMax], max_, descr, dtype);
    const bool is_exact =
        !is_floating(type.dtype) && (!arguments[kScale].is_none() || !arguments[kBias].is_none());
    if (!dtype || is_exact) return;
    const auto warn = is_floating(type.dtype) ? warn_of_integer : warn_of_fraction;
    warn(place + "min", plain_[kMin], arguments[kProfile], type.dtype);
    warn(place + "max", plain_[kMax], arguments[kProfile], type.dtype);
  }

  [[nodiscard]] const RequestArguments& get() const { return plain_; }

  /// Percentiles as bounds become numbers: those of x, not of the elements that x gets by broadcasting, which
  /// per_axis and mask choose from.
  [[gnu::cold]] void find_percentiles(nb::handle x, nb::handle dtype) {
    if (plain_.is_given(place_of(&Request::per_axis)) || plain_.is_given(place_of(&Request::mask))) return;
    for (const auto& [name, bound, kept] :
         {std::tuple("min", &plain_[kMin], &min_), std::tuple("max", &plain_[kMax], &max_)}) {
      if (!PyUnicode_Check(bound->ptr())) continue;
      const auto text = nb::cast<std::string>(*bound);
      if (!text.ends_with('%')) continue;
      if (plain_.is_given(place_of(&Request::nodata)) || plain_.is_given(kScale) || plain_.is_given(kBias))
        throw Error(
            ErrorKind::usage,
            argument(name) +
                ": a percentile beside scale, bias or nodata needs an x that has the shape of the result");
      const nb::object found = nb::module_::import_("clipper").attr("percentiles")(
          x, nb::make_tuple(text.substr(0, text.size() - 1)), nb::arg("dtype") = dtype);
      *kept = found[0];
      *bound = *kept;
    }
  }

 private:
  /// An array or a sequence gets the dtype of the elements.
  static void make_plain(std::string_view field, nb::handle& bound, nb::object& kept, nb::handle descr,
                         std::optional<DType> dtype) {
    if (needs_no_conversion(bound, dtype)) return;
    kept = plain(field, bound, dtype ? descr : nb::handle(Py_None));
    bound = kept;
  }

  RequestArguments plain_;
  nb::object min_;
  nb::object max_;
};

/// The dtype of numpy in which x has its elements; None for raw bytes.
nb::handle descr_of(PyArrayObject* x, const ArrayType& type) {
  return type_of(x) == type ? reinterpret_cast<PyObject*>(PyArray_DESCR(x)) : Py_None;
}

/// The type of what a clip gives. ml_dtypes knows only this machine's order.
ArrayType type_after(const ArrayType& type, nb::handle argument) {
  const std::optional<OrderedDType> to = dtype_in("to", argument);
  if (!to) return type;
  return {*to, is_foreign(*to) ? kNativeOrder : to->order.value_or(type.order)};
}

/// Arguments whose later stages are plain. Only the last result has a byte order.
class StagedArguments {
 public:
  /// `type` is that of the first stage's result, and becomes that of the last one's.
  [[gnu::cold]] StagedArguments(const RequestArguments& arguments, ArrayType& type) : staged_(arguments) {
    const auto name_of = [&] { return nb::str(traits(type.dtype).name.data()); };
    to_ = name_of();
    if (staged_.is_given(kTo)) staged_[kTo] = to_;
    for_each_later_stage(arguments[kThen], [&](const RequestArguments& given, const std::string& name) {
      if (traits(type.dtype).size == 1) type.order = kNativeOrder;
      const nb::object descr =
          is_foreign(type.dtype) ? nb::none() : nb::module_::import_("numpy").attr("dtype")(name_of());
      const PlainArguments plain(given, descr, type, name + ": ");
      type = type_after(type, given[kTo]);
      nb::dict stage;
      for (std::size_t i = 0; i < kThen; ++i)
        if (plain.get().is_given(i)) stage[kArgumentNames.at(i)] = plain.get()[i];
      if (given.is_given(kTo)) stage["to"] = name_of();
      stages_.append(stage);
    });
    staged_[kThen] = stages_;
  }

  [[nodiscard]] const RequestArguments& get() const { return staged_; }

 private:
  RequestArguments staged_;
  nb::object to_;
  nb::list stages_;
};

/// That of all threads, of which one has the GIL; without a GIL that of this thread.
PlanCache* plan_cache() {
#ifdef Py_GIL_DISABLED
  thread_local const auto own = std::make_unique<PlanCache>();
  return own.get();
#else
  static auto* const shared = new PlanCache;  // never destroyed: threads may run at the exit
  return shared;
#endif
}

/// Whether a number may become an integer of the float dtype and be another number. -1 also stands for an
/// integer of Python that exceeds all doubles.
bool may_become_integer(double value, DType dtype) {
  if (value == -1) PyErr_Clear();
  const int digits = traits(dtype).fraction_bits + 1;
  const double nearest = std::nearbyint(value);
  if (value == nearest) return std::fabs(value) >= std::ldexp(1, digits);
  return std::fabs(value - nearest) <= std::ldexp(std::max(std::fabs(nearest), 0x1p-6), 1 - digits);
}

/// Whether a bound must be made plain, or may deserve a warning. Quick for the usual ones: this is part of
/// each call.
bool deserves_a_look(nb::handle bound, PyArrayObject* x, const ArrayType& type) {
  PyObject* const object = bound.ptr();
  if (object == Py_None) return false;
  const bool is_float = is_floating(type.dtype);
  if (PyLong_Check(object)) return is_float && may_become_integer(PyLong_AsDouble(object), type.dtype);
  if (PyFloat_Check(object)) {
    const double value = PyFloat_AsDouble(object);
    return is_float ? may_become_integer(value, type.dtype) : value != std::trunc(value);
  }
  return !PyArray_CheckExact(object) || PyArray_DESCR(array_in(bound)) != PyArray_DESCR(x);
}

}  // namespace

nb::object clip_array(nb::handle x, const RequestArguments& given, nb::handle out, nb::handle dtype,
                      nb::handle thread_count) {
  if (!out.is_none() && !PyArray_Check(out.ptr())) {
    const nb::object memory = of_parameters("writable")(out);
    static_cast<void>(clip_array(x, given, memory, dtype, thread_count));
    return nb::borrow(out);
  }
  const unsigned threads = threads_of(thread_count);
  PlanCache* const cache = plan_cache();
  Array array = array_of(x);
  ArrayType type = type_of_x(array.get(), dtype);
  std::optional<PlainArguments> plain;
  if (deserves_a_look(given[kMin], array.get(), type) || deserves_a_look(given[kMax], array.get(), type))
      [[unlikely]]
    plain.emplace(given, descr_of(array.get(), type), type);
  const bool is_small = is_enlarged(array.get(), plain ? plain->get() : given);
  if (is_small) [[unlikely]] {
    if (!plain) plain.emplace(given, descr_of(array.get(), type), type);
    plain->find_percentiles(array.object(), dtype);
  }
  const RequestArguments& first = plain ? plain->get() : given;
  ArrayType result_type = type_after(type, first[kTo]);
  std::optional<StagedArguments> staged;
  if (first.is_given(kThen)) [[unlikely]]
    staged.emplace(first, result_type);
  const RequestArguments& arguments = staged ? staged->get() : first;
  if (result_type.order != type.order) {
    array = in_order(array.get(), result_type.order);
    type.order = result_type.order;
  }
  if (is_small) [[unlikely]]
    array = broadcast(array, arrays_in(arguments));
  if (!out.is_none()) check_out(array.get(), type, result_type, out, dtype);
  std::optional<PreparedClip> prepared = cache->find(arguments, array.get(), type);
  std::optional<nb::object> clipped;
  if (!prepared) clipped = clip_to_arrays(*cache, arguments, array, type, out, threads);
  if (clipped && (!out.is_none() || PyArray_CheckExact(x.ptr()))) return *std::move(clipped);
  nb::object result =
      clipped ? *std::move(clipped)
              : clip_with(std::move(prepared), arguments, std::move(array), type, result_type, out, threads);
  if (!out.is_none()) return result;
  if (PyArray_NDIM(array_in(result)) == 0)
    return nb::steal(PyArray_Return(reinterpret_cast<PyArrayObject*>(result.release().ptr())));
  if (PyArray_CheckExact(x.ptr())) return result;
  if (nb::hasattr(x, "_constructor") && nb::hasattr(x, "index"))
    return of_parameters("labelled")(x, result);  // pandas
  if (!nb::hasattr(x, "__array_wrap__")) return result;
  if (!PyArray_Check(x.ptr()) && nb::hasattr(x, "__dlpack__")) return result;  // torch's tensors
  return x.attr("__array_wrap__")(result);  // numpy's subclasses and xarray's types get a result of their own
}

}  // namespace clipper::python
