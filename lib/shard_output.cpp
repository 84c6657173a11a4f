#include "shard_output.hpp"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <utility>

#include "error.hpp"

namespace clipper {
namespace {

using Durability = OutputFile::Durability;
using Existing = OutputFile::Existing;

void expect_other(const InputFile& input, const Place& place) {
  if (place.id() == id_of(input.status()))
    throw Error(ErrorKind::usage,
                fmt::format("{}: IN is {}, which a shard writes", input.path(), place.path()));
}

}  // namespace

ShardOutput ShardOutput::create(const std::string& out, const ShardRun& run, std::uint64_t shard,
                                const InputFile& input, Durability durability) {
  OutputFile::check(out, run.must_be_new ? Existing::refuse : Existing::replace);
  ShardOutput output(ShardFiles(out), run, shard, durability);
  const ShardFiles& files = output.files_;
  if (files.out().is_append_only()) refuse(out, "its directory is append-only");
  for (const Place& place : {files.run(), files.part(run, shard), files.record(run, shard)})
    expect_other(input, place);
  const std::optional<ShardRun> there = files.read_run();
  if (!there || text_of(*there) != text_of(run)) output.write(files.run(), text_of(run));
  return output;
}

ShardOutput::ShardOutput(ShardFiles files, const ShardRun& run, std::uint64_t shard, Durability durability)
    : files_(std::move(files)), run_(run), shard_(shard), durability_(durability) {
  if (durability == Durability::none) durability_ = Durability::visible;
}

/// What a shard writes is not to be read by more people than the file that the output replaces.
OutputFile ShardOutput::begin(Place place) const {
  const mode_t mode = files_.replaced() ? files_.replaced()->st_mode & 0777 : 0666;
  return OutputFile::create_own(std::move(place), mode, durability_);
}

OutputFile ShardOutput::begin_part() const {
  return begin(files_.part(run_, shard_));
}

void ShardOutput::write(Place place, const std::string& text) const {
  OutputFile file = begin(std::move(place));
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

void ShardOutput::commit(OutputFile& part, std::uint64_t sum) const {
  part.commit();
  write(files_.record(run_, shard_), record_text(run_, shard_, sum));
}

}  // namespace clipper
