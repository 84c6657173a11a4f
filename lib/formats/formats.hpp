#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"
#include "element/tensor_layout.hpp"
#include "files/input_file.hpp"
#include "npy/header.hpp"
#include "npz/archive.hpp"
#include "raw/raw.hpp"

/// The formats of files that hold tensors, as one table: how a file is recognised, how its tensors are read,
/// and what is around them in a new file. A file holds one tensor (.npy, raw, ONNX's TensorProto), or many
/// entries: .npz archives, safetensors files and the indexes of sets of these, all called archives
/// (container.hpp). Errors have the path in front.
namespace clipper {

using npz::Contents;

struct Entries;
struct Entry;
struct NewEntry;
enum class Check : std::uint8_t;
enum class KeptFor : bool;

/// How the user wants files to be read.
struct Reading : npy::GivenDType {
  /// What files are of which nothing tells what they are. Members of archives ignore it.
  std::shared_ptr<const raw::Layout> raw{};
  const Format* format = nullptr;  ///< the same: see format_of_word(). Null: their names tell it
  bool raw_if_needed = false;  ///< whether files that need no `raw` are read, too, and not refused with it

  bool ignore_trailing = false;     ///< accept bytes after the array
  Caching caching = Caching::kept;  ///< of files that open() opens, and of what is made of them
};

/// What a new file has around the bytes of its tensors. Entries are known by their index in the archive that
/// was read.
struct Frame {
  using Write = std::function<void(std::string_view bytes)>;

  std::string front{};  ///< before the first tensor
  std::string back{};   ///< after the only tensor

  // Of archives:
  std::vector<std::size_t> order{};  ///< in which the entries are written; empty: as they were given

  /// In front of the bytes of an entry. The length depends on the entry and contents.size only, so that this
  /// can be written after the bytes.
  std::function<std::string(std::size_t entry, const Contents& contents)> before =
      [](std::size_t /*entry*/, const Contents& /*contents*/) { return std::string(); };

  /// Notes an entry that begins, with `before`, at byte `begin` of the new archive.
  std::function<void(std::size_t entry, const Contents& contents, std::uint64_t begin)> add =
      [](std::size_t /*entry*/, const Contents& /*contents*/, std::uint64_t /*begin*/) {};

  /// Writes what comes after all entries, at byte `begin`.
  std::function<void(std::uint64_t begin, const Write& write)> finish = [](std::uint64_t /*begin*/,
                                                                           const Write& /*write*/) {};
};

/// What the name of the index of a set of safetensors files ends with; with a variant, as transformers and
/// diffusers have it, ".safetensors.index.fp16.json".
inline constexpr std::string_view kIndexSuffix = ".safetensors.index.json";

/// Which walks through directories find a format without being asked for it: `--include` asks.
enum class Walked : std::uint8_t {
  always,
  unless_replaced,  ///< not those that replace what they find: nobody rewrites weights by accident
  if_all,           ///< only those that look for every tensor, to compare
};

/// A row of the table. The functions throw Error{input} without a path in front unless stated otherwise, and
/// may be called from many threads.
struct Format {
  std::string_view name;  ///< "an .npz archive"
  std::array<std::string_view, 2> suffixes{};

  /// The end of the names in the patterns of shells, after a dot: "npz".
  std::string_view pattern{};
  std::string_view
      word{};  ///< of --format, for files that nothing else tells; empty: they tell it themselves
  Walked walked = Walked::if_all;

  bool in_c_order = false;     ///< elements have no other order
  bool little_endian = false;  ///< nor another byte order
  bool has_crc = false;        ///< of each entry

  /// Whether a file with these first npy::kKindSize bytes can be one. Null: only its name tells.
  bool (*begins)(std::span<const std::byte> start) = nullptr;

  // Of a file that is one tensor:

  /// What is read of the file, whose bytes are `own`. Null for .npy: see read_header().
  Source (*source)(const InputFile& file, const Reading& how, MemberContents own) = nullptr;

  /// What is around the elements of a result. `kept` is what was read, if that has the same format.
  Frame (*frame)(const TensorLayout& result, const Source* kept) = nullptr;

  // Of an archive:

  Entries (*entries)(const InputFile& file, KeptFor kept_for) = nullptr;

  /// An entry; at least its first `size` bytes, if there are as many. `path` is that of the entry.
  Source (*entry)(const InputFile& file, const std::string& path, const Entry& entry, Check check,
                  std::uint64_t size) = nullptr;

  bool (*has_dtype)(DType dtype) = nullptr;

  [[nodiscard]] std::string_view suffix() const { return suffixes.front(); }

  /// Whether FILE:NAME is a tensor in such a file.
  [[nodiscard]] bool has_entries() const { return entries != nullptr; }

  /// Whether the entries are in other files.
  [[nodiscard]] bool is_index() const { return suffix() == kIndexSuffix; }
};

[[nodiscard]] std::span<const Format> formats() noexcept;

/// Whether the name ends so, in capital or small letters.
[[nodiscard]] bool has_suffix(std::string_view name, std::string_view suffix) noexcept;

/// The format whose suffix the name of a file has. Null for other names.
[[nodiscard]] const Format* format_named(std::string_view name);

/// The words of --format: "auto", and those of the table.
[[nodiscard]] std::vector<std::string_view> format_words();

/// The format of a word; null for "auto" and for words that are none.
[[nodiscard]] const Format* format_of_word(std::string_view word);

[[nodiscard]] bool is_index(std::string_view name);

/// ".npy, .npz or .safetensors": what a walk finds without being asked for it. An index is a safetensors
/// file.
[[nodiscard]] std::string walked_suffixes(Walked walk);

/// The format of an archive that begins with these npy::kKindSize bytes. Null for other files. A PyTorch file
/// is no .npz archive, although it is a zip file, too.
[[nodiscard]] const Format* archive_format(std::span<const std::byte> start);

/// The same for a regular file. Null for a member of an archive. Leaves the file as it is.
[[nodiscard]] const Format* archive_format(const InputFile& file);
[[nodiscard]] inline bool is_archive(const InputFile& file) {
  return archive_format(file) != nullptr;
}

/// From now on the open file, and members of an archive, are read so. It becomes such a file, if `how` or its
/// name says that it is one. A stream is read to its end then. Error{usage} with `how.raw` for a file whose
/// content or name tells that it is another one.
void read_as(InputFile& file, const Reading& how);

enum class Streams : bool { taken, refused };

/// Opens a file, pipe or FILE:MEMBER: see InputFile::open(), open_regular() and member_path().
[[nodiscard]] InputFile open_input(const std::string& path, Streams streams = Streams::taken,
                                   Caching caching = Caching::kept);

/// Opens a file or an archive that will be changed: see InputFile::open_to_change(). Error{usage} for
/// FILE:MEMBER.
[[nodiscard]] InputFile open_to_change(const std::string& path, Caching caching);

/// Opens what open_input() does, to be read so.
[[nodiscard]] InputFile open_as(const Reading& how, const std::string& path,
                                Streams streams = Streams::taken);

/// The files that reading `path` reads besides it and, of FILE:MEMBER, besides FILE: external data of a
/// TensorProto, and the files of an index. None if that cannot be found out: who reads the file says why.
[[nodiscard]] std::vector<std::string> files_behind(const Reading& how, const std::string& path);

/// What the file's Source says of its tensor, or else the header at its start; leaves a stream before the
/// first element. Errors have the path in front; for an archive, the error says how to name a member. A
/// regular file must have the size that its header says: see expect_size(). If `header_bytes` is given, it
/// receives the .npy header, or nothing if the file has none. If `start` is given, it is used in place of the
/// file's first bytes: see DirectFile. `opaque` and `types` are for npy::parse().
[[nodiscard]] npy::Header read_header(InputFile& file, const npy::GivenDType& dtype,
                                      std::vector<std::byte>* header_bytes = nullptr,
                                      std::optional<npy::Start> start = std::nullopt,
                                      npy::Opaque opaque = npy::Opaque::refused,
                                      npy::Types types = npy::Types::dtypes);

/// The format of a result: what its name says if that tells one; otherwise raw for `to_raw`, or that of the
/// input. Without a name the result replaces the input.
[[nodiscard]] const Format& result_format(const InputFile& input, const std::optional<std::string>& out,
                                          bool to_raw);

/// Error{usage} if the name of the result says that it is of a kind that is not written: OUT.gz, OUT.csv. The
/// input may have the same suffix. Streams have any name.
void expect_written_kind(const InputFile& input, const std::string& out, bool to_raw,
                         bool (*is_stream)(const std::string&));

/// What is around the elements of a result, whose name and format are those of result_format(). Error{usage}
/// if `to_raw` contradicts the name, Error{input} if such a file cannot hold the result.
[[nodiscard]] Frame result_frame(const InputFile& input, const TensorLayout& result,
                                 const std::optional<std::string>& out, bool to_raw);

}  // namespace clipper
