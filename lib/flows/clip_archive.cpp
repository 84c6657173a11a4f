#include "flows/clip_archive.hpp"

#include <utility>

#include "flows/archive_clip.hpp"

namespace clipper {
namespace {

void complete(const Clipping& clipping, ClipResult& result, bool written) {
  result.written = written;
  clipping.observer.complete(result);
}

}  // namespace

void clip_archive(const Clipping& clipping, const InputFile& input, const std::string& out,
                  OutputFile::Existing existing, ClipResult& result) {
  ArchiveClip clip(clipping, input);
  OutputFile output = OutputFile::create(out, existing, clipping.settings.durability, input.mode_of_copy());
  clip.write(output, Headers::numpys, result);
  input.expect_unwritten();
  complete(clipping, result, true);
  output.commit();
}

void replace_archive(const Clipping& clipping, InputFile input, ReplacementBatch& batch,
                     std::function<void(std::exception_ptr)> done, ClipResult& result) {
  ArchiveClip clip(clipping, input);
  if (OutputFile::space_beside(input) < input.size()) batch.commit();  // frees the space of replaced files
  OutputFile output = OutputFile::create_in_place(input);
  if (!clip.changes()) {
    clip.count(result);
    input.expect_unchanged();
    complete(clipping, result, false);
    return done(nullptr);
  }
  clip.write(output, Headers::kept, result);
  complete(clipping, result, true);
  batch.add({std::move(input), std::move(output), std::move(done)});
}

void try_archive(const Clipping& clipping, const InputFile& input, ClipResult& result) {
  ArchiveClip(clipping, input).count(result);
  complete(clipping, result, false);
}

}  // namespace clipper
