#include "engine/transfer.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace clipper {
namespace {

bool is_zero(std::span<const std::byte> bytes) {
  return bytes.front() == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace

Chunks chunks_of(const Plan& plan, std::size_t chunk_size, std::uint64_t data_offset) {
  const std::size_t size = traits(plan.output.dtype).size;
  const std::size_t written = chunk_size / plan.largest_element() * size;
  return {plan.slice.count, size, std::max(written / kSummedBlock * kSummedBlock, kSummedBlock), data_offset};
}

std::span<std::byte> Transfer::read_at(std::uint64_t chunk, std::byte* memory) const {
  const std::size_t count = chunks_[chunk].count;
  const std::size_t before = out_size_ > in_size_ ? count * (out_size_ - in_size_) : 0;
  return {memory + before, count * in_size_};
}

void Transfer::read(std::uint64_t chunk, std::byte* memory) const {
  input_.read_next_at(read_at(chunk, memory), begin() + chunks_[chunk].begin * in_size_);
}

StageCounts Transfer::clip_elements(std::uint64_t chunk, std::byte* memory, std::byte* result,
                                    std::size_t first, std::size_t count, Counting counting) {
  const std::byte* const in = read_at(chunk, memory).data() + first * in_size_;
  return clip_.clip(plan_.slice.first + chunks_[chunk].begin + first, in, result + first * out_size_, count,
                    counting);
}

/// Clips the chunk's blocks until too many are changed. Returns the number of clipped elements.
std::size_t Transfer::clip_blocks(std::uint64_t chunk, std::byte* memory, ChangedBlocks& changed,
                                  StageCounts& counts) {
  const auto [begin, count] = chunks_[chunk];
  const std::size_t max = count * out_size_ / ChangedBlocks::kSize / 32;
  const std::uint64_t offset = this->begin() + begin * in_size_;
  std::size_t length = (ChangedBlocks::kSize - offset % ChangedBlocks::kSize) / out_size_;
  for (std::size_t first = 0; first < count;
       first += std::exchange(length, ChangedBlocks::kSize / out_size_)) {
    length = std::min(length, count - first);
    const StageCounts block = clip_elements(chunk, memory, memory, first, length, Counting::on);
    counts += block;
    if (!block.changed) continue;
    changed.blocks.emplace_back(memory + first * out_size_, length * out_size_);
    changed.are_few = changed.blocks.size() <= max;
    if (!changed.are_few) return first + length;
  }
  return count;
}

StageCounts Transfer::clip(std::uint64_t chunk, std::byte* memory, Counting counting, ChangedBlocks* changed,
                           std::byte* result) {
  const std::size_t count = chunks_[chunk].count;
  if (result == nullptr) result = memory;
  StageCounts counts;
  const bool looks = changed != nullptr && changed->are_few;
  const std::size_t done = looks ? clip_blocks(chunk, memory, *changed, counts) : 0;
  if (done < count) counts += clip_elements(chunk, memory, result, done, count - done, counting);
  if (counting == Counting::on) {
    const std::lock_guard lock(counts_mutex_);
    counts_ += counts;
  }
  return counts;
}

void Transfer::write(std::uint64_t chunk, const std::byte* memory, OutputFile& output,
                     std::span<const std::byte> header, const ChangedBlocks* changed) const {
  const std::span bytes = written_at(chunk, memory);
  const std::uint64_t offset = header.size() + chunks_[chunk].begin * out_size_;
  const std::uint64_t shared = chunk == 0 ? 0 : offset;  // the first chunk is shared with the header
  const bool may_share = changed != nullptr && changed->are_few;
  if (may_share && output.share(input_, shared, offset + bytes.size() - shared)) {
    for (const std::span block : changed->blocks)
      output.write_at(block, offset + static_cast<std::size_t>(block.data() - memory));
  } else if (!output.is_regular()) {
    if (chunk == 0) output.write(header);
    output.write(bytes);
  } else if (keeps_holes_ && !may_share) {  // after share() the output may have other bytes than zeros
    if (chunk == 0) output.write_at(header, 0);
    write_around_holes(chunk, bytes, offset, output);
  } else if (chunk == 0) {
    output.write_start(header, bytes);
  } else {
    output.write_at(bytes, offset);
  }
}

/// `bytes` are those of the chunk, `offset` is where they begin in the output. A block at the end of the
/// tensor may be shorter than others.
void Transfer::write_around_holes(std::uint64_t chunk, std::span<const std::byte> bytes, std::uint64_t offset,
                                  const OutputFile& output) const {
  constexpr std::uint64_t kBlock = 4096;
  const auto [first, count] = chunks_[chunk];
  const std::uint64_t begin = this->begin() + first * in_size_;
  const std::uint64_t end = begin + count * in_size_;
  const bool is_last = first + count == plan_.slice.count;
  std::uint64_t written = offset;
  for (Hole hole = next_hole(input_, begin, end); hole.begin < hole.end;
       hole = next_hole(input_, hole.end, end)) {
    const std::uint64_t element = (hole.begin - begin + in_size_ - 1) / in_size_;
    const std::uint64_t from = (offset + element * out_size_ + kBlock - 1) / kBlock * kBlock;
    const std::uint64_t past = offset + (hole.end - begin) / in_size_ * out_size_;
    const std::uint64_t to = is_last && hole.end == end ? past : past / kBlock * kBlock;
    if (from >= to || !is_zero(bytes.subspan(from - offset, to - from))) continue;
    output.write_at(bytes.subspan(written - offset, from - written), written);
    written = to;
  }
  output.write_at(bytes.subspan(written - offset), written);
}

void Transfer::show_read(std::uint64_t chunk, std::byte* memory, const ByteObserver& observer) const {
  if (observer) observer(begin() + chunks_[chunk].begin * in_size_, read_at(chunk, memory));
}

void Transfer::show_written(std::uint64_t chunk, const std::byte* memory, std::span<const std::byte> header,
                            const ByteObserver& observer) const {
  if (!observer) return;
  const std::span bytes = written_at(chunk, memory);
  if (chunk != 0) return observer(header.size() + chunks_[chunk].begin * out_size_, bytes);
  // The last block of the header also has elements in it.
  std::vector<std::byte> start(header.begin(), header.end());
  const std::size_t more = std::min(bytes.size(), kSummedBlock - header.size() % kSummedBlock);
  start.insert(start.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(more));
  observer(0, start);
  if (more < bytes.size()) observer(start.size(), bytes.subspan(more));
}

std::size_t Transfer::shift(std::uint64_t chunk, std::uint64_t header_end) const {
  // AMD's Zen 4 copies five times slower if the destination is 1 to 63 bytes above the source, modulo 4096.
  if (plan_.changes_dtype()) return 0;  // input and output have different places in memory
  const auto is_slow = [](std::uint64_t above) { return above % 4096 - 1 < 63; };
  const std::uint64_t begin = chunks_[chunk].begin * in_size_;
  const std::uint64_t from = input_.begin() + this->begin() + begin;
  const std::uint64_t to = header_end + begin;
  std::size_t shift = 0;
  while (shift < kMaxShift && (is_slow(shift - from) || is_slow(to - shift))) shift += 64;
  return shift;
}

bool Transfer::is_refused(std::uint64_t chunk) const {
  return clip_.is_refused_before(plan_.slice.first + chunks_[chunk].begin + chunks_[chunk].count);
}

bool Transfer::comes_after_refusal(std::uint64_t chunk) const {
  return clip_.is_over_before(plan_.slice.first + chunks_[chunk].begin);
}

StageCounts Transfer::counts() const {
  const std::lock_guard lock(counts_mutex_);
  return counts_;
}

}  // namespace clipper
