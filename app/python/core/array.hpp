#pragma once

#include <cxxabi.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "clipper.hpp"

// numpy's C functions are pointers, which one file of the module defines and loads: it defines
// CLIPPER_LOADS_NUMPY before it includes this file.
#define PY_ARRAY_UNIQUE_SYMBOL clipper_numpy_api
#ifndef CLIPPER_LOADS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <nanobind/nanobind.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <numpy/arrayobject.h>
#pragma GCC diagnostic pop

/// numpy's arrays.
namespace clipper::python {

/// Takes the GIL again. While Python ends, versions before 3.14 end the threads that want the GIL by
/// unwinding their stacks; the thread waits for the end instead, because the destructors of its frames need
/// the GIL.
inline void take_gil(PyThreadState* thread) {
  try {
    PyEval_RestoreThread(thread);
  } catch (abi::__forced_unwind&) {
    for (;;) ::pause();
  }
}

/// Calls work() while other Python threads run. `work` must not use Python.
template <class Work>
auto without_gil(Work work) {
  PyThreadState* const thread = PyEval_SaveThread();
  std::exception_ptr failure;
  std::optional<decltype(work())> result;
  try {
    result.emplace(work());
  } catch (...) {
    failure = std::current_exception();
  }
  take_gil(thread);
  if (failure) std::rethrow_exception(failure);
  return *std::move(result);
}

inline bool has_no_signal() {
  return PyErr_CheckSignals() >= 0;
}

/// The same for long work in a thread of its own, while this thread looks for signals. If look() is false,
/// because it or a signal raised an exception, such as KeyboardInterrupt, `stop` becomes true, and the
/// exception is thrown as soon as work() has ended.
template <class Work, class Look = bool (*)()>
auto interruptible(std::atomic<bool>& stop, Work work, Look look = &has_no_signal) {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  std::optional<std::thread> thread;
  try {
    thread.emplace(std::ref(task));
  } catch (const std::system_error&) {  // no thread can be started
    without_gil([&] {
      task();
      return true;
    });
    return result.get();
  }
  bool raised = false;
  const auto wait = [&] {
    constexpr std::chrono::milliseconds kBetweenLooks{50};
    if (!raised) return result.wait_for(kBetweenLooks) == std::future_status::ready;
    result.wait();
    return true;
  };
  while (!without_gil(wait)) stop = raised = !look();
  thread->join();
  if (raised) throw nanobind::python_error();
  return result.get();
}

/// Bytes from which on other Python threads run meanwhile. Giving the GIL away and taking it back costs 0.05
/// us if nobody wants it, but 5 ms if a Python thread is calculating; two threads that clip less are slower
/// than one.
inline constexpr npy_intp kReleaseGil = 1L << 17;

/// Bytes from which on a signal such as Ctrl-C ends the work: more than 10 ms, of which starting a thread
/// takes less than a hundredth.
inline constexpr npy_intp kInterruptible = 1L << 26;

/// Calls work(stop) for an array of so many bytes, while other Python threads run if there are many.
template <class Work>
auto work_on(npy_intp bytes, Work work) {
  const auto work_to_the_end = [&] { return work(static_cast<const std::atomic<bool>*>(nullptr)); };
  if (bytes < kReleaseGil) return work_to_the_end();
  if (bytes < kInterruptible) return without_gil(work_to_the_end);
  std::atomic<bool> stop = false;
  return interruptible(stop, [&] { return work(&stop); });
}

namespace nb = nanobind;

/// A reference that is owned.
class Array {
 public:
  /// Takes a new reference, as numpy's functions return it; throws the Python error if it is null.
  explicit Array(PyObject* owned) : object_(nb::steal(owned)) {
    if (owned == nullptr) throw nb::python_error();
  }
  [[nodiscard]] PyArrayObject* get() const noexcept {
    return reinterpret_cast<PyArrayObject*>(object_.ptr());
  }
  [[nodiscard]] nb::object object() const { return object_; }

 private:
  nb::object object_;
};

struct ArrayType {
  DType dtype;
  ByteOrder order;
  friend bool operator==(const ArrayType&, const ArrayType&) = default;
};

/// The array's dtype, or nothing if clipper does not take it. `given` is what the user says about raw bytes
/// and integers: those of two bytes can be bfloat16, those of one byte a float.
[[nodiscard]] std::optional<ArrayType> type_of(PyArrayObject* array, std::optional<DType> given = {});

/// Throws a TypeError for a masked array.
void refuse_masked(std::string_view field, nb::handle object);

/// "float64 (2, 3)", for messages.
[[nodiscard]] std::string dtype_text(PyArrayObject* array);
[[nodiscard]] std::string shape_text(PyArrayObject* array);

[[nodiscard]] bool have_same_shape(PyArrayObject* a, PyArrayObject* b);

/// Whether both arrays, of the same shape, fill their memory without gaps and in the same order of axes.
[[nodiscard]] bool have_same_layout(PyArrayObject* a, PyArrayObject* b);

/// A new array like `array` in dtype, shape and, if numpy can keep it, order of axes.
[[nodiscard]] Array new_like(PyArrayObject* array, NPY_ORDER order);

/// The same with elements of another type. Error{usage} for one of ml_dtypes if this is not installed.
[[nodiscard]] Array new_like(PyArrayObject* array, const ArrayType& type, NPY_ORDER order = NPY_KEEPORDER);

/// A new array as numpy's functions of several arrays make it: of their common shape, with axes in the order
/// of their memory. Its elements are those of the first array, or of another type.
[[nodiscard]] Array new_for(const std::vector<PyArrayObject*>& arrays, const std::optional<ArrayType>& type);

/// The array, broadcast to the shape that it has in common with the others. Those with which it has none are
/// ignored.
[[nodiscard]] Array broadcast(const Array& array, const std::vector<PyArrayObject*>& others);

/// Whether `other` has more axes, or is longer in one in which `array` has one element.
[[nodiscard]] bool is_broader(PyArrayObject* other, PyArrayObject* array);

/// Whether `other` broadcasts to the shape of `array`.
[[nodiscard]] bool fits(PyArrayObject* other, PyArrayObject* array);

/// The array, or a copy of it in this machine's byte order.
[[nodiscard]] Array in_order(PyArrayObject* array, ByteOrder order);

/// The unit between the brackets of a type of dates or durations, as numpy writes it: "datetime64[25s]".
[[nodiscard]] TimeUnit unit_of(std::string_view type);

/// A contiguous array for compare_memory(), also of bool, dates, durations and complex numbers; nothing if
/// clipper does not compare its elements.
[[nodiscard]] std::optional<Tensor> comparable_tensor(PyArrayObject* array);

/// An array for the kernels; one with gaps in C order.
[[nodiscard]] Tensor tensor_of(PyArrayObject* array, const ArrayType& type);

[[nodiscard]] inline bool is_contiguous(PyArrayObject* array) {
  return PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array);
}

}  // namespace clipper::python
