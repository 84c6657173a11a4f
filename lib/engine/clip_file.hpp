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

/// How a file is clipped: to another file, in place, and in place without a second file. Each function opens,
/// checks, plans, works and commits: nothing of a result is visible before it is complete.
namespace clipper {

/// What is done to every file of a run.
struct ClipSettings {
  Request request;
  std::optional<DType> dtype;    ///< what the user says that the inputs are: see npy::parse()
  bool ignore_trailing = false;  ///< bytes after an input's array
  OutputFile::Durability durability = OutputFile::Durability::none;
  bool counting = false;  ///< otherwise only what the work itself needs is counted

  /// Of a tensor's elements: if more would be clipped, Error{different}, and nothing is written.
  std::optional<Percentage> max_clipped;
};

/// What is known of a file; of one that failed, as far as the work had come.
struct ClipResult {
  std::string name;                     ///< the input's, for people
  std::optional<Plan> plan;             ///< of a shard, its part's
  std::optional<ElementCounts> counts;  ///< nothing if nothing was counted
  bool written = false;                 ///< otherwise nothing changes
  bool resumed = false;                 ///< finished what was interrupted: `counts` are only the rest's
};

/// Is told what happens to one file, in the thread that works on it.
class ClipObserver {
 public:
  ClipObserver() = default;
  ClipObserver(const ClipObserver&) = delete;
  ClipObserver& operator=(const ClipObserver&) = delete;
  virtual ~ClipObserver() = default;

  /// There is a plan, and nothing has been created.
  virtual void planned(const ClipResult& /*result*/) {}

  /// The result is complete, but not yet in place. An exception keeps it from getting there.
  virtual void complete(const ClipResult& /*result*/) {}

  virtual void warn(const std::string& /*line*/) {}
};

/// What all functions need. A part of a tensor has a `narrow`, which makes the whole tensor's plan the
/// part's.
struct Clipping {
  const ClipSettings& settings;
  Engine& engine;
  ClipObserver& observer;
  std::function<void(Plan&, const InputFile&)> narrow = nullptr;
};

/// The header at the start of the input, and what is done to the tensor.
[[nodiscard]] Plan read_plan(const ClipSettings& settings, InputFile& input,
                             std::vector<std::byte>* header = nullptr,
                             std::optional<std::byte> version = std::nullopt);

/// The same, into the result, which the observer is shown; the engine is ready for the tensor afterwards.
void plan_file(const Clipping& clipping, InputFile& input, ClipResult& result,
               std::vector<std::byte>* header = nullptr, std::optional<std::byte> version = std::nullopt);

/// Clips the planned input to a new output, which is complete then and is not committed. Error{refused} if
/// the output is the file that is read.
void write_output(const Clipping& clipping, InputFile& input, OutputFile& output, ClipResult& result);

/// Whether all that is done to a file is counted.
[[nodiscard]] Counting counting_of(const ClipSettings& settings);

/// Error{different} if more elements were counted as clipped than the settings allow.
void check_clip_limit(const ClipSettings& settings, const ClipResult& result);

/// Clips `in` to `out`; "-" is standard input or output. For an `out` that is `in`, see is_in_place().
void clip_to_file(const Clipping& clipping, const std::string& in, const std::string& out,
                  OutputFile::Existing existing, ClipResult& result);

/// Whether `out` is `in`, which is then to be replaced. Error{refused} if they are two names of one file by a
/// mount: a new file would get only one of them.
[[nodiscard]] bool is_in_place(const std::string& in, const std::string& out, OutputFile::Existing existing);

/// Replaces the file by its result, unless that has the same bytes. `done` is called once the file is in
/// place, perhaps only by `batch`, with what became of it; see ReplacementBatch. What this function throws is
/// not passed to `done`.
void replace_file(const Clipping& clipping, const std::string& path, ReplacementBatch& batch,
                  std::function<void(std::exception_ptr)> done, ClipResult& result);

/// Changes the elements of the file where they are, or finishes what was interrupted: see JournaledFile.
void rewrite_file(const Clipping& clipping, const std::string& path, ClipResult& result);

/// Throws what clip_to_file() would throw before it writes, and counts what it would do. The output's
/// directory may be missing if it is going to be made.
void try_to_file(const Clipping& clipping, const std::string& in, const std::string& out,
                 OutputFile::Existing existing, bool makes_directory, ClipResult& result);

enum class Rewriting : std::uint8_t { with_second_file, direct };

/// Throws what replace_file() or rewrite_file() would throw before it writes, and counts what it would do.
void try_in_place(const Clipping& clipping, const std::string& path, Rewriting rewriting, ClipResult& result);

/// For a batch that checks all files before it creates the first output: the bytes of the elements. Throws
/// what opening, reading the header and planning would throw, and if `out` must be new, what
/// OutputFile::create() would. An input that is a stream is not touched and counts as 0.
[[nodiscard]] std::uint64_t check_to_file(const ClipSettings& settings, const std::string& in,
                                          const std::string& out, OutputFile::Existing existing,
                                          bool makes_directory);
[[nodiscard]] std::uint64_t check_in_place(const ClipSettings& settings, const std::string& path,
                                           Rewriting rewriting);

}  // namespace clipper
