#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "files/descriptor.hpp"
#include "files/input_file.hpp"
#include "files/place.hpp"

/// Writing. Every failure is an Error that names the path: {io} if nothing else is said.
namespace clipper {

struct OutputTarget;

/// A file that is written. Nothing of it is visible under its path before commit(), and nothing is left if it
/// is destroyed without; a stream (pipe, device, standard output) gets its bytes at once instead.
class OutputFile {
 public:
  /// What to do if there is a file already: replace it, refuse to, or refuse because there was none when the
  /// work was planned; then it may be another name of something that has been written since.
  enum class Existing : std::uint8_t { replace, refuse, must_be_new };
  enum class Durability : std::uint8_t {
    none,
    visible,  ///< whole for whoever finds its name, on any machine that shares the file system, now or later
    on_disk,
  };

  /// A new file, or the replacement of one, or a stream; "-" is standard output. A symbolic link is followed.
  /// A new file gets the mode that the umask leaves, a replacement keeps the replaced file's,
  /// and its access control list.
  /// Error{usage} if it is a terminal, Error{refused} for an existing file unless it may be replaced, for a
  /// block device, a dangling link, and in a directory that lets nothing be replaced.
  [[nodiscard]] static OutputFile create(const std::string& path, Existing existing, Durability durability);

  /// Throws what create() would throw, and creates nothing.
  static void check(const std::string& path, Existing existing);

  /// The replacement of a file that is open to be changed. It keeps the mode, the owner, the access control
  /// list and the `user.` attributes, and is always Durability::on_disk. Error{refused} if it cannot keep
  /// those, if there are several hard links, and if there is not the space for a second file.
  [[nodiscard]] static OutputFile create_in_place(const InputFile& input);

  /// Throws what create_in_place() would throw, and creates nothing; `direct`: only what keeps a journal from
  /// being made.
  static void check_in_place(const InputFile& input, bool direct);

  /// A file that clipper has made, that is complete and open. commit() puts it in place as what create()
  /// makes, as one more name of it: whatever has its other names meanwhile is left alone. Not possible
  /// without /proc, see can_be_named().
  [[nodiscard]] static OutputFile adopt(const std::string& path, Existing existing, Descriptor fd);

  /// Whether an open file can be given a name.
  [[nodiscard]] static bool can_be_named() noexcept;

  /// A file that others write, too: all offsets are from `base` on. It has its name already and is not to be
  /// committed but closed.
  [[nodiscard]] static OutputFile open_common(Descriptor fd, const Place& place, std::uint64_t base);

  /// Brings what was written to the disk, and reports what only close() does.
  void close_common() const;

  /// A file of clipper's own, with the mode that the umask leaves of `mode`. It may replace whatever has the
  /// name, a link itself, but no directory.
  [[nodiscard]] static OutputFile create_own(Place place, Existing existing, mode_t mode,
                                             Durability durability);

  /// The free bytes of its file system, as many as there can be if that has no limit.
  [[nodiscard]] static std::uint64_t space_beside(const InputFile& input);

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Bytes are written anywhere, in any order, from many threads: write_start() and write_at(). Otherwise
  /// write(), in order.
  [[nodiscard]] bool is_regular() const noexcept { return regular_; }

  /// Takes the disk space for `size` bytes where that makes writing them faster and safe. Error{io} if there
  /// is no such space.
  void reserve(std::uint64_t size) const;

  void write(std::span<const std::byte> bytes);
  void write_start(std::span<const std::byte> header, std::span<const std::byte> elements) const;
  void write_at(std::span<const std::byte> bytes, std::uint64_t offset) const;

  /// Puts the complete file in place; with Durability::on_disk after it is on the disk, and then
  /// Error{not_durable} if only the directory could not be confirmed. `last_look` may throw instead: it is
  /// called right before a file gets its name. Not of create_in_place().
  void commit(const std::function<void()>& last_look = [] {});

  /// Gives the file its mode: the last step before it is brought to the disk and replace() is called.
  void complete() const;

  /// Puts the replacement of `input` in place, if that has not changed and still has its name; otherwise as
  /// InputFile::expect_unchanged(), and what has the name keeps it. Error{not_durable} if the replacement is
  /// in place, but what had its name is left under a hidden one.
  void replace(const InputFile& input);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const Place& place() const noexcept { return *place_; }  ///< of a regular file
  [[nodiscard]] const Descriptor& descriptor() const noexcept { return fd_; }

 private:
  OutputFile(Descriptor fd, std::string path, Durability durability)
      : fd_(std::move(fd)), path_(std::move(path)), durability_(durability) {}
  OutputFile(Place place, Durability durability)
      : place_(std::move(place)), path_(place_->path()), durability_(durability) {}
  [[nodiscard]] static OutputFile for_target(OutputTarget& target, Existing existing, Durability durability);
  void keep_access() const;
  [[nodiscard]] static OutputFile open_stream(const std::string& path, Durability durability);
  static void check_room(const InputFile& input);
  void create_temporary();
  void create_named_temporary();
  [[nodiscard]] bool name_temporary(const std::function<bool(const Place&)>& create);
  void name_complete();
  void forget_temporary() noexcept;
  void remove_temporary();
  void commit_stream();
  void put_in_place();
  [[nodiscard]] bool rename_to_new();
  [[nodiscard]] bool link_as(const Place& place) const;

  std::optional<Place> place_;  ///< the destination, links resolved; none of a stream
  Descriptor fd_;
  std::string path_;
  Durability durability_;
  bool regular_ = false;            ///< otherwise a stream
  std::uint64_t base_ = 0;          ///< of all offsets
  std::optional<Place> temporary_;  ///< its name beside the destination, while it has one
  int registration_ = -1;           ///< of that name, in the table that remove_temporaries() goes through
  std::optional<mode_t> mode_;      ///< of the file that is replaced; a new one's comes from the umask
  mode_t new_mode_ = 0666;          ///< of a new one, before the umask
  Existing existing_ = Existing::replace;
};

}  // namespace clipper
