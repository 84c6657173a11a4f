#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "error.hpp"

/// Recognises files of other formats, to say what they are.
namespace clipper::npy {

/// The first bytes of every .npy file.
inline constexpr std::string_view kMagic = "\x93NUMPY";

/// How many of a file's first bytes tell what kind of file it is.
inline constexpr std::size_t kKindSize = 512;

/// Whether a file that begins with `start`, one byte or more, can be .npy: as far as both go, `start` is
/// kMagic.
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
