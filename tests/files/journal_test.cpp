#include "files/journal.hpp"

#include "files/checksum.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"

namespace clipper::testing {
namespace {

constexpr std::uint64_t kCapacity = 256;
constexpr std::size_t kBlock = 4096;  // size of a record; two of them precede the bytes of the parts

/// The bytes of the part that step `number` changes, with lengths from 1 to the capacity.
std::string part(std::uint64_t number) {
  return std::string(number == 1 ? kCapacity : number * 31 % kCapacity + 1, static_cast<char>('a' + number));
}

/// The record of step `number`, with a different value in each member.
JournalRecord record(std::uint64_t number) {
  const std::uint64_t offset = number * 1000;
  JournalRecord result;
  result.capacity = kCapacity;
  result.offset = offset;
  result.file_size = 123'456;
  result.start.fill(std::byte{93});
  result.part_sum = placed_sum(bytes(part(number)), offset);
  result.rest_sum = number + 7;
  result.min = number + 8;
  result.max = number + 9;
  return result;
}

struct Scratch {
  TemporaryDirectory directory;
  Place file = Place::of(directory / "x.npy");
  std::string path = directory / ".x.npy.clipper-journal";

  /// Makes the journal of a process that ended after this many steps.
  void make(std::uint64_t steps) const {
    Journal journal = Journal::create(file, 0600, kCapacity);
    for (std::uint64_t i = 0; i < steps; ++i) journal.append(record(i), bytes(part(i)));
    journal.keep();
  }

  [[nodiscard]] std::optional<Journal> find() const { return Journal::find(file, 0600); }

  [[nodiscard]] std::string why_not() const {
    return refusal(ErrorKind::refused, [&] { return find(); });
  }
};

void check_is_step(const Journal& journal, std::uint64_t number) {
  REQUIRE(journal.last());
  const JournalRecord expected = record(number);
  const JournalRecord& last = *journal.last();
  CHECK(last.sequence == number);
  CHECK(last.length == part(number).size());
  CHECK(std::tie(last.capacity, last.offset, last.file_size, last.start, last.part_sum, last.rest_sum,
                 last.min, last.max) == std::tie(expected.capacity, expected.offset, expected.file_size,
                                                 expected.start, expected.part_sum, expected.rest_sum,
                                                 expected.min, expected.max));
  std::string read(last.length, '\0');
  journal.read_last(std::as_writable_bytes(std::span(read)));
  CHECK(read == part(number));
}

}  // namespace

TEST_CASE("find() returns the journal with the record that was written last") {
  for (std::uint64_t steps = 1; steps < 12; ++steps) {
    const Scratch scratch;
    scratch.make(steps);
    const std::optional<Journal> journal = scratch.find();
    REQUIRE(journal);
    CAPTURE(steps);
    check_is_step(*journal, steps - 1);
  }
}

TEST_CASE("find() returns nothing without a journal, and a journal without records has no last record") {
  const Scratch scratch;
  CHECK_FALSE(scratch.find());
  scratch.make(0);
  const std::optional<Journal> journal = scratch.find();
  REQUIRE(journal);
  CHECK_FALSE(journal->last());
}

TEST_CASE("a journal is removed when its process ends, unless it is kept") {
  const Scratch scratch;
  {
    Journal journal = Journal::create(scratch.file, 0600, kCapacity);
    journal.append(record(0), bytes(part(0)));
    const Journal moved = std::move(journal);
    CHECK(mode_of(scratch.path) == 0600);
  }
  CHECK(scratch.directory.entries().empty());
}

TEST_CASE("if any byte of a record or its part is damaged, the record before it counts") {
  for (const std::uint64_t steps : {2U, 3U}) {
    const Scratch scratch;
    scratch.make(steps);
    const std::size_t slot = (steps - 1) % 2;
    const auto check_damaged = [&](std::size_t at) {
      flip(scratch.path, at);
      const std::optional<Journal> journal = scratch.find();
      flip(scratch.path, at);
      CAPTURE(steps, at);
      REQUIRE(journal);
      REQUIRE(journal->last());
      REQUIRE(journal->last()->sequence == steps - 2);
    };
    for (std::size_t at = 0; at < kBlock; ++at) check_damaged(slot * kBlock + at);
    for (std::size_t at = 0; at < part(steps - 1).size(); ++at)
      check_damaged(2 * kBlock + slot * kCapacity + at);
    check_is_step(*scratch.find(), steps - 1);
  }
}

TEST_CASE("wherever a journal is cut off, the record before the cut counts, or none") {
  const Scratch scratch;
  scratch.make(2);
  const std::string whole = read_file(scratch.path);
  const std::size_t needed = 2 * kBlock + kCapacity + part(1).size();
  REQUIRE(whole.size() >= needed);
  for (const std::size_t size :
       {needed - 1, 2 * kBlock + kCapacity, 2 * kBlock + part(0).size(), 2 * kBlock + part(0).size() - 1,
        2 * kBlock, kBlock + 100, kBlock, kBlock - 1, std::size_t{100}, std::size_t{0}}) {
    CAPTURE(size);
    write_file(scratch.path, std::string_view(whole).substr(0, size));
    const std::optional<Journal> journal = scratch.find();
    REQUIRE(journal);
    REQUIRE(journal->last().has_value() == (size >= 2 * kBlock + part(0).size()));
    if (journal->last()) check_is_step(*journal, 0);
  }
}

TEST_CASE("two torn slots leave no record, and the next record counts") {
  const Scratch scratch;
  scratch.make(2);
  flip(scratch.path, 100);
  flip(scratch.path, kBlock + 100);
  {
    std::optional<Journal> journal = scratch.find();
    REQUIRE(journal);
    CHECK_FALSE(journal->last());
    journal->append(record(0), bytes(part(0)));
  }
  check_is_step(*scratch.find(), 0);
}

TEST_CASE("a journal of another format and a file that is no journal are refused and left alone") {
  for (const auto& [at, why] :
       {std::pair{8U, "was left by another version of clipper"}, std::pair{0U, "is not a clipper journal"}}) {
    const Scratch scratch;
    scratch.make(1);
    flip(scratch.path, at);
    const auto snapshot = scratch.directory.snapshot();
    CHECK(scratch.why_not().find(why) != std::string::npos);
    CHECK(scratch.directory.snapshot() == snapshot);
  }
}

TEST_CASE("a record whose parameters are too long is refused, and the last record still counts") {
  const Scratch scratch;
  {
    Journal journal = Journal::create(scratch.file, 0600, kCapacity);
    journal.append(record(0), bytes(part(0)));
    JournalRecord long_one = record(1);
    long_one.parameters = std::string(3977, 'x');
    CHECK(refusal(ErrorKind::refused, [&] {
            journal.append(long_one, bytes(part(1)));
          }).find("has no room for 3977 bytes of parameters (max 3976)") != std::string::npos);
    CHECK(journal.last()->sequence == 0);
    journal.keep();
  }
  check_is_step(*scratch.find(), 0);
}

TEST_CASE("confirm() writes the last record once more, also if it was damaged") {
  const Scratch scratch;
  scratch.make(2);
  {
    std::optional<Journal> journal = scratch.find();
    flip(scratch.path, kBlock + 100);
    journal->confirm(bytes(part(1)));
  }
  check_is_step(*scratch.find(), 1);
}

TEST_CASE("a journal with wider permissions than its file is refused") {
  const Scratch scratch;
  scratch.make(1);
  for (const mode_t mode : {0640U, 0602U, 0660U}) {
    REQUIRE(::chmod(scratch.path.c_str(), mode) == 0);
    CHECK(scratch.why_not().find("admits users whom the tensor's mode") != std::string::npos);
  }
  CHECK(Journal::find(scratch.file, 0666)->last());
}

TEST_CASE("only one process at a time can open a journal") {
  const Scratch scratch;
  scratch.make(1);
  const std::optional<Journal> journal = scratch.find();
  CHECK(scratch.why_not().find("is locked") != std::string::npos);
}

TEST_CASE("remove() removes the journal, but not another file with its name") {
  const Scratch scratch;
  scratch.make(1);
  std::optional<Journal> journal = scratch.find();
  std::filesystem::rename(scratch.path, scratch.directory / "moved");
  CHECK_FALSE(journal->remove());
  write_file(scratch.path, "stranger");
  CHECK_FALSE(journal->remove());
  CHECK(read_file(scratch.path) == "stranger");
  std::filesystem::rename(scratch.directory / "moved", scratch.path);
  CHECK_FALSE(journal->remove());
  CHECK(scratch.directory.entries().empty());
  CHECK_FALSE(journal->remove());
}

}  // namespace clipper::testing
