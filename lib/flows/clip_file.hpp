#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include "files/output_file.hpp"
#include "files/replacement_batch.hpp"
#include "flows/clipping.hpp"

/// The ways to clip a file: to another file, in place, and in place without a second file. Each function
/// opens, checks, plans, works and commits. No part of a result is visible before the result is complete.
namespace clipper {

/// Clips the planned input to a new output, which the caller commits. Error{refused} if the output is the
/// input file.
void write_output(const Clipping& clipping, InputFile& input, OutputFile& output, ClipResult& result);

/// Clips `in` to `out`; "-" is standard input or output. If `out` is `in`, call replace_file() instead: see
/// is_in_place().
void clip_to_file(const Clipping& clipping, const std::string& in, const std::string& out,
                  OutputFile::Existing existing, ClipResult& result);

/// Whether `out` is the file `in`, which is replaced then. Error{refused} if the names are two mounts of one
/// file, because the new file would get only one of them.
[[nodiscard]] bool is_in_place(const std::string& in, const std::string& out, OutputFile::Existing existing);

/// Replaces the file by its result, or leaves it alone if the result has the same bytes. `done` is called
/// once the file is in place, possibly by `batch` and later, or with the error that prevented it: see
/// ReplacementBatch. Errors that this function throws are not passed to `done`.
void replace_file(const Clipping& clipping, const std::string& path, ReplacementBatch& batch,
                  std::function<void(std::exception_ptr)> done, ClipResult& result);

/// Changes the elements of the file where they are, or finishes an interrupted change: see JournaledFile.
void rewrite_file(const Clipping& clipping, const std::string& path, ClipResult& result);

/// A dry run of clip_to_file(): throws the errors that it would throw before it writes, and counts. With
/// `makes_directory`, the directory of `out` may be missing.
void try_to_file(const Clipping& clipping, const std::string& in, const std::string& out,
                 OutputFile::Existing existing, bool makes_directory, ClipResult& result);

enum class Rewriting : std::uint8_t { with_second_file, direct };

/// A dry run of replace_file() or rewrite_file(): throws the errors that they would throw before they write,
/// and counts.
void try_in_place(const Clipping& clipping, const std::string& path, Rewriting rewriting, ClipResult& result);

/// For a run that checks all files before it creates the first output. Returns the size of the elements in
/// bytes; 0 for a stream, which is not opened, because that could consume its data. Throws the errors of
/// opening, reading the header and planning and, if `out` must be new, of OutputFile::create().
[[nodiscard]] std::uint64_t check_stream(const ClipSettings& settings);
[[nodiscard]] std::uint64_t check_to_file(const ClipSettings& settings, const std::string& in,
                                          const std::string& out, OutputFile::Existing existing,
                                          bool makes_directory);
[[nodiscard]] std::uint64_t check_in_place(const ClipSettings& settings, const std::string& path,
                                           Rewriting rewriting);

}  // namespace clipper
