#include "flows/file_clip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "contract/fields.hpp"
#include "element/tensor_layout.hpp"
#include "engine/tensor_clip.hpp"
#include "engine/transfer.hpp"
#include "error.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "files/place.hpp"
#include "files/replacement.hpp"
#include "flows/clip_file.hpp"
#include "flows/figure_requests.hpp"
#include "flows/saved_figures.hpp"
#include "flows/selection.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"
#include "npy/header.hpp"
#include "npz/archive.hpp"
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

/// Whether a stage may clip only so many elements.
bool has_limit(const ClipSettings& settings) {
  return settings.max_clipped ||
         std::ranges::any_of(settings.then_max_clipped, [](const auto& limit) { return limit.has_value(); });
}

}  // namespace

const Request& ClipSettings::request_for(const std::string& input, std::optional<Request>& own) const {
  if (!read_masks) return request;
  read_masks(own.emplace(request), input);
  return *own;
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

namespace {

/// Contents are deflated in pieces of this size, whatever the engine's chunk size, so that it does not change
/// the result.
constexpr std::size_t kPiece = 512UL << 10;

constexpr std::size_t kAlignment = 64;

}  // namespace

void HeaderAndElements::assign(std::span<const std::byte> header, std::size_t elements, std::size_t room) {
  elements_ = (header.size() + kAlignment - 1) / kAlignment * kAlignment;
  begin_ = elements_ - header.size();
  end_ = elements_ + elements;
  if (memory_.size() < elements_ + room) memory_.resize(elements_ + room);
  std::ranges::copy(header, memory_.begin() + static_cast<std::ptrdiff_t>(begin_));
}

MemberClip::MemberClip(const Clipping& clipping, const Container& archive, const Entry& member)
    : clipping_(clipping),
      member_(member),
      has_crc_(archive.format().has_crc),
      is_checked_(!has_crc_ || member.method == Codec::deflated || clipping.settings.reading.ignore_trailing),
      input_(archive.open(member, is_checked_ ? Check::now : Check::by_caller)),
      crc_(member.contents.size) {
  result_.name = input_.path();
  result_.member = member.name;
  result_.archive = &archive.format();
  ReadHeader read = header_of(clipping.settings, input_);
  header_ = std::move(read.bytes);
  result_.plan = read_plan(clipping.engine, clipping.settings, input_, read.header);
  if (!is_checked_) crc_.add(0, header_);
}

/// Empty if the archive's own header describes the elements.
std::vector<std::byte> MemberClip::header() const {
  if (!member_.type.empty()) return {};
  if (!clipping_.out && !result_.plan->changes_dtype()) return header_;
  const std::string text = npy::format(result_.plan->output);
  const std::span bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::uint64_t MemberClip::size() const {
  return header().size() + result_.plan->output_size();
}

/// Adds what is read to the CRC-32.
ByteObserver MemberClip::observer() {
  if (is_checked_) return {};
  return [this](std::uint64_t offset, std::span<const std::byte> bytes) { crc_.add(offset, bytes); };
}

void MemberClip::expect_sound() const {
  if (is_checked_ || crc_.value() == member_.contents.crc) return;
  input_.expect_unwritten();
  throw Error(ErrorKind::input, fmt::format("{}: CRC-32 is {:08x}, the archive says {:08x}: damaged",
                                            input_.path(), crc_.value(), member_.contents.crc));
}

void MemberClip::note(const StageCounts& counts) {
  if (counting_of(clipping_.settings) == Counting::on) result_.counts = counts;
}

bool MemberClip::scan(Counting counting) {
  const StageCounts counts = clipping_.engine.scan(*result_.plan, input_, counting, observer());
  const bool changes = counts.changed || result_.plan->changes_dtype();
  if (counting == Counting::on || !changes) {
    result_.counts = counts;
    expect_sound();
  }
  return changes;
}

void MemberClip::clip(HeaderAndElements& contents) {
  const Plan& plan = *result_.plan;
  const std::size_t size = plan.largest_element();
  contents.assign(header(), plan.output_size(), plan.slice.count * size);
  const Chunks whole(plan.slice.count, size, std::max<std::size_t>(plan.slice.count, 1) * size, 0);
  Transfer transfer(plan, input_, whole, clipping_.engine.kernel_options());
  if (whole.size() != 0) {
    transfer.read(0, contents.elements());
    transfer.show_read(0, contents.elements(), observer());
    transfer.clip(0, contents.elements(), counting_of(clipping_.settings));
  }
  expect_sound();
  transfer.expect_valid();
  note(transfer.counts());
}

Contents MemberClip::write(OutputFile& output) {
  const std::vector<std::byte> header = this->header();
  const Contents contents =
      member_.method == Codec::stored ? write_stored(header, output) : write_deflated(header, output);
  expect_sound();
  return contents;
}

Contents MemberClip::write_stored(std::span<const std::byte> header, OutputFile& output) {
  const Plan& plan = *result_.plan;
  const std::uint64_t size = header.size() + plan.output_size();
  PlacedCrc written(size);
  ByteObserver add;
  if (has_crc_)
    add = [&](std::uint64_t offset, std::span<const std::byte> bytes) { written.add(offset, bytes); };
  note(
      clipping_.engine.run(plan, input_, output, header, counting_of(clipping_.settings), {observer(), add}));
  return {written.value(), size, size};
}

Contents MemberClip::write_deflated(std::span<const std::byte> header, OutputFile& output) {
  const Plan& plan = *result_.plan;
  Engine& engine = clipping_.engine;
  engine.prepare(plan.input_size(), Engine::Cost::high);
  const std::size_t element_size = traits(plan.output.dtype).size;
  const Chunks chunks(plan.slice.count, element_size, kPiece, header.size());
  Transfer transfer(plan, input_, chunks, engine.kernel_options());
  Contents contents{0, header.size() + plan.output_size(), 0};
  PlacedCrc crc(contents.size);
  const std::uint64_t count = std::max<std::uint64_t>(chunks.size(), 1);
  std::vector<HeaderAndElements> pieces(engine.slots());
  std::vector<std::vector<std::byte>> deflated(pieces.size());

  const auto make = [&](std::uint64_t i, std::size_t slot) {
    deflated[slot].clear();
    if (i < chunks.size() && transfer.comes_after_refusal(i)) return;
    const bool is_empty = chunks.size() == 0;
    HeaderAndElements& piece = pieces[slot];
    const std::size_t count_of = is_empty ? 0 : chunks[i].count;
    piece.assign(i == 0 ? header : std::span<const std::byte>(), count_of * element_size,
                 count_of * plan.largest_element());
    if (!is_empty) {
      transfer.read(i, piece.elements());
      transfer.clip(i, piece.elements(), counting_of(clipping_.settings));
      engine.add_done(transfer.size(i));
      if (transfer.is_refused(i)) return;
    }
    crc.add(i == 0 ? 0 : header.size() + chunks[i].begin * element_size, piece.bytes());
    deflated[slot] = npz::deflate_piece(piece.bytes(), i + 1 == count);
  };
  engine.in_order(count, make, [&](std::uint64_t, std::size_t slot) {
    output.write_at(deflated[slot], contents.stored_size);
    contents.stored_size += deflated[slot].size();
  });
  transfer.expect_valid();
  note(transfer.counts());
  contents.crc = crc.value();
  return contents;
}

namespace {

/// Error{input} for what no input of any kind can be.
void expect_sound(const ClipSettings& settings, InputFile& output) {
  if (output.file_size() == 0) throw Error(ErrorKind::input, output.path() + ": is empty");
  read_as(output, {});
  if (is_archive(output)) return static_cast<void>(Container(output, KeptFor::reading).entries());
  if (settings.to_raw || settings.reading.raw) return;
  static_cast<void>(read_header(output, {}, nullptr, std::nullopt, npy::Opaque::taken, npy::Types::all));
}

}  // namespace

std::string why_unfinished(const Clipping& clipping, const std::string& in, const std::string& out) {
  std::unique_ptr<Prepared> job;
  try {
    if (find_file(in))
      job = prepare_to_file(clipping, in, out, OutputFile::Existing::replace, Directory::made_by_run);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::io) return error.what();
  }
  try {
    InputFile output = InputFile::open_regular(out);
    if (job)
      job->expect_written(output, out);
    else
      expect_sound(clipping.settings, output);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace clipper
