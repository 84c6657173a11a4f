#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clip/clip.hpp"
#include "contract/plan.hpp"
#include "element/text.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"

/// What the ways to clip a file share: what is done, what is known about the result, and who learns about it.
namespace clipper {

class SavedFigures;

/// Which tensors are clipped, and what becomes of the others: members of archives, and files that nobody
/// named (Clipping::is_named). See selection.hpp.
struct Selection {
  enum class Other : std::uint8_t { copy, drop, error };

  NameChoice members;
  std::optional<TypeChoice>
      only;  ///< of tensors that are not chosen by their names; nothing: what the words in selection.hpp say
  Other other = Other::copy;
};

/// What was done to a member of an archive, or to a file.
enum class MemberAction : std::uint8_t { clipped, copied, dropped };

/// What is done to every file of a run.
struct ClipSettings {
  Request request;
  Reading reading{};    ///< of all inputs; over integers in inputs and chosen members
  bool to_raw = false;  ///< write results without a header; archives are refused
  OutputFile::Durability durability = OutputFile::Durability::none;
  bool counting = false;  ///< count all clipped elements; otherwise only as far as the work needs it

  /// If more of a tensor's elements than this would be clipped or become infinite: Error{different}, and
  /// nothing is written.
  std::optional<Percentage> max_clipped;
  std::vector<std::optional<Percentage>> then_max_clipped{};  ///< by the later stages
  Selection selection{};
  std::optional<Backup> backup{};         ///< of files that are replaced
  std::shared_ptr<SavedFigures> saved{};  ///< takes the figures of each tensor that is clipped or counted

  /// Gives the request the masks of an input, if each has its own.
  std::function<void(Request&, const std::string& input)> read_masks{};

  /// The request for an input, which `own` holds if it is another one.
  [[nodiscard]] const Request& request_for(const std::string& input, std::optional<Request>& own) const;
};

/// What is known about one file, or about one member of an .npz archive. After an error, the members that
/// were not reached keep their defaults.
struct ClipResult {
  std::string name;                   ///< the input, for messages: "a.npy", "a.npz", "a.npz:w"
  std::optional<std::string> member;  ///< the name in the archive; nothing for a file
  const Format* archive = nullptr;    ///< that has the member
  MemberAction action = MemberAction::clipped;
  std::string reason;        ///< why a member or a file was not clipped: "bool", "not chosen"
  std::optional<Plan> plan;  ///< for a shard, the plan of its part; nothing for an archive or without a clip
  std::optional<StageCounts> counts;  ///< nothing if elements were not counted
  bool written = false;               ///< whether there is a new output, or the file was changed
  bool resumed = false;               ///< an interrupted change was finished; `counts` covers only the rest
};

/// Notified about one file at a time, in the thread that works on the file.
class ClipObserver {
 public:
  ClipObserver() = default;
  ClipObserver(const ClipObserver&) = delete;
  ClipObserver& operator=(const ClipObserver&) = delete;
  virtual ~ClipObserver() = default;

  /// A file that may be changed is open and locked; nothing has been read. An exception refuses the file.
  virtual void opened(const InputFile& /*input*/) {}

  /// All members of an archive can be clipped as far as their headers tell; their elements have `bytes`.
  /// Nothing has been written.
  virtual void sized(std::uint64_t /*bytes*/) {}

  /// The plan exists; nothing has been created. For a member of an archive: nothing of the member has been
  /// written. Called in the archive's order.
  virtual void planned(const ClipResult& /*result*/) {}

  /// The result is complete, but not in place yet. An exception prevents the commit.
  virtual void complete(const ClipResult& /*result*/) {}

  /// The result gets its name now, in this thread. Not for a file in place: see ReplacementBatch.
  virtual void placing() {}

  /// A member of an archive is finished; the archive is not. Called in the archive's order, before
  /// complete().
  virtual void member(const ClipResult& /*result*/) {}

  /// Whether failed_member() wants all members of an archive that cannot be clipped, for example because of a
  /// NaN. The archive fails with the last one.
  [[nodiscard]] virtual bool wants_failed_members() const { return false; }
  virtual void failed_member(std::exception_ptr /*why*/) {}

  virtual void warn(const std::string& /*line*/) {}
};

/// What a file is prepared for.
enum class Purpose : std::uint8_t {
  check,    ///< finding the errors that are known without the elements
  dry_run,  ///< Prepared::count()
  run,      ///< Prepared::write()
};

/// What the steps of clipping one file share.
struct Clipping {
  const ClipSettings& settings;
  Engine& engine;
  ClipObserver& observer;
  ClipResult& result;
  Purpose purpose = Purpose::run;
  bool is_named = true;  ///< false: a directory or a list has the file, which may be none to clip

  /// Whether the files of an index are clipped before it. Otherwise: Error{usage} for an index.
  bool takes_index = false;
  Streams streams = Streams::taken;  ///< whether the input may be a pipe
  std::optional<std::string> out{};  ///< the name of the result; nothing: it replaces the input
};

/// What is clipped: the tensor of a file, or the members of an archive.
class ContentsClip {
 public:
  ContentsClip() = default;
  ContentsClip(const ContentsClip&) = delete;
  ContentsClip& operator=(const ContentsClip&) = delete;
  virtual ~ContentsClip() = default;

  /// The bytes of the elements to clip.
  [[nodiscard]] virtual std::uint64_t size() const = 0;

  /// The bytes that the result takes up on the disk in any case, beside an input on the same file system.
  [[nodiscard]] virtual std::uint64_t least_room() const = 0;

  /// Whether write() would change any byte. If not, the result has the counts of all elements, and
  /// Error{different} if more are clipped than ClipSettings::max_clipped allows.
  [[nodiscard]] virtual bool changes() = 0;

  /// Throws the errors of write(), counts what it would do, and writes nothing.
  virtual void count() = 0;

  /// Error{input} unless `output`, whose name is `out`, is what write() writes to it, as far as headers and
  /// sizes tell.
  virtual void expect_written(InputFile& output, const std::string& out) const = 0;

  /// Writes the clipped contents to `output`, which the caller commits. In place, tensors that keep their
  /// dtype keep their .npy header, too.
  virtual void write(OutputFile& output) = 0;
};

// The ways to clip a file: to another file, in place, and in place without a second file. No part of a
// result is visible before the result is complete.

/// A file that was opened, locked if it will be changed, and planned, and whose output was checked; nothing
/// was created. All that a run refuses is refused in one sequence: a check drops the Prepared, a dry run
/// counts with it, a run writes with it. Made by the functions below.
class Prepared {
 public:
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  virtual ~Prepared() = default;

  /// The bytes of the elements to clip.
  [[nodiscard]] std::uint64_t size() const { return contents_->size(); }

  /// Throws the errors of write() that depend on elements, and counts.
  virtual void count();

  /// See ContentsClip.
  void expect_written(InputFile& output, const std::string& out) const {
    contents_->expect_written(output, out);
  }

  /// Clips the file, and puts the result in place.
  virtual void write() = 0;

 protected:
  Prepared(const Clipping& clipping, InputFile input);

  /// A new output, Clipping::out, with its contents.
  [[nodiscard]] OutputFile written(OutputFile::Existing existing, const OutputRoot* root);

  /// Puts such an output in place, unless OutputFile::is_there_already(); calls `before_commit` when it is
  /// complete, before it gets its name.
  void write_output(
      OutputFile::Existing existing, const std::function<void()>& before_commit = [] {},
      const OutputRoot* root = nullptr);
  void complete(bool written);
  [[nodiscard]] bool is_clipped() const { return clipping_.result.action == MemberAction::clipped; }

  const Clipping clipping_;
  InputFile input_;
  const Format* archive_;  ///< the format of an archive; null for other files
  std::unique_ptr<ContentsClip> contents_;
};

/// The same for a result with this name.
[[nodiscard]] Clipping with_output(Clipping clipping, std::string out);

/// Whether the directory of an output exists, or the run makes it after the check.
enum class Directory : std::uint8_t { expected, made_by_run };

/// Throws the errors of OutputFile::create() that are known before the run, which finds them when it creates
/// the output. A check looks only at an output that must be new.
void check_output(const Clipping& clipping, const std::string& out, OutputFile::Existing existing,
                  Directory directory = Directory::expected, const OutputRoot* root = nullptr);

/// Clips `in` to `out`; "-" is standard input or output. If `out` is `in`, call prepare_in_place() instead:
/// see is_in_place(). A check takes no stream. Error{refused} if `out` is not below `root`.
[[nodiscard]] std::unique_ptr<Prepared> prepare_to_file(const Clipping& clipping, const std::string& in,
                                                        const std::string& out, OutputFile::Existing existing,
                                                        Directory directory = Directory::expected,
                                                        const OutputRoot* root = nullptr);

/// Whether `out` is the file `in`, which is replaced then. Error{refused} if the names are two mounts of one
/// file, because the new file would get only one of them.
[[nodiscard]] bool is_in_place(const std::string& in, const std::string& out, OutputFile::Existing existing);

/// Replaces the file by its result, or leaves it alone if the result has the same bytes. `done` is called
/// once the file is in place, possibly by `batch` and later, or with the error that prevented it: see
/// ReplacementBatch. Errors that are thrown are not passed to `done`.
[[nodiscard]] std::unique_ptr<Prepared> prepare_in_place(const Clipping& clipping, const std::string& path,
                                                         ReplacementBatch& batch,
                                                         std::function<void(std::exception_ptr)> done);

/// Changes the elements of the file where they are, or finishes an interrupted change: see DirectFile.
[[nodiscard]] std::unique_ptr<Prepared> prepare_direct(const Clipping& clipping, const std::string& path);

}  // namespace clipper
