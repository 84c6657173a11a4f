#include "clip_command.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine.hpp"
#include "error.hpp"
#include "jobs.hpp"
#include "printable.hpp"

namespace clipper {
namespace {

void log_to_stderr() {
  auto logger =
      std::make_shared<spdlog::logger>("clipper", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("clipper: %v");
  spdlog::set_default_logger(std::move(logger));
}

void log_choices(const Command& command, const Engine& engine, const std::string& path, const Plan& plan) {
  spdlog::info("{}: {}, profile {}", printable(path), describe(plan), command.request.profile->name);
  spdlog::info("{} thread{}, {} KiB chunks, SIMD level {}", engine.threads(),
               engine.threads() == 1 ? "" : "s", command.engine.chunk_size / 1024,
               name(command.engine.level));
}

void log_counts(const std::string& path, const Plan& plan, const Counts& counts, bool written) {
  const auto percent = [&](std::uint64_t count) {
    return plan.header.count == 0 ? 0.0
                                  : 100 * static_cast<double>(count) / static_cast<double>(plan.header.count);
  };
  spdlog::info("{}: clipped {:.3g} % ({:.3g} % raised, {:.3g} % lowered), {} NaN{}", printable(path),
               percent(counts.raised + counts.lowered), percent(counts.raised), percent(counts.lowered),
               counts.nan, written ? "" : "; nothing changes, not rewritten");
}

Plan plan_for(const Command& command, InputFile& input, std::vector<std::byte>* header_bytes = nullptr,
              std::optional<std::byte> version = std::nullopt) {
  const npy::Header header = read_header(input, command.dtype, header_bytes, version);
  return naming(input.path(), [&] { return make_plan(command.request, header); });
}

void warn(const std::string& what) {
  std::fputs(fmt::format("clipper: warning: {}\n", printable(what)).c_str(), stderr);
}

InputFile open_to_change(const std::string& path) {
  InputFile input = InputFile::open_to_change(path);
  if (!input.is_locked()) warn(fmt::format("{}: cannot be locked on this file system", path));
  return input;
}

void clip_to(const Command& command, Engine& engine, const std::string& path,
             const std::string& output_path) {
  InputFile input = InputFile::open(path);
  const Plan plan = plan_for(command, input);
  engine.prepare(plan.header.data_size());
  if (command.verbose) log_choices(command, engine, path, plan);

  OutputFile output = OutputFile::create(output_path, command.existing, command.durability);
  const std::string header = npy::format(plan.header);
  const Counts counts = engine.run(plan, input, output, std::as_bytes(std::span(header)),
                                   command.verbose ? Counting::on : Counting::off);
  const bool changed = input.is_regular() && input.has_changed();
  output.commit();
  if (changed) warn(fmt::format("{}: changed while it was read", path));
  if (command.verbose) log_counts(input.path(), plan, counts, true);
}

void clip_in_place(const Command& command, Engine& engine, const std::string& path) {
  InputFile input = open_to_change(path);
  std::vector<std::byte> header;
  const Plan plan = plan_for(command, input, &header);
  engine.prepare(plan.header.data_size());
  if (command.verbose) log_choices(command, engine, path, plan);

  OutputFile output = OutputFile::create_in_place(input);
  Counts counts = engine.scan(plan, input);
  const bool written = counts.changed;
  if (written) {
    counts = engine.run(plan, input, output, header, command.verbose ? Counting::on : Counting::off);
    if (input.has_changed()) throw Error(ErrorKind::io, fmt::format("{}: changed while it was read", path));
    output.commit();
  }
  if (command.verbose) log_counts(path, plan, counts, written);
}

void clip_directly(const Command& command, Engine& engine, const std::string& path) {
  InputFile input = open_to_change(path);
  DirectFile file(input);
  const bool is_fresh = !file.version();
  const Plan plan = plan_for(command, input, nullptr, file.version());
  engine.prepare(plan.header.data_size());
  if (command.verbose) log_choices(command, engine, path, plan);

  if (plan.refuse_nan && is_fresh) std::ignore = engine.scan(plan, input);
  Counts counts;
  try {
    counts = engine.rewrite(plan, input, file);
    file.commit();
  } catch (const Error& error) {
    if (!file.is_unfinished()) throw;
    throw Error(error.kind(), fmt::format("{}; unreadable until the same command finishes it", error.what()));
  }
  if (!command.verbose) return;
  if (is_fresh)
    log_counts(path, plan, counts, counts.changed);
  else
    spdlog::info("{}: finished what was interrupted", printable(path));
}

void clip_file(const Command& command, Engine& engine, const Job& job) {
  const bool replaces_itself =
      job.output && command.existing == OutputFile::Existing::replace && is_same_file(job.input, *job.output);
  if (job.output && !replaces_itself)
    clip_to(command, engine, job.input, *job.output);
  else if (command.direct)
    clip_directly(command, engine, job.input);
  else
    clip_in_place(command, engine, job.input);
}

/// Throws what clip_file() would throw before it creates anything.
void check_file(const Command& command, const Job& job) {
  InputFile input = InputFile::open_to_change(job.input);
  const std::optional<std::byte> version = command.direct ? DirectFile(input).version() : std::nullopt;
  std::ignore = plan_for(command, input, nullptr, version);
}

}  // namespace

void clip_files(const Command& command) {
  if (command.verbose) log_to_stderr();
  Engine engine(command.engine);
  if (!command.output_directory && command.inputs.size() == 1)
    return clip_file(command, engine, {command.inputs.front(), command.output});

  const bool in_place = !command.output_directory;
  const std::vector<Job> jobs =
      in_place ? jobs_in_place(command.inputs) : jobs_into(*command.output_directory, command.inputs);
  if (in_place) engine.for_each(jobs.size(), [&](std::size_t i) { check_file(command, jobs[i]); });
  if (command.direct)  // one after the other: each has parts of many chunks in memory
    for (const Job& job : jobs) clip_file(command, engine, job);
  else
    engine.for_each(jobs.size(), [&](std::size_t i) { clip_file(command, engine, jobs[i]); });
}

}  // namespace clipper
