#include "files/direct_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/place.hpp"

namespace clipper {

DirectFile::DirectFile(const InputFile& input) : input_(input), known_(input.status()) {
  if (input.size() < start_.size()) return;  // not an .npy file: read_header() reports that
  input.read_at(start_, 0);
  unfinished_ = interrupted_ = npy::is_unfinished(start_);
  if (unfinished_) {
    mark_ = start_;
    start_ = npy::finished_start(mark_);
  } else if (is_on_fuse(input.descriptor().get(), "fuse.glusterfs")) {
    // GlusterFS clients show cached data for up to a second, despite the lock.
    refuse(input.path(), "refused to avoid data loss: " + Term{"direct", "changing a file directly"} +
                             " is not safe on GlusterFS, which may show other clients' changes late; " +
                             Term{"not_direct", "replace the file", Says::advice} +
                             ", or write to another file");
  }
}

std::optional<npy::Start> DirectFile::start() const {
  return interrupted_ ? std::optional(start_) : std::nullopt;
}

void DirectFile::begin(std::string_view what) {
  const npy::Start mark = npy::unfinished_start(start_, checksum(std::as_bytes(std::span(what))));
  if (interrupted_ && mark != mark_)
    refuse(input_.path(), "another " + Term{"direct", "direct change"} +
                              " was interrupted; finish it first, with the parameters that it had");
  mark_ = mark;
}

void DirectFile::read(std::span<std::byte> bytes, std::uint64_t offset) {
  expect_own();
  input_.read_at(bytes, offset);
}

/// The part is read once more, because a write in the same tick as this process's last one shows in no time.
void DirectFile::write(std::span<const std::byte> before, std::span<const std::byte> after,
                       std::uint64_t offset) {
  if (!unfinished_) mark();
  expect_own();
  std::vector<std::byte> step(std::min<std::size_t>(before.size(), 64UL * 1024));
  for (std::size_t at = 0; at < before.size(); at += step.size()) {
    const std::span now(step.data(), std::min(step.size(), before.size() - at));
    input_.read_at(now, offset + at);
    if (std::memcmp(now.data(), before.data() + at, now.size()) != 0) refuse_written();
  }
  write_at(input_.descriptor(), after, offset, input_.path());
  known_ = status();
}

/// The mark is on the disk before any element changes.
void DirectFile::mark() {
  expect_own();
  write_at(input_.descriptor(), mark_, 0, input_.path());
  unfinished_ = true;
  known_ = status();
  sync();
}

void DirectFile::commit() {
  expect_own();
  if (!unfinished_) return;
  sync();
  check_close(input_.descriptor(), input_.path());
  expect_own();  // others had much time to write meanwhile
  write_at(input_.descriptor(), start_, 0, input_.path());
  unfinished_ = false;
  os::Status now{};  // the file is complete: if it cannot be examined, the change has not failed
  if (os::fstat(input_.descriptor().get(), &now) == 0) expect_whole(now);
  if (os::fsync(input_.descriptor().get()) != 0)
    throw Error(
        ErrorKind::not_durable,
        fmt::format("{}: complete, but may not survive a power failure: it cannot be flushed to disk: {}",
                    input_.path(), os::error_text(errno)));
}

void DirectFile::sync() const {
  if (os::fdatasync(input_.descriptor().get()) != 0)
    throw_system_error(input_.path(), "cannot be flushed to disk");
}

/// Cannot detect a write between this process's last write and the fstat() after it, nor a write in the same
/// tick: such a write stays in the file.
void DirectFile::expect_own() const {
  if (is_written(known_, status())) refuse_written();
}

os::Status DirectFile::status() const {
  const os::Status now = status_of(input_.descriptor(), input_.path());
  expect_whole(now);
  return now;
}

/// A file without a name could not be finished after an interruption.
void DirectFile::expect_whole(const os::Status& now) const {
  if (now.st_nlink == 0) refuse(input_.path(), "was removed while it was changed");
  if (now.st_size != input_.status().st_size) refuse_written();
}

void DirectFile::refuse_written() const {
  throw Error(ErrorKind::io, fmt::format("{}: another process wrote to it while it was changed{}",
                                         input_.path(), unfinished_ ? " and may have damaged it" : ""));
}

}  // namespace clipper
