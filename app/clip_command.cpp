#include "clip_command.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <span>
#include <string>
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

Plan plan_for(const Command& command, InputFile& input, std::vector<std::byte>* header_bytes = nullptr) {
  const npy::Header header = read_header(input, command.dtype, header_bytes);
  return naming(input.path(), [&] { return make_plan(command.request, header); });
}

void clip_file(const Command& command, Engine& engine, const Job& job) {
  InputFile input = InputFile::open(job.input);
  std::vector<std::byte> header_bytes;
  const Plan plan = plan_for(command, input, &header_bytes);
  engine.prepare(plan.header.data_size());
  if (command.verbose) log_choices(command, engine, input.path(), plan);

  const bool in_place =
      !job.output || (command.existing == OutputFile::Existing::replace && is_same_file(input, *job.output));
  OutputFile output =
      in_place ? OutputFile::create_in_place(input) : OutputFile::create(*job.output, command.existing);
  Counts counts;
  if (in_place) counts = engine.scan(plan, input);
  const bool written = !in_place || counts.changed;
  if (written) {
    const std::string new_header = npy::format(plan.header);
    counts =
        engine.run(plan, input, output,
                   in_place ? std::span<const std::byte>(header_bytes) : std::as_bytes(std::span(new_header)),
                   command.verbose ? Engine::Counting::on : Engine::Counting::off);
    output.commit();
  }
  if (command.verbose) log_counts(input.path(), plan, counts, written);
}

/// Throws what clip_file() would throw before it creates anything.
void check_file(const Command& command, const Job& job) {
  InputFile input = InputFile::open(job.input);
  static_cast<void>(plan_for(command, input));
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
  engine.for_each(jobs.size(), [&](std::size_t i) { clip_file(command, engine, jobs[i]); });
}

}  // namespace clipper
