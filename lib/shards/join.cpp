#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <new>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/place.hpp"
#include "shards/shard.hpp"
#include "shards/shard_files.hpp"

namespace clipper {
namespace {

constexpr auto kPause = std::chrono::milliseconds(100);
constexpr auto kPatience = std::chrono::seconds(5);
constexpr Term kJoin{"finalize", "process", Says::advice};
constexpr std::string_view kMeanwhile = " has already finished it";
constexpr std::string_view kNoShards = "no shards to finalize: none have run, or they are already finalized";

/// "shard 3 of 8 is missing", "shards 1, 4 to 7 of 8 are missing"
std::string subject(const std::vector<std::uint64_t>& shards, std::uint64_t all, std::string_view one,
                    std::string_view many) {
  const bool is_one = shards.size() == 1;
  return fmt::format("{} {} of {} {}", is_one ? "shard" : "shards", list_text(shards), all,
                     is_one ? one : many);
}

}  // namespace

Join::Join(const std::string& out, OutputFile::Existing existing, Wanted wanted)
    : out_(out),
      existing_(existing),
      wanted_(std::move(wanted)),
      files_(out),
      patience_(is_of_one_machine(files_.out().directory()) ? Clock::duration::zero() : kPatience) {
  Clock::time_point since = Clock::now();
  while (!find_run())
    if (!look_again(since)) refuse(out_, kNoShards);
}

/// Waits before another try; false if the time is used up. All time since the last call counts, including a
/// part that was read in vain.
bool Join::look_again(Clock::time_point& since) {
  if (patience_ <= Clock::duration::zero()) return false;
  std::this_thread::sleep_for(kPause);
  const Clock::time_point now = Clock::now();
  patience_ -= now - std::exchange(since, now);
  return true;
}

/// Finds the run: the content of OUT.shards or, if a run was requested, that run; OUT.shards then only
/// supplies the number of shards if the request lacks it.
bool Join::find_run() {
  const std::optional<ShardRun> there = files_.read_run();
  const std::optional<ShardRun> wanted = wanted_ ? wanted_(there) : there;
  if (!wanted) return false;
  const bool is_there = there && there->fingerprint() == wanted->fingerprint();
  run_ = is_there ? *there : *wanted;
  if (run_.must_be_new) existing_ = OutputFile::Existing::refuse;
  return true;
}

/// Ignores a mark whose time or size is not that of the existing output.
bool Join::is_in_place() {
  const auto status = files_.out().status();
  if (!status || static_cast<std::uint64_t>(status->st_size) != run_.size ||
      time_text(*status) != run_.in_place)
    return false;
  placed_ = status;
  return true;
}

void Join::run(Engine& engine, const std::function<void()>& placing) {
  const Descriptor held = files_.hold_run();
  const std::vector<ShardRecord> records = read_records();
  // Made before the commit: after it there may be no memory for an error.
  const std::exception_ptr out_of_memory =
      std::make_exception_ptr(Error(ErrorKind::not_durable, out_ + ": complete, but out of memory"));
  if (!is_in_place() && !has_become_output(engine, records)) put_in_place(engine, records, placing);
  try {
    clean_up();
  } catch (const std::bad_alloc&) {
    std::rethrow_exception(out_of_memory);
  }
}

/// Looks for OUT.shards again in each round, because it may appear late, too. Returns nothing if the output
/// is in place.
std::vector<ShardRecord> Join::read_records() {
  std::vector<ShardRecord> records;
  std::vector<std::uint64_t> missing;
  std::optional<std::uint64_t> known;
  Clock::time_point since = Clock::now();
  do {
    if (!find_run()) refuse(out_, kNoShards);
    if (is_in_place()) return {};
    if (known != run_.fingerprint()) {
      known = run_.fingerprint();
      records.assign(run_.shards, {});
      missing.resize(run_.shards);
      std::iota(missing.begin(), missing.end(), std::uint64_t{0});
    }
    std::erase_if(missing, [&](std::uint64_t shard) {
      const std::optional<ShardRecord> record = files_.read_record(run_, shard);
      if (record) records[shard] = *record;
      return record.has_value();
    });
  } while (!missing.empty() && look_again(since));
  if (!missing.empty()) refuse_missing(missing);
  return records;
}

void Join::refuse_missing(const std::vector<std::uint64_t>& missing) const {
  const std::optional<ShardRun> there = files_.read_run();
  const bool is_other = there && there->fingerprint() != run_.fingerprint();
  if (!is_other)
    refuse(out_, subject(missing, run_.shards, "is missing; run it", "are missing; run them") + ", then " +
                     Term{"finalize", "join them", Says::advice} + " again" + reasons(missing));
  refuse(out_, subject(missing, run_.shards, "is missing", "are missing") +
                   fmt::format("; {} belongs to another run: {} shards", files_.run().path(), there->shards) +
                   (there->must_be_new ? " with " + Term{"existing", "no replacement"} : Message("")) + ", " +
                   there->description);
}

/// What the records of other runs say: the missing shards saw another input, or shards of another operation
/// have run.
Message Join::reasons(const std::vector<std::uint64_t>& missing) const {
  std::set<std::uint64_t> changed;
  std::set<std::uint64_t> others;
  const std::vector<OtherRecord> records = other_records(files_.out(), run_);
  for (const OtherRecord& record : records) {
    const bool is_same = record.shards == run_.shards && operation_of(record.work) == operation_of(run_.work);
    if (is_same && std::ranges::binary_search(missing, record.shard)) changed.insert(record.shard);
    if (record.work == records.front().work) others.insert(record.shard);
  }
  const auto listed = [](const std::set<std::uint64_t>& shards) {
    return fmt::format("{} {}", shards.size() == 1 ? "shard" : "shards",
                       list_text({shards.begin(), shards.end()}));
  };
  if (!changed.empty()) return "; " + listed(changed) + " saw another " + Term{"input", "input"};
  if (records.empty()) return "";
  const OtherRecord& other = records.front();
  return fmt::format("; of another run, {} of {} ended: {}", listed(others), other.shards, other.description);
}

/// Whether another Join, possibly an interrupted one, has put the output in place. Compares the sums only if
/// the parts cannot be joined again: if the common file is the output, or no file may be replaced.
bool Join::has_become_output(Engine& engine, std::vector<ShardRecord> records) {
  const Place& out = files_.out();
  const auto status = out.status();
  if (!status || !S_ISREG(status->st_mode) || static_cast<std::uint64_t>(status->st_size) != run_.size)
    return false;
  const std::optional<FileId> common = files_.common(run_).id();
  const bool is_common =
      std::ranges::all_of(records, &ShardRecord::in_common) && (!common || common == id_of(*status));
  if (!is_common && existing_ == OutputFile::Existing::replace) return false;
  const Descriptor output =
      open_at(out.directory(), out.name(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  for (ShardRecord& record : records) record.in_common = true;
  if (output.get() < 0 || !different_parts(engine, records, output, nullptr).empty()) return false;
  if (os::fsync(output.get()) != 0 || !out.sync()) throw_not_durable(out_, errno);
  placed_ = status;
  return true;
}

/// Whether the common file can become the output: it has all parts, no shard has it open, and it has no other
/// name. The file system must be local, because the lock does not reach processes on the server of a network
/// file system.
bool Join::is_whole(const Descriptor& common, const std::vector<ShardRecord>& records) const {
  os::Status status{};
  return OutputFile::can_be_named() && is_of_one_machine(common.get()) &&
         std::ranges::all_of(records, &ShardRecord::in_common) &&
         os::flock(common.get(), LOCK_EX | LOCK_NB) == 0 && os::fstat(common.get(), &status) == 0 &&
         status.st_nlink == 1 && files_.common(run_).id() == id_of(status);
}

void Join::put_in_place(Engine& engine, const std::vector<ShardRecord>& records,
                        const std::function<void()>& placing) {
  OutputFile::check(out_, existing_);
  const Place place = files_.common(run_);
  Descriptor common;
  if (std::ranges::any_of(records, &ShardRecord::in_common)) common = open_own(place, O_RDWR);
  std::optional<OutputFile> output;
  os::Status status{};
  const bool adopts = is_whole(common, records);
  if (!adopts) {
    const auto part = (common.get() >= 0 ? place : files_.part(run_, 0)).status();
    const os::Mode mode = part ? part->st_mode & 0777 : 0666;
    output.emplace(OutputFile::create(out_, existing_, OutputFile::Durability::on_disk, mode));
    std::ignore = output->reserve(run_.size);
  }
  const std::vector<std::uint64_t> different =
      different_parts(engine, records, common, output ? &*output : nullptr);
  if (!different.empty()) {
    expect_records();
    refuse(out_, subject(different, run_.shards, "is damaged (wrong checksum); run it",
                         "are damaged (wrong checksums); run them") +
                     " again, then " + Term{"finalize", "join them", Says::advice});
  }
  if (adopts) {
    if (os::ftruncate(common.get(), static_cast<off_t>(run_.size)) != 0)
      throw_system_error(place.path(), "cannot be written");
    output.emplace(OutputFile::adopt(out_, existing_, std::move(common)));
  }
  try {
    output->commit([&] {
      expect_waiting();  // fsync() may have taken long
      placing();
    });
    if (os::fstat(output->descriptor().get(), &status) == 0) placed_ = status;
    if (adopts && place.id() == id_of(status)) os::unlinkat(place.directory(), place.name(), 0);
  } catch (const Error& error) {
    const bool has_no_name = os::fstat(output->descriptor().get(), &status) == 0 && status.st_nlink == 0;
    if (adopts && has_no_name) refuse_removed();
    throw;
  }
}

/// The common file was removed while it was checked, perhaps by somebody who knows nothing of the run.
void Join::refuse_removed() {
  expect_records();
  std::vector<std::uint64_t> all(run_.shards);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  refuse_missing(all);
}

/// The shards whose parts do not match their sums. `common` has the parts of the common file. Copies all
/// parts to `output`, if given.
std::vector<std::uint64_t> Join::different_parts(Engine& engine, const std::vector<ShardRecord>& records,
                                                 const Descriptor& common, const OutputFile* output) {
  std::vector<std::uint64_t> different;
  for (std::uint64_t shard = 0; shard < run_.shards; ++shard) {
    Clock::time_point since = Clock::now();
    while (!has_sum(engine, shard, records[shard], common, output)) {
      if (look_again(since)) continue;
      different.push_back(shard);
      break;
    }
  }
  return different;
}

bool Join::has_sum(Engine& engine, std::uint64_t shard, const ShardRecord& record, const Descriptor& common,
                   const OutputFile* output) const {
  const Place place = record.in_common ? files_.common(run_) : files_.part(run_, shard);
  const Descriptor part = record.in_common ? Descriptor() : open_own(place, O_RDONLY);
  const Descriptor& source = record.in_common ? common : part;
  if (source.get() < 0) return false;
  const ByteRange range = part_range({shard, run_.shards}, run_.size);
  const ByteRange from{record.in_common ? range.offset : 0, range.size};
  try {
    return engine.copy(source, place.path(), from, output, range.offset) == record.sum;
  } catch (const Error& error) {
    if (patience_ <= Clock::duration::zero() || error.kind() != ErrorKind::io) throw;
    return false;  // may be temporary on a network file system
  }
}

/// Refuses if another process has finalized the run meanwhile: the output may have been changed since.
void Join::expect_waiting() {
  const std::optional<ShardRun> there = files_.read_run();
  const bool is_over = there && there->fingerprint() == run_.fingerprint() && !there->in_place.empty() &&
                       there->in_place != run_.in_place;
  if (is_over) refuse(out_, "another " + kJoin + kMeanwhile);
  Clock::time_point since = Clock::now();
  while (!files_.read_record(run_, 0))
    if (!look_again(since)) refuse(out_, "another " + kJoin + kMeanwhile);
}

/// Called if parts are damaged or gone. Refuses if another process has finalized the run meanwhile: only that
/// removes records, which were all there.
void Join::expect_records() {
  expect_waiting();
  for (std::uint64_t shard = 0; shard < run_.shards; ++shard)
    if (!files_.read_record(run_, shard)) refuse(out_, "another " + kJoin + kMeanwhile);
}

/// The output is in place, so errors from here on are not failures to write it. If OUT was replaced while
/// this process slept, the files may belong to a later run of the shards and are left alone.
void Join::clean_up() {
  try {
    const auto status = files_.out().status();
    const bool is_known = placed_ && is_of_one_machine(files_.out().directory());
    if (is_known && (!status || time_text(*status) != time_text(*placed_))) return;
    try {
      mark();
    } catch (const std::exception&) {  // the disk may be full; removing files frees space
    }
    remove_all();
  } catch (const Error& error) {
    throw Error(ErrorKind::not_durable, out_ + ": complete, but " + error.message());
  }
}

/// Whether OUT.shards belongs to another run, and not just appears late.
bool Join::is_of_another_run() {
  Clock::time_point since = Clock::now();
  do {
    const std::optional<ShardRun> there = files_.read_run();
    if (!there || there->fingerprint() == run_.fingerprint()) return false;
  } while (look_again(since));
  return true;
}

/// Marks OUT.shards: the output is in place and the files of the shards are no longer needed, so that an
/// interrupted removal can be resumed. Whoever could read OUT.shards can read the mark.
void Join::mark() {
  if (is_of_another_run()) return;
  const auto there = files_.run().status();
  ShardRun marked = run_;
  marked.in_place = placed_ ? time_text(*placed_) : "";
  const std::string text = text_of(marked);
  OutputFile file =
      OutputFile::create_own(files_.run(), OutputFile::Existing::replace,
                             there ? there->st_mode & 0777 : 0600, OutputFile::Durability::visible);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

/// Reads OUT.shards before removing anything, because reading may fail, and again before removing OUT.shards
/// itself.
void Join::remove_all() {
  (void)is_of_another_run();
  for (std::uint64_t shard = 0; shard < run_.shards; ++shard) {
    remove_file(files_.record(run_, shard));
    remove_file(files_.part(run_, shard));
  }
  remove_file(files_.common(run_));
  if (!is_of_another_run()) remove_file(files_.run());
}

}  // namespace clipper
