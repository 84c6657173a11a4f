#include "flows/member_clip.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/transfer.hpp"
#include "error.hpp"
#include "flows/file_clip.hpp"
#include "npy/header.hpp"
#include "npz/codecs.hpp"

namespace clipper {
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

}  // namespace clipper
