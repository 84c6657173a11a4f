#include "direct_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <tuple>
#include <vector>

#include "error.hpp"

namespace clipper {
namespace {

/// Whether the file holds these bytes at that place.
template <class ReadExpected>
bool holds(const InputFile& file, std::uint64_t offset, std::uint64_t length, ReadExpected read_expected) {
  std::vector<std::byte> present(length);
  std::vector<std::byte> expected(length);
  file.read_at(present, offset);
  read_expected(std::span(expected));
  return present == expected;
}

}  // namespace

DirectFile::DirectFile(const InputFile& input) : input_(input), journal_(Journal::find(input.place())) {
  next_.file_size = input.size();
  if (input.size() < next_.start.size()) return;  // no .npy file, as its reader will say
  input.read_at(next_.start, 0);
  unfinished_ = next_.start[npy::kVersionAt] == npy::kUnfinishedVersion;
  if (unfinished_) {
    refuse_unless_it_can_go_on();
    next_.start = journal_->last()->start;
  }
}

void DirectFile::refuse_unless_it_can_go_on() const {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::refused,
                fmt::format("{}: left unfinished by --in-place --direct, {}", input_.path(), why));
  };
  if (!journal_) refuse("and its journal is not beside it");
  if (!journal_->last()) refuse(fmt::format("and {} is damaged", journal_->path()));
  if (!is_recorded(*journal_)) refuse(fmt::format("and {} is of another file", journal_->path()));
}

/// A valid file with a journal: its change ended either before the first part was written, and can be
/// forgotten, or after the last.
void DirectFile::discard_needless_journal() {
  const auto read_before = [&](std::span<std::byte> bytes) { journal_->read_last(bytes); };
  if (is_recorded(*journal_) &&
      !holds(input_, journal_->last()->offset, journal_->last()->length, read_before))
    return;
  if (!journal_->remove()) throw_system_error(journal_->path(), "cannot be removed");
  journal_.reset();
}

/// Whether the journal can be of this file.
bool DirectFile::is_recorded(const Journal& journal) const {
  const std::optional<JournalRecord>& last = journal.last();
  const std::uint64_t size = input_.size();
  return last && last->file_size == size && last->capacity <= size && last->offset <= size &&
         last->length <= size - last->offset;
}

std::optional<std::byte> DirectFile::version() const {
  if (!unfinished_) return std::nullopt;
  return next_.start[npy::kVersionAt];
}

std::optional<JournalRecord> DirectFile::begin(const std::string& parameters, std::uint64_t capacity) {
  next_.parameters = parameters;
  next_.capacity = capacity;
  if (journal_ && !unfinished_) discard_needless_journal();
  if (!journal_) return std::nullopt;
  const JournalRecord& last = *journal_->last();
  if (last.parameters != parameters)
    throw Error(ErrorKind::refused,
                fmt::format("{}: another --in-place --direct was interrupted, which must end first: {}",
                            input_.path(), last.parameters));
  next_.capacity = last.capacity;
  return last;
}

void DirectFile::finish_interrupted(std::span<const std::byte> after) {
  const std::uint64_t offset = journal_->last()->offset;
  if (unfinished_) {
    write(after, offset);
    return;
  }
  const auto copy_after = [&](std::span<std::byte> bytes) { std::ranges::copy(after, bytes.begin()); };
  if (!holds(input_, offset, after.size(), copy_after))
    throw Error(ErrorKind::refused, fmt::format("{}: has changed since --in-place --direct was interrupted; "
                                                "remove {} if it is as it should be",
                                                input_.path(), journal_->path()));
}

void DirectFile::change(std::uint64_t offset, std::span<const std::byte> before,
                        std::span<const std::byte> after) {
  if (!journal_) journal_.emplace(Journal::create(input_.place(), capacity()));
  next_.offset = offset;
  journal_->append(next_, before);
  if (!unfinished_) {
    journal_->keep();
    try {
      write_version(npy::kUnfinishedVersion);
    } catch (...) {
      std::ignore = journal_->remove();
      throw;
    }
    unfinished_ = true;
    sync();
  }
  write(after, offset);
}

void DirectFile::commit() {
  if (!journal_) return;
  write_version(next_.start[npy::kVersionAt]);
  if (::fsync(input_.descriptor().get()) != 0)
    throw_system_error(input_.path(), "cannot be written to the disk");
  check_close(input_.descriptor(), input_.path());
  unfinished_ = false;
  if (!journal_->remove())
    throw Error(ErrorKind::not_durable,
                fmt::format("{}: complete, but {} cannot be removed for good: {}", input_.path(),
                            journal_->path(), std::generic_category().message(errno)));
}

void DirectFile::write_version(std::byte version) const {
  write_at(input_.descriptor(), std::span(&version, 1), npy::kVersionAt, input_.path());
}

void DirectFile::write(std::span<const std::byte> bytes, std::uint64_t offset) const {
  write_at(input_.descriptor(), bytes, offset, input_.path());
  sync();
}

void DirectFile::sync() const {
  if (::fdatasync(input_.descriptor().get()) != 0)
    throw_system_error(input_.path(), "cannot be written to the disk");
}

}  // namespace clipper
