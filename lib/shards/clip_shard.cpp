#include "shards/clip_shard.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <span>

#include "error.hpp"
#include "files/checksum.hpp"
#include "files/place.hpp"
#include "flows/selection.hpp"
#include "flows/file_clip.hpp"
#include "npy/header.hpp"
#include "shards/shard_output.hpp"

namespace clipper {

namespace fs = std::filesystem;

namespace {

constexpr Term kShard{"shard", "a shard"};
constexpr Term kSlab{"split_output", "a slab"};

void check_slab_index(const std::string& index, const InputFile& input) {
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

/// The plan for the part of the job's shard.
Plan part_plan(const Plan& whole, const ShardJob& job) {
  Plan part = whole;
  part.slice = slice_of(job.shard, whole.output, npy::format(whole.output).size());
  return part;
}

class Part : public Prepared {
 public:
  Part(const Clipping& clipping, const ShardJob& job)
      : Prepared(clipping, InputFile::open_regular(job.in, clipping.settings.caching)), shard_(job.shard) {
    expect_tensor(input_, kShard);
    const Plan whole = plan_header(clipping_.settings, input_, make_plan);
    contents_ = std::make_unique<FileClip>(clipping_, input_, part_plan(whole, job));
    check_output_name(input_, false, job.out);
    const bool must_be_new = job.existing == OutputFile::Existing::refuse;
    output_.emplace(job.out, make_run(job.shard.count, must_be_new, whole, input_), job.shard.index, input_,
                    clipping_.settings.durability);
    if (clipping_.purpose != Purpose::run) output_->check_run();
  }

  void write() override;

 private:
  Shard shard_;
  std::optional<ShardOutput> output_;
};

void Part::write() {
  const auto& [settings, engine, observer, result, purpose, is_named] = clipping_;
  output_->write_run();
  OutputFile part = output_->begin_part();
  part.set_caching(settings.caching);
  const std::string header = npy::format(result.plan->output);
  const std::span start = std::as_bytes(std::span(header)).first(shard_.index == 0 ? header.size() : 0);
  std::atomic<std::uint64_t> sum = 0;
  const auto add = [&](std::uint64_t at, std::span<const std::byte> bytes) { sum += placed_sum(bytes, at); };
  const Counting counting = counting_of(settings);
  const ElementCounts counts =
      engine.run(*result.plan, input_, part, start, counting, {.read = {}, .written = add});
  const auto last_read = std::chrono::steady_clock::now();
  if (counting == Counting::on) result.counts = counts;
  input_.expect_unwritten();
  complete(true);
  output_->commit(part, sum, [&] {
    input_.expect_unwritten_anywhere(last_read);
    clipping_.observer.placing();
  });
}

class Slab : public Prepared {
 public:
  Slab(const Clipping& clipping, const ShardJob& job,
       const std::function<std::string(const Plan&)>& index_text)
      : Prepared(clipping, InputFile::open(job.in, clipping.settings.caching)),
        out_(slab_path(job.out, job.shard)),
        existing_(job.existing),
        index_(fs::path(job.out).replace_extension(".json")) {
    expect_tensor(input_, kSlab);
    const Plan whole = plan_header(clipping_.settings, input_, make_plan);
    text_ = index_text(whole);
    const Rows rows = with_path(input_.path(), [&] { return rows_of(job.shard, whole.input); });
    check_slab_index(index_, input_);
    contents_ = std::make_unique<FileClip>(clipping_, input_, slab_plan(whole, rows));
    static_cast<void>(has_slab_index(index_, text_));
    check_output_name(input_, false, out_);
    check_output(clipping_, out_, existing_);
  }

  void write() override {
    write_output(out_, existing_, [&] { write_slab_index(index_, text_, input_.mode_of_copy()); });
  }

 private:
  std::string out_;
  OutputFile::Existing existing_;
  std::string index_;
  std::string text_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_part(const Clipping& clipping, const ShardJob& job) {
  return std::make_unique<Part>(clipping, job);
}

std::unique_ptr<Prepared> prepare_slab(const Clipping& clipping, const ShardJob& job,
                                       const std::function<std::string(const Plan&)>& index_text) {
  return std::make_unique<Slab>(clipping, job, index_text);
}

Join::Wanted run_of(const ClipSettings& settings, const std::string& in, OutputFile::Existing existing,
                    std::uint64_t shards) {
  InputFile input = InputFile::open_regular(in);
  expect_tensor(input, kShard);
  const Plan plan = plan_header(settings, input, make_plan);
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

}  // namespace clipper
