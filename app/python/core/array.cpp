#include <algorithm>
#include <array>

#include "python/core/module.hpp"

namespace clipper::python {
namespace {

constexpr int kMaxRank = 64;  // numpy's

/// A dtype of ml_dtypes by the name of its type.
std::optional<DType> dtype_of_ml_dtypes(PyArray_Descr* descr) {
  static std::array<std::atomic<int>, kDTypes.size()>
      known{};  // numpy's numbers, chosen when ml_dtypes is imported
  if (descr->type_num < NPY_USERDEF) return std::nullopt;
  const auto* const found = std::find(known.begin(), known.end(), descr->type_num);
  if (found != known.end()) return kDTypes.at(static_cast<std::size_t>(found - known.begin())).dtype;
  const nb::handle type(reinterpret_cast<PyObject*>(descr->typeobj));
  const std::optional<DType> dtype = dtype_named(nb::cast<std::string>(type.attr("__name__")));
  if (!dtype || !is_foreign(*dtype)) return std::nullopt;
  known.at(static_cast<std::size_t>(*dtype)) = descr->type_num;
  return dtype;
}

std::optional<DType> dtype_of(PyArray_Descr* descr) {
  for (const DTypeTraits& row : kDTypes)
    if (row.descr[0] == descr->kind && row.descr[1] - '0' == PyDataType_ELSIZE(descr) &&
        !is_foreign(row.dtype))
      return row.dtype;
  return dtype_of_ml_dtypes(descr);
}

std::string text_of(nb::handle object) {
  return nb::cast<std::string>(nb::str(object));
}

/// numpy's dtype in this machine's byte order; a new reference.
PyArray_Descr* descr_of(DType dtype) {
  nb::object name;
  if (!is_foreign(dtype)) {
    name = nb::str(traits(dtype).descr.data(), traits(dtype).descr.size());
  } else {
    try {
      name = nb::module_::import_("ml_dtypes").attr(traits(dtype).name.data());
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_ImportError)) throw;
      throw Error(ErrorKind::usage, std::string(traits(dtype).name) + Message(" as ") + Term{"to", "to"} +
                                        " needs the package ml_dtypes, which adds it to numpy");
    }
  }
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(name.ptr(), &descr) == 0) throw nb::python_error();
  return descr;
}

/// The same in any byte order.
PyArray_Descr* descr_of(const ArrayType& type) {
  PyArray_Descr* const descr = descr_of(type.dtype);
  if (type.order == kNativeOrder) return descr;
  PyArray_Descr* const swapped = PyArray_DescrNewByteorder(descr, NPY_SWAP);
  Py_DECREF(reinterpret_cast<PyObject*>(descr));
  if (swapped == nullptr) throw nb::python_error();
  return swapped;
}

/// Whether the array's elements fill memory without gaps, in any order of axes.
bool is_dense(PyArrayObject* array) {
  std::array<std::pair<npy_intp, npy_intp>, kMaxRank> axes;
  int rank = 0;
  for (int i = 0; i < PyArray_NDIM(array); ++i)
    if (PyArray_DIM(array, i) != 1) axes.at(rank++) = {PyArray_STRIDE(array, i), PyArray_DIM(array, i)};
  std::sort(axes.begin(), axes.begin() + rank);
  npy_intp expected = PyArray_ITEMSIZE(array);
  for (int i = 0; i < rank; ++i) {
    if (axes[i].first != expected) return false;
    expected *= axes[i].second;
  }
  return true;
}

/// Whether a step along each axis passes the same number of elements in both arrays. Bytes say nothing: the
/// elements may differ in size.
bool have_same_steps(PyArrayObject* a, PyArrayObject* b) {
  for (int i = 0; i < PyArray_NDIM(a); ++i)
    if (PyArray_DIM(a, i) != 1 &&
        PyArray_STRIDE(a, i) * PyArray_ITEMSIZE(b) != PyArray_STRIDE(b, i) * PyArray_ITEMSIZE(a))
      return false;
  return true;
}

}  // namespace

std::optional<ArrayType> type_of(PyArrayObject* array, std::optional<DType> given) {
  PyArray_Descr* const descr = PyArray_DESCR(array);
  std::optional<DType> dtype = dtype_of(descr);
  const bool is_raw = descr->type_num == NPY_VOID && descr->kind == 'V';
  const bool has_size = given && static_cast<npy_intp>(traits(*given).size) == PyDataType_ELSIZE(descr);
  const bool is_integer = dtype && !is_floating(*dtype);
  if (has_size && is_foreign(*given) && (is_raw || is_integer)) dtype = given;
  if (!dtype) return std::nullopt;
  return ArrayType{*dtype, PyArray_ISNOTSWAPPED(array) ? kNativeOrder : ByteOrder::big};
}

void refuse_masked(std::string_view field, nb::handle object) {
  if (PyArray_Check(object.ptr()) && nb::hasattr(object, "mask"))
    throw nb::type_error(
        (std::string(field) + " must not be a masked array, because the mask would be lost").c_str());
}

std::string dtype_text(PyArrayObject* array) {
  return text_of(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
}

std::string shape_text(PyArrayObject* array) {
  return text_of(nb::handle(reinterpret_cast<PyObject*>(array)).attr("shape"));
}

bool have_same_shape(PyArrayObject* a, PyArrayObject* b) {
  return PyArray_NDIM(a) == PyArray_NDIM(b) &&
         std::equal(PyArray_DIMS(a), PyArray_DIMS(a) + PyArray_NDIM(a), PyArray_DIMS(b));
}

bool have_same_layout(PyArrayObject* a, PyArrayObject* b) {
  const bool in_c_order = PyArray_IS_C_CONTIGUOUS(a) && PyArray_IS_C_CONTIGUOUS(b);
  if (in_c_order || (PyArray_IS_F_CONTIGUOUS(a) && PyArray_IS_F_CONTIGUOUS(b))) return true;
  return have_same_steps(a, b) && is_dense(a);
}

Array new_like(PyArrayObject* array, NPY_ORDER order) {
  if (!PyArray_IS_C_CONTIGUOUS(array)) return Array(PyArray_NewLikeArray(array, order, nullptr, 0));
  PyArray_Descr* const descr = PyArray_DESCR(array);
  Py_INCREF(reinterpret_cast<PyObject*>(descr));
  return Array(PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(array), PyArray_DIMS(array), nullptr,
                                    nullptr, 0, nullptr));
}

Array new_like(PyArrayObject* array, const ArrayType& type, NPY_ORDER order) {
  return Array(PyArray_NewLikeArray(array, order, descr_of(type), 0));
}

Array new_for(const std::vector<PyArrayObject*>& arrays, const std::optional<ArrayType>& type) {
  const nb::object descr = type ? nb::steal(reinterpret_cast<PyObject*>(descr_of(*type)))
                                : nb::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(arrays.front())));
  std::vector<PyArrayObject*> operands = arrays;
  std::vector<npy_uint32> flags(arrays.size(), NPY_ITER_READONLY);
  std::vector<PyArray_Descr*> types(arrays.size(), nullptr);
  operands.push_back(nullptr);
  flags.push_back(NPY_ITER_WRITEONLY | NPY_ITER_ALLOCATE | NPY_ITER_NO_SUBTYPE);
  types.push_back(reinterpret_cast<PyArray_Descr*>(descr.ptr()));
  NpyIter* const iterator =
      NpyIter_MultiNew(static_cast<int>(operands.size()), operands.data(), NPY_ITER_ZEROSIZE_OK,
                       NPY_KEEPORDER, NPY_UNSAFE_CASTING, flags.data(), types.data());
  if (iterator == nullptr) throw nb::python_error();
  auto* const made = reinterpret_cast<PyObject*>(NpyIter_GetOperandArray(iterator)[arrays.size()]);
  Py_INCREF(made);
  NpyIter_Deallocate(iterator);
  return Array(made);
}

bool is_broader(PyArrayObject* other, PyArrayObject* array) {
  const int outer = PyArray_NDIM(other) - PyArray_NDIM(array);
  if (outer > 0) return true;
  for (int i = 0; i < PyArray_NDIM(other); ++i)
    if (PyArray_DIM(array, i - outer) == 1 && PyArray_DIM(other, i) != 1) return true;
  return false;
}

bool fits(PyArrayObject* other, PyArrayObject* array) {
  const int outer = PyArray_NDIM(array) - PyArray_NDIM(other);
  if (outer < 0) return false;
  for (int i = 0; i < PyArray_NDIM(other); ++i)
    if (PyArray_DIM(other, i) != 1 && PyArray_DIM(other, i) != PyArray_DIM(array, outer + i)) return false;
  return true;
}

Array broadcast(const Array& array, const std::vector<PyArrayObject*>& others) {
  // Not by np.broadcast_shapes, which takes 32 dimensions.
  std::vector<npy_intp> shape(PyArray_DIMS(array.get()),
                              PyArray_DIMS(array.get()) + PyArray_NDIM(array.get()));
  for (PyArrayObject* const other : others) {
    const auto rank = static_cast<std::size_t>(PyArray_NDIM(other));
    std::vector<npy_intp> common(std::max(shape.size(), rank), 1);
    std::ranges::copy_backward(shape, common.end());
    bool has_common = true;
    for (std::size_t i = 0; i < rank; ++i) {
      npy_intp& size = common[common.size() - rank + i];
      const npy_intp own = PyArray_DIM(other, static_cast<int>(i));
      has_common = has_common && (size == own || size == 1 || own == 1);
      if (size == 1) size = own;
    }
    if (has_common) shape = std::move(common);
  }
  nb::list sizes;
  for (const npy_intp size : shape) sizes.append(size);
  return Array(
      nb::module_::import_("numpy").attr("broadcast_to")(array.object(), nb::tuple(sizes)).release().ptr());
}

Array in_order(PyArrayObject* array, ByteOrder order) {
  PyArray_Descr* const descr =
      PyArray_DescrNewByteorder(PyArray_DESCR(array), order == ByteOrder::little ? NPY_LITTLE : NPY_BIG);
  if (descr == nullptr) throw nb::python_error();
  return Array(PyArray_FromArray(array, descr, 0));
}

Tensor tensor_of(PyArrayObject* array, const ArrayType& type) {
  return {type.dtype,
          {PyArray_DIMS(array), PyArray_DIMS(array) + PyArray_NDIM(array)},
          !PyArray_IS_C_CONTIGUOUS(array) && PyArray_IS_F_CONTIGUOUS(array),
          type.order};
}

TimeUnit unit_of(std::string_view type) {
  const std::size_t bracket = type.find('[') + 1;  // 0 if there is none
  return bracket == 0 ? TimeUnit{} : *parse_unit(type.substr(bracket, type.size() - bracket - 1));
}

std::optional<Tensor> comparable_tensor(PyArrayObject* array) {
  using Kind = LogicalType::Kind;
  if (const std::optional<ArrayType> type = type_of(array)) return tensor_of(array, *type);
  const auto as = [&](DType dtype, const LogicalType& meaning) {
    const ByteOrder order = PyArray_ISNOTSWAPPED(array) ? kNativeOrder : ByteOrder::big;
    Tensor tensor = tensor_of(array, {dtype, order});
    tensor.meaning = meaning;
    return std::optional(std::move(tensor));
  };
  switch (PyArray_DESCR(array)->type_num) {
    case NPY_BOOL: return as(DType::uint8, {Kind::boolean});
    case NPY_CFLOAT: return as(DType::float32, {Kind::complex});
    case NPY_CDOUBLE: return as(DType::float64, {Kind::complex});
    case NPY_DATETIME: return as(DType::int64, {Kind::datetime, unit_of(dtype_text(array))});
    case NPY_TIMEDELTA: return as(DType::int64, {Kind::timedelta, unit_of(dtype_text(array))});
    default: return std::nullopt;
  }
}

}  // namespace clipper::python
