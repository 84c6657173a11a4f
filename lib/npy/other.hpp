#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "element/logical_type.hpp"
#include "error.hpp"

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

// Recognises files of other formats, to say what they are.

/// The first bytes of every .npy file.
inline constexpr std::string_view kMagic = "\x93NUMPY";

/// The position of the major version in a file.
inline constexpr std::size_t kVersionAt = 6;

/// The first bytes of a file: magic, major and minor version.
using Start = std::array<std::byte, 8>;

/// The first bytes of a file whose elements are being overwritten, which no reader accepts, in place of
/// `start`: 4 bytes of `fingerprint` in place of "UMPY", kUnfinishedVersion as the major version, and the
/// true one as the minor version.
[[nodiscard]] Start unfinished_start(const Start& start, std::uint64_t fingerprint) noexcept;

/// The major version of a file whose elements are being overwritten.
inline constexpr std::byte kUnfinishedVersion{204};

/// Whether a file that begins with `start` has such first bytes.
[[nodiscard]] bool is_unfinished(std::span<const std::byte> start) noexcept;

/// What unfinished_start() replaced.
[[nodiscard]] Start finished_start(const Start& unfinished) noexcept;

/// How many of a file's first bytes tell what kind of file it is.
inline constexpr std::size_t kKindSize = 512;

/// Whether a file that begins with `start`, one byte or more, can be .npy: as far as both go, `start` is
/// kMagic, or the file is_unfinished().
[[nodiscard]] bool can_be_npy(std::span<const std::byte> start);

/// The error message for a file that begins with `start` and is not .npy: what it is instead, and how to
/// convert it. `start` is the first kKindSize bytes or the whole file; with less, fewer kinds are recognised.
/// `file` is what commands in the message call the file, `expected` what its name says that it is.
[[nodiscard]] Message not_npy(std::span<const std::byte> start, std::string_view file = "FILE",
                              std::string_view expected = "a .npy file");

/// Whether a file that begins with `start`, see not_npy(), is a PyTorch file, or a zip archive of .npy files.
[[nodiscard]] bool is_torch(std::span<const std::byte> start);
[[nodiscard]] bool is_npz(std::span<const std::byte> start);

}  // namespace clipper::npy
