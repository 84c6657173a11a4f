#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/place.hpp"
#include "npy/header.hpp"
#include "npy/other.hpp"
#include "os/os.hpp"

/// Reading, and changing a file where it is. Every failure is an Error that names the path; its kind is {io}
/// unless stated otherwise.
namespace clipper {

/// The terms of messages for the two ways to change a file under its own name.
inline constexpr Term kInPlaceChange{"in_place", "a change in place"};
inline constexpr Term kDirectChange{"direct", "a direct change"};

/// What to do instead of a change in place that would lose something; `keeps` is what a direct change does.
[[nodiscard]] inline Message way_to_keep(const char* keeps) {
  return os::kIsWindows ? Message("write to another file") : kDirectChange + keeps;
}

/// Where the bytes are that are read in place of a file's own: in a part of the file itself, in another file,
/// or in memory.
class MemberContents {
 public:
  /// A stored member: the bytes of the archive from `begin` on.
  MemberContents(std::uint64_t begin, std::uint64_t size) : begin_(begin), size_(size) {}
  MemberContents(Descriptor file, std::uint64_t size) : where_(std::move(file)), size_(size) {}
  explicit MemberContents(std::vector<std::byte> held) : size_(held.size()) { where_ = std::move(held); }

  /// A part of these contents.
  [[nodiscard]] MemberContents part(std::uint64_t begin, std::uint64_t size) && {
    begin_ += begin;
    size_ = size;
    return std::move(*this);
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Where the contents begin in the file that is read; 0 if they are elsewhere.
  [[nodiscard]] std::uint64_t begin() const noexcept {
    return std::holds_alternative<std::monostate>(where_) ? begin_ : 0;
  }

  /// Reads at `offset` of the contents. Returns the number of bytes, less than requested only at the end.
  /// Callable from many threads. Error{io} names `path`. `read_file` reads the file itself at an offset.
  template <class ReadFile>
  [[nodiscard]] std::size_t read_with(const ReadFile& read_file, std::span<std::byte> bytes,
                                      std::uint64_t offset, const std::string& path) const {
    if (offset >= size_) return 0;
    bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), size_ - offset));
    const std::uint64_t at = begin_ + offset;
    if (const auto* const held = std::get_if<std::vector<std::byte>>(&where_)) {
      std::copy_n(held->begin() + static_cast<std::ptrdiff_t>(at), bytes.size(), bytes.begin());
      return bytes.size();
    }
    const auto* const file = std::get_if<Descriptor>(&where_);
    return file != nullptr ? clipper::read_at(*file, bytes, at, path) : read_file(bytes, at);
  }

  [[nodiscard]] std::size_t read_at(const Descriptor& archive, std::span<std::byte> bytes,
                                    std::uint64_t offset, const std::string& path) const {
    return read_with([&](std::span<std::byte> part,
                         std::uint64_t at) { return clipper::read_at(archive, part, at, path); },
                     bytes, offset, path);
  }

 private:
  std::variant<std::monostate, Descriptor, std::vector<std::byte>> where_;  ///< nothing: the file itself
  std::uint64_t begin_ = 0;
  std::uint64_t size_ = 0;
};

class InputFile;
struct Format;

/// What is read in place of a file's own bytes: an entry of an archive, a stream that was read to its end, or
/// the tensor of a file that is no .npy file.
struct Source {
  MemberContents contents;

  /// Of the tensor whose elements the contents are. Nothing: they begin with a .npy header, if they are one.
  std::optional<TensorLayout> layout{};
  std::string why_none{};  ///< in place of `layout`: why clipper does not read such elements

  // Of a file that is one tensor:
  const Format* format = nullptr;  ///< null: .npy
  std::string before{};            ///< what a result of this format keeps: see the format's frame()
  std::string after{};
  std::shared_ptr<const InputFile> other{};  ///< the file that has the elements, if it is another one
};

/// A file, pipe or device, or a member of an .npz archive, that is read. A member is a regular file with its
/// own path, size and contents; everything else that is known of it, such as its status, is the archive's.
class InputFile {
 public:
  /// Opens `path`; "-" is standard input. Error{usage} if that is a terminal. Caching is that of a regular
  /// file; pages of a file that was mostly in the page cache stay.
  [[nodiscard]] static InputFile open(const std::string& path, Caching caching = Caching::kept);

  /// Opens a regular file. Error{input} for any other kind of file; does not wait for the writer of a FIFO.
  [[nodiscard]] static InputFile open_regular(const std::string& path, Caching caching = Caching::kept);

  /// Opens a regular file below the directory of the file `base`, following no symbolic link on the way.
  /// Error{input} for a `path` that is absolute, has `..` or leads through a link.
  [[nodiscard]] static InputFile open_below(const std::string& base, const std::string& path);

  /// Opens and locks a regular file, so that clipper can replace or change it: until the InputFile is
  /// destroyed, other runs of clipper refuse to. Error{refused} if the file is not regular, write-protected,
  /// locked by another program, replaced meanwhile, or on sshfs.
  [[nodiscard]] static InputFile open_to_change(const std::string& path, Caching caching = Caching::kept);

  InputFile(InputFile&&) = default;
  InputFile& operator=(InputFile&&) = default;
  ~InputFile();

  /// A member of this archive, which may be closed before it.
  [[nodiscard]] InputFile member(std::string path, Source source) const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const Descriptor& descriptor() const noexcept { return fd_; }
  [[nodiscard]] const os::Status& status() const noexcept { return status_; }  ///< when it was opened

  /// Takes the names that the file has now for those that it had when it was opened. Error{io} if it was
  /// written to.
  void accept_links();

  /// Whether open_to_change() has locked the file; some network file systems have no locks.
  [[nodiscard]] bool is_locked() const noexcept { return locked_; }

  /// The name of a file that was opened by open_to_change(), links followed.
  [[nodiscard]] const Place& place() const noexcept { return *place_; }

  /// Whether a regular file was written to since it was opened or, after open_to_change(), has gained or lost
  /// a hard link; also if that cannot be examined.
  [[nodiscard]] bool has_changed() const noexcept;

  /// Error{io} if has_changed(), or if the attributes or names of a regular file have changed since it was
  /// opened: who writes may set the modification time back.
  void expect_unwritten() const;

  /// The same, also for writes of other machines: on a file system that machines may share, first waits until
  /// this machine no longer shows what it knew of the file at the time `last_read`.
  void expect_unwritten_anywhere(std::chrono::steady_clock::time_point last_read) const;

  /// Only after open_to_change(). Error{refused} if another file has the name now, and the errors of
  /// expect_unwritten().
  void expect_unchanged() const;

  /// Whether the file is regular: it has a size and can be read at any offset. Everything else is a stream,
  /// which is read once and in order. Standard input always is a stream, because its position in a file may
  /// be anywhere.
  [[nodiscard]] bool is_regular() const noexcept { return regular_; }
  [[nodiscard]] bool is_member() const noexcept { return member_; }

  /// From now on, this is read in place of the file's own bytes. A stream, which the caller has read to its
  /// end, is a regular file then.
  void read_from(Source source);

  /// Null if what is read are the bytes of the file, as they are.
  [[nodiscard]] const Source* source() const noexcept { return source_ ? &*source_ : nullptr; }

  /// The permissions of a new file that gets what is read, before the umask: those of a regular file, as cp
  /// keeps them.
  [[nodiscard]] os::Mode mode_of_copy() const noexcept { return regular_ ? status_.st_mode & 0777 : 0666; }

  /// Where the contents begin in the file that is read: not 0 for a stored member.
  [[nodiscard]] std::uint64_t begin() const noexcept { return source_ ? source_->contents.begin() : 0; }
  [[nodiscard]] std::uint64_t size() const noexcept {
    return source_ ? source_->contents.size() : file_size();
  }
  [[nodiscard]] std::uint64_t file_size() const noexcept {
    return static_cast<std::uint64_t>(status_.st_size);
  }

  /// Where the tensor's elements begin in the contents, after read_header().
  [[nodiscard]] std::uint64_t data_begin() const noexcept { return data_begin_; }
  void set_data_begin(std::uint64_t offset) noexcept { data_begin_ = offset; }

  /// Makes read() begin at the start of a regular file again.
  void rewind() noexcept { position_ = 0; }

  /// Reads the next bytes. Returns their number, less than requested only at the end.
  [[nodiscard]] std::size_t read(std::span<std::byte> bytes);

  /// Reads exactly as many bytes as requested. Error{input} if the stream ends before.
  void read_exactly(std::span<std::byte> bytes);

  /// Reads the bytes at `offset` of a regular file, or the next bytes of a stream, which must have been read
  /// up to `offset`.
  void read_next_at(std::span<std::byte> bytes, std::uint64_t offset);

  /// From now on, bytes after the array are ignored instead of refused.
  void ignore_trailing() noexcept { trailing_ignored_ = true; }
  [[nodiscard]] bool ignores_trailing() const noexcept { return trailing_ignored_; }

  /// Error{input} if a stream has bytes after the array. If they are ignored, reads and drops them.
  void expect_end();

  /// Error{input} if a regular file has bytes after the array, which ends at byte `end`. If they are ignored,
  /// Error{refused} after open_to_change(), because the result would lose them.
  void expect_size(std::uint64_t end) const;

  /// Reads exactly the bytes at `offset` of a regular file; Error{io} if it ends before. Callable from many
  /// threads.
  void read_at(std::span<std::byte> bytes, std::uint64_t offset) const;

  /// The same, but returns the number of bytes, less than requested only at the end.
  [[nodiscard]] std::size_t read_some_at(std::span<std::byte> bytes, std::uint64_t offset) const;

 private:
  using Look = os::Status(const Descriptor& fd, const std::string& path);
  InputFile(Descriptor fd, std::string path, Look& look);
  InputFile(Descriptor fd, std::string path, const InputFile& archive, Source source);
  [[nodiscard]] static InputFile open_path(const std::string& path, int flags, Caching caching);
  [[noreturn]] static void refuse_replaced(const std::string& path, const os::Status& was,
                                           const InputFile& now);
  void set_caching(Caching caching) noexcept;
  [[nodiscard]] std::size_t read_own_at(std::span<std::byte> bytes, std::uint64_t offset) const;
  void lock();
  [[nodiscard]] bool is_changed(const os::Status& now) const noexcept;
  void expect_same_attributes(const os::Status& now) const;

  Descriptor fd_;  ///< for a member, that of the archive
  std::string path_;
  os::Status status_{};
  std::optional<Place> place_;
  bool regular_ = false;
  bool locked_ = false;
  bool trailing_ignored_ = false;
  bool member_ = false;
  std::optional<Source> source_;
  std::uint64_t position_ = 0;  ///< of read() in a regular file
  std::uint64_t data_begin_ = 0;
  std::vector<std::byte> start_;  ///< the first bytes as they were when the file was opened to be read
};

/// Throws Error{input}: there are `count` bytes after the array.
[[noreturn]] void refuse_trailing(const std::string& path, std::uint64_t count);

/// Whether a regular file takes up less disk space than its size. Members of archives count as dense.
[[nodiscard]] bool is_sparse(const InputFile& file) noexcept;

/// The bytes of a sparse file that take up disk space.
[[nodiscard]] std::uint64_t stored_bytes(const InputFile& file) noexcept;

struct Hole {
  std::uint64_t begin;
  std::uint64_t end;  ///< equal to `begin`: there is none
};

/// The first hole of the file between the bytes `from` and `end`. Other programs may fill it at any time.
[[nodiscard]] Hole next_hole(const InputFile& file, std::uint64_t from, std::uint64_t end) noexcept;

/// A tensor file whose elements are overwritten where they are, without a second file. From the first write
/// to commit() no reader accepts the file, because npy::unfinished_start() takes the place of its first
/// bytes. A change whose result is the same if it is made twice is finished by the same change.
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
