#pragma once

#if __cplusplus < 202002L
#error "clipper needs C++20: compile with -std=c++20 or later; <clipper/clipper.h> is for C99 and older C++"
#endif
#ifndef __cpp_exceptions
#error "clipper reports failures by exceptions: compile without -fno-exceptions, or use <clipper/clipper.h>"
#endif

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "contract/profile.hpp"
#include "element/dtype.hpp"
#include "element/logical_type.hpp"
#include "error.hpp"

/// Clips tensors in memory and in .npy, .npz, safetensors, raw and ONNX .pb files, byte for byte as NumPy,
/// PyTorch, ONNX or others do; compares them; calculates their statistics. The program uses the same code.
///
///     clipper::clip_file("in.npy", "out.npy", {.min = 0, .max = 6});
///     clipper::Counts counts = clipper::clip(values, {.max = 6});  // std::vector<float> values
///     clipper::clip_file("a.npy", "a-u8.npy", {.scale = 50, .bias = 128, .to = clipper::DType::uint8});
///
/// A Request (contract/profile.hpp) holds the bounds, scale, bias, and the profile: the system whose rules
/// apply. Numbers are exact until the profile converts them to the tensor's dtype.
///
/// Failures are reported as Error (error.hpp): a kind, the parameter at fault, and one line that names the
/// file and the offending value. The library prints nothing and installs no signal handler. All functions may
/// be called from several threads at once, for different tensors.
///
/// Threads: a call works in the thread that made it. If there is work for more, others help until the call
/// returns. For a file of several chunks these are threads of oneTBB, which the whole process shares. For
/// elements in memory (more than 4 MiB that are read and written; with more than two CPUs 2 MiB, or 256 KiB
/// if the last call was less than 100 us ago) they are clipper's own, which one call at a time has: others
/// clip alone meanwhile. On more than two CPUs they stay awake for at most 100 us after a call, to begin the
/// next one at once, then they sleep until the process ends or its plugin is unloaded. A call from inside of
/// a tbb::task_arena uses the threads of that arena and no others. A program limits clipper with an arena of
/// its own, or with the argument `threads`; 1 starts none.
#pragma GCC visibility push(default)
namespace clipper {

struct Plan;

/// The version of the library: "0.1.0".
[[nodiscard]] std::string_view version() noexcept;

/// What clipping did to a tensor's elements.
struct Counts {
  std::uint64_t elements = 0;  ///< all elements of the tensor

  /// Elements whose x * scale + bias is less than min, or whose result, after the rounding of Request::to or
  /// round, is less than the lowest value of its dtype; -inf is that of floats without Request::saturate.
  std::uint64_t raised = 0;

  /// Elements that are greater than max, or than the highest value, in the same way. If min exceeds max, the
  /// bound that every element becomes is the only bound.
  std::uint64_t lowered = 0;

  std::uint64_t nan = 0;       ///< NaNs after scale and bias, before Request::nan replaces them
  bool changed = false;        ///< whether an element has other bits or another dtype; false without elements
  std::uint64_t replaced = 0;  ///< elements that became Request::replace_below or replace_above

  /// Elements that are neither raised nor lowered: finite ones whose result is infinite.
  std::uint64_t became_infinite = 0;

  /// Elements that are neither raised nor lowered: those whose x * scale + bias is not 0, and whose result is
  /// 0, before Request::zero_point is added.
  std::uint64_t became_zero = 0;

  std::uint64_t nodata = 0;         ///< elements that equal one of Request::nodata; no other count has them
  std::uint64_t became_nodata = 0;  ///< others that became what these are in the result

  /// Of the later stages: see Request::then. Those above are of the first, but `changed` is of all.
  std::vector<Counts> then{};
};

/// How files are read and written.
struct FileOptions {
  /// The inputs' dtype: needed only for bfloat16 and float8 that were saved as `|V2`, `|V1` or integers,
  /// which keep their header. A byte order must be the file's.
  std::optional<OrderedDType> dtype{};
  bool ignore_trailing = false;  ///< false: bytes after an input's array are an Error{input}
  bool overwrite = true;         ///< false: an output that exists is an Error{refused}
  bool sync = false;             ///< flush the output to disk before returning (fsync)
  bool no_cache = false;         ///< leave inputs and outputs out of the kernel's page cache
  bool direct = false;  ///< clip_in_place() overwrites the elements; needs no room for a second file, and
                        ///< a request that leaves clipped elements as they are (Error{usage})

  /// Max number of threads. 0: those of the arena of oneTBB that the call is in, isolated from its other
  /// work; outside of one, all CPUs that this process may use. oneTBB's settings are the calling program's:
  /// it gives no more threads than max_allowed_parallelism, and none whose stack is smaller than 512 KiB.
  unsigned threads = 0;

  /// Becomes true in another thread to stop the work: the function then throws Error{cancelled} before the
  /// next chunk is read, and leaves files as after any other failure. Must outlive the call.
  const std::atomic<bool>* stop = nullptr;

  /// clip_file() and clip_in_place() call this in the thread that called them, at most ten times a second and
  /// before the complete result gets its name: the bytes of elements that are done, and of all. An exception
  /// from it ends the work as after any other failure.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress{};

  /// Names or np.load's keys of the members of an archive to clip, or patterns of fnmatch() for them; empty:
  /// all that `only` has. Each must match a member.
  std::vector<std::string> members{};

  /// Such names and patterns of members that are not clipped, even if `members` names them.
  std::vector<std::string> exclude_members{};

  /// Kinds of members to clip, unless `members` has their exact names: "float", "int", "bool", "date", "all",
  /// names of dtypes. Empty: floats and integers, with Request::to only floats. Other inputs ignore it.
  std::vector<std::string> only{};

  /// What inputs are that are neither .npy files, archives nor TensorProto files, as for the program's --raw:
  /// "float32:3,224,224". Empty: they are refused. Results are such files, too, except those whose names
  /// end in .npy, .pb or .onnx-tensor.
  std::string raw{};
  bool to_raw = false;  ///< results get no header; not in place, and not of archives

  /// As the program's --format: "pb" if inputs that are neither .npy files nor archives are TensorProto
  /// messages, whatever their names are; "auto" or empty if their names tell it.
  std::string format{};

  /// "-" is standard input or output, and "a.npz:w" the member w.npy of the archive a.npz, which can be read
  /// only, as for the program. Otherwise every path is that of a file with this name.
  bool special_paths = false;

  /// clip_file() and clip_in_place() give this .npz file its name after the result: min, max, scale, bias,
  /// subtract and divide as they were used, those of stage 2 as `2/min`, for from_fit(). Of an archive only
  /// one tensor is clipped, or Request::pooled is true. Only for profile clipper.
  std::string fit{};
};

/// The request with what a file of FileOptions::fit has of min, max, scale, bias, subtract and
/// divide, unless the request has it: `from_fit("fit.npz", {.to = clipper::DType::float32})`.
/// Error{usage} for other members of the file, and for another number of stages.
[[nodiscard]] Request from_fit(const std::filesystem::path& path, Request request = {},
                               const FileOptions& options = {});

/// A number of the request from a file that holds a tensor: `{.min = from_file("lo.npy")}`. A file with one
/// element gives a number. Any other file gives an array, which must broadcast to the tensor's shape by
/// numpy's rule without enlarging it: each element of the tensor has its own number. With profile clipper min
/// and max may have any numeric dtype and are exact bounds; scale and bias have the tensor's dtype, float32
/// or float64. Profile::Arrays says which profiles take arrays. Large arrays are read while they are used;
/// Error{io} if the file changes meanwhile. Of the options only raw, format and special_paths count: a raw
/// file has the dtype and, if it fits, the shape.
[[nodiscard]] Parameter from_file(const std::filesystem::path& path, const FileOptions& options = {});

/// Clips the tensor in the file `in` and writes it to the file `out`, which is replaced atomically: a reader
/// sees the old file or the complete new one. If `out` is the same file as `in`, this is clip_in_place().
/// With request.to the output's header names that dtype and its byte order, if it has one; shape, memory
/// order and otherwise byte order are the input's, or little-endian where its elements have one byte.
///
/// If `in` is an archive, `out` becomes an archive in which those tensors are clipped that options.members
/// and options.only select and the profile takes; everything else is copied. With request.to, integers are
/// copied unless they are selected. Counts are the sums over the clipped tensors. Files of bool, datetime64
/// and timedelta64, and such members that options.members names, are clipped, too, with the profiles clipper
/// and numpy: bool to 0, 1, "true" or "false", dates to dates that their unit has exactly, durations to
/// integers, which are numbers of their unit. NaT is a NaN.
Counts clip_file(const std::filesystem::path& in, const std::filesystem::path& out, const Request& request,
                 const FileOptions& options = {});

/// Replaces a file by the clipped tensor. The new file keeps owner, mode and attributes, and the header bytes
/// unless request.to changes the dtype; it is on disk before the function returns. A file
/// whose elements do not change is not written. With options.direct, repeat an interrupted call to finish it;
/// the counts then lack what the interrupted call counted, except `elements`.
Counts clip_in_place(const std::filesystem::path& path, const Request& request,
                     const FileOptions& options = {});

/// A C++ type that elements can have: integers of 8 to 64 bits, float, double, Float16 and BFloat16.
template <class T>
concept Element = (std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8) || std::same_as<T, float> ||
                  std::same_as<T, double> || HalfType<T>;

/// A contiguous range of writable elements: a vector, an array, a span.
template <class Range>
concept WritableElements =
    std::ranges::contiguous_range<Range> && Element<std::ranges::range_value_t<Range>> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

template <Element T>
[[nodiscard]] constexpr DType dtype_of() {
  const auto is_type = []<class U>() {
    if constexpr (std::integral<T> && std::integral<U>)  // long and long long can have one size
      return sizeof(T) == sizeof(U) && std::is_signed_v<T> == std::is_signed_v<U>;
    else
      return std::same_as<T, U>;
  };
  for (const DTypeTraits& row : kKernelDTypes)
    if (with_type(row.dtype, is_type)) return row.dtype;
  return DType::float32;
}

/// Clips `count` elements at `in` and writes them to `out`. Both must be the same memory or not overlap
/// (Error{usage}); they need no alignment, and the byte order is this machine's. With OnNan::error nothing is
/// written if there is a NaN. The profile checks them as a tensor of shape (count,). `threads` is as in
/// FileOptions.
///
/// If request.to is another dtype, `out` has `count` elements of it, in other memory. After an Error{input},
/// for a NaN that cannot become an integer, and after an Error{usage} for a parameter in an array, `out` may
/// hold anything if the request has one of the members after Request::min_above_max, or a reciprocal scale.
Counts clip(DType dtype, const void* in, void* out, std::size_t count, const Request& request,
            unsigned threads = 0);

/// Error{usage} if elements of `in` do not become elements of `out`.
void check_elements(DType in, DType out, const Request& request);

/// Clips elements in place. Error{usage} if request.to is another dtype.
template <WritableElements Elements>
Counts clip(Elements&& elements, const Request& request, unsigned threads = 0) {
  return clip(dtype_of<std::ranges::range_value_t<Elements>>(), std::ranges::data(elements),
              std::ranges::data(elements), std::ranges::size(elements), request, threads);
}

/// Clips the elements of `in` and writes them to `out`, whose elements have the dtype request.to, or that of
/// `in`: Error{usage} if they have another one, or if the sizes differ.
template <std::ranges::contiguous_range In, WritableElements Out>
requires Element<std::ranges::range_value_t<In>> Counts clip(const In& in, Out&& out, const Request& request,
                                                             unsigned threads = 0) {
  const DType dtype = dtype_of<std::ranges::range_value_t<In>>();
  check_elements(dtype, dtype_of<std::ranges::range_value_t<Out>>(), request);
  if (std::ranges::size(in) != std::ranges::size(out))
    throw Error(ErrorKind::usage, "in and out have different sizes");
  return clip(dtype, std::ranges::data(in), std::ranges::data(out), std::ranges::size(in), request, threads);
}

/// A tensor in memory. Its elements are contiguous unless it has strides.
struct Tensor {
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape{};  ///< each size is 0 or more; empty: one element
  bool fortran_order = false;         ///< the first axis is contiguous, not the last one
  ByteOrder order = kNativeOrder;
  LogicalType meaning{};  ///< compare_memory() takes all; other functions of memory throw Error{usage}

  /// For views of elements with gaps: how many bytes the next element along each axis is away, as in numpy.
  /// They replace fortran_order. PreparedClip and from_memory() throw Error{usage} unless it is empty.
  std::vector<std::int64_t> strides{};
};

/// A tensor in memory and its elements, which are read only, and which the view does not own.
struct TensorView {
  Tensor tensor;
  const void* elements;
};

/// A contiguous range of elements. Characters are not: a text is the path of a file.
template <class Range>
concept ReadableElements = std::ranges::contiguous_range<Range> &&
    Element<std::ranges::range_value_t<Range>> && !std::same_as<std::ranges::range_value_t<Range>, char>;

/// The tensor of one axis that has these elements.
template <ReadableElements Elements>
[[nodiscard]] Tensor tensor_for(const Elements& elements) {
  return {dtype_of<std::ranges::range_value_t<Elements>>(),
          {static_cast<std::int64_t>(std::ranges::size(elements))}};
}

/// A tensor in memory whose elements are written. Error{usage} if two of them have a byte in common.
struct WritableTensor {
  Tensor tensor;
  void* elements;
};

/// Clips a tensor in memory, also one with strides, to another of the same shape, which has the dtype
/// request.to or that of `in`, and its byte order. Elements with gaps are copied on the way. `in` and `out`
/// may share memory if they are the same view, or if one of them has gaps. `stop` is as in FileOptions; `out`
/// may then hold anything.
Counts clip(const TensorView& in, const WritableTensor& out, const Request& request, unsigned threads = 0,
            const std::atomic<bool>* stop = nullptr);

/// min, max, scale or bias from elements in memory, by the rules of from_file(). They are not copied: they
/// must exist and stay as they are while the result is used.
[[nodiscard]] Parameter from_memory(const Tensor& tensor, const void* elements);

/// The tensor in a file, by its header alone. The dtype of elements of `|V2` is options.dtype.
[[nodiscard]] Tensor tensor_in(const std::filesystem::path& path, const FileOptions& options = {});

/// A request that has been checked for tensors of one kind, and its numbers converted: clipping a few
/// elements then costs little more than a function call. Many threads may use the object. Calls with
/// `threads` other than 1 keep the threads that the first of them started.
class PreparedClip {
 public:
  /// Throws the errors of clip(). `elements` are read if a parameter is a percentile or a statistic. Results
  /// have the byte order of the tensor. `stop` ends the work as FileOptions::stop does, here and below; `out`
  /// may then hold anything.
  PreparedClip(const Request& request, const Tensor& tensor, const void* elements = nullptr,
               unsigned threads = 0, const std::atomic<bool>* stop = nullptr);

  /// As clipper::clip(), which is slower, because it also counts. `count` may differ from that of the tensor
  /// unless a parameter is an array (Error{usage}).
  void clip(const void* in, void* out, std::size_t count, unsigned threads = 0,
            const std::atomic<bool>* stop = nullptr) const;
  Counts clip_and_count(const void* in, void* out, std::size_t count, unsigned threads = 0,
                        const std::atomic<bool>* stop = nullptr) const;

  /// clip() of a view with strides, whose results are written to `out` without gaps and in C order. They have
  /// no byte in common.
  void clip(const TensorView& in, void* out, unsigned threads = 0,
            const std::atomic<bool>* stop = nullptr) const;

  /// Arrays in place of the request's bounds: `count` elements of the tensor's dtype in this machine's byte
  /// order. Null: the request's bound.
  struct BoundArrays {
    const void* min = nullptr;
    const void* max = nullptr;
    bool may_clobber_output = false;  ///< whether `out` may hold anything after a refusal, which is faster
  };

  /// clip() to arrays that differ from call to call, without preparing a request for each. Returns false, and
  /// has written nothing unless may_clobber_output, if a bound is NaN or a min exceeds its max, or if this
  /// takes more than a comparison of aligned elements, such as a conversion to another dtype: from_memory()
  /// and clip() then do it, or say what is refused. `out` has no byte in common with the arrays.
  [[nodiscard]] bool try_clip_with_arrays(const BoundArrays& bounds, const void* in, void* out,
                                          std::size_t count, unsigned threads = 0,
                                          const std::atomic<bool>* stop = nullptr) const;

 private:
  std::shared_ptr<const Plan> plan_;
};

/// Which elements match: |a - e| <= atol + rtol * |e| for the actual element a and the expected element e, as
/// in `clipper compare`.
struct CompareOptions {
  Number rtol{};                       ///< finite, 0 or more
  Number atol{};                       ///< finite, 0 or more
  std::optional<std::uint64_t> ulp{};  ///< floats at most this many representable values apart also match
  std::optional<bool> nan_equal{};     ///< any NaN matches any NaN; if empty, as `tolerance` says, or true

  /// As the program's --tolerance: the rtol, atol and nan_equal that "torch" (torch.testing.assert_close),
  /// "numpy" (numpy.testing.assert_allclose) or "allclose" (numpy.allclose, which sets any_dtype) have for
  /// the dtype. Error{usage} together with rtol or atol.
  std::string tolerance{};

  /// As the program's --any-dtype: numbers and bool, or complex numbers, of different dtypes are compared as
  /// exact numbers.
  bool any_dtype = false;

  /// Only identical bits match; rtol, atol, ulp and nan_equal are ignored. Error{usage} together with
  /// tolerance or any_dtype.
  bool bits = false;
  std::size_t max_listed = 1;  ///< how many mismatches Comparison::first lists
};

/// The result of comparing two tensors.
struct Comparison {
  struct Mismatch {
    std::vector<std::uint64_t> index;
    ElementBits actual;  ///< from_bits<float>(actual) for DType::float32
    ElementBits expected;
    ElementBits actual_imaginary = 0;  ///< of complex numbers
    ElementBits expected_imaginary = 0;
  };

  std::string reason;  ///< how dtypes or shapes differ; empty if they are equal and elements were compared

  /// Of the expected tensor, like meaning; with any_dtype that in which the expected elements were compared.
  DType dtype = DType::float32;
  DType actual_dtype = DType::float32;  ///< the same, unless no dtype has all numbers of both tensors
  LogicalType meaning{};                ///< element_text(dtype, meaning, element) is the element as text
  std::vector<std::int64_t> shape;      ///< of the expected tensor
  std::uint64_t compared = 0;
  std::uint64_t mismatches = 0;
  std::vector<Mismatch> first;  ///< the first mismatches, in the order of the expected file
  double largest = 0;           ///< the largest |a - e|, NaN left out; rounded for 64-bit integers and dates

  /// For people, if the tensors differ: "2 of 6 differ (33.3 %); first [0] actual -3.5 expected 0 ...".
  std::string summary;

  /// The same for an assertion, in lines: also the rule, NaN among them, and all of `first`.
  std::string report{};

  [[nodiscard]] bool equal() const noexcept { return reason.empty() && mismatches == 0; }
};

/// Compares two files that hold a tensor each, also of bool, dates, durations or complex numbers. With
/// special_paths one of them may be "-". Byte order and memory order may differ.
[[nodiscard]] Comparison compare_files(const std::filesystem::path& actual,
                                       const std::filesystem::path& expected,
                                       const CompareOptions& compare = {}, const FileOptions& options = {});

/// Compares two tensors in memory as compare_files() compares files. `stop` ends the work as
/// FileOptions::stop does.
[[nodiscard]] Comparison compare_memory(const TensorView& actual, const TensorView& expected,
                                        const CompareOptions& compare = {}, unsigned threads = 0,
                                        const std::atomic<bool>* stop = nullptr);

template <ReadableElements Actual, ReadableElements Expected>
[[nodiscard]] Comparison compare_memory(const Actual& actual, const Expected& expected,
                                        const CompareOptions& compare = {}, unsigned threads = 0) {
  return compare_memory(TensorView{tensor_for(actual), std::ranges::data(actual)},
                        TensorView{tensor_for(expected), std::ranges::data(expected)}, compare, threads);
}

/// For each percentage the number below which this share of the elements of the tensor in a file lies: see
/// Parameter::percentile(). Of floats it is rounded once to their dtype; of integers it is an element, or,
/// with a fraction, the nearest float64; a fraction is cut off from 2^53 on. Of bool, dates and durations it
/// is always an element: of two, the lower one. Nothing if all elements are NaN, NaN between -inf and inf.
/// from_bits<double>(scalar.bits) is the value if scalar.dtype is float64.
/// Error{usage} for a stream, and for a percentage that is not from 0 to 100 or has more than 16 decimal
/// places: parse_number("99.9") is exact, the double 99.9 is not.
[[nodiscard]] std::vector<std::optional<Scalar>> percentiles(const std::filesystem::path& path,
                                                             std::span<const Number> percentages,
                                                             const FileOptions& options = {});

/// The same of a tensor in memory. `stop` ends the work as FileOptions::stop does, here and below.
[[nodiscard]] std::vector<std::optional<Scalar>> percentiles(const TensorView& tensor,
                                                             std::span<const Number> percentages,
                                                             unsigned threads = 0,
                                                             const std::atomic<bool>* stop = nullptr);

template <ReadableElements Elements>
[[nodiscard]] std::vector<std::optional<Scalar>> percentiles(const Elements& elements,
                                                             std::span<const Number> percentages,
                                                             unsigned threads = 0) {
  return percentiles(TensorView{tensor_for(elements), std::ranges::data(elements)}, percentages, threads);
}

/// The statistics of a tensor's elements.
struct Statistics {
  DType dtype = DType::float32;
  LogicalType meaning{};  ///< NaT is counted as NaN; dates have no mean and no standard deviation
  std::vector<std::int64_t> shape;
  std::uint64_t count = 0;
  std::uint64_t nan = 0;
  std::uint64_t positive_infinite = 0;
  std::uint64_t negative_infinite = 0;
  std::optional<ElementBits> min;  ///< the least element, infinities included; empty if all are NaN
  std::optional<ElementBits> max;  ///< the greatest element, infinities included; empty if all are NaN
  std::optional<double> mean;      ///< of the finite elements; empty if there are none
  std::optional<double> standard_deviation;  ///< as mean; divisor: the number of finite elements
  std::optional<Scalar> median;              ///< of the elements that are not NaN; empty if all are NaN
};

/// Calculates the statistics of the tensor in a file. Mean and standard deviation are
/// rounded once from their exact values. The median of an even number of elements is half way between the two
/// middle ones, as percentiles() has it; of dates it is the lower one; half way between -inf and inf it is
/// NaN. It needs several passes over the file; a stream can be read only once and has no median.
[[nodiscard]] Statistics statistics(const std::filesystem::path& path, const FileOptions& options = {});

/// The same of a tensor in memory.
[[nodiscard]] Statistics statistics(const TensorView& tensor, unsigned threads = 0,
                                    const std::atomic<bool>* stop = nullptr);

template <ReadableElements Elements>
[[nodiscard]] Statistics statistics(const Elements& elements, unsigned threads = 0) {
  return statistics(TensorView{tensor_for(elements), std::ranges::data(elements)}, threads);
}

}  // namespace clipper
#pragma GCC visibility pop
