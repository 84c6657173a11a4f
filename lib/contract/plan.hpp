#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clip/clip.hpp"
#include "contract/bounds.hpp"
#include "contract/profile.hpp"
#include "npy/header.hpp"

/// Request + Header -> Plan: every rule is checked here, before anything has been created.
namespace clipper {

/// Elements of a tensor that follow each other in its file.
struct Slice {
  std::uint64_t first = 0;  ///< how many come before
  std::uint64_t count = 0;
};

/// What will be done to a tensor or to a part of it, fully decided.
struct Plan {
  npy::Header header;  ///< the input's; the output's but for `data_offset`
  Slice slice;         ///< the elements that are read, clipped and written: all, or one shard's
  Operation operation;
  std::vector<CutBound> cut;  ///< what the user should know of the bounds
  bool refuse_nan = false;    ///< a NaN among the results is an error that names the first one

  /// Where the slice is in the input, and its size, in bytes.
  [[nodiscard]] std::uint64_t data_offset() const {
    return header.data_offset + slice.first * traits(header.dtype).size;
  }
  [[nodiscard]] std::uint64_t data_size() const { return slice.count * traits(header.dtype).size; }

  /// Two plans with the same one make the same bytes of the same input. It begins with the number of its
  /// format; interrupted work that is on a disk is known by it, so another text needs another number.
  [[nodiscard]] std::string fingerprint() const;
};

/// A bound that elements are compared with, exactly as it was given: nothing is converted.
struct Limit {
  Number number;                       ///< never NaN
  std::string text;                    ///< as typed, or the element in an @file.npy
  std::optional<ElementBits> element;  ///< the nearest one within; none: all elements are beyond
};

/// What Request::min and Request::max say as limits: elements less than min, and greater than max, are
/// beyond. Error{usage} for a NaN, and for a file's number of another dtype.
[[nodiscard]] std::optional<Limit> min_limit(const Request& request, DType dtype);
[[nodiscard]] std::optional<Limit> max_limit(const Request& request, DType dtype);

/// Throws Error{usage} for numbers and combinations that the profile forbids and for a file's number of
/// another dtype, Error{input} for tensors that the profile does not take.
[[nodiscard]] Plan make_plan(const Request& request, const npy::Header& header);

/// "float32 (3, 4), min 0, max 6": the plan with its numbers as converted. For people only.
[[nodiscard]] std::string describe(const Plan& plan);

}  // namespace clipper
