#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "npz/archive.hpp"

/// CRC-32 and the deflate format: ISA-L calculates and inflates, zlib deflates. All functions may be called
/// from many threads. Error{io}, without a path in front, if the libraries cannot be loaded.
namespace clipper::npz {

/// Error{input} in a build without npz, before anything is read. Loads what reads archives.
void expect_codecs();

/// The function `name` of a shared library, which stays loaded until the program ends. Error{io} if the
/// library or the function is missing. Not in a static program.
[[nodiscard]] void* loaded_function(const char* soname, const char* name);

/// "libisal.so.2, libz.so.1", which are loaded when they are needed; "ISA-L, zlib" in a static program.
[[nodiscard]] std::string_view libraries() noexcept;

/// The CRC-32 of `bytes`, which follow bytes with the CRC-32 `before`.
[[nodiscard]] std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// The CRC-32 of bytes with CRC-32 `first` followed by `size` bytes with CRC-32 `second`.
[[nodiscard]] std::uint32_t crc32_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t size);

/// Deflates `bytes`, less than 2 GiB, alone, at zlib's level 6, which np.savez_compressed uses. The pieces of
/// a member, one after the other, are one deflate stream. `last` ends the stream.
[[nodiscard]] std::vector<std::byte> deflate_piece(std::span<const std::byte> bytes, bool last);

/// Inflates a member's data, which begins at byte `begin` of the archive, and gives it to `write` in order.
/// Error{input} if the data is damaged, or if its size or CRC-32 is not what `contents` says; `write` never
/// gets more bytes than that.
void inflate(const ReadAt& archive, std::uint64_t begin, const Contents& contents,
             const std::function<void(std::span<const std::byte>)>& write);

}  // namespace clipper::npz
