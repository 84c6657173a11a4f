#include "shards/clip_shard.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <span>
#include <tuple>

#include "error.hpp"
#include "files/checksum.hpp"
#include "files/place.hpp"
#include "flows/archive_rules.hpp"
#include "flows/file_plan.hpp"
#include "npy/header.hpp"
#include "shards/shard_output.hpp"

namespace clipper {

namespace fs = std::filesystem;

namespace {

constexpr Term kShard{"shard", "a shard"};
constexpr Term kSlab{"split_output", "a slab"};

std::string slab_index_path(const std::string& out) {
  return fs::path(out).replace_extension(".json");
}

void check_slab_index(const ShardJob& job, const InputFile& input) {
  const std::string index = slab_index_path(job.out);
  if (find_file(index) == id_of(input.status()))
    throw Error(ErrorKind::usage, input.path() + ": " + Term{"input", "the input"} +
                                      fmt::format(" is {}, which ", index) + Term{"split_output", "a slab"} +
                                      " would overwrite");
  OutputFile::check(index, OutputFile::Existing::replace);
}

/// Whether there is an index. Error{refused} if it has another text.
bool has_slab_index(const std::string& index, const std::string& text) {
  const Descriptor fd(
      retry_interrupted([&] { return ::open(index.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
  if (fd.get() < 0 && errno == ENOENT) return false;
  if (fd.get() < 0) throw_system_error(index, "cannot be opened");
  std::string there(text.size() + 1, '\0');
  there.resize(read_at(fd, std::as_writable_bytes(std::span(there)), 0, index));
  if (there != text)
    refuse(index, "lists parts that other shards made with other parameters; remove it, or choose another " +
                      Message(Term{"output", "output"}));
  return true;
}

/// Of several shards that end at once, one writes the index.
void write_slab_index(const std::string& index, const std::string& text, mode_t mode) {
  if (has_slab_index(index, text)) return;
  OutputFile file =
      OutputFile::create(index, OutputFile::Existing::must_be_new, OutputFile::Durability::none, mode);
  file.write(std::as_bytes(std::span(text)));
  try {
    file.commit();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused || !has_slab_index(index, text)) throw;
  }
}

}  // namespace

std::function<void(Plan&, const InputFile&)> narrow_to_part(const ShardJob& job) {
  return [job](Plan& plan, const InputFile&) {
    plan.slice = slice_of(job.shard, plan.input, npy::format(plan.output).size());
  };
}

void clip_shard(const Clipping& clipping, const ShardJob& job, ClipResult& result) {
  InputFile input = InputFile::open_regular(job.in);
  expect_tensor(input, kShard);
  Plan whole;
  Clipping narrowed = clipping;
  narrowed.narrow = [&](Plan& plan, const InputFile& file) {
    whole = plan;
    narrow_to_part(job)(plan, file);
  };
  plan_file(narrowed, input, result);
  const bool must_be_new = job.existing == OutputFile::Existing::refuse;
  ShardOutput output = ShardOutput::create(job.out, make_run(job.shard.count, must_be_new, whole, input),
                                           job.shard.index, input, clipping.settings.durability);
  OutputFile part = output.begin_part();
  const std::string header = npy::format(whole.output);
  const std::span start = std::as_bytes(std::span(header)).first(job.shard.index == 0 ? header.size() : 0);
  std::atomic<std::uint64_t> sum = 0;
  const auto add = [&](std::uint64_t at, std::span<const std::byte> bytes) { sum += placed_sum(bytes, at); };
  const Counting counting = counting_of(clipping.settings);
  const ElementCounts counts =
      clipping.engine.run(*result.plan, input, part, start, counting, {.read = {}, .written = add});
  const auto last_read = std::chrono::steady_clock::now();
  if (counting == Counting::on) result.counts = counts;
  input.expect_unwritten();
  result.written = true;
  clipping.observer.complete(result);
  output.commit(part, sum, [&] { input.expect_unwritten_anywhere(last_read); });
}

Join::Wanted run_of(const ClipSettings& settings, const std::string& in, OutputFile::Existing existing,
                    std::uint64_t shards) {
  InputFile input = InputFile::open_regular(in);
  expect_tensor(input, kShard);
  const Plan plan = read_plan(settings, input);
  const ShardRun run = make_run(shards, existing == OutputFile::Existing::refuse, plan, input);
  return [run](const std::optional<ShardRun>& there) -> std::optional<ShardRun> {
    if (run.shards == 0 && !there) return std::nullopt;
    ShardRun wanted = run;
    if (run.shards == 0) wanted.shards = there->shards;
    return wanted;
  };
}

std::string slab_path(const std::string& out, const Shard& shard) {
  const fs::path path(out);
  const std::string name = fmt::format("{}.{:05}-of-{:05}{}", path.stem().string(), shard.index, shard.count,
                                       path.extension().string());
  return path.parent_path() / name;
}

std::function<void(Plan&, const InputFile&)> narrow_to_slab(const ShardJob& job) {
  return [job](Plan& plan, const InputFile& input) {
    const Rows rows = with_path(input.path(), [&] { return rows_of(job.shard, plan.input); });
    plan = slab_plan(plan, rows);
    check_slab_index(job, input);
  };
}

void clip_slab(const Clipping& clipping, const ShardJob& job,
               const std::function<std::string(const Plan&)>& index_text, ClipResult& result) {
  InputFile input = InputFile::open(job.in);
  expect_tensor(input, kSlab);
  std::string index;
  Clipping narrowed = clipping;
  narrowed.narrow = [&](Plan& plan, const InputFile& file) {
    index = index_text(plan);
    narrow_to_slab(job)(plan, file);
  };
  plan_file(narrowed, input, result);
  std::ignore = has_slab_index(slab_index_path(job.out), index);
  OutputFile output = OutputFile::create(slab_path(job.out, job.shard), job.existing,
                                         clipping.settings.durability, input.mode_of_copy());
  write_output(narrowed, input, output, result);
  write_slab_index(slab_index_path(job.out), index, input.mode_of_copy());
  output.commit();
}

}  // namespace clipper
