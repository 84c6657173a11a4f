#include "shards/all_runs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "shards/take.hpp"

namespace clipper {
namespace {

constexpr Term kRunning{"finalize", "a shard or the process that joins them"};

bool is_hexadecimal(std::string_view text) {
  constexpr std::size_t kDigits = 16;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// A name after OUT's: ".shard-K-of-N.F" or, with a record, ".shard-K-of-N.F.done".
struct ShardName {
  std::uint64_t shard = 0;
  std::uint64_t shards = 0;
  std::string_view fingerprint;
  bool is_record = false;
};

std::optional<ShardName> parsed_name(std::string_view text) {
  constexpr std::string_view kRecord = ".done";
  const bool is_record = text.ends_with(kRecord);
  if (is_record) text.remove_suffix(kRecord.size());
  const auto number = [&](std::string_view before) {
    return take(text, before) ? take_number(text) : std::nullopt;
  };
  const auto shard = number(".shard-");
  const auto shards = number("-of-");
  if (!shard || !shards || !take(text, ".") || !is_hexadecimal(text)) return std::nullopt;
  return ShardName{*shard, *shards, text, is_record};
}

/// Whether shards of OUT, or --finalize, give such a name, which follows OUT's, to a file.
bool is_of_shards(std::string_view text) {
  if (parsed_name(text)) return true;
  return take(text, ".shards") && (text.empty() || (take(text, ".") && is_hexadecimal(text)));
}

/// Removes from a temporary file's name what makes it one.
std::string_view without_suffix(std::string_view name) {
  constexpr std::string_view kTemporary = ".clipper-";
  const std::size_t at = name.rfind(kTemporary);
  const bool is_temporary =
      name.starts_with('.') && at != name.npos && is_hexadecimal(name.substr(at + kTemporary.size()));
  return is_temporary ? name.substr(1, at - 1) : name;
}

/// All files that shards, --finalize, or killed ones of these have made for OUT.
std::vector<Place> files_of_all_runs(const Place& out) {
  Descriptor fd(
      retry_interrupted([&] { return ::openat(out.directory(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(fd.get() < 0 ? nullptr : ::fdopendir(fd.get()),
                                                      &::closedir);
  if (!directory) throw_system_error(out.path(), "its directory cannot be read");
  std::ignore = fd.release();
  std::vector<Place> places;
  errno = 0;
  while (const dirent* const entry = ::readdir(directory.get())) {
    const std::string_view name = without_suffix(entry->d_name);
    if (name.starts_with(out.name()) && is_of_shards(name.substr(std::strlen(out.name()))))
      places.push_back(out.with_name(entry->d_name));
    errno = 0;
  }
  if (errno != 0) throw_system_error(out.path(), "its directory cannot be read");
  return places;
}

}  // namespace

std::vector<OtherRecord> other_records(const Place& out, const ShardRun& run) {
  std::vector<OtherRecord> records;
  const std::string own = fmt::format("{:016x}", run.fingerprint());
  try {
    for (const Place& place : files_of_all_runs(out)) {
      const std::string_view name = place.name();
      const auto parsed = parsed_name(name.substr(std::min(name.size(), std::strlen(out.name()))));
      if (!parsed || !parsed->is_record || parsed->fingerprint == own) continue;
      const std::string text = read_text(place).value_or("");
      std::string_view rest = text;
      take_line(rest);
      OtherRecord record{parsed->shard, parsed->shards, std::string(take_line(rest)),
                         std::string(take_line(rest))};
      if (!record.description.empty()) records.push_back(std::move(record));
    }
  } catch (const Error& /*error*/) {  // must not hide the message that the caller makes
  }
  return records;
}

/// The locks are held until everything is removed. OUT.shards goes last. Parts and records are never locked,
/// and may be more files than a process can open.
std::vector<std::string> discard_shards(const std::string& out, bool dry_run) {
  const ShardFiles files(out);
  std::ignore = files.read_run();  // throws if shards did not make OUT.shards
  std::vector<Place> places = files_of_all_runs(files.out());
  std::ranges::sort(places, {}, &Place::path);
  // std, not std::ranges: clang 14 cannot compile the subrange that g++ 12's library returns.
  std::stable_partition(places.begin(), places.end(),
                        [&](const Place& place) { return place.path() != files.run().path(); });
  std::vector<Descriptor> locked;
  for (const Place& place : places) {
    const bool may_be_locked = place.path().starts_with(files.run().path());
    Descriptor fd = open_own(place, may_be_locked ? O_RDWR : O_RDONLY);  // NFS locks only what can be written
    if (!may_be_locked) continue;
    if (fd.get() >= 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      refuse(out, kRunning + (" is running and uses " + place.path()));
    locked.push_back(std::move(fd));
  }
  std::vector<std::string> paths;
  for (const Place& place : places) {
    if (!dry_run) remove_file(place);
    paths.push_back(place.path());
  }
  return paths;
}

}  // namespace clipper
