#include "clip_command.hpp"

#include <atomic>
#include <exception>
#include <filesystem>
#include <system_error>
#include <vector>

#include "clip_file.hpp"
#include "engine.hpp"
#include "file_list.hpp"
#include "jobs.hpp"
#include "replacements.hpp"
#include "reporter.hpp"
#include "shard.hpp"
#include "slabs.hpp"

namespace clipper {
namespace {

std::vector<Job> jobs_of(const Command& command) {
  if (command.split_output) return {{command.inputs.front(), slab_path(*command.output, *command.shard)}};
  if (command.output) return {{command.inputs.front(), command.output}};
  std::vector<std::string> inputs = command.inputs;
  if (command.list)
    for (std::string& name : read_names(*command.list)) inputs.push_back(std::move(name));
  if (command.output_directory) return jobs_into(*command.output_directory, inputs);
  if (command.output_template) return jobs_named_by(*command.output_template, inputs);
  return jobs_in_place(inputs);
}

/// Of many jobs those of the shard. Every process must see the same sizes.
std::vector<Job> shared_out(const Shard& shard, const std::vector<Job>& jobs) {
  std::vector<std::uint64_t> sizes;
  for (const Job& job : jobs) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(job.input, error);
    sizes.push_back(error ? 0 : size);
  }
  std::vector<Job> own;
  for (const std::size_t i : files_of(shard, sizes)) own.push_back(jobs[i]);
  return own;
}

/// The jobs whose files can be clipped, as far as their headers tell: before the first output is created.
std::vector<Job> checked(const Clipping& clipping, const std::vector<Job>& jobs) {
  std::vector<char> good(jobs.size(), 0);
  std::atomic<std::uint64_t> bytes = 0;
  clipping.engine.for_each(jobs.size(), [&](std::size_t i) {
    try {
      bytes += check_file(clipping.command, jobs[i]);
      good[i] = 1;
    } catch (...) {
      clipping.reporter.failed(clipping.reporter.report_of(jobs[i]), std::current_exception());
    }
    clipping.reporter.stop_after_failure();
  });
  clipping.reporter.expect(jobs.size(), bytes);
  std::vector<Job> rest;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (good[i] != 0) rest.push_back(jobs[i]);
  return rest;
}

}  // namespace

int clip_files(const Command& command) {
  std::vector<Job> jobs = jobs_of(command);
  if (command.shard && !command.output) jobs = shared_out(*command.shard, jobs);
  Engine engine(command.engine);
  Replacements replacements;
  Reporter reporter(command, engine);
  const Clipping clipping{command, engine, replacements, reporter};

  const bool many = jobs.size() > 1;
  if (many || command.makes_directories()) jobs = checked(clipping, jobs);
  if (command.makes_directories() && !command.dry_run) make_directories(jobs);
  if (many && !command.direct)  // a direct run has parts of many chunks in memory
    engine.for_each(jobs.size(), [&](std::size_t i) { clip_file(clipping, jobs[i]); });
  else
    for (const Job& job : jobs) clip_file(clipping, job);
  replacements.commit();
  reporter.stop_after_failure();
  return reporter.status();
}

}  // namespace clipper
