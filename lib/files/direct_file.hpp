#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "files/input_file.hpp"
#include "npy/other.hpp"
#include "os/os.hpp"

namespace clipper {

/// A tensor file whose elements are overwritten where they are, without a second file. From the first write
/// to commit() no reader accepts the file, because npy::unfinished_start() takes the place of its first
/// bytes. A change whose result is the same if it is made twice is finished by the same change. Every failure
/// is an Error that names the path; its kind is {io} unless stated otherwise.
class DirectFile {
 public:
  /// `input` is from InputFile::open_to_change() and must outlive this. Error{refused} on GlusterFS, unless
  /// there is an interrupted change to finish.
  explicit DirectFile(const InputFile& input);

  /// Whether an earlier change was interrupted.
  [[nodiscard]] bool was_interrupted() const noexcept { return interrupted_; }

  /// For read_header(): the file's first bytes before the interrupted change; nothing if none was
  /// interrupted.
  [[nodiscard]] std::optional<npy::Start> start() const;

  /// Whether readers refuse the file.
  [[nodiscard]] bool is_unfinished() const noexcept { return unfinished_; }

  /// `what` is everything that decides the result. Error{refused} if another change was interrupted.
  void begin(std::string_view what);

  /// Reads a part of the file. Error{io} if another process has written to the file.
  void read(std::span<std::byte> bytes, std::uint64_t offset);

  /// Overwrites a part that read() has given. Error{io} if another process has written to the part.
  void write(std::span<const std::byte> before, std::span<const std::byte> after, std::uint64_t offset);

  /// Makes the file valid again, after all parts are on the disk. Error{io} if another process has written to
  /// the file; Error{not_durable} if the file is complete, but the disk did not confirm it.
  void commit();

 private:
  void mark();
  void sync() const;
  void expect_own() const;
  void expect_whole(const os::Status& now) const;
  [[nodiscard]] os::Status status() const;
  [[noreturn]] void refuse_written() const;

  const InputFile& input_;
  npy::Start start_{};  ///< the first bytes of the finished file
  npy::Start mark_{};   ///< those of the unfinished file
  os::Status known_;    ///< the file's status after this process last wrote to it
  bool interrupted_ = false;
  bool unfinished_ = false;
};

}  // namespace clipper
