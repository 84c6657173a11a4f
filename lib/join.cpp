#include "join.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>

#include "descriptor.hpp"
#include "error.hpp"

namespace clipper {
namespace {

constexpr auto kPause = std::chrono::milliseconds(100);
constexpr int kLooks = 50;

/// "shard 3 of 8 is", "shards 1, 4 to 7 of 8 are"
std::string subject(const std::vector<std::uint64_t>& shards, std::uint64_t all, std::string_view one,
                    std::string_view many) {
  const bool is_one = shards.size() == 1;
  return fmt::format("{} {} of {} {}", is_one ? "shard" : "shards", list_text(shards), all,
                     is_one ? one : many);
}

}  // namespace

Join::Join(const std::string& out, OutputFile::Existing existing, const std::optional<ShardRun>& wanted)
    : out_(out),
      existing_(existing),
      files_(out),
      looks_left_(is_of_one_machine(files_.out().directory()) ? 0 : kLooks),
      run_(find(wanted)) {
  if (run_.must_be_new) existing_ = OutputFile::Existing::refuse;
}

bool Join::look_again() {
  if (looks_left_ == 0) return false;
  --looks_left_;
  std::this_thread::sleep_for(kPause);
  return true;
}

ShardRun Join::find(const std::optional<ShardRun>& wanted) {
  for (;;) {
    const std::optional<ShardRun> there = files_.read_run();
    if (there && (!wanted || there->fingerprint() == wanted->fingerprint())) return *there;
    if (wanted) return *wanted;
    if (!look_again()) refuse(out_, "no shards of it wait to be finalized");
  }
}

/// A mark that outlived its output says nothing.
bool Join::is_in_place() const {
  const auto status = files_.out().status();
  return run_.is_in_place && status && static_cast<std::uint64_t>(status->st_size) == run_.size;
}

void Join::run(Engine& engine) {
  if (!is_in_place()) {
    const std::vector<std::uint64_t> sums = read_sums();
    OutputFile output = OutputFile::create(out_, existing_, OutputFile::Durability::on_disk);
    output.reserve(run_.size);
    copy_parts(engine, sums, output);
    expect_waiting();
    output.commit();
    mark();
  }
  remove_all();
}

std::vector<std::uint64_t> Join::read_sums() {
  std::vector<std::uint64_t> sums(run_.shards);
  std::vector<std::uint64_t> missing;
  for (std::uint64_t shard = 0; shard < run_.shards; ++shard) missing.push_back(shard);
  do {
    std::erase_if(missing, [&](std::uint64_t shard) {
      const std::optional<std::uint64_t> sum = files_.read_sum(run_, shard);
      if (sum) sums[shard] = *sum;
      return sum.has_value();
    });
  } while (!missing.empty() && look_again());
  if (missing.empty()) return sums;
  const std::optional<ShardRun> there = files_.read_run();
  const bool is_other = there && there->fingerprint() != run_.fingerprint();
  refuse(out_, fmt::format("{} missing{}", subject(missing, run_.shards, "is", "are"),
                           is_other ? fmt::format("; {} is of another run: {} shards, {}",
                                                  files_.run().path(), there->shards, there->description)
                                    : "; run what is missing, and then clipper --finalize again"));
}

void Join::copy_parts(Engine& engine, const std::vector<std::uint64_t>& sums, OutputFile& output) {
  std::vector<std::uint64_t> different;
  for (std::uint64_t shard = 0; shard < run_.shards; ++shard) {
    while (!copy_part(engine, shard, sums[shard], output)) {
      if (look_again()) continue;
      different.push_back(shard);
      break;
    }
  }
  if (different.empty()) return;
  refuse(out_, fmt::format("{} damaged: the file does not have the bytes that were calculated; run what is "
                           "damaged again, and then clipper --finalize",
                           subject(different, run_.shards, "is", "are")));
}

bool Join::copy_part(Engine& engine, std::uint64_t shard, std::uint64_t sum, OutputFile& output) {
  const Place place = files_.part(run_, shard);
  const Descriptor fd = open_own(place);
  if (fd.get() < 0) return false;
  const Stretch stretch = stretch_of({shard, run_.shards}, run_.size);
  return engine.copy(fd, place.path(), stretch.size, output, stretch.offset) == sum;
}

/// Another process may have finalized the run meanwhile, and the output may have been changed since.
void Join::expect_waiting() const {
  const std::optional<ShardRun> there = files_.read_run();
  const bool is_over = there && there->fingerprint() == run_.fingerprint() && there->is_in_place;
  if (is_over || !files_.read_sum(run_, 0))
    refuse(out_, "another clipper --finalize has put it in place meanwhile");
}

/// From here on the shards' files are no longer needed; whoever removes them may be interrupted.
void Join::mark() const {
  const std::optional<ShardRun> there = files_.read_run();
  if (there && there->fingerprint() != run_.fingerprint()) return;
  ShardRun marked = run_;
  marked.is_in_place = true;
  const std::string text = text_of(marked);
  OutputFile file = OutputFile::create_own(files_.run(), 0600, OutputFile::Durability::visible);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

void Join::remove_all() const {
  const auto remove = [&](const Place& place) {
    if (::unlinkat(place.directory(), place.name(), 0) == 0 || errno == ENOENT) return;
    throw Error(ErrorKind::not_durable, fmt::format("{}: complete, but {} cannot be removed: {}", out_,
                                                    place.path(), std::generic_category().message(errno)));
  };
  for (std::uint64_t shard = 0; shard < run_.shards; ++shard) {
    remove(files_.record(run_, shard));
    remove(files_.part(run_, shard));
  }
  const std::optional<ShardRun> there = files_.read_run();
  if (there && there->fingerprint() == run_.fingerprint()) remove(files_.run());
}

}  // namespace clipper
