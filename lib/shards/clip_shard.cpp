#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <span>
#include <utility>

#include "error.hpp"
#include "files/place.hpp"
#include "flows/figure_requests.hpp"
#include "flows/file_clip.hpp"
#include "flows/selection.hpp"
#include "formats/formats.hpp"
#include "npy/header.hpp"
#include "shards/shard.hpp"

namespace clipper {

namespace fs = std::filesystem;

namespace {

constexpr Term kShard{"shard", "a shard"};
constexpr Term kSlab{"split_output", "a slab"};

void check_slab_index(const std::string& index, const InputFile& input) {
  if (find_file(index) == id_of(input.status()))
    throw Error(ErrorKind::usage, input.path() + ": " + Term{"input", "the input"} +
                                      fmt::format(" is {}, which ", index) + kSlab + " would overwrite");
  OutputFile::check(index, OutputFile::Existing::replace);
}

/// Whether there is an index. Error{refused} if it has another text.
bool has_slab_index(const std::string& index, const std::string& text) {
  const Descriptor fd = open_file(index, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (fd.get() < 0 && errno == ENOENT) return false;
  if (fd.get() < 0) throw_system_error(index, "cannot be opened");
  std::string there(text.size() + 1, '\0');
  there.resize(read_at(fd, std::as_writable_bytes(std::span(there)), 0, index));
  const Message another = "choose another " + Message(Term{"output", "output"});
  if (const std::size_t kind = text.find(','); there.compare(0, kind, text, 0, kind) != 0)
    refuse(index, "is not a list of parts that shards made; " + another);
  if (there != text)
    refuse(index,
           "lists parts that other shards made of another input or with other parameters; remove it, or " +
               another);
  return true;
}

/// Of several shards that end at once, one writes the index.
void write_slab_index(const std::string& index, const std::string& text, os::Mode mode) {
  if (has_slab_index(index, text)) return;
  OutputFile file =
      OutputFile::create(index, OutputFile::Existing::must_be_new, OutputFile::Durability::none, mode);
  file.write(std::as_bytes(std::span(text)));
  try {
    file.commit();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused || !has_slab_index(index, text)) throw;
  }
}

/// The plan for the part of the job's shard.
Plan part_plan(const Plan& whole, const ShardJob& job) {
  Plan part = whole;
  part.slice = slice_of(job.shard, whole.output, npy::format(whole.output).size());
  return part;
}

class Part : public Prepared {
 public:
  Part(const Clipping& clipping, const ShardJob& job)
      : Prepared(clipping, open_input(job.in, Streams::refused, clipping.settings.reading.caching)),
        shard_(job.shard) {
    expect_tensor(input_, kShard);
    const Plan whole = plan_header(clipping_.settings, input_, plan_of_part);
    contents_ = std::make_unique<FileClip>(clipping_, input_, part_plan(whole, job));
    check_output_name(input_, archive_, job.out);
    if (result_frame(input_, whole.output, job.out, clipping_.settings.to_raw).front !=
        npy::format(whole.output))
      throw Error(ErrorKind::usage, job.out + ": " + kShard + " writes a .npy file; name OUT.npy");
    const bool must_be_new = job.existing == OutputFile::Existing::refuse;
    output_.emplace(job.out, make_run(job.shard.count, must_be_new, whole, input_), job.shard.index, input_,
                    clipping_.settings.durability);
    if (clipping_.purpose != Purpose::run) output_->check_run();
  }

  void write() override;

 private:
  Shard shard_;
  std::optional<ShardOutput> output_;
};

void Part::write() {
  const auto& [settings, engine, observer, result, purpose, is_named, takes_index, streams, out] = clipping_;
  output_->write_run();
  OutputFile part = output_->begin_part();
  part.set_caching(settings.reading.caching);
  const std::string header = npy::format(result.plan->output);
  const std::span start = std::as_bytes(std::span(header)).first(shard_.index == 0 ? header.size() : 0);
  std::atomic<std::uint64_t> sum = 0;
  const auto add = [&](std::uint64_t at, std::span<const std::byte> bytes) { sum += placed_sum(bytes, at); };
  const Counting counting = counting_of(settings);
  const StageCounts counts =
      engine.run(*result.plan, input_, part, start, counting, {.read = {}, .written = add});
  const auto last_read = std::chrono::steady_clock::now();
  if (counting == Counting::on) result.counts = counts;
  input_.expect_unwritten();
  complete(true);
  output_->commit(part, sum, [&] {
    input_.expect_unwritten_anywhere(last_read);
    clipping_.observer.placing();
  });
}

class Slab : public Prepared {
 public:
  Slab(const Clipping& clipping, const ShardJob& job, const SlabIndex& index_text)
      : Prepared(with_output(clipping, slab_path(job.out, job.shard)),
                 open_input(job.in, Streams::refused, clipping.settings.reading.caching)),
        existing_(job.existing),
        index_(slab_index_path(job.out)) {
    expect_tensor(input_, kSlab);
    const Plan whole = plan_header(clipping_.settings, input_, plan_of_part);
    const Rows rows = with_path(input_.path(), [&] { return rows_of(job.shard, whole.input); });
    text_ = index_text(whole, content_text(input_));
    check_slab_index(index_, input_);
    contents_ = std::make_unique<FileClip>(clipping_, input_, slab_plan(whole, rows));
    static_cast<void>(has_slab_index(index_, text_));
    check_output_name(input_, archive_, *clipping_.out);
    check_output(clipping_, *clipping_.out, existing_);
  }

  void write() override {
    write_output(existing_, [&] { write_slab_index(index_, text_, input_.mode_of_copy()); });
  }

 private:
  OutputFile::Existing existing_;
  std::string index_;
  std::string text_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_part(const Clipping& clipping, const ShardJob& job) {
  return std::make_unique<Part>(clipping, job);
}

std::unique_ptr<Prepared> prepare_slab(const Clipping& clipping, const ShardJob& job,
                                       const SlabIndex& index_text) {
  return std::make_unique<Slab>(clipping, job, index_text);
}

Join::Wanted run_of(const ClipSettings& settings, const std::string& in, OutputFile::Existing existing,
                    std::uint64_t shards) {
  InputFile input = open_as(settings.reading, in, Streams::refused);
  expect_tensor(input, kShard);
  const Plan plan = plan_header(settings, input, plan_of_part);
  const ShardRun run = make_run(shards, existing == OutputFile::Existing::refuse, plan, input);
  return [run](const std::optional<ShardRun>& there) -> std::optional<ShardRun> {
    if (run.shards == 0 && !there) return std::nullopt;
    ShardRun wanted = run;
    if (run.shards == 0) wanted.shards = there->shards;
    return wanted;
  };
}

std::string slab_index_path(const std::string& out) {
  return os::text_of(os::native(out).replace_extension(".json"));
}

std::string slab_path(const std::string& out, const Shard& shard) {
  const fs::path path = os::native(out);
  const std::string name = fmt::format("{}.{:05}-of-{:05}{}", os::text_of(path.stem()), shard.index,
                                       shard.count, os::text_of(path.extension()));
  return os::joined(os::text_of(path.parent_path()), name);
}

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
    os::unlinkat(place.directory(), place.name(), 0);  // of another run, or cut off
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
os::Mode ShardOutput::mode() const {
  if (!files_.replaced()) return 0600 | readers_ | readers_ >> 1;
  const os::Mode replaced = files_.replaced()->st_mode;
  const os::Mode all = replaced & replaced >> 3 & 07;
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
  os::Status status{};
  if (os::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 || os::fstat(fd.get(), &status) != 0 ||
      status.st_nlink != 1 || place.id() != id_of(status))
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
