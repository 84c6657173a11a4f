#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "files/replacement_batch.hpp"
#include "flows/clipping.hpp"

/// The ways to clip a file: to another file, in place, and in place without a second file. No part of a
/// result is visible before the result is complete.
namespace clipper {

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
