#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "clip/clip.hpp"
#include "contract/plan.hpp"
#include "element/percentage.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "files/replacement_batch.hpp"

/// The ways to clip a file: to another file, in place, and in place without a second file. Each function
/// opens, checks, plans, works and commits. No part of a result is visible before the result is complete.
namespace clipper {

/// Which members of .npz archives are clipped, and what becomes of the others.
struct MemberChoice {
  enum class Other : std::uint8_t { copy, drop, error };

  std::vector<std::string> names;  ///< names or np.load's keys; empty: all tensors that the profile takes
  Other other = Other::copy;
};

/// What was done to a member of an .npz archive.
enum class MemberAction : std::uint8_t { clipped, copied, dropped };

/// What is done to every file of a run.
struct ClipSettings {
  Request request;
  std::optional<DType> dtype;    ///< the dtype of all inputs according to the user: see npy::parse()
  bool ignore_trailing = false;  ///< accept bytes after the array of an input
  OutputFile::Durability durability = OutputFile::Durability::none;
  bool counting = false;  ///< count all clipped elements; otherwise only as far as the work needs it

  /// If more of a tensor's elements than this would be clipped: Error{different}, and nothing is written.
  std::optional<Percentage> max_clipped;
  MemberChoice members{};  ///< of inputs that are .npz archives
};

/// What is known about one file, or about one member of an .npz archive. After an error, the members that
/// were not reached keep their defaults.
struct ClipResult {
  std::string name;                   ///< the input, for messages: "a.npy", "a.npz", "a.npz:w"
  std::optional<std::string> member;  ///< the name in the archive; nothing for a file
  MemberAction action = MemberAction::clipped;
  std::string reason;                   ///< why a member was not clipped: "bool", "not chosen"
  std::optional<Plan> plan;             ///< for a shard, the plan of its part; nothing for an archive
  std::optional<ElementCounts> counts;  ///< nothing if elements were not counted
  bool written = false;                 ///< whether there is a new output, or the file was changed
  bool resumed = false;                 ///< an interrupted change was finished; `counts` covers only the rest
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

  /// A member of an archive is finished; the archive is not. Called in the archive's order, before
  /// complete().
  virtual void member(const ClipResult& /*result*/) {}

  virtual void warn(const std::string& /*line*/) {}
};

/// The arguments that all functions share. For a part of a tensor, `narrow` turns the plan for the whole
/// tensor into the plan for the part.
struct Clipping {
  const ClipSettings& settings;
  Engine& engine;
  ClipObserver& observer;
  std::function<void(Plan&, const InputFile&)> narrow = nullptr;
};

/// Which .npy header a clipped member of an archive gets: numpy's, or that of the input.
enum class Headers : std::uint8_t { numpys, kept };

/// The size of the elements. Throws the errors of planning that do not depend on the elements.
std::uint64_t check_plan(const ClipSettings& settings, InputFile& input,
                         std::optional<std::byte> version = std::nullopt);

/// Reads the input's header and makes the plan. Error{usage} for percentiles.
[[nodiscard]] Plan read_plan(const ClipSettings& settings, InputFile& input);

/// Reads the input's header and makes the plan, and reads the elements if a bound is a percentile. `header`
/// is that of read_header(). `changed` is the file if it is changed directly: an interrupted change goes on
/// with the bounds that its journal records.
[[nodiscard]] Plan read_plan(Engine& engine, const ClipSettings& settings, InputFile& input,
                             std::vector<std::byte>* header = nullptr,
                             const JournaledFile* changed = nullptr);

/// Reads the plan into `result`, notifies the observer, and prepares the engine for the tensor. Error{usage}
/// for percentiles of a part of a tensor.
void plan_file(const Clipping& clipping, InputFile& input, ClipResult& result,
               std::vector<std::byte>* header = nullptr, const JournaledFile* changed = nullptr);

/// Clips the planned input to a new output, which the caller commits. Error{refused} if the output is the
/// input file.
void write_output(const Clipping& clipping, InputFile& input, OutputFile& output, ClipResult& result);

/// Whether all clipped elements are counted.
[[nodiscard]] Counting counting_of(const ClipSettings& settings);

/// Error{different} if more elements were clipped than the settings allow.
void check_clip_limit(const ClipSettings& settings, const ClipResult& result);

/// Clips `in` to `out`; "-" is standard input or output. If `out` is `in`, call replace_file() instead: see
/// is_in_place().
void clip_to_file(const Clipping& clipping, const std::string& in, const std::string& out,
                  OutputFile::Existing existing, ClipResult& result);

/// Whether `out` is the file `in`, which is replaced then. Error{refused} if the names are two mounts of one
/// file, because the new file would get only one of them.
[[nodiscard]] bool is_in_place(const std::string& in, const std::string& out, OutputFile::Existing existing);

/// Replaces the file by its result, or leaves it alone if the result has the same bytes. `done` is called
/// once the file is in place, possibly by `batch` and later, or with the error that prevented it: see
/// ReplacementBatch. Errors that this function throws are not passed to `done`.
void replace_file(const Clipping& clipping, const std::string& path, ReplacementBatch& batch,
                  std::function<void(std::exception_ptr)> done, ClipResult& result);

/// Changes the elements of the file where they are, or finishes an interrupted change: see JournaledFile.
void rewrite_file(const Clipping& clipping, const std::string& path, ClipResult& result);

/// A dry run of clip_to_file(): throws the errors that it would throw before it writes, and counts. With
/// `makes_directory`, the directory of `out` may be missing.
void try_to_file(const Clipping& clipping, const std::string& in, const std::string& out,
                 OutputFile::Existing existing, bool makes_directory, ClipResult& result);

enum class Rewriting : std::uint8_t { with_second_file, direct };

/// A dry run of replace_file() or rewrite_file(): throws the errors that they would throw before they write,
/// and counts.
void try_in_place(const Clipping& clipping, const std::string& path, Rewriting rewriting, ClipResult& result);

/// For a run that checks all files before it creates the first output. Returns the size of the elements in
/// bytes; 0 for a stream, which is not opened, because that could consume its data. Throws the errors of
/// opening, reading the header and planning and, if `out` must be new, of OutputFile::create().
[[nodiscard]] std::uint64_t check_stream(const ClipSettings& settings);
[[nodiscard]] std::uint64_t check_to_file(const ClipSettings& settings, const std::string& in,
                                          const std::string& out, OutputFile::Existing existing,
                                          bool makes_directory);
[[nodiscard]] std::uint64_t check_in_place(const ClipSettings& settings, const std::string& path,
                                           Rewriting rewriting);

}  // namespace clipper
