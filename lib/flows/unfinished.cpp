#include "flows/unfinished.hpp"

#include <memory>
#include <optional>

#include "error.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "files/place.hpp"
#include "flows/clip_file.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"

namespace clipper {
namespace {

/// Error{input} for what no input of any kind can be.
void expect_sound(const ClipSettings& settings, InputFile& output) {
  if (output.file_size() == 0) throw Error(ErrorKind::input, output.path() + ": is empty");
  read_as(output, {});
  if (is_archive(output)) return static_cast<void>(Container(output, KeptFor::reading).entries());
  if (settings.to_raw || settings.reading.raw) return;
  static_cast<void>(read_header(output, {}, nullptr, std::nullopt, npy::Opaque::taken, npy::Types::all));
}

}  // namespace

std::string why_unfinished(const Clipping& clipping, const std::string& in, const std::string& out) {
  std::unique_ptr<Prepared> job;
  try {
    if (find_file(in))
      job = prepare_to_file(clipping, in, out, OutputFile::Existing::replace, Directory::made_by_run);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::io) return error.what();
  }
  try {
    InputFile output = InputFile::open_regular(out);
    if (job)
      job->expect_written(output, out);
    else
      expect_sound(clipping.settings, output);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace clipper
