#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "element/dtype.hpp"

/// Elements of different dtypes as numbers of one.
namespace clipper {

/// int64 or uint64 if it has all values of both dtypes, otherwise float64.
[[nodiscard]] DType common_dtype(DType one, DType other);

/// Elements in a file's byte order.
struct RawElements {
  DType dtype;
  ByteOrder order;
  const std::byte* data;
};

/// Converts at most kPairBlock elements to common_dtype(), in this machine's byte order. Two elements become
/// equal only if their values are: where float64 has only one number for two integers, the actual one becomes
/// its neighbour.
void to_common_dtype(const RawElements& actual, const RawElements& expected,
                     std::span<std::uint64_t> actual_result, std::span<std::uint64_t> expected_result);

}  // namespace clipper
