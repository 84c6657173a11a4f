#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <vector>

#include "contract/profile.hpp"
#include "element/dtype.hpp"
#include "error.hpp"

/// Clips .npy tensors and tensors in memory, byte for byte as numpy, DirectML, ONNX or OpenVINO do; compares
/// tensors, and tells what is in them. The program clipper works through the same code.
///
///     clipper::clip_file("in.npy", "out.npy", {.min = 0, .max = 6});
///     clipper::Counts counts = clipper::clip(values, {.max = 6});  // std::vector<float> values
///
/// A Request (contract/profile.hpp) has the bounds, scale, bias, and the profile, which is the system whose
/// rules apply. Numbers are exact: a bound is converted to the tensor's dtype once.
///
/// Every failure is an Error (error.hpp): its kind, the parameter that it is about, and one line that names
/// the file and the offending value. Nothing is printed, and no handler is installed. All functions may be
/// called from several threads at once, for different tensors.
namespace clipper {

/// What an operation did to a tensor's elements, after scale and bias.
struct Counts {
  std::uint64_t elements = 0;  ///< all
  std::uint64_t raised = 0;    ///< were less than min
  std::uint64_t lowered = 0;   ///< were greater than max
  std::uint64_t nan = 0;       ///< are NaN before Request::nan replaces them
  bool changed = false;        ///< whether the bits of any element are others than before
};

/// How files are read and written.
struct FileOptions {
  std::optional<DType> dtype{};  ///< the inputs' dtype: needed for bfloat16 that was saved as `|V2`
  bool ignore_trailing = false;  ///< otherwise bytes after an input's array are an Error{input}
  bool overwrite = true;         ///< otherwise an output that exists is an Error{refused}
  bool sync = false;             ///< the output is on the disk before the function returns
  bool direct = false;           ///< clip_in_place() overwrites the elements and keeps no second file
  unsigned threads = 0;          ///< max; 0: all CPUs that this process may use
};

/// Clips the tensor in `in` to `out`; "-" is standard input or output. `out` is replaced at once and as a
/// whole: a reader sees the old file or the complete new one. An `out` that is the file `in` is replaced as
/// by clip_in_place().
Counts clip_file(const std::string& in, const std::string& out, const Request& request,
                 const FileOptions& options = {});

/// Replaces the file by its result, which keeps the file's header, owner, mode and attributes. A file whose
/// elements do not change is not written. The result is on the disk before the function returns. With
/// options.direct a change that was interrupted is finished by the same call; then `elements` alone is known
/// of the counts that were made before.
Counts clip_in_place(const std::string& path, const Request& request, const FileOptions& options = {});

/// A C++ type of elements: integers of 8 to 64 bits, float, double, Float16 and BFloat16.
template <class T>
concept Element = (std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8) || std::same_as<T, float> ||
                  std::same_as<T, double> || HalfType<T>;

/// Elements that follow each other in memory and can be written.
template <class Range>
concept WritableElements =
    std::ranges::contiguous_range<Range> && Element<std::ranges::range_value_t<Range>> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

template <Element T>
[[nodiscard]] constexpr DType dtype_of() {
  if constexpr (std::same_as<T, Float16>) return DType::float16;
  if constexpr (std::same_as<T, BFloat16>) return DType::bfloat16;
  const NumberKind kind = !std::integral<T>     ? NumberKind::floating
                          : std::is_signed_v<T> ? NumberKind::signed_integer
                                                : NumberKind::unsigned_integer;
  for (const DTypeTraits& row : kDTypes)
    if (row.kind == kind && row.size == sizeof(T)) return row.dtype;
  return DType::float32;
}

/// Clips `count` elements of this machine's byte order from `in` to `out`, which are the same place or do not
/// overlap, of any alignment. With Request::nan as an error nothing is written if there is a NaN. The
/// elements are a tensor of one dimension to profiles that look at the rank. `threads`: as
/// FileOptions::threads.
Counts clip(DType dtype, const void* in, void* out, std::size_t count, const Request& request,
            unsigned threads = 0);

/// Clips elements in place: a vector, an array, a span.
template <WritableElements Elements>
Counts clip(Elements&& elements, const Request& request, unsigned threads = 0) {
  return clip(dtype_of<std::ranges::range_value_t<Elements>>(), std::ranges::data(elements),
              std::ranges::data(elements), std::ranges::size(elements), request, threads);
}

/// Clips the elements of `in` to `out`, which has as many. Error{usage} if not.
template <std::ranges::contiguous_range In, WritableElements Out>
requires std::same_as<std::ranges::range_value_t<In>, std::ranges::range_value_t<Out>> Counts
clip(const In& in, Out&& out, const Request& request, unsigned threads = 0) {
  if (std::ranges::size(in) != std::ranges::size(out))
    throw Error(ErrorKind::usage, "in and out have different sizes");
  return clip(dtype_of<std::ranges::range_value_t<In>>(), std::ranges::data(in), std::ranges::data(out),
              std::ranges::size(in), request, threads);
}

/// When an element matches the expected one: |a - e| <= atol + rtol * |e|, as by `clipper compare`.
struct CompareOptions {
  Number rtol{};                        ///< finite, not negative
  Number atol{};                        ///< finite, not negative
  std::optional<std::uint64_t> ulps{};  ///< floats match, too, that are at most so many steps apart
  bool nan_equal = true;                ///< any NaN matches any NaN
  bool bits = false;                    ///< only the same bits match: the other members say nothing
  std::size_t max_listed = 1;           ///< mismatches that are listed
};

/// What came of comparing two tensors.
struct Comparison {
  struct Mismatch {
    std::vector<std::uint64_t> index;
    ElementBits actual;  ///< from_bits<float>(actual) for DType::float32
    ElementBits expected;
  };

  std::string reason;  ///< the dtypes or shapes differ: how; otherwise empty, and the elements were compared
  DType dtype = DType::float32;     ///< of the expected tensor
  std::vector<std::int64_t> shape;  ///< of the expected tensor
  std::uint64_t compared = 0;
  std::uint64_t mismatches = 0;
  std::vector<Mismatch> first;  ///< the first ones, in the order of the expected file
  double largest = 0;           ///< |a - e| of all elements but NaN; of 64-bit integers rounded

  [[nodiscard]] bool equal() const noexcept { return reason.empty() && mismatches == 0; }
};

/// Compares two .npy files, of which one may be "-". Byte order and memory order need not be the same.
[[nodiscard]] Comparison compare_files(const std::string& actual, const std::string& expected,
                                       const CompareOptions& compare = {}, const FileOptions& options = {});

/// What is in a tensor.
struct Statistics {
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::uint64_t count = 0;
  std::uint64_t nan = 0;
  std::uint64_t positive_infinite = 0;
  std::uint64_t negative_infinite = 0;
  std::optional<ElementBits> min;  ///< of all elements but NaN; nothing if there are none
  std::optional<ElementBits> max;
  std::optional<double> mean;  ///< of the finite elements; nothing if there are none
};

/// Reads the tensor in the file once; "-" is standard input.
[[nodiscard]] Statistics statistics(const std::string& path, const FileOptions& options = {});

}  // namespace clipper
