#include "journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "error.hpp"
#include "temporaries.hpp"

namespace clipper {
namespace {

constexpr std::string_view kSuffix = ".clipper-journal";
constexpr std::uint64_t kMagic = 0x6c616e72756f6a2e;  // ".journal"
constexpr std::uint64_t kFormat = 1;
constexpr std::uint64_t kSlots = 2;

/// A record as it is in the file.
struct Block {
  std::uint64_t magic;
  std::uint64_t format;
  std::uint64_t sequence;
  std::uint64_t capacity;
  std::uint64_t offset;
  std::uint64_t length;
  std::uint64_t file_size;
  std::array<std::byte, 8> start;
  std::uint64_t bytes_checksum;
  std::uint64_t parameters_size;
  std::array<char, 4008> parameters;
  std::uint64_t checksum;  ///< of everything before
};
static_assert(sizeof(Block) == 4096);

/// The running sums of SQLite's write-ahead log, over 64-bit words: they notice what a torn write leaves.
class Checksum {
 public:
  /// All but the last bytes come in multiples of 16.
  void add(std::span<const std::byte> bytes) {
    std::array<std::uint64_t, 2> words{};
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), sizeof words))) {
      words = {};
      std::memcpy(words.data(), bytes.data(), std::min(bytes.size(), sizeof words));
      first_ += words[0] + second_;
      second_ += words[1] + first_;
    }
  }
  [[nodiscard]] std::uint64_t value() const { return first_ ^ (second_ << 1 | second_ >> 63); }

 private:
  std::uint64_t first_ = 0;
  std::uint64_t second_ = 0;
};

std::uint64_t checksum(std::span<const std::byte> bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

std::span<const std::byte> checked_part(const Block& block) {
  return std::as_bytes(std::span(&block, 1)).first(offsetof(Block, checksum));
}

std::uint64_t block_offset(std::uint64_t slot) {
  return slot * sizeof(Block);
}

std::uint64_t bytes_offset(std::uint64_t slot, std::uint64_t capacity) {
  return kSlots * sizeof(Block) + slot * capacity;
}

}  // namespace

Journal::Journal(const Place& file) : place_(file.beside(kSuffix, false)) {}

std::optional<Journal> Journal::find(const Place& file) {
  Journal journal(file);
  const std::string& name = journal.path();
  const Place& place = journal.place_;
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  journal.fd_ =
      Descriptor(retry_interrupted([&] { return ::openat(place.directory(), place.name(), kFlags); }));
  if (journal.fd_.get() < 0 && errno == ENOENT) return std::nullopt;
  if (journal.fd_.get() < 0) throw_system_error(name, "cannot be opened");
  struct stat status {};
  if (::fstat(journal.fd_.get(), &status) != 0) throw_system_error(name, "cannot be examined");
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
    throw Error(ErrorKind::refused, fmt::format("{}: is no journal", name));
  for (std::uint64_t slot = 0; slot < kSlots; ++slot)
    if (auto record = journal.read_slot(slot))
      if (!journal.last_ || journal.last_->sequence < record->sequence) journal.last_ = std::move(record);
  return journal;
}

std::optional<JournalRecord> Journal::read_slot(std::uint64_t slot) const {
  Block block{};
  const std::span bytes = std::as_writable_bytes(std::span(&block, 1));
  const bool is_whole = read_at(fd_, bytes, block_offset(slot), path()) == bytes.size() &&
                        block.magic == kMagic && block.format == kFormat &&
                        block.checksum == checksum(checked_part(block)) && block.sequence % kSlots == slot &&
                        block.length <= block.capacity && block.parameters_size <= block.parameters.size();
  if (!is_whole) return std::nullopt;
  Checksum sum;
  std::vector<std::byte> part(64UL * 1024);
  std::uint64_t done = 0;
  while (done < block.length) {
    const std::span wanted(part.data(), std::min<std::uint64_t>(part.size(), block.length - done));
    if (read_at(fd_, wanted, bytes_offset(slot, block.capacity) + done, path()) < wanted.size())
      return std::nullopt;
    sum.add(wanted);
    done += wanted.size();
  }
  if (sum.value() != block.bytes_checksum) return std::nullopt;
  return JournalRecord{.sequence = block.sequence,
                       .capacity = block.capacity,
                       .offset = block.offset,
                       .length = block.length,
                       .file_size = block.file_size,
                       .start = block.start,
                       .parameters = {block.parameters.data(), block.parameters_size}};
}

Journal Journal::create(const Place& file, std::uint64_t capacity) {
  Journal journal(file);
  const std::string& name = journal.path();
  const Place& place = journal.place_;
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  journal.registration_ = register_temporary(place, [&] {
    journal.fd_ = Descriptor(
        retry_interrupted([&] { return ::openat(place.directory(), place.name(), kFlags, 0600); }));
    return journal.fd_.get() >= 0;
  });
  if (journal.registration_ < 0) throw_system_error(name, "cannot be created");
  const auto size = static_cast<off_t>(bytes_offset(kSlots, capacity));
  if (retry_interrupted([&] { return ::fallocate(journal.fd_.get(), 0, 0, size); }) != 0 &&
      errno != EOPNOTSUPP)
    throw_system_error(name, "cannot be written");
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : place_(other.place_),
      fd_(std::move(other.fd_)),
      last_(std::move(other.last_)),
      registration_(std::exchange(other.registration_, -1)) {}

Journal::~Journal() {
  if (registration_ < 0) return;
  ::unlinkat(place_.directory(), place_.name(), 0);
  unregister_temporary(registration_);
}

void Journal::read_last(std::span<std::byte> bytes) const {
  if (read_at(fd_, bytes, bytes_offset(last_->sequence % kSlots, last_->capacity), path()) < bytes.size())
    throw Error(ErrorKind::io, fmt::format("{}: changed while it was read", path()));
}

void Journal::append(JournalRecord record, std::span<const std::byte> bytes) {
  record.sequence = last_ ? last_->sequence + 1 : 0;
  const std::uint64_t slot = record.sequence % kSlots;
  Block block{.magic = kMagic,
              .format = kFormat,
              .sequence = record.sequence,
              .capacity = record.capacity,
              .offset = record.offset,
              .length = bytes.size(),
              .file_size = record.file_size,
              .start = record.start,
              .bytes_checksum = checksum(bytes),
              .parameters_size = record.parameters.size(),
              .parameters = {},
              .checksum = 0};
  std::ranges::copy(record.parameters, block.parameters.begin());
  block.checksum = checksum(checked_part(block));
  write_at(fd_, bytes, bytes_offset(slot, record.capacity), path());
  write_at(fd_, std::as_bytes(std::span(&block, 1)), block_offset(slot), path());
  if (::fdatasync(fd_.get()) != 0) throw_system_error(path(), "cannot be written to the disk");
  record.length = bytes.size();
  last_ = std::move(record);
}

void Journal::keep() {
  if (!place_.sync()) throw_system_error(path(), "its directory cannot be written to the disk");
  if (registration_ >= 0) unregister_temporary(std::exchange(registration_, -1));
}

bool Journal::remove() {
  return ::unlinkat(place_.directory(), place_.name(), 0) == 0 && place_.sync();
}

}  // namespace clipper
