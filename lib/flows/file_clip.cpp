#include "flows/file_clip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "contract/fields.hpp"
#include "element/tensor_layout.hpp"
#include "engine/tensor_clip.hpp"
#include "error.hpp"
#include "files/place.hpp"
#include "files/replacement.hpp"
#include "flows/figure_plans.hpp"
#include "flows/figure_requests.hpp"
#include "flows/saved_figures.hpp"
#include "flows/selection.hpp"
#include "formats/formats.hpp"
#include "npy/header.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

/// From now on the elements of a file in Fortran order are read in C order, from an unnamed file.
void order_in_c(Engine& engine, InputFile& input, TensorLayout layout) {
  const std::size_t size = layout.element_size();
  engine.prepare(2 * layout.data_size());
  const std::size_t room = std::min<std::uint64_t>(engine.chunk_size() / 2, layout.data_size());
  const Boxes boxes(layout.shape, room / size);
  TemporaryFile ordered(input.path(), layout.data_size());
  engine.for_each_chunk(boxes.size(), true, [&](std::uint64_t i, std::byte* memory) {
    const Box box = boxes[i];
    const std::size_t bytes = box.count() * size;
    for (const FileRange& range : boxes.ranges(box, true))
      input.read_at({memory + range.at * size, range.count * size},
                    input.data_begin() + range.position * size);
    reorder(box, true, size, {memory, bytes}, {memory + room, bytes});
    for (const FileRange& range : boxes.ranges(box, false))
      ordered.write_at({memory + room + range.at * size, range.count * size}, range.position * size);
  });
  layout.fortran_order = false;
  const std::uint64_t bytes = layout.data_size();
  input.read_from({MemberContents(ordered.release(), bytes), std::move(layout)});
}

const Format& format_of(const Clipping& clipping, const InputFile& input) {
  return result_format(input, clipping.out, clipping.out && clipping.settings.to_raw);
}

/// The shell command `clipper IN - >>IN` would append to the file that is read.
void expect_other_file(const InputFile& input, const OutputFile& output) {
  if (output.is_regular()) return;  // a new file
  os::Status status{};
  if (os::fstat(output.descriptor().get(), &status) != 0)
    throw_system_error(output.path(), "cannot be examined");
  if (S_ISREG(status.st_mode) && id_of(status) == id_of(input.status()))
    refuse(input.path(), fmt::format("refused to avoid data loss: {} is the same file", output.path()));
}

Plan plan_of(const ClipSettings& settings, const std::string& path,
             Plan (*make)(const Request&, const TensorLayout&), const npy::Header& header) {
  std::optional<Request> own;
  return with_path(path, [&] { return make(settings.request_for(path, own), header); });
}

}  // namespace

const Request& ClipSettings::request_for(const std::string& input, std::optional<Request>& own) const {
  if (!read_masks) return request;
  read_masks(own.emplace(request), input);
  return *own;
}

bool has_limit(const ClipSettings& settings) {
  return settings.max_clipped ||
         std::ranges::any_of(settings.then_max_clipped, [](const auto& limit) { return limit.has_value(); });
}

Counting counting_of(const ClipSettings& settings) {
  return settings.counting || has_limit(settings) ? Counting::on : Counting::off;
}

void check_clip_limit(const ClipSettings& settings, const ClipResult& result) {
  const auto check = [&](const std::optional<Percentage>& limit, const ElementCounts& counts,
                         const std::string& name) {
    const std::uint64_t clipped = counts.raised + counts.lowered + counts.became_infinite;
    const std::uint64_t all = result.plan->slice.count - counts.left_out();
    if (limit && limit->is_exceeded_by(clipped, all))
      throw Error(ErrorKind::different,
                  fmt::format("{}: {} % would be clipped{}, more than {} %", name,
                              limit->text_of_exceeding(clipped, all),
                              counts.became_infinite == 0 ? "" : " or become infinite", limit->text()));
  };
  if (!result.counts) return;
  check(settings.max_clipped, *result.counts, result.name);
  for (std::size_t i = 0; i < std::min(settings.then_max_clipped.size(), result.counts->then.size()); ++i)
    check(settings.then_max_clipped[i], result.counts->then[i], stage_name(i + 1, result.name));
}

ReadHeader header_of(const ClipSettings& settings, InputFile& input, std::optional<npy::Start> start) {
  std::vector<std::byte> bytes;
  npy::Header header =
      read_header(input, settings.reading, &bytes, start, npy::Opaque::refused, npy::Types::clipped);
  return {std::move(header), std::move(bytes)};
}

Plan plan_header(const ClipSettings& settings, InputFile& input,
                 Plan (*make)(const Request&, const TensorLayout&)) {
  return plan_of(settings, input.path(), make, header_of(settings, input).header);
}

Plan read_plan(Engine& engine, const ClipSettings& settings, InputFile& input, const npy::Header& parsed) {
  std::optional<Request> own;
  const Request& request = settings.request_for(input.path(), own);
  Plan plan = has_figures(request) ? plan_with_figures(request, parsed, engine, input)
                                   : with_path(input.path(), [&] { return make_plan(request, parsed); });
  if (settings.saved) settings.saved->add(input.path(), request, plan);
  return plan;
}

/// Calls work(). A stage that clips more than it may comes before elements that a later one refuses.
template <class Work>
auto FileClip::in_order_of_stages(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    const ClipSettings& settings = clipping_.settings;
    const bool is_refused = error.kind() == ErrorKind::input || error.kind() == ErrorKind::usage;
    if (!is_refused || !has_limit(settings) || !input_.is_regular()) throw;
    for (std::size_t stages = 0; stages < settings.request.then.size(); ++stages) {
      ClipSettings first = settings;
      first.saved = nullptr;
      first.request.then.resize(stages);
      first.then_max_clipped.resize(stages);
      ClipResult result;
      result.name = input_.path();
      try {
        result.plan = read_plan(clipping_.engine, first, input_, header_of(first, input_).header);
        result.counts = clipping_.engine.scan(*result.plan, input_, Counting::on);
      } catch (const Error&) {
        break;  // this stage refuses them
      }
      check_clip_limit(first, result);
    }
    throw;
  }
}

FileClip::FileClip(const Clipping& clipping, InputFile& input, std::optional<npy::Start> start,
                   std::optional<ReadHeader> read)
    : clipping_(clipping), input_(input), format_(format_of(clipping, input)) {
  const ClipSettings& settings = clipping.settings;
  const bool checks = clipping.purpose == Purpose::check;
  if (!read) read = header_of(settings, input, start);
  if (format_.in_c_order && !checks && input.is_regular() && read->header.fortran_order &&
      !has_one_order(read->header)) {
    order_in_c(clipping.engine, input, read->header.layout());
    read = header_of(settings, input, start);
  }
  header_ = std::move(read->bytes);
  take(checks ? plan_of(settings, input.path(), plan_before_reading, read->header) : in_order_of_stages([&] {
    return read_plan(clipping.engine, settings, input, read->header);
  }));
}

FileClip::FileClip(const Clipping& clipping, InputFile& input, Plan part)
    : clipping_(clipping), input_(input), format_(format_of(clipping, input)) {
  take(std::move(part));
}

void FileClip::take(Plan plan) {
  ClipResult& result = clipping_.result;
  result.name = input_.path();
  result.plan = std::move(plan);
  TensorLayout& output = result.plan->output;
  if (format_.in_c_order && input_.is_regular()) output.fortran_order = false;
  expect_byte_order(format_, *result.plan, clipping_.out.value_or(result.name));
  if (format_.little_endian) output.order = ByteOrder::little;
  if (clipping_.purpose == Purpose::check) return;
  clipping_.engine.prepare(size());
  clipping_.observer.planned(result);
}

/// Blocks that the result may share with the input need no room, nor do holes that may remain.
std::uint64_t FileClip::least_room() const {
  const Plan& plan = *clipping_.result.plan;
  if (!plan.changes_dtype() && input_.source() == nullptr && OutputFile::may_share_parts(input_)) return 0;
  const std::uint64_t size = plan.output_size();
  if (!is_sparse(input_) || !may_keep_zeros(plan, clipping_.engine.kernel_options())) return size;
  const std::uint64_t stored = stored_bytes(input_) / traits(plan.input.dtype).size;
  return std::min(size, stored * traits(plan.output.dtype).size);
}

bool FileClip::changes() {
  ClipResult& result = clipping_.result;
  result.counts = in_order_of_stages([&] { return clipping_.engine.scan(*result.plan, input_); });
  if (result.counts->changed || result.plan->changes_dtype()) return true;
  check_clip_limit(clipping_.settings, result);  // elements may be clipped to their own bits
  return false;
}

void FileClip::count() {
  const auto& [settings, engine, observer, result, purpose, is_named, takes_index, streams, out] = clipping_;
  if (result.plan->has_arrays()) {
    TensorClip clip(*result.plan, engine.kernel_options(), input_.path());
    engine.check(*result.plan, clip);
  }
  const bool counting = counting_of(settings) == Counting::on;
  if (input_.is_regular() && (result.plan->may_refuse_elements() || counting))
    result.counts = in_order_of_stages(
        [&] { return clipping_.engine.scan(*clipping_.result.plan, input_, Counting::on); });
  check_clip_limit(settings, result);
}

/// Counts in a separate pass before the first write, because output to a stream cannot be taken back.
void FileClip::check_limit_of_stream() {
  if (!input_.is_regular())
    throw Error(ErrorKind::usage, Term{"max_clipped", "a limit"} + ": " + Term{"input", "the input"} +
                                      " or " + Term{"output", "the output"} +
                                      " must be a file, not a stream");
  clipping_.result.counts =
      in_order_of_stages([&] { return clipping_.engine.scan(*clipping_.result.plan, input_, Counting::on); });
  check_clip_limit(clipping_.settings, clipping_.result);
}

/// A .npy file may have another header than this clipper writes.
void FileClip::expect_written(InputFile& output, const std::string& out) const {
  const Plan& plan = *clipping_.result.plan;
  const Frame frame = result_frame(input_, plan.output, out, clipping_.settings.to_raw);
  std::string start(frame.front.size(), '\0');
  start.resize(output.read_some_at(std::as_writable_bytes(std::span(start)), 0));
  const std::uint64_t size = frame.front.size() + plan.output_size() + frame.back.size();
  if (start == frame.front && output.file_size() == size) return;
  const auto refuse_output = [&](std::string_view why) {
    throw Error(ErrorKind::input, fmt::format("{}: {}", output.path(), why));
  };
  if (format_.begins == nullptr || start.size() < frame.front.size())
    refuse_output(fmt::format("has {} bytes, not {}", output.file_size(), size));
  const npy::Header header = read_header(output, {plan.output.dtype}, nullptr, std::nullopt,
                                         npy::Opaque::taken, npy::Types::clipped);
  if (header.dtype != plan.output.dtype || has_other_order(clipping_.settings.request, header) ||
      header.meaning != plan.output.meaning || header.shape != plan.output.shape)
    refuse_output("has another dtype or shape than the result");
}

void FileClip::write(OutputFile& output) {
  const auto& [settings, engine, observer, result, purpose, is_named, takes_index, streams, out] = clipping_;
  expect_other_file(input_, output);
  if (has_limit(settings) && !output.is_regular()) check_limit_of_stream();
  const Frame frame = result_frame(input_, result.plan->output, out, out && settings.to_raw);
  const bool keeps = !out && input_.source() == nullptr && !result.plan->changes_dtype();
  const std::span header =
      keeps ? std::span<const std::byte>(header_) : std::as_bytes(std::span(frame.front));
  const Counting counting = counting_of(settings);
  const Sharing sharing = std::ranges::equal(header, header_) ? output.may_share(input_) : Sharing::none;
  const bool shared = out && sharing != Sharing::none && input_.size() == header.size() + size() &&
                      !changes() && output.share(input_, 0, input_.size());
  const StageCounts counts = shared ? *result.counts : in_order_of_stages([&] {
    return clipping_.engine.run(*clipping_.result.plan, input_, output, header, counting, {}, sharing);
  });
  const std::span back = std::as_bytes(std::span(frame.back));
  if (output.is_regular() && !back.empty())
    output.write_at(back, header.size() + result.plan->output_size());
  else
    output.write(back);
  result.counts = counting == Counting::on ? std::optional(counts) : std::nullopt;
  check_clip_limit(settings, result);
}

}  // namespace clipper
