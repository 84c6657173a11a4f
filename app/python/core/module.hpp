#pragma once

#include <cxxabi.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "clipper.hpp"
#include "contract/fields.hpp"
#include "formats/formats.hpp"

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

/// What the files of the module share: numpy's arrays, and Python objects as a Request.
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

// Python objects as a Request. `field` is the name of the argument.

/// The name of the argument in a message.
[[nodiscard]] Message argument(std::string_view field);

/// Throws a TypeError: `field` must be what is expected, not an object of this type.
[[noreturn]] void refuse_type(std::string_view field, nb::handle object, std::string_view expected);

/// An exact number: int of any size, float, str, numpy's scalars. Error{usage} or TypeError that name
/// `field`.
[[nodiscard]] Parameter number_of_argument(std::string_view field, nb::handle number);

/// Whether C++ code takes the parameter as it is: a number of Python or numpy, text, or an array of this
/// dtype, or of any without `dtype`.
[[nodiscard]] bool needs_no_conversion(nb::handle value, std::optional<DType> dtype = std::nullopt);

/// What clipper._parameters.plain() makes of a parameter that is none of these. `dtype` is numpy's, or None.
[[nodiscard]] nb::object plain(std::string_view field, nb::handle value, nb::handle dtype);

/// The int of a whole number, such as numpy's; TypeError for a bool and for what is none.
[[nodiscard]] nb::object int_of(std::string_view field, nb::handle number,
                                std::string_view expected = "an int");

/// A str or os.PathLike.
[[nodiscard]] std::string path_of(nb::handle path);

/// The characters of a str, which must outlive the result. ValueError for a NUL, which would end a path.
[[nodiscard]] std::string_view characters_of(nb::handle text);

/// The place of a member in fields::kAll.
template <class Type>
consteval std::size_t place_of(Type Request::*member) {
  std::size_t place = 0;
  while (fields::kAll.at(place).member != Field::Member(member)) ++place;
  return place;
}

/// Those which clip() looks at before it makes a request.
inline constexpr std::size_t kMin = place_of(&Request::min);
inline constexpr std::size_t kMax = place_of(&Request::max);
inline constexpr std::size_t kScale = place_of(&Request::scale);
inline constexpr std::size_t kBias = place_of(&Request::bias);
inline constexpr std::size_t kNan = place_of(&Request::nan);
inline constexpr std::size_t kProfile = place_of(&Request::profile);
inline constexpr std::size_t kMinAboveMax = place_of(&Request::min_above_max);
inline constexpr std::size_t kTo = place_of(&Request::to);

/// The later stages, which are behind those of fields::kAll.
inline constexpr std::size_t kThen = fields::kAll.size();

inline constexpr auto kArgumentNames = [] {
  std::array<const char*, kThen + 1> names{};
  for (std::size_t i = 0; i < kThen; ++i) names[i] = fields::kAll[i].name.data();
  names[kThen] = "then";
  return names;
}();

/// The places of rows in fields::kAll.
template <std::size_t kCount>
consteval auto places_of(const std::array<const Field*, kCount>& rows) {
  std::array<std::size_t, kCount> places{};
  for (std::size_t i = 0; i < kCount; ++i)
    places[i] = static_cast<std::size_t>(rows[i] - fields::kAll.data());
  return places;
}

/// The arguments of clip(), clip_file() and clip_in_place() that make the request: one for each of
/// fields::kAll, with the same place, and kThen. Borrowed.
class RequestArguments {
 public:
  RequestArguments() {
    for (std::size_t i = 0; i < handles_.size(); ++i) handles_[i] = absent(i);
  }

  /// One for each of kArgumentNames.
  explicit RequestArguments(PyObject* const* given) { std::copy_n(given, handles_.size(), handles_.begin()); }

  [[nodiscard]] nb::handle& operator[](std::size_t place) { return handles_[place]; }
  [[nodiscard]] nb::handle operator[](std::size_t place) const { return handles_[place]; }

  /// What stands for an argument that is not given.
  [[nodiscard]] static nb::handle absent(std::size_t place) { return kIsFlag[place] ? Py_False : Py_None; }

  [[nodiscard]] bool is_given(std::size_t place) const { return !handles_[place].is(absent(place)); }

  /// Whether an argument that only profile clipper has is given.
  [[nodiscard]] bool are_of_clipper() const {
    constexpr auto kPlaces =
        places_of(fields::rows([](const Field& field) { return field.is_of_clipper(); }));
    return std::ranges::any_of(kPlaces, [&](std::size_t place) { return is_given(place); });
  }

  /// Those that may be arrays which broadcast with x.
  [[nodiscard]] auto factors_and_bounds() const {
    constexpr auto kPlaces = places_of(fields::kBroadcasting);
    std::array<nb::handle, kPlaces.size()> handles;
    for (std::size_t i = 0; i < handles.size(); ++i) handles[i] = handles_[kPlaces[i]];
    return handles;
  }

 private:
  static constexpr auto kIsFlag = [] {
    std::array<bool, kArgumentNames.size()> is_flag{};
    for (std::size_t i = 0; i < kThen; ++i)
      is_flag[i] = std::holds_alternative<bool Request::*>(fields::kAll[i].member);
    return is_flag;
  }();

  std::array<nb::handle, kArgumentNames.size()> handles_;
};

/// The arguments in a dict, by their names. Throws a TypeError for others.
[[nodiscard]] RequestArguments arguments_of(const nb::dict& given);

/// Calls use(stage, name) for each dict of the argument `then`; errors begin with the name, "stage 2".
/// TypeError for what is neither a dict nor a list of dicts.
void for_each_later_stage(nb::handle then,
                          const std::function<void(const RequestArguments&, const std::string&)>& use);

/// A request, the arrays that it uses, and how files as its parameters are read.
struct HeldRequest {
  Request request{};
  std::vector<Array> arrays{};
  const FileOptions* options = nullptr;  ///< only while the request is made
  Reading reading{};                     ///< as the options say
};

/// Error{usage}, TypeError, or the errors of from_file().
[[nodiscard]] HeldRequest request_of(const RequestArguments& arguments,
                                     const FileOptions& files = {.special_paths = true});

/// The words of the arguments; Error{usage} for others.
[[nodiscard]] const Profile* profile_of(nb::handle profile);
[[nodiscard]] std::optional<MinAboveMax> min_above_max_of(nb::handle word);
[[nodiscard]] std::optional<OnNan::Action> nan_word_of(nb::handle nan);

/// clipper's name of a dtype, what np.dtype() takes, or a word that np.dtype() does not know, such as "bf16"
/// and what str() makes of torch.float16. A text has a byte order if it names one, an object if numpy calls
/// it ">". Error{usage} or the TypeError of np.dtype().
[[nodiscard]] std::optional<OrderedDType> dtype_in(std::string_view field, nb::handle dtype);

/// A number of threads, 0 or more. Error{usage} or TypeError.
[[nodiscard]] unsigned threads_of(nb::handle threads);

/// Issues a TruncationWarning if the profile cuts off the fraction of this bound of integers.
void warn_of_fraction(std::string_view field, nb::handle bound, nb::handle profile, DType dtype);

/// Issues a TruncationWarning for a bound that becomes an integer of a float dtype and is another number.
void warn_of_integer(std::string_view field, nb::handle bound, nb::handle profile, DType dtype);

/// clipper.clip() of Python.
[[nodiscard]] nb::object clip_array(nb::handle x, const RequestArguments& arguments, nb::handle out,
                                    nb::handle dtype, nb::handle threads);

/// Adds the functions for files, and those that compare and describe arrays. The functions of the package
/// clipper, whose arguments by name are the last one, give them names, defaults and documentation.
void add_file_functions(nb::module_& module);

/// Remembers the last requests whose parameters are int, float or arrays of one element, because checking and
/// converting them takes ten times as long as clipping a few elements. Used by one thread at a
/// time: the one that has the GIL.
class PlanCache {
 public:
  /// The prepared request for the arguments and tensors of this type and rank, which is prepared if it is not
  /// known; nothing if a parameter is none of these, or acts after the clip. A copy, because another thread
  /// may replace the entry as soon as it gets the GIL.
  [[nodiscard]] std::optional<PreparedClip> find(const RequestArguments& arguments, PyArrayObject* array,
                                                 const ArrayType& type);

 private:
  static constexpr std::array kRemembered{kMin, kMax, kScale, kBias, kNan};  ///< nan may also be a word

  struct KeyParameter {
    enum class Kind : std::uint8_t { none, integer, real, element };
    Kind kind = Kind::none;
    std::uint64_t bits = 0;
    friend bool operator==(const KeyParameter&, const KeyParameter&) = default;
  };

  struct Key {
    std::array<KeyParameter, kRemembered.size()> parameters;
    const Profile* profile = nullptr;
    ArrayType type{};
    std::uint8_t rank = 0;
    OnNan::Action nan = OnNan::by_profile;
    std::optional<MinAboveMax> min_above_max;
    friend bool operator==(const Key&, const Key&) = default;
  };

  struct Entry {
    Key key;
    std::optional<PreparedClip> prepared;
  };

  [[nodiscard]] static bool read(nb::handle number, const Key& key, KeyParameter& parameter);
  [[nodiscard]] static nb::object as_read(nb::handle number, const KeyParameter& parameter);
  [[nodiscard]] static std::size_t place_of(const Key& key);

  std::array<Entry, 256> entries_;
};

}  // namespace clipper::python
