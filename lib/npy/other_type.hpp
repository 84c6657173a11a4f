#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "element/logical_type.hpp"

/// The types that numpy writes and that are no dtypes of clipper, as the dict of a header names them.
namespace clipper::npy {

struct Descr;

/// A type whose elements clipper does not read.
struct OtherType {
  std::string name;          ///< as numpy prints it: "<U5", "[('x', '<f4')]"
  std::uint64_t size;        ///< bytes of an element in memory
  bool has_objects = false;  ///< the file has pickled Python objects instead of elements
};

/// A type that is no structured one. `kind` is numpy's: "f", "M".
struct Scalar {
  char kind;
  bool is_big;  ///< big-endian
  std::uint64_t size;
  TimeUnit unit{};
};

/// The descriptor without its first character, if that is a byte order.
[[nodiscard]] std::string_view without_order(std::string_view descr);

/// The type of a descriptor such as "<f4" and "|S5". Nothing unless numpy writes such a type on this machine.
[[nodiscard]] std::optional<Scalar> scalar(std::string_view descr);

/// The name of a type that is no dtype of clipper.
[[nodiscard]] std::string name_of(const Scalar& type);

/// The type of a list of fields. Error{input} unless numpy reads it.
[[nodiscard]] OtherType structured(const Descr& descr);

}  // namespace clipper::npy
