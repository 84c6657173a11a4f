#include "files/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "error.hpp"
#include "files/checksum.hpp"
#include "files/cleanup_registry.hpp"

namespace clipper {
namespace {

constexpr std::string_view kSuffix = ".clipper-journal";
constexpr std::uint64_t kMagic = 0x6c616e72756f6a2e;  // ".journal"
constexpr std::uint64_t kFormat = 4;
constexpr std::uint64_t kSlots = 2;
constexpr const char* kNoJournal = "is not a clipper journal; move it elsewhere and try again";

/// A record as stored in the journal.
struct Block {
  std::uint64_t magic;
  std::uint64_t format;
  JournalStep step;
  std::uint64_t parameters_size;
  std::uint64_t description_size;
  std::array<char, 3976> text;  ///< the parameters, then the description
  std::uint64_t checksum;       ///< of everything before
};
static_assert(sizeof(Block) == 4096 && std::is_trivially_copyable_v<Block>);

std::span<const std::byte> checked_part(const Block& block) {
  return std::as_bytes(std::span(&block, 1)).first(offsetof(Block, checksum));
}

std::uint64_t block_offset(std::uint64_t slot) {
  return slot * sizeof(Block);
}

std::uint64_t bytes_offset(std::uint64_t slot, std::uint64_t capacity) {
  return kSlots * sizeof(Block) + slot * capacity;
}

/// Whoever can write to the journal could make clipper write their bytes into the tensor; whoever can read it
/// can read the tensor's bytes. On file systems without permissions, journal and tensor show the same mode.
void expect_private(const struct stat& journal, mode_t mode, const std::string& path) {
  if (!S_ISREG(journal.st_mode) || journal.st_nlink > 1) refuse(path, kNoJournal);
  if (journal.st_uid != ::geteuid())
    refuse(path, fmt::format("belongs to user {}, who must finish the interrupted change", journal.st_uid));
  if ((journal.st_mode & (S_IRWXG | S_IRWXO) & ~mode) != 0)
    refuse(path, fmt::format("its mode {:03o} admits users whom the tensor's mode {:03o} does not; if you "
                             "trust the journal, run chmod 600 on it",
                             journal.st_mode & 0777, mode & 0777));
}

}  // namespace

Place Journal::place_for(const Place& file) {
  return file.beside(kSuffix, false);
}

Journal::Journal(const Place& file) : place_(place_for(file)) {}

std::optional<Journal> Journal::find(const Place& file, mode_t mode) {
  Journal journal(file);
  const Place& place = journal.place_;
  const auto present = place.status();
  if (!present) return std::nullopt;
  expect_private(*present, mode, journal.path());
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  journal.fd_ =
      Descriptor(retry_interrupted([&] { return ::openat(place.directory(), place.name(), kFlags); }));
  if (journal.fd_.get() < 0 && errno == ENOENT) return std::nullopt;
  if (journal.fd_.get() < 0) throw_system_error(journal.path(), "cannot be opened");
  journal.own(mode);
  if (!place.is(journal.id_)) return std::nullopt;  // removed by the process that had the lock
  for (std::uint64_t slot = 0; slot < kSlots; ++slot)
    if (auto record = journal.read_slot(slot))
      if (!journal.last_ || journal.last_->sequence < record->sequence) journal.last_ = std::move(record);
  if (!journal.last_) journal.expect_known_format();
  return journal;
}

/// Without a complete record, a slot that was never written, or only in part, begins with zeros.
void Journal::expect_known_format() const {
  for (std::uint64_t slot = 0; slot < kSlots; ++slot) {
    std::array<std::uint64_t, 2> start{};  // Block's magic and format
    std::ignore = read_at(fd_, std::as_writable_bytes(std::span(start)), block_offset(slot), path());
    if (start[0] != 0 && start[0] != kMagic) refuse(path(), kNoJournal);
    if (start[0] == kMagic && start[1] != kFormat)
      refuse(path(),
             "was left by another version of clipper; finish the interrupted change with that version");
  }
}

/// The lock protects the journal of a tensor that is renamed while it is changed: another file may then get
/// the tensor's name, but must not use the journal.
void Journal::own(mode_t mode) {
  std::ignore = clipper::lock(fd_, path());
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) throw_system_error(path(), "cannot be examined");
  expect_private(status, mode, path());
  id_ = id_of(status);
}

std::optional<JournalRecord> Journal::read_slot(std::uint64_t slot) const {
  Block block{};
  const JournalStep& step = block.step;
  const std::span bytes = std::as_writable_bytes(std::span(&block, 1));
  const bool is_whole = read_at(fd_, bytes, block_offset(slot), path()) == bytes.size() &&
                        block.magic == kMagic && block.format == kFormat &&
                        block.checksum == checksum(checked_part(block)) && step.sequence % kSlots == slot &&
                        step.length <= step.capacity && block.parameters_size <= block.text.size() &&
                        block.description_size <= block.text.size() - block.parameters_size;
  if (!is_whole) return std::nullopt;
  std::vector<std::byte> bytes_of_part(64UL * 1024);
  std::uint64_t sum = 0;
  for (std::uint64_t done = 0; done < step.length; done += bytes_of_part.size()) {
    const std::span wanted(bytes_of_part.data(),
                           std::min<std::uint64_t>(bytes_of_part.size(), step.length - done));
    if (read_at(fd_, wanted, bytes_offset(slot, step.capacity) + done, path()) < wanted.size())
      return std::nullopt;
    sum += placed_sum(wanted, step.offset + done);
  }
  if (sum != step.part_sum) return std::nullopt;
  const char* const text = block.text.data();
  return JournalRecord{
      step, {text, block.parameters_size}, {text + block.parameters_size, block.description_size}};
}

Journal Journal::create(const Place& file, mode_t mode, std::uint64_t capacity) {
  Journal journal(file);
  const Place& place = journal.place_;
  place.expect_sync();
  if (place.is_append_only())
    refuse(journal.path(), "could not be removed again: its directory is append-only (chattr +a)");
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  journal.registration_ = register_temporary(place, [&] {
    journal.fd_ = Descriptor(
        retry_interrupted([&] { return ::openat(place.directory(), place.name(), kFlags, 0600); }));
    return journal.fd_.get();
  });
  if (journal.registration_ < 0) throw_system_error(journal.path(), "cannot be created");
  journal.own(mode);
  const auto size = static_cast<off_t>(bytes_offset(kSlots, capacity));
  if (retry_interrupted([&] { return ::fallocate(journal.fd_.get(), 0, 0, size); }) != 0 &&
      !is_unsupported(errno))
    throw_system_error(journal.path(), "cannot be written");
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : place_(std::move(other.place_)),
      fd_(std::move(other.fd_)),
      id_(other.id_),
      last_(std::move(other.last_)),
      registration_(std::exchange(other.registration_, -1)) {}

Journal::~Journal() {
  if (registration_ < 0) return;
  drop(fd_, place_, [&] { return ::unlinkat(place_.directory(), place_.name(), 0) == 0; });
  unregister_temporary(registration_);
}

void Journal::read_last(std::span<std::byte> bytes) const {
  if (read_at(fd_, bytes, bytes_offset(last_->sequence % kSlots, last_->capacity), path()) < bytes.size())
    throw_changed(path());
}

void Journal::append(JournalRecord record, std::span<const std::byte> bytes) {
  record.sequence = last_ ? last_->sequence + 1 : 0;
  record.length = bytes.size();
  write(record, bytes);
  last_ = std::move(record);
}

void Journal::confirm(std::span<const std::byte> bytes) {
  write(*last_, bytes);
}

void Journal::write(const JournalRecord& record, std::span<const std::byte> bytes) const {
  const std::uint64_t slot = record.sequence % kSlots;
  Block block{.magic = kMagic,
              .format = kFormat,
              .step = static_cast<const JournalStep&>(record),
              .parameters_size = record.parameters.size(),
              .description_size = 0,
              .text = {},
              .checksum = 0};
  if (record.parameters.size() > block.text.size())
    refuse(path(), fmt::format("has no room for {} bytes of parameters (max {})", record.parameters.size(),
                               block.text.size()));
  const auto rest = std::ranges::copy(record.parameters, block.text.begin()).out;
  block.description_size =
      std::min(record.description.size(), static_cast<std::size_t>(block.text.end() - rest));
  std::copy_n(record.description.begin(), block.description_size, rest);
  block.checksum = checksum(checked_part(block));
  write_at(fd_, bytes, bytes_offset(slot, record.capacity), path());
  write_at(fd_, std::as_bytes(std::span(&block, 1)), block_offset(slot), path());
  if (::fdatasync(fd_.get()) != 0) throw_system_error(path(), "cannot be flushed to disk");
}

void Journal::keep() {
  if (!place_.sync()) throw_system_error(path(), "its directory cannot be flushed to disk");
  if (registration_ >= 0) unregister_temporary(std::exchange(registration_, -1));
}

std::error_code Journal::remove() {
  const bool is_removed = place_.remove(id_) && place_.sync();
  return {is_removed ? 0 : errno, std::generic_category()};
}

}  // namespace clipper
