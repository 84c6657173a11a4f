#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"
#include "element/logical_type.hpp"
#include "error.hpp"
#include "files/input_file.hpp"
#include "formats/formats.hpp"
#include "npy/header.hpp"
#include "npz/archive.hpp"

/// The entries of archives. Errors have the path in front.
namespace clipper {

using Codec = npz::Method;

/// A file of a set as it was when its header was read. It is closed since then: a set may have more files
/// than a process may open.
struct SetFile {
  std::string path;
  os::Status status;
};

/// A tensor in a container, or whatever else it has under a name.
struct Entry {
  std::string name{};                             ///< as in the container. Never a path on disk.
  std::size_t key_size = std::string_view::npos;  ///< see key()
  Codec method = Codec::stored;
  Contents contents{};
  std::uint64_t data = 0;         ///< where its bytes begin in the file
  const SetFile* file = nullptr;  ///< that has them; null: the container itself

  // Of an entry that is no .npy file, because the container says what the elements in it are.
  std::string_view type{};  ///< as the container calls it
  std::vector<std::int64_t> shape{};
  std::string_view other{};  ///< what it is, if clipper does not read such elements: "float4_e2m1fn"

  /// What FILE:MEMBER calls it: np.load's key or, if another entry has that name, its own name.
  [[nodiscard]] std::string_view key() const { return std::string_view(name).substr(0, key_size); }
};

/// What the first bytes of an entry say: the header of a tensor, or what else the entry is.
struct EntryHeader {
  std::optional<npy::Header> header;
  std::vector<std::byte> bytes;  ///< the .npy header, if there is one
  std::string_view other;        ///< without `header`: "bool", "structured", "not .npy"
};

/// What becomes of an entry in a new container.
struct NewEntry {
  const Entry* from;
  bool is_dropped;
  std::uint64_t size;       ///< of its elements
  std::optional<DType> to;  ///< the dtype of its elements, if it is another one
};

/// What the structure of a container says.
struct Entries {
  std::vector<Entry> list;

  /// The frame of a container that gets these entries, all of `list`, in place of them. Null for an index,
  /// whose entries are in other files.
  std::function<Frame(std::span<const NewEntry> entries)> frame;

  std::deque<SetFile> files{};  ///< of an index
};

/// What entries are read for: Entries::frame, which takes most of the memory, exists only for rewriting.
enum class KeptFor : bool { rewriting, reading };

/// Who compares the contents of an entry with their CRC-32.
enum class Check : std::uint8_t { now, by_caller };

/// The path of a file that is named relative to the directory of another one.
[[nodiscard]] std::string beside(const std::string& path, std::string_view name);

/// The paths of the files that an index names, sorted; whether they exist is not examined. Error{input}, with
/// the path in front, for a malformed index.
[[nodiscard]] std::vector<std::string> paths_of_set(const std::string& index);

/// The text of `index` for the set whose index is `path`: what its files have is complete. Error{input} if a
/// file lacks a tensor that is not `dropped`, or has one that the index lacks.
[[nodiscard]] std::string index_text(const InputFile& index, const std::string& path,
                                     const std::set<std::string>& dropped);

/// The type in npy::parse()'s error for a file that is valid, see kTypeField. Empty for other errors.
[[nodiscard]] std::string_view refused_type(const Error& error);

/// The entries of an open container.
class Container {
 public:
  /// Reads the structure of an archive of this format. Error{input}: see npz::read_archive() and
  /// safetensors::parse(). `file` must outlive this.
  Container(const InputFile& file, const Format& format, KeptFor kept_for = KeptFor::rewriting);
  explicit Container(const InputFile& file, KeptFor kept_for = KeptFor::rewriting)
      : Container(file, *archive_format(file), kept_for) {}
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_.list; }
  [[nodiscard]] const Format& format() const noexcept { return format_; }
  [[nodiscard]] const InputFile& file() const noexcept { return file_; }

  /// The files of an index.
  [[nodiscard]] const std::deque<SetFile>& files() const noexcept { return entries_.files; }
  [[nodiscard]] std::size_t index_of(const Entry& member) const {
    return static_cast<std::size_t>(&member - entries_.list.data());
  }

  /// See Entries.
  [[nodiscard]] Frame frame(std::span<const NewEntry> entries) const { return entries_.frame(entries); }

  /// "a.npz:w": the path that open_input() takes for the member.
  [[nodiscard]] std::string path_of(const Entry& member) const;

  /// The member with this name, or else with this key. Null if there is none.
  [[nodiscard]] const Entry* find(std::string_view name) const;

  /// The same. Error{usage} if there is none: "a.npz: no member 'x'; it has w, mask".
  [[nodiscard]] const Entry& named(std::string_view name) const;

  /// Opens a member as a regular file, whose path() is path_of(). A deflated member is inflated: in memory if
  /// it has at most 1 MiB, otherwise to an unnamed file (see TemporaryFile). The file that is returned may
  /// outlive this and the archive's InputFile, and its status() is the archive's. Error{input} if the
  /// contents are damaged or compressed by another method. Callable from many threads.
  [[nodiscard]] InputFile open(const Entry& member, Check check = Check::now) const;

  /// Reads a member's header, and inflates no more of the member than that. Error{input}, with path_of() in
  /// front, for a malformed header, for a size that does not fit the header, and for a member NAME.npy that
  /// is not a .npy file. Nothing is compared with the CRC-32. Without a header are types that `types` of
  /// npy::parse() does not have.
  [[nodiscard]] EntryHeader header(const Entry& member, const npy::GivenDType& dtype,
                                   npy::Types types = npy::Types::dtypes) const;

 private:
  /// The first `size` bytes of a member's contents, or all if there are fewer.
  [[nodiscard]] std::vector<std::byte> start(const Entry& member, std::uint64_t size) const;
  [[nodiscard]] std::string first_keys() const;
  [[nodiscard]] std::shared_ptr<const InputFile> file_of(const Entry& member) const;

  const InputFile& file_;
  const Format& format_;
  Entries entries_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const InputFile> opened_;  ///< the file of a set that was needed last
};

/// A path FILE:MEMBER, where FILE has the name of a format with entries.
struct MemberPath {
  std::string archive;
  std::string member;
};

/// The parts of FILE:MEMBER, if no file has the whole name and FILE exists. Otherwise nothing.
[[nodiscard]] std::optional<MemberPath> member_path(const std::string& path);

/// Error{usage} for FILE:MEMBER as the name of an output.
void expect_no_member(const std::string& path);

/// Opens FILE:MEMBER. Error{input} if FILE is not an archive, Error{usage} if it has no such member.
[[nodiscard]] InputFile open_member(const MemberPath& path, Caching caching);

// Which tensors are chosen: by patterns of their names, and by their types.

/// Whether a pattern of fnmatch() matches the whole text; * also stands for /.
[[nodiscard]] bool matches(const std::string& pattern, const std::string& text);
[[nodiscard]] bool matches_any(const std::vector<std::string>& patterns, const std::string& text);

/// Which members of archives are chosen by their names or np.load's keys. In an archive that has a member
/// called as a pattern is written, the pattern stands for this member only.
class NameChoice {
 public:
  enum class How : std::uint8_t { not_chosen, by_pattern, by_name };

  /// What has to have a member for each pattern, also for those of `excluded`: each archive, or one of many,
  /// which expect_used() checks.
  enum class Needed : bool { in_each, in_any };

  /// All members.
  NameChoice() : NameChoice({}, {}) {}

  /// Those that `patterns` match, without those that `excluded` matches. Without patterns all are chosen, by
  /// a pattern.
  NameChoice(std::vector<std::string> patterns, std::vector<std::string> excluded,
             Needed needed = Needed::in_each);

  [[nodiscard]] bool has_patterns() const noexcept { return !patterns_.empty(); }
  [[nodiscard]] bool has_excluded() const noexcept { return !excluded_.empty(); }

  /// Whether a file that is named and is no archive is refused.
  [[nodiscard]] bool needs_archive() const noexcept {
    return has_patterns() || (has_excluded() && !is_for_many());
  }

  /// What messages call the choice: that of `patterns`, or of `excluded` if there are no others.
  [[nodiscard]] Term term() const;

  [[nodiscard]] bool is_for_many() const noexcept { return needed_ == Needed::in_any; }

  /// How each member of the archive is chosen. Error{usage} for a pattern without a member, if each archive
  /// needs one. Callable from many threads.
  [[nodiscard]] std::vector<How> of(const Container& archive) const;

  /// Of many archives: Error{usage} for the first pattern that matched no member of all archives so far.
  void expect_used() const;

 private:
  std::vector<std::string> patterns_;
  std::vector<std::string> excluded_;
  Needed needed_;
  std::shared_ptr<std::deque<std::atomic<bool>>> used_;  ///< patterns_, then excluded_; copies share it
};

/// A choice of tensors by their types.
class TypeChoice {
 public:
  /// The words besides those of dtype_word(). A float of one byte is chosen only by "all" or by its name.
  static constexpr std::array<std::string_view, 5> kKinds{"float", "int", "bool", "date", "all"};

  /// Also chooses the tensors that the word stands for. False for a word that names none.
  [[nodiscard]] bool add(std::string_view word);

  [[nodiscard]] bool contains(DType dtype, const LogicalType& meaning) const;

  /// Whether it has bool, dates or durations.
  [[nodiscard]] bool has_meanings() const { return bool_ || date_ || other_; }

  [[nodiscard]] static TypeChoice all();
  [[nodiscard]] static TypeChoice floats();
  [[nodiscard]] static TypeChoice numbers();  ///< floats and integers

 private:
  std::uint32_t dtypes_ = 0;  ///< a bit for each dtype
  bool bool_ = false;
  bool date_ = false;
  bool other_ = false;
};

// The functions of the table in formats.cpp for archives: archive_formats.cpp. The entries of an index are
// those of its files.
[[nodiscard]] bool begins_npz(std::span<const std::byte> start);
[[nodiscard]] Entries npz_entries(const InputFile& file, KeptFor kept_for);
[[nodiscard]] Source npz_entry(const InputFile& file, const std::string& path, const Entry& entry,
                               Check check, std::uint64_t size);
[[nodiscard]] Entries safetensors_entries(const InputFile& file, KeptFor kept_for);
[[nodiscard]] Entries index_entries(const InputFile& file, KeptFor kept_for);
[[nodiscard]] Source safetensors_entry(const InputFile& file, const std::string& path, const Entry& entry,
                                       Check check, std::uint64_t size);
[[nodiscard]] bool has_safetensors_dtype(DType dtype);

}  // namespace clipper
