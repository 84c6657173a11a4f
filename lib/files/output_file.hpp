#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/input_file.hpp"
#include "files/place.hpp"
#include "files/replacement.hpp"
#include "os/os.hpp"

/// Writing. Every failure is an Error that names the path; its kind is {io} unless stated otherwise.
namespace clipper {

class OutputRoot;
struct OutputTarget;

/// Which blocks of its input an output may share instead of writing them: none, or those of parts, too.
enum class Sharing : std::uint8_t { none, whole, parts };

/// A file that is written. Nothing of it is visible under its path before commit(), and nothing is left if it
/// is destroyed before. A stream (pipe, device, standard output) receives its bytes at once instead; so does
/// the file of a descriptor (/dev/stdout) that is not under its name: see Place::of_file().
class OutputFile {
 public:
  /// What to do if the output exists: replace it, refuse to, or refuse to because it did not exist when the
  /// run was planned. In the last case it may be another output of this run under another name.
  enum class Existing : std::uint8_t { replace, refuse, must_be_new };
  enum class Durability : std::uint8_t {
    none,
    visible,  ///< whoever finds the name finds the complete file, also later and on other machines
    on_disk,
  };

  /// Opens a new file, the replacement of an existing file, or a stream; "-" is standard output. Symbolic
  /// links are followed. A new file gets the permissions `mode`, less the umask; a replacement keeps the
  /// permissions and the ACL of the old file. Error{usage} if the output is a terminal. Error{refused} if it
  /// exists and may not be replaced, is a block device or a dangling link, if an append-only directory
  /// prevents the rename, or if it is not below `root`.
  [[nodiscard]] static OutputFile create(const std::string& path, Existing existing, Durability durability,
                                         os::Mode mode = 0666, const OutputRoot* root = nullptr);

  /// Throws the errors of create(), and creates nothing.
  static void check(const std::string& path, Existing existing, const OutputRoot* root = nullptr);

  /// Opens the replacement of a file from InputFile::open_to_change(). It keeps the permissions, owner, ACL
  /// and `user.` attributes, and is always Durability::on_disk. Error{refused} if it cannot keep them. Call
  /// expect_one_link() before.
  [[nodiscard]] static OutputFile create_in_place(const InputFile& input,
                                                  const std::optional<Backup>& backup = std::nullopt);

  /// Whether a direct change of the file is possible, which the messages of a refusal name then.
  enum class Direct : bool { possible, impossible };

  /// Throws the errors of expect_one_link() and create_in_place(), and creates nothing.
  static void check_in_place(const InputFile& input, const std::optional<Backup>& backup = std::nullopt,
                             Direct direct = Direct::possible);

  /// Takes over a complete, open file that clipper has made. commit() links it to `path`, as if it came from
  /// create(); its other names are left alone. Needs /proc, see can_be_named().
  [[nodiscard]] static OutputFile adopt(const std::string& path, Existing existing, Descriptor fd);

  /// Whether an open file can be linked to a name, which needs /proc.
  [[nodiscard]] static bool can_be_named() noexcept;

  /// Opens a file that other processes write, too. All offsets are relative to `base`. The file has its name
  /// already: call close_common() instead of commit().
  [[nodiscard]] static OutputFile open_common(Descriptor fd, const Place& place, std::uint64_t base);

  /// Brings the written bytes to the disk, and reports errors that only close() reports.
  void close_common() const;

  /// Creates an internal file of clipper with the permissions `mode`, less the umask. commit() may replace
  /// any file or link at `place`, but no directory.
  [[nodiscard]] static OutputFile create_own(Place place, Existing existing, os::Mode mode,
                                             Durability durability);

  /// Whether `size` more bytes find room beside the input.
  [[nodiscard]] static bool has_room(const InputFile& input, std::uint64_t size) noexcept;

  /// Error{refused}, with ENOSPC, unless `size` more bytes find room beside the input: also where room that
  /// is about to become free has to be waited for.
  static void expect_room(const InputFile& input, std::uint64_t size);

  /// Whether a replacement of `input` may share parts of its blocks: see may_share().
  [[nodiscard]] static bool may_share_parts(const InputFile& input) noexcept;

  /// Error{refused} if the input has several hard links, which a replacement would separate. Its backup,
  /// which a run that was killed has made, is none.
  static void expect_one_link(const InputFile& input, const std::optional<Backup>& backup = std::nullopt,
                              Direct direct = Direct::possible);

  /// The file that this one replaces is kept: it gets the name of its backup before this file gets its name.
  /// For files of create().
  void set_backup(const std::optional<Backup>& backup) { backup_ = backup; }

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Whether the file is regular. If so, write_start() and write_at() may be called from many threads and in
  /// any order; otherwise only write(), in order.
  [[nodiscard]] bool is_regular() const noexcept { return regular_; }

  /// From now on, offsets are relative to `base`, and write() goes on there: the members of an archive are
  /// written one after the other. Only for a regular file.
  void set_base(std::uint64_t base);
  [[nodiscard]] std::uint64_t base() const noexcept { return base_; }

  /// Whether what is written to a regular file stays in the page cache.
  void set_caching(Caching caching) noexcept {
    if (regular_) fd_.set_caching(caching);
  }

  /// Whether only this object has written to the file, and it began empty: what was not written is zeros.
  [[nodiscard]] bool is_new() const noexcept { return new_; }

  /// Gives the file this size beyond the base; all bytes that are not written are holes.
  void set_size(std::uint64_t size) const;

  /// Reserves disk space for `size` bytes where that is safe and makes writing faster. Error{io} if the space
  /// is not available. Returns whether it is reserved.
  [[nodiscard]] bool reserve(std::uint64_t size) const;

  /// Whether reserved space may be written by MappedBlock: nobody else sees the file, and whoever waits for
  /// the disk or leaves no pages in memory would gain nothing.
  [[nodiscard]] bool may_be_mapped() const noexcept {
    return new_ && !temporary_ && !mode_ && durability_ == Durability::none && fd_.caching() == Caching::kept;
  }

  /// Whether the blocks of `input`, a regular file of its own, may become those of this file, too. Parts only
  /// if commit() flushes the file: see README.md.
  [[nodiscard]] Sharing may_share(const InputFile& input) const;

  /// Makes a part of this file, which may be all of it, equal to the same part of `input`: both share its
  /// blocks until one of them changes. False if the file system cannot do that, if the part does not consist
  /// of whole blocks, or if the input was changed after it was opened; it may then have any contents.
  [[nodiscard]] bool share(const InputFile& input, std::uint64_t offset, std::uint64_t size) const;

  void write(std::span<const std::byte> bytes);
  void write_start(std::span<const std::byte> header, std::span<const std::byte> elements) const;
  void write_at(std::span<const std::byte> bytes, std::uint64_t offset) const;

  /// Brings the complete file to the disk, if commit() would.
  void flush() const;

  /// Whether the file that this complete one would replace, and that would be kept as a backup, has the same
  /// bytes: then nothing is to do, because a result never becomes a backup. Error{refused} if it has others,
  /// and another file is the backup and stays.
  [[nodiscard]] bool is_there_already() const;

  /// Gives the complete file its name; with Durability::on_disk, brings it to the disk before that.
  /// Error{not_durable} if the file has its name, but its directory could not be flushed to disk. `last_look`
  /// is called right before the file gets its name, and may throw to prevent that. Not for files of
  /// create_in_place().
  void commit(const std::function<void()>& last_look = [] {});

  /// Sets the permissions of the file: the last step before the caller brings it to the disk and calls
  /// replace().
  void complete() const;

  /// Gives `input`, which this file of create_in_place() replaces next, the name of its backup, if it shall
  /// have one; the caller brings that to the disk. Throws the errors of KeptFile::keep(), and those of
  /// InputFile::expect_unchanged().
  void keep_replaced(InputFile& input);
  [[nodiscard]] bool keeps_replaced() const noexcept { return kept_ != nullptr; }

  /// Takes the backup of keep_replaced() back, because it could not be flushed to disk, and throws that.
  void take_back_replaced(int error);

  /// Replaces `input`, if that is unchanged and still has its name. Otherwise throws the errors of
  /// InputFile::expect_unchanged(), and every name stays with the file that has it. Error{refused} if another
  /// clipper has locked this file. Error{not_durable} if `input` was replaced, but a file is left under a
  /// hidden name. Removes no other file than `input` and this one, and the backup that it replaces.
  void replace(InputFile& input);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const Place& place() const noexcept { return *place_; }  ///< only of a regular file
  [[nodiscard]] const Descriptor& descriptor() const noexcept { return fd_; }

 private:
  OutputFile(Descriptor fd, std::string path, Durability durability)
      : fd_(std::move(fd)), path_(std::move(path)), durability_(durability) {}
  OutputFile(Place place, Durability durability)
      : place_(std::move(place)), path_(place_->path()), durability_(durability) {}
  [[nodiscard]] static OutputFile for_target(OutputTarget& target, Existing existing, Durability durability);
  void keep_access() const;
  void keep_permissions();
  [[nodiscard]] static OutputFile open_stream(const std::string& path, const OutputTarget& target,
                                              Durability durability);
  void create_temporary();
  void create_named_temporary();
  [[nodiscard]] bool name_temporary(const std::function<int(const Place&)>& create);
  void name_complete();
  void forget_temporary() noexcept;
  void remove_temporary(const FileId& file);
  [[nodiscard]] bool has_bytes_of(const Descriptor& other) const;
  void commit_stream();
  void put_in_place();
  void replace_kept();
  template <class Work>
  void with_way_back(const Work& work);

  /// What register_temporary() has returned; -1 for none, as after a move.
  struct Registration {
    Registration() = default;
    Registration(Registration&& other) noexcept : id(std::exchange(other.id, -1)) {}
    int id = -1;
  };

  /// What an exchange of names with the file that this one replaces needs to know.
  struct Replaced {
    FileId old;
    std::function<bool()> is_right;          ///< see exchange()
    std::function<void()> expect_unchanged;  ///< the last look; throws
    ErrorKind kind;                          ///< of the error if another file came out
    std::string why;
  };
  void take_place_of(const Replaced& replaced);
  [[nodiscard]] bool rename_to_new();
  [[nodiscard]] FileId own_id() const;
  /// Error{refused} if errno says that an open file keeps its name.
  [[noreturn]] void throw_not_in_place() const;
  [[noreturn]] void throw_taken_back(const Replaced& replaced, const FileId& own) const;
  [[nodiscard]] bool link_as(const Place& place) const;

  std::optional<Place> place_;  ///< the destination, links resolved; nothing for a stream
  Descriptor fd_;
  std::string path_;
  Durability durability_;
  bool regular_ = false;  ///< false: a stream
  bool new_ = false;
  bool has_old_bytes_ = false;      ///< a regular file that is written like a stream, before the first write
  std::uint64_t base_ = 0;          ///< added to all offsets
  std::optional<Place> temporary_;  ///< the hidden name in the same directory, while it has one
  Registration registration_;       ///< of temporary_
  std::optional<os::Mode> mode_;    ///< of the replaced file; nothing for a new file
  os::Mode new_mode_ = 0666;        ///< of a new file, before the umask
  Existing existing_ = Existing::replace;
  std::optional<Backup> backup_;
  std::unique_ptr<KeptFile> kept_;              ///< the file that is about to be replaced, with backup_
  std::unique_ptr<KeptAttributes> attributes_;  ///< of the input that is about to be replaced
};

/// What an output path refers to.
struct OutputTarget {
  enum class Kind : std::uint8_t { standard_output, new_file, stream, file };

  Kind kind;
  std::optional<Place> place;  ///< of a new or existing file, links resolved; nothing for a stream
  os::Status status{};         ///< if the target exists
};

/// Examines the path. Throws the errors of OutputFile::create() for a target that cannot be written. A target
/// that must be new is not looked at: the link that gives the output its name fails if there is a file.
[[nodiscard]] OutputTarget examine(const std::string& path, OutputFile::Existing existing);

/// Throws Error{refused} for an existing file that `existing` does not allow to be replaced; Error{io} if it
/// is a link that cannot be followed.
[[noreturn]] void refuse_existing(const std::string& path, OutputFile::Existing existing);

/// Makes the directory and those above it that are missing. Error{io} if one cannot be made.
void make_directory(const std::string& path);

/// A directory that no output leaves, whatever links are below it. Links that stay inside are followed. What
/// counts is where a directory is that is held open, not the names on the way there.
class OutputRoot {
 public:
  /// The directory may not exist yet, and may itself be a link. Error{io} if it cannot be examined.
  explicit OutputRoot(std::string path);

  /// Error{refused} if a link in `path`, which begins with the root's path, leads out of the root. Looks at
  /// the directories that exist.
  void check(const std::string& path) const;

  /// The same, and makes the directories that are missing, the root's, too. Error{io} if one cannot be made.
  void make_directories(const std::string& path);

  /// Error{refused} unless the place of the output `path` is in the root or below it. No place: a link leads
  /// to something else than a file.
  void expect_inside(const std::string& path, const std::optional<Place>& place) const;

 private:
  enum class Missing : bool { end, made };
  void follow(const std::string& path, Missing missing) const;
  void open();
  [[noreturn]] void refuse(const std::string& path) const;

  std::string path_;
  Descriptor fd_;  ///< none if the directory does not exist
  FileId id_;
};

/// Replaces many files in place and shares the cost of flushing them to disk: the data of all files in a
/// batch is flushed, then each file gets its name, then the directories are flushed. Each file is completely
/// old or completely new at every instant.
class ReplacementBatch {
 public:
  struct Replacement {
    InputFile input;    ///< locked until it is replaced
    OutputFile output;  ///< completely written, not committed

    /// Called once by the thread that commits the batch: with null after the file is in place and on the
    /// disk; otherwise with the error of OutputFile::replace(), or Error{io} if the input has changed. Must
    /// not throw.
    std::function<void(std::exception_ptr)> done;
  };

  /// Calls `place` in the same thread, which replaces the files of one batch and calls done() for each.
  using Around = std::function<void(const std::function<void()>& place)>;

  explicit ReplacementBatch(Around around = [](const auto& place) { place(); });

  /// Adds a file, and commits the batch if it is large enough. Callable from many threads.
  void add(Replacement replacement);

  /// Commits all files that were added and not committed yet. Returns false if there were none. Files that
  /// are not committed when the batch is destroyed stay unchanged.
  bool commit();

 private:
  Around around_;
  std::mutex commit_mutex_;
  std::mutex mutex_;                  ///< guards waiting_ and bytes_
  std::vector<Replacement> waiting_;  ///< the current batch
  std::uint64_t bytes_ = 0;           ///< size of the current batch
  std::size_t max_;                   ///< max files in a batch
};

}  // namespace clipper
