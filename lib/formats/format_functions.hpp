#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "element/dtype.hpp"
#include "element/tensor_layout.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"

/// The functions of the rows of the table in formats.cpp.
namespace clipper {

// Of files that are one tensor: tensor_formats.cpp.
[[nodiscard]] Source raw_source(const InputFile& file, const Reading& how, MemberContents own);
[[nodiscard]] Source pb_source(const InputFile& file, const Reading& how, MemberContents own);

[[nodiscard]] Frame npy_frame(const TensorLayout& result, const Source* kept);
[[nodiscard]] Frame raw_frame(const TensorLayout& result, const Source* kept);
[[nodiscard]] Frame pb_frame(const TensorLayout& result, const Source* kept);

/// All bytes that the stream has left: up to 1 MiB in memory, more in an unnamed file.
[[nodiscard]] MemberContents contents_of_stream(InputFile& file);

/// The file that has the elements of a TensorProto, if another one has; nothing if it cannot be read.
[[nodiscard]] std::vector<std::string> external_file(const std::string& path);

// Of archives: archive_formats.cpp. The entries of an index are those of its files.
[[nodiscard]] bool begins_npz(std::span<const std::byte> start);
[[nodiscard]] Entries npz_entries(const InputFile& file, KeptFor kept_for);
[[nodiscard]] Source npz_entry(const InputFile& file, const std::string& path, const Entry& entry,
                               Check check, std::uint64_t size);
[[nodiscard]] Entries safetensors_entries(const InputFile& file, KeptFor kept_for);
[[nodiscard]] Entries index_entries(const InputFile& file, KeptFor kept_for);
[[nodiscard]] Source safetensors_entry(const InputFile& file, const std::string& path, const Entry& entry,
                                       Check check, std::uint64_t size);
[[nodiscard]] bool has_safetensors_dtype(DType dtype);

}  // namespace clipper
