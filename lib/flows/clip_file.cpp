#include "flows/clip_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>
#include <utility>
#include <vector>

#include "engine/tensor_clip.hpp"
#include "error.hpp"
#include "files/directory.hpp"
#include "files/journaled_file.hpp"
#include "files/place.hpp"
#include "files/terms.hpp"
#include "flows/archive_clip.hpp"
#include "flows/archive_rules.hpp"
#include "flows/clip_archive.hpp"
#include "flows/file_plan.hpp"
#include "flows/percentile_bounds.hpp"
#include "npy/header.hpp"

namespace clipper {
namespace {

InputFile open_to_change(const std::string& path, ClipObserver& observer) {
  InputFile input = InputFile::open_to_change(path);
  if (!input.is_locked())
    observer.warn(
        fmt::format("{}: this file system has no locks; do not run another clipper on this file", path));
  observer.opened(input);
  return input;
}

/// The shell command `clipper IN - >>IN` would append to the file that is read.
void expect_other_file(const InputFile& input, const OutputFile& output) {
  if (output.is_regular()) return;  // a new file
  struct stat status {};
  if (::fstat(output.descriptor().get(), &status) != 0)
    throw_system_error(output.path(), "cannot be examined");
  if (S_ISREG(status.st_mode) && id_of(status) == id_of(input.status()))
    refuse(input.path(), fmt::format("refused to avoid data loss: {} is the same file", output.path()));
}

/// Elements that are overwritten cannot give the parameters of later elements.
void refuse_own_array(const InputFile& input, const Plan& plan) {
  if (!plan.arrays) return;
  for (const ArrayParameter& row : plan.arrays->arrays)
    if (row.array->is(input.status()))
      throw Error(ErrorKind::usage, input.path() + ": " +
                                        Term{name_of(row.parameter), name_of(row.parameter)} +
                                        (" " + row.text + " is the file that would be changed"));
}

/// Counts in a separate pass before the first write, because output to a stream cannot be taken back.
void check_limit_of_stream(const Clipping& clipping, InputFile& input, ClipResult& result) {
  if (!input.is_regular())
    throw Error(ErrorKind::usage, Term{"max_clipped", "a limit"} + ": " + Term{"input", "the input"} +
                                      " or " + Term{"output", "the output"} +
                                      " must be a file, not a stream");
  result.counts = clipping.engine.scan(*result.plan, input, Counting::on);
  check_clip_limit(clipping.settings, result);
}

void run(const Clipping& clipping, InputFile& input, OutputFile& output, std::span<const std::byte> header,
         ClipResult& result) {
  const Counting counting = counting_of(clipping.settings);
  const ElementCounts counts = clipping.engine.run(*result.plan, input, output, header, counting);
  result.counts = counting == Counting::on ? std::optional(counts) : std::nullopt;
  check_clip_limit(clipping.settings, result);
}

void complete(const Clipping& clipping, ClipResult& result, bool written) {
  result.written = written;
  clipping.observer.complete(result);
}

void count_for_trial(const Clipping& clipping, InputFile& input, ClipResult& result) {
  if (result.plan->arrays) {
    TensorClip clip(*result.plan, clipping.engine.kernel_options(), input.path());
    clipping.engine.check(*result.plan, clip);
  }
  const bool counting = counting_of(clipping.settings) == Counting::on;
  if (input.is_regular() && (result.plan->refuse_nan || counting))
    result.counts = clipping.engine.scan(*result.plan, input, Counting::on);
  check_clip_limit(clipping.settings, result);
  complete(clipping, result, false);
}

/// Throws the errors of OutputFile::create() as far as they are known before the directories are made.
void check_output(const std::string& out, OutputFile::Existing existing, bool makes_directory) {
  const bool may_lack_directory = makes_directory && ::access(directory_of(out).c_str(), F_OK) != 0;
  if (!may_lack_directory) OutputFile::check(out, existing);
}

}  // namespace

bool is_in_place(const std::string& in, const std::string& out, OutputFile::Existing existing) {
  if (existing != OutputFile::Existing::replace || !is_same_file(in, out)) return false;
  const Place place = Place::resolved(in);
  const auto status = place.status();
  if (status && status->st_nlink == 1 && !place.is_same_place(Place::resolved(out)))
    refuse(in, fmt::format("is mounted as {}, and only one of these names would get the result; ", out) +
                   (is_archive(InputFile::open_regular(in)) ? Message("write to another file")
                                                            : kDirect + " changes both"));
  return true;
}

void write_output(const Clipping& clipping, InputFile& input, OutputFile& output, ClipResult& result) {
  expect_other_file(input, output);
  if (clipping.settings.max_clipped && !output.is_regular()) check_limit_of_stream(clipping, input, result);
  const std::string header = npy::format(result.plan->output);
  run(clipping, input, output, std::as_bytes(std::span(header)), result);
  if (input.is_regular()) input.expect_unwritten();
  complete(clipping, result, true);
}

void clip_to_file(const Clipping& clipping, const std::string& in, const std::string& out,
                  OutputFile::Existing existing, ClipResult& result) {
  InputFile input = InputFile::open(in);
  if (is_archive_for(clipping.settings, input)) {
    check_output_name(input, true, out);
    return clip_archive(clipping, input, out, existing, result);
  }
  plan_file(clipping, input, result);
  check_output_name(input, false, out);
  OutputFile output = OutputFile::create(out, existing, clipping.settings.durability, input.mode_of_copy());
  write_output(clipping, input, output, result);
  output.commit();
}

void replace_file(const Clipping& clipping, const std::string& path, ReplacementBatch& batch,
                  std::function<void(std::exception_ptr)> done, ClipResult& result) {
  InputFile input = open_to_change(path, clipping.observer);
  if (is_archive_for(clipping.settings, input))
    return replace_archive(clipping, std::move(input), batch, std::move(done), result);
  std::vector<std::byte> header;
  plan_file(clipping, input, result, &header);

  if (OutputFile::space_beside(input) < input.size()) batch.commit();  // frees the space of replaced files
  OutputFile output = OutputFile::create_in_place(input);
  result.counts = clipping.engine.scan(*result.plan, input);
  if (!result.counts->changed) {
    input.expect_unchanged();
    complete(clipping, result, false);
    return done(nullptr);
  }
  run(clipping, input, output, header, result);
  complete(clipping, result, true);
  batch.add({std::move(input), std::move(output), std::move(done)});
}

void rewrite_file(const Clipping& clipping, const std::string& path, ClipResult& result) {
  InputFile input = open_to_change(path, clipping.observer);
  expect_no_direct_archive(input);
  JournaledFile file(input);
  const bool is_fresh = !file.version();
  plan_file(clipping, input, result, nullptr, &file);
  refuse_own_array(input, *result.plan);

  if (is_fresh && (result.plan->refuse_nan || clipping.settings.max_clipped)) {
    result.counts = clipping.engine.scan(*result.plan, input, Counting::on);
    check_clip_limit(clipping.settings, result);
  }
  bool has_name = true;
  try {
    result.counts = clipping.engine.rewrite(*result.plan, input, file);
    result.resumed = file.has_resumed();
    complete(clipping, result, result.resumed || result.counts->changed);
    has_name = input.place().is(id_of(input.status()));
    file.commit();
  } catch (const Error& error) {
    if (!file.is_unfinished() || error.kind() == ErrorKind::refused) throw;
    throw Error(error.kind(),
                error.message() + "; unreadable until the same " + Term{"direct", "change"} + " finishes it");
  }
  if (!has_name)
    clipping.observer.warn(fmt::format(
        "{}: was renamed or replaced while it was changed; the file that had this name is complete",
        input.path()));
}

void try_to_file(const Clipping& clipping, const std::string& in, const std::string& out,
                 OutputFile::Existing existing, bool makes_directory, ClipResult& result) {
  InputFile input = InputFile::open(in);
  const bool archive = is_archive_for(clipping.settings, input);
  if (clipping.narrow) expect_tensor(input, {"shard", "a shard"});
  if (!archive) plan_file(clipping, input, result);
  check_output_name(input, archive, out);
  check_output(out, existing, makes_directory);
  if (archive) return try_archive(clipping, input, result);
  count_for_trial(clipping, input, result);
}

void try_in_place(const Clipping& clipping, const std::string& path, Rewriting rewriting,
                  ClipResult& result) {
  InputFile input = open_to_change(path, clipping.observer);
  if (rewriting == Rewriting::direct) expect_no_direct_archive(input);
  if (is_archive_for(clipping.settings, input)) {
    OutputFile::check_in_place(input, false);
    return try_archive(clipping, input, result);
  }
  std::optional<JournaledFile> changed;
  if (rewriting == Rewriting::direct) changed.emplace(input);
  plan_file(clipping, input, result, nullptr, changed ? &*changed : nullptr);
  if (rewriting == Rewriting::direct) refuse_own_array(input, *result.plan);
  OutputFile::check_in_place(input, rewriting == Rewriting::direct);
  count_for_trial(clipping, input, result);
}

std::uint64_t check_stream(const ClipSettings& settings) {
  expect_no_percentiles_of_stream(settings.request);
  return 0;
}

std::uint64_t check_to_file(const ClipSettings& settings, const std::string& in, const std::string& out,
                            OutputFile::Existing existing, bool makes_directory) {
  InputFile input = InputFile::open_regular(in);
  const bool archive = is_archive_for(settings, input);
  if (archive) check_output_name(input, true, out);
  if (existing == OutputFile::Existing::refuse) check_output(out, existing, makes_directory);
  if (archive) return check_archive(settings, input);
  const std::uint64_t size = check_plan(settings, input);
  check_output_name(input, false, out);
  return size;
}

std::uint64_t check_in_place(const ClipSettings& settings, const std::string& path, Rewriting rewriting) {
  InputFile input = InputFile::open_to_change(path);
  if (rewriting == Rewriting::direct) expect_no_direct_archive(input);
  if (is_archive_for(settings, input)) return check_archive(settings, input);
  return check_plan(settings, input,
                    rewriting == Rewriting::direct ? JournaledFile(input).version() : std::nullopt);
}

}  // namespace clipper
