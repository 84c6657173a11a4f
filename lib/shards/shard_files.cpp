#include "shards/shard_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "element/number.hpp"
#include "error.hpp"
#include "files/descriptor.hpp"
#include "npy/header.hpp"

namespace clipper {

namespace {

constexpr std::uint64_t kUnit = 1 << 20;

/// The number of items of the shards before `index`. Rounds up: if there are any items, the first shard has
/// some.
std::uint64_t before(std::uint64_t index, std::uint64_t count, std::uint64_t all) {
  return static_cast<std::uint64_t>((UInt128{index} * all + count - 1) / count);
}

}  // namespace

ByteRange part_range(const Shard& shard, std::uint64_t file_size) {
  const std::uint64_t units = (file_size + kUnit - 1) / kUnit;
  const auto offset = [&](std::uint64_t index) {
    return std::min(before(index, shard.count, units) * kUnit, file_size);
  };
  const std::uint64_t begin = offset(shard.index);
  return {begin, offset(shard.index + 1) - begin};
}

Slice slice_of(const Shard& shard, const TensorLayout& layout, std::uint64_t header_size) {
  const auto elements_before = [&](std::uint64_t at) {
    return at < header_size ? 0 : (at - header_size) / traits(layout.dtype).size;
  };
  const auto [offset, size] = part_range(shard, header_size + layout.data_size());
  const std::uint64_t first = elements_before(offset);
  return {first, elements_before(offset + size) - first};
}

Rows rows_of(const Shard& shard, const TensorLayout& layout) {
  if (layout.shape.empty()) throw Error(ErrorKind::input, "has no axis 0 to split");
  if (layout.fortran_order && layout.shape.size() > 1)
    throw Error(ErrorKind::input, "is in Fortran order; only tensors in C order can be split along axis 0");
  const auto rows = static_cast<std::uint64_t>(layout.shape.front());
  const std::uint64_t begin = before(shard.index, shard.count, rows);
  return {begin, before(shard.index + 1, shard.count, rows) - begin};
}

Plan slab_plan(const Plan& whole, const Rows& rows) {
  const auto all = static_cast<std::uint64_t>(whole.input.shape.front());
  const std::uint64_t row = all == 0 ? 0 : whole.input.count / all;
  Plan plan = whole;
  plan.slice = {rows.begin * row, rows.count * row};
  plan.output.count = plan.slice.count;
  plan.output.shape.front() = static_cast<std::int64_t>(rows.count);
  return plan;
}

std::vector<std::size_t> files_of(const Shard& shard, std::span<const std::uint64_t> sizes) {
  std::vector<std::size_t> by_size(sizes.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });

  using Load = std::pair<std::uint64_t, std::uint64_t>;  // bytes, shard
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::uint64_t i = 0; i < shard.count; ++i) loads.emplace(0, i);
  std::vector<std::size_t> files;
  for (const std::size_t file : by_size) {
    const auto [bytes, index] = loads.top();
    loads.pop();
    loads.emplace(bytes + sizes[file], index);
    if (index == shard.index) files.push_back(file);
  }
  std::sort(files.begin(), files.end());
  return files;
}

namespace {

/// Removes the word from the start of the text; false if the text does not begin with it.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<std::uint64_t> take_number(std::string_view& text, int base = 10) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Removes the first line and its newline from the text, and returns the line.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

constexpr std::string_view kAnyTitle = "clipper shards, format ";
constexpr std::string_view kTitle = "clipper shards, format 1\n";
constexpr std::string_view kMark = "the output is in place, written at ";
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;  // max bytes of an output
constexpr std::size_t kMaxText = 1 << 16;                    // max bytes of OUT.shards or a record
constexpr std::string_view kOfInput = ", of ";               // before the input in ShardRun::work
constexpr int kMaxTries = 10;
constexpr const char* kNotOwn = "is not a file that shards made; remove it or choose another output";

constexpr std::uint64_t kSamples = 16;
constexpr std::uint64_t kSample = 4096;

/// Whether an open file was removed or replaced by another machine on a network file system.
bool is_gone(int error) {
  return error == ENOENT || error == ESTALE;
}

std::uint64_t hash_of(std::string_view text) {
  return checksum(std::as_bytes(std::span(text)));
}

/// Everything that decides the output's bytes, and whether it may replace a file.
std::string identity_text(const ShardRun& run) {
  return fmt::format("{}{} shards of {} bytes, {}\n{}\n", kTitle, run.shards, run.size,
                     run.must_be_new ? "must be new" : "may replace", run.work);
}

/// The text of a record before its sum.
std::string record_start(const ShardRun& run, std::uint64_t shard, bool in_common) {
  const ByteRange range = part_range({shard, run.shards}, run.size);
  return fmt::format("clipper shard, format 2: {} of {} of {:016x}, {} bytes at {}, {}, sum ", shard,
                     run.shards, run.fingerprint(), range.size, range.offset,
                     in_common ? "in the common file" : "in a file of their own");
}

Place place_of(const std::string& out) {
  Place place = Place::of(out, "cannot be created");
  const auto status = place.status();
  if (!status || !S_ISLNK(status->st_mode)) return place;
  if (!find_file(out)) refuse(out, "is a dangling symbolic link");
  return Place::resolved(out);
}

/// Equal for equal samples, different if any sampled byte differs.
std::uint64_t sum_of_samples(const InputFile& input) {
  const std::uint64_t size = input.size();
  const std::uint64_t last = size - std::min(size, kSample);
  std::array<std::byte, kSample> bytes{};
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    const std::uint64_t at = last / (kSamples - 1) * i + last % (kSamples - 1) * i / (kSamples - 1);
    const std::span sample = std::span(bytes).first(std::min(size, kSample));
    input.read_at(sample, at);
    sum += placed_sum(sample, at);
    if (last == 0) break;
  }
  return sum;
}

/// Called if the file cannot be opened (EACCES). Error{refused} if another user's umask is the reason.
void expect_access(const Place& place) {
  os::Status status{};
  const bool is_known = os::fstatat(place.directory(), place.name(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_known && status.st_uid != os::geteuid())
    refuse(place.path(),
           fmt::format("belongs to user {}, whose umask keeps you out (mode {:03o}); run this as that user",
                       status.st_uid, status.st_mode & 0777));
}

}  // namespace

std::uint64_t ShardRun::fingerprint() const {
  return hash_of(identity_text(*this));
}

std::string time_text(const os::Status& status) {
  return fmt::format("{}.{:09}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

std::string content_text(const InputFile& input) {
  return fmt::format("{} bytes, samples {:016x}", input.size(), sum_of_samples(input));
}

ShardRun make_run(std::uint64_t shards, bool must_be_new, const Plan& plan, const InputFile& input) {
  const std::string of_input = fmt::format("{} bytes that were written at {}, samples {:016x}", input.size(),
                                           time_text(input.status()), sum_of_samples(input));
  return {
      .shards = shards,
      .size = npy::format(plan.output).size() + plan.output.data_size(),
      .must_be_new = must_be_new,
      .work = fmt::format("{}{}{}", plan.fingerprint(), kOfInput, of_input),
      .description =
          fmt::format("{}{}{}{}", describe(plan), plan.refuse_nan ? ", NaN refused" : "", kOfInput, of_input),
  };
}

std::string text_of(const ShardRun& run) {
  return fmt::format("{}{}\nrun {:016x}, description {:016x}\n{}", identity_text(run), run.description,
                     run.fingerprint(), hash_of(run.description),
                     run.in_place.empty() ? "" : fmt::format("{}{}\n", kMark, run.in_place));
}

std::optional<ShardRun> parsed_run(std::string_view text) {
  ShardRun run;
  const std::string_view all = text;
  if (!take(text, kTitle)) return std::nullopt;
  run.shards = take_number(text).value_or(0);
  if (run.shards == 0 || run.shards > kMaxShards || !take(text, " shards of ")) return std::nullopt;
  run.size = take_number(text).value_or(0);
  run.must_be_new = take(text, " bytes, must be new\n");
  if (!run.must_be_new && !take(text, " bytes, may replace\n")) return std::nullopt;
  run.work = take_line(text);
  run.description = take_line(text);
  if (const std::size_t at = text.find(kMark); at != text.npos)
    run.in_place = text.substr(at + kMark.size(), text.size() - at - kMark.size() - 1);
  const bool is_time = run.in_place.find_first_not_of("0123456789.") == run.in_place.npos;
  if (!is_time || run.size > kMaxBytes || text_of(run) != all) return std::nullopt;
  return run;
}

std::string text_of(const ShardRun& run, std::uint64_t shard, const ShardRecord& record) {
  return fmt::format("{}{:016x}\n{}\n{}\n", record_start(run, shard, record.in_common), record.sum, run.work,
                     run.description);
}

std::optional<ShardRecord> parsed_record(const ShardRun& run, std::uint64_t shard, std::string_view text) {
  for (const bool in_common : {false, true}) {
    std::string_view rest = text;
    if (!take(rest, record_start(run, shard, in_common))) continue;
    const ShardRecord record{take_number(rest, 16).value_or(0), in_common};
    take_line(rest);
    take_line(rest);
    ShardRun written = run;
    written.description = take_line(rest);  // another path may lead to the same array
    if (text_of(written, shard, record) == text) return record;
  }
  return std::nullopt;
}

std::string_view operation_of(std::string_view work) {
  return work.substr(0, work.rfind(kOfInput));
}

ShardFiles::ShardFiles(const std::string& out) : out_(place_of(out)), replaced_(out_.status()) {
  if (replaced_ && !S_ISREG(replaced_->st_mode)) refuse(out, "is not a regular file; shards need one");
}

Place ShardFiles::run() const {
  return out_.with_suffix(".shards");
}

Place ShardFiles::common(const ShardRun& run) const {
  return this->run().with_suffix(fmt::format(".{:016x}", run.fingerprint()));
}

Place ShardFiles::part(const ShardRun& run, std::uint64_t shard) const {
  return out_.with_suffix(fmt::format(".shard-{}-of-{}.{:016x}", shard, run.shards, run.fingerprint()));
}

Place ShardFiles::record(const ShardRun& run, std::uint64_t shard) const {
  return part(run, shard).with_suffix(".done");
}

std::optional<ShardRun> ShardFiles::read_run() const {
  const Place place = run();
  const std::optional<std::string> text = read_text(place);
  if (!text) return std::nullopt;
  const bool is_cut_off = text->size() < kMaxText && text->find_first_not_of('\0') == text->npos;
  if (is_cut_off) return std::nullopt;
  const bool is_own = text->starts_with(kTitle) || kTitle.starts_with(*text);
  const bool is_of_other_format = text->size() > kAnyTitle.size() && text->starts_with(kAnyTitle) && !is_own;
  if (is_of_other_format)
    refuse(
        place.path(),
        "was left by another version of clipper; finish the run with that version, or remove this file and "
        "the shards' other files and start again");
  std::optional<ShardRun> run = parsed_run(*text);
  if (!run && !is_own) refuse(place.path(), kNotOwn);
  return run;
}

Descriptor ShardFiles::hold_run() const {
  Descriptor fd = open_own(run(), O_RDONLY);
  if (fd.get() >= 0 && os::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    refuse(run().path(), "is just being removed together with the shards' other files; try again");
  return fd;
}

std::optional<ShardRecord> ShardFiles::read_record(const ShardRun& run, std::uint64_t shard) const {
  const std::optional<std::string> text = read_text(record(run, shard));
  return text ? parsed_record(run, shard, *text) : std::nullopt;
}

/// The rule for owners is that of the kernel's fs.protected_regular. Network file systems may show one user
/// as the owner of every file.
Descriptor open_own(const Place& place, int flags, os::Mode mode) {
  Descriptor fd = open_at(place.directory(), place.name(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode);
  const int error = fd.get() < 0 ? errno : 0;
  if (is_gone(error)) return fd;
  if (error == ELOOP || error == ENXIO || error == EISDIR) refuse(place.path(), kNotOwn);
  if (error == EACCES) expect_access(place);
  if (error != 0) throw_system_error(place.path(), "cannot be opened", error);
  os::Status status{};
  os::Status directory{};
  if (os::fstat(fd.get(), &status) != 0 || os::fstat(place.directory(), &directory) != 0) {
    if (is_gone(errno)) return {};
    throw_system_error(place.path(), "cannot be examined");
  }
  if (!S_ISREG(status.st_mode)) refuse(place.path(), kNotOwn);
  if (status.st_uid != os::geteuid() && status.st_uid != directory.st_uid)
    refuse(place.path(),
           fmt::format("belongs to user {}, not to you; remove it or choose another output", status.st_uid));
  return fd;
}

std::optional<std::string> read_text(const Place& place) {
  std::string text(kMaxText, '\0');
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const Descriptor fd = open_own(place, O_RDONLY);
    if (fd.get() < 0) return std::nullopt;
    std::size_t done = 0;
    ssize_t got = 1;
    while (got > 0) {
      got = retry_interrupted([&] {
        return os::pread(fd.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
      });
      if (got > 0) done += static_cast<std::size_t>(got);
    }
    if (got == 0) return text.substr(0, done);
    if (!is_gone(errno)) throw_system_error(place.path(), "cannot be read");
  }
  return std::nullopt;
}

void remove_file(const Place& place) {
  if (os::unlinkat(place.directory(), place.name(), 0) != 0 && errno != ENOENT)
    throw_system_error(place.path(), "cannot be removed");
}

std::string list_text(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[i]);
    if (end - i > 1) text += fmt::format("{}{}", end - i > 2 ? " to " : ", ", numbers[end - 1]);
    i = end;
  }
  return text;
}

namespace {

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
  Descriptor fd = open_at(out.directory(), ".", O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<os::DIR, int (*)(os::DIR*)> directory(
      fd.get() < 0 ? nullptr : os::fdopendir(fd.get()), &os::closedir);
  if (!directory) throw_system_error(out.path(), "its directory cannot be read");
  std::ignore = fd.release();
  std::vector<Place> places;
  errno = 0;
  while (const os::dirent* const entry = os::readdir(directory.get())) {
    const std::string_view name = without_suffix(entry->d_name);
    if (name.starts_with(out.name()) && is_of_shards(name.substr(std::strlen(out.name()))))
      places.push_back(out.with_name(entry->d_name));
    errno = 0;
  }
  if (errno != 0) throw_system_error(out.path(), "its directory cannot be read");
  return places;
}

}  // namespace

bool is_of_shards(const std::string& out, const std::string& path) {
  const Place own = place_of(out);
  const Place other = place_of(path);
  const std::string_view name = other.name();
  return own.directory_id() == other.directory_id() && name.starts_with(own.name()) &&
         is_of_shards(name.substr(std::strlen(own.name())));
}

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
    if (fd.get() >= 0 && os::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      refuse(out, "a shard or " + Term{"finalize", "the process that joins them"} +
                      (" is running and uses " + place.path()));
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
