#include "files/journaled_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "error.hpp"
#include "files/checksum.hpp"
#include "files/file_state.hpp"
#include "files/mount.hpp"
#include "files/terms.hpp"

namespace clipper {

JournaledFile::JournaledFile(const InputFile& input)
    : input_(input),
      journal_(Journal::find(input.place(), input.status().st_mode)),
      change_(),
      known_(input.status()) {
  next_.file_size = input.size();
  if (input.size() < next_.start.size()) return;  // not an .npy file: read_header() reports that
  input.read_at(next_.start, 0);
  unfinished_ = next_.start[npy::kVersionAt] == npy::kUnfinishedVersion;
  // GlusterFS clients show cached data for up to a second, despite the lock: a change by another client would
  // be lost.
  if (!unfinished_ && is_on_fuse(input.descriptor().get(), "fuse.glusterfs"))
    refuse(input.path(), "refused to avoid data loss: " + Term{"direct", "changing a file directly"} +
                             " is not safe on GlusterFS, which may show other clients' changes late; " +
                             Term{"direct", "replace the file"} + ", or write to another file");
  if (unfinished_) {
    refuse_unless_it_can_go_on();
    next_.start = journal_->last()->start;
  }
}

void JournaledFile::refuse_unless_it_can_go_on() const {
  const auto refuse = [&](const std::string& why) {
    clipper::refuse(input_.path(), "left unfinished by " + kDirect + ", and its journal " + why +
                                       "; restore its own journal, or the tensor from a backup");
  };
  if (!journal_) refuse(fmt::format("{} is missing", Journal::place_for(input_.place()).path()));
  if (!journal_->last()) refuse(fmt::format("{} is damaged", journal_->path()));
  if (!is_recorded(*journal_->last())) refuse(fmt::format("{} belongs to another file", journal_->path()));
}

/// Whether the record fits a file of this size.
bool JournaledFile::is_recorded(const JournalRecord& record) const {
  const std::uint64_t size = input_.size();
  return record.file_size == size && record.capacity <= size && record.offset <= size &&
         record.length <= size - record.offset;
}

std::optional<std::byte> JournaledFile::version() const {
  if (!unfinished_) return std::nullopt;
  return next_.start[npy::kVersionAt];
}

const JournalRecord* JournaledFile::recorded() const noexcept {
  return journal_ && journal_->last() ? &*journal_->last() : nullptr;
}

std::uint64_t JournaledFile::header_sum() const {
  std::vector<std::byte> header(change_.data_offset);
  input_.read_at(header, 0);
  header[npy::kVersionAt] = next_.start[npy::kVersionAt];
  return placed_sum(header, 0);
}

/// Whether all bytes of the file outside the part match the record and, if the file is valid, also the part.
/// For an unfinished file, finish_interrupted() checks the part.
bool JournaledFile::is_as_recorded(const JournalRecord& record) {
  if (!is_recorded(record) || record.offset < change_.data_offset) return false;
  const std::uint64_t end = record.offset + record.length;
  sum_before_ += change_.sum(change_.data_offset, record.offset);
  sum_after_ = change_.sum(end, record.file_size);
  if (sum_before_ + sum_after_ != record.rest_sum) return false;
  return unfinished_ || change_.sum(record.offset, end) == record.part_sum;
}

void JournaledFile::refuse_changed() const {
  const std::string differs = fmt::format("does not match its journal {}", journal_->path());
  if (unfinished_)
    refuse(input_.path(),
           "left unfinished by " + kDirect + ", but " + differs +
               ": the journal belongs to another file, or another program changed this one; restore "
               "its own journal, or the tensor from a backup");
  refuse(input_.path(), differs + ", left when " + kDirect +
                            " was interrupted; if the tensor is correct, remove the journal");
}

void JournaledFile::discard_journal() {
  if (const std::error_code error = journal_->remove())
    throw_system_error(journal_->path(), "cannot be removed", error.value());
  journal_.reset();
}

/// A valid file has a journal if the change was interrupted before the first part was written (the journal is
/// not needed), or after the last (the change is complete). Checksums must prove either, because a file that
/// was written anew, or got the name of the interrupted one, is valid, too.
std::optional<JournalRecord> JournaledFile::begin(Change change) {
  change_ = std::move(change);
  next_.parameters = change_.what;
  next_.description = change_.description;
  next_.min = change_.min;
  next_.max = change_.max;
  next_.capacity = change_.capacity;
  const std::uint64_t header = sum_before_ = header_sum();
  if (!journal_) return std::nullopt;
  const std::optional<JournalRecord> last = journal_->last();
  if (unfinished_ && last->parameters != change_.what)
    refuse(input_.path(), Term{"direct", "another direct change"} +
                              " was interrupted; repeat it first: " + last->description);
  if (last && !unfinished_ && last->sequence > 0 && !last->is_last()) refuse_changed();
  if (last && !is_as_recorded(*last)) refuse_changed();
  if (unfinished_ || (last && last->is_last() && last->parameters == change_.what)) {
    next_.capacity = last->capacity;
    resumed_ = true;
    return last;
  }
  discard_journal();
  sum_before_ = header;
  return std::nullopt;
}

/// Whether every byte of the part in the file is the original or the new one: a torn write leaves nothing
/// else. Before a part is written, this tells a write that came in the same tick as this process's last one.
bool JournaledFile::is_part_or_torn(const Part& part) const {
  std::vector<std::byte> step(64UL * 1024);
  for (std::size_t at = 0; at < part.after.size(); at += step.size()) {
    const std::span now(step.data(), std::min(step.size(), part.after.size() - at));
    input_.read_at(now, part.offset + at);
    if (std::memcmp(now.data(), part.before.data() + at, now.size()) == 0) continue;
    for (std::size_t i = 0; i < now.size(); ++i)
      if (now[i] != part.before[at + i] && now[i] != part.after[at + i]) return false;
  }
  return true;
}

/// Writes the journal and the version again: the interrupted process may have had a sync error, and only what
/// was synced without one is on the disk.
void JournaledFile::finish_interrupted(const Part& part) {
  if (unfinished_) {
    if (!is_part_or_torn(part)) refuse_changed();
    journal_->confirm(part.before);
    expect_own();
    write_version(npy::kUnfinishedVersion);
    sync();
    write(part);
  }
  sum_before_ += part.sum_after;
}

void JournaledFile::read(std::span<std::byte> before, std::uint64_t offset) {
  expect_own();
  input_.read_at(before, offset);
}

void JournaledFile::leave(const Part& part) {
  if (journal_) sum_after_ -= part.sum_before;
  sum_before_ += part.sum_before;
}

void JournaledFile::change(const Part& part) {
  if (journal_)
    sum_after_ -= part.sum_before;
  else
    sum_after_ = change_.sum(part.offset + part.before.size(), input_.size());
  if (!journal_) journal_.emplace(Journal::create(input_.place(), input_.status().st_mode, capacity()));
  next_.offset = part.offset;
  next_.part_sum = part.sum_before;
  next_.rest_sum = sum_before_ + sum_after_;
  journal_->append(next_, part.before);
  if (!unfinished_) poison();
  write(part);
  sum_before_ += part.sum_after;
}

void JournaledFile::poison() {
  journal_->keep();
  try {
    expect_own();
    write_version(npy::kUnfinishedVersion);
  } catch (...) {
    std::ignore = journal_->remove();
    throw;
  }
  unfinished_ = true;
  sync();
}

void JournaledFile::commit() {
  expect_own();
  if (!journal_) return;
  if (sum_after_ != 0) refuse_written();  // parts changed after the first record was made
  if (!journal_->last()->is_last()) {
    next_.offset = next_.file_size;
    next_.part_sum = 0;
    next_.rest_sum = sum_before_;
    journal_->append(next_, {});
    expect_own();
  }
  write_version(next_.start[npy::kVersionAt]);
  unfinished_ = false;
  confirm();
  expect_named();
  if (const std::error_code error = journal_->remove())
    throw Error(ErrorKind::not_durable,
                fmt::format("{}: complete, but cannot confirm that its journal {} is removed: {}",
                            input_.path(), journal_->path(), error.message()));
}

/// The file is readable from here on. Until the journal is removed, the same change confirms it again.
void JournaledFile::confirm() const try {
  if (::fsync(input_.descriptor().get()) != 0) throw_system_error(input_.path(), "cannot be flushed to disk");
  check_close(input_.descriptor(), input_.path());
} catch (const Error& error) {
  throw Error(ErrorKind::not_durable,
              fmt::format("{}; complete, but the disk did not confirm it; the same ", error.what()) +
                  Term{"direct", "change"} +
                  fmt::format(" does, and removes the journal {}", journal_->path()));
}

/// Checks that no other process has written to the file. Cannot detect a write between this process's last
/// write and the fstat() after it, nor a write in the same tick. Such a write into a part that is not yet
/// changed alters the sums; one into a changed part stays in the file.
void JournaledFile::expect_own() {
  if (is_written(known_, expect_named())) refuse_written();
}

/// A file without a name could not be finished after an interruption.
struct stat JournaledFile::expect_named() {
  struct stat now {};
  if (::fstat(input_.descriptor().get(), &now) != 0) throw_system_error(input_.path(), "cannot be examined");
  if (now.st_nlink > 0) return now;
  if (journal_) std::ignore = journal_->remove();
  refuse(input_.path(), "was removed while it was changed");
}

void JournaledFile::refuse_written() const {
  throw Error(ErrorKind::io, fmt::format("{}: another process wrote to it while it was changed{}",
                                         input_.path(), unfinished_ ? " and may have damaged it" : ""));
}

void JournaledFile::write_version(std::byte version) const {
  write_at(input_.descriptor(), std::span(&version, 1), npy::kVersionAt, input_.path());
}

void JournaledFile::write(const Part& part) {
  expect_own();
  if (!is_part_or_torn(part)) refuse_written();
  write_at(input_.descriptor(), part.after, part.offset, input_.path());
  sync();
}

void JournaledFile::sync() {
  if (::fdatasync(input_.descriptor().get()) != 0)
    throw_system_error(input_.path(), "cannot be flushed to disk");
  if (::fstat(input_.descriptor().get(), &known_) != 0)
    throw_system_error(input_.path(), "cannot be examined");
  if (known_.st_size != input_.status().st_size) refuse_written();
}

}  // namespace clipper
