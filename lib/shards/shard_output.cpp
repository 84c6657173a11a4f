#include "shards/shard_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <span>
#include <utility>

#include "error.hpp"
#include "files/mount.hpp"

namespace clipper {
namespace {

using Durability = OutputFile::Durability;
using Existing = OutputFile::Existing;

/// Error{usage} if the input is `place`; Error{io} if the name is not valid.
void expect_other(const InputFile& input, const Place& place) {
  if (place.is(id_of(input.status())))
    throw Error(ErrorKind::usage, input.path() + ": " + Term{"input", "the input"} +
                                      fmt::format(" is {}, which a shard would overwrite", place.path()));
}

ShardFiles checked(const std::string& out, const ShardRun& run) {
  OutputFile::check(out, run.must_be_new ? Existing::refuse : Existing::replace);
  return ShardFiles(out);
}

}  // namespace

ShardOutput::ShardOutput(const std::string& out, const ShardRun& run, std::uint64_t shard,
                         const InputFile& input, Durability durability)
    : files_(checked(out, run)),
      run_(run),
      shard_(shard),
      durability_(durability == Durability::none ? Durability::visible : durability),
      readers_(0444 & input.mode_of_copy()) {
  if (files_.out().is_append_only()) refuse(out, "its directory is append-only (chattr +a)");
  for (const Place& place :
       {files_.run(), files_.common(run), files_.part(run, shard), files_.record(run, shard)})
    expect_other(input, place);
}

/// Writes OUT.shards, the only file that several shards create, all with the same content. Does not rename
/// onto it: on GlusterFS, concurrent renames by several clients onto one name never returned.
void ShardOutput::write_run() {
  constexpr int kMaxTries = 20;
  const Place place = files_.run();
  const std::string text = text_of(run_);
  for (int tries = 1;; ++tries) {
    const std::optional<ShardRun> there = files_.read_run();
    if (there && there->fingerprint() == run_.fingerprint() && there->in_place.empty()) break;
    ::unlinkat(place.directory(), place.name(), 0);  // of another run, or cut off
    try {
      write(place, text, Existing::must_be_new);
      break;
    } catch (const Error& error) {
      const bool has_come = error.kind() == ErrorKind::refused;
      if (tries == kMaxTries || (!has_come && error.kind() != ErrorKind::io)) throw;
    }
  }
  held_ = files_.hold_run();
}

/// The files of a shard must not be readable by more people than the output that they replace, or the input
/// of a new one. Who may read may write, as far as the umask allows: several users may run shards. The group
/// may differ from the output's, and group bits may be the mask of an ACL, so the group gets the permissions
/// that everybody has.
mode_t ShardOutput::mode() const {
  if (!files_.replaced()) return 0600 | readers_ | readers_ >> 1;
  const mode_t replaced = files_.replaced()->st_mode;
  const mode_t all = replaced & replaced >> 3 & 07;
  return 0600 | all << 3 | all;
}

OutputFile ShardOutput::begin(Place place, Existing existing) const {
  return OutputFile::create_own(std::move(place), existing, mode(), durability_);
}

/// Opens and locks the common file. Join makes it the output only if no shard has it open, because a stopped
/// shard would go on writing to it. If it has a second name, that may be OUT, made by a Join that was killed.
/// Returns nothing if the file cannot be shared: the part is then its own file.
Descriptor ShardOutput::open_common() const {
  const Place place = files_.common(run_);
  if (!is_of_one_machine(place.directory())) return {};
  Descriptor fd = open_own(place, O_RDWR | O_CREAT, mode());
  struct stat status {};
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 || ::fstat(fd.get(), &status) != 0 || status.st_nlink != 1 ||
      place.id() != id_of(status))
    return {};
  return fd;
}

OutputFile ShardOutput::begin_part() {
  Descriptor common = open_common();
  in_common_ = common.get() >= 0;
  if (!in_common_) return begin(files_.part(run_, shard_), Existing::replace);
  return OutputFile::open_common(std::move(common), files_.common(run_),
                                 part_range({shard_, run_.shards}, run_.size).offset);
}

void ShardOutput::write(Place place, const std::string& text, Existing existing) const {
  OutputFile file = begin(std::move(place), existing);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

void ShardOutput::commit(OutputFile& part, std::uint64_t sum, const std::function<void()>& last_look) const {
  if (in_common_)
    part.close_common();
  else
    part.commit();
  last_look();
  write(files_.record(run_, shard_), text_of(run_, shard_, {sum, in_common_}), Existing::replace);
}

}  // namespace clipper
