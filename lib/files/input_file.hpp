#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/descriptor.hpp"
#include "files/place.hpp"
#include "npy/header.hpp"

/// Reading. Every failure is an Error that names the path: {io} if nothing else is said.
namespace clipper {

/// A file, pipe or device that is read.
class InputFile {
 public:
  /// Opens `path`; "-" is standard input. Error{usage} if that is a terminal.
  [[nodiscard]] static InputFile open(const std::string& path);

  /// Opens a regular file; Error{input} for anything else, which is not waited for.
  [[nodiscard]] static InputFile open_regular(const std::string& path);

  /// Opens the regular file that `path` leads to, which is going to be replaced or changed, and keeps other
  /// runs of clipper from doing the same until it is closed. Error{refused} if it is no regular file, is
  /// write-protected, or is in use, and if another file gets its name meanwhile, and on sshfs.
  [[nodiscard]] static InputFile open_to_change(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const Descriptor& descriptor() const noexcept { return fd_; }
  [[nodiscard]] const struct stat& status() const noexcept { return status_; }  ///< as it was when opened

  /// Whether open_to_change() could lock it; some network file systems have no locks.
  [[nodiscard]] bool is_locked() const noexcept { return locked_; }

  /// The name of a file that was opened to change, links followed.
  [[nodiscard]] const Place& place() const noexcept { return *place_; }

  /// Whether somebody has written to the regular file since it was opened; one that was opened to change,
  /// whether it has got or lost a name, too. True, with errno, if it cannot be examined; otherwise errno is
  /// 0.
  [[nodiscard]] bool has_changed() const noexcept;
  void expect_unwritten() const;  ///< Error{io} if it has changed

  /// Of a file that was opened to change: Error{refused} if its name is another file's now, Error{io} if
  /// somebody has written to it, or changed its attributes or names.
  void expect_unchanged() const;

  /// A regular file: it has a size, and is read anywhere. Everything else is a stream: read once, in order.
  /// Standard input always is a stream, as it may stand anywhere in a file.
  [[nodiscard]] bool is_regular() const noexcept { return regular_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(status_.st_size); }

  /// The next bytes, less than asked for only at the end.
  [[nodiscard]] std::size_t read(std::span<std::byte> bytes);

  /// The next bytes, all of them; Error{input} if the stream ends before.
  void read_exactly(std::span<std::byte> bytes);

  /// Bytes that are read in order: those at `offset` of a regular file; of a stream, which stands there, the
  /// next.
  void read_next_at(std::span<std::byte> bytes, std::uint64_t offset);

  /// Bytes after the array are no part of the tensor, instead of an error.
  void ignore_trailing() noexcept { trailing_ignored_ = true; }

  /// Error{input} unless everything has been read, or the rest is read and dropped if it is to be ignored.
  void expect_end();

  /// Error{input} for a regular file that goes on after the array, which ends at byte `end`. If that is to be
  /// ignored, Error{refused} for one that was opened to change: nothing would keep those bytes.
  void expect_size(std::uint64_t end) const;

  /// The bytes at `offset` of a regular file, all of them. Callable from many threads.
  void read_at(std::span<std::byte> bytes, std::uint64_t offset) const;

 private:
  InputFile(Descriptor fd, std::string path);
  [[nodiscard]] static InputFile open_path(const std::string& path, int flags);
  void lock();

  Descriptor fd_;
  std::string path_;
  struct stat status_ {};
  std::optional<Place> place_;
  bool regular_ = false;
  bool locked_ = false;
  bool trailing_ignored_ = false;
};

/// The header at the start of the file, which stands before the first element afterwards. Errors have the
/// path in front. A regular file must have the size that its header says: see expect_size(). `header_bytes`,
/// if asked for, are the bytes before the first element. `version` stands for the file's own version byte.
/// `opaque` is for npy::parse().
[[nodiscard]] npy::Header read_header(InputFile& file, std::optional<DType> dtype,
                                      std::vector<std::byte>* header_bytes = nullptr,
                                      std::optional<std::byte> version = std::nullopt,
                                      npy::Opaque opaque = npy::Opaque::refused);

/// Whether somebody has written to the file between the two, as far as its times say: before Linux 6.13 two
/// writes in the same tick of its clock, a few milliseconds, have the same time. A program that has mapped
/// the file into its memory changes the time with its first write to a page only, until the system writes it
/// out.
[[nodiscard]] bool is_written(const struct stat& before, const struct stat& now);

}  // namespace clipper
