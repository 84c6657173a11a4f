#pragma once

#include <exception>
#include <functional>
#include <string>

#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "files/replacement_batch.hpp"
#include "flows/clipping.hpp"

/// The ways to clip an .npz archive, which clip_file.hpp takes if its input is one: see ArchiveClip.
namespace clipper {

void clip_archive(const Clipping& clipping, const InputFile& input, const std::string& out,
                  OutputFile::Existing existing, ClipResult& result);

void replace_archive(const Clipping& clipping, InputFile input, ReplacementBatch& batch,
                     std::function<void(std::exception_ptr)> done, ClipResult& result);

/// A dry run of both.
void try_archive(const Clipping& clipping, const InputFile& input, ClipResult& result);

}  // namespace clipper
