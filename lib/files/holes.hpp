#pragma once

#include <cstdint>

#include "files/input_file.hpp"

/// The holes of files: bytes that are zero and take up no disk space.
namespace clipper {

/// Whether a regular file takes up less disk space than its size. Members of archives count as dense.
[[nodiscard]] bool is_sparse(const InputFile& file) noexcept;

/// The bytes of a sparse file that take up disk space.
[[nodiscard]] std::uint64_t stored_bytes(const InputFile& file) noexcept;

struct Hole {
  std::uint64_t begin;
  std::uint64_t end;  ///< equal to `begin`: there is none
};

/// The first hole of the file between the bytes `from` and `end`. Other programs may fill it at any time.
[[nodiscard]] Hole next_hole(const InputFile& file, std::uint64_t from, std::uint64_t end) noexcept;

}  // namespace clipper
