#include "engine/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "error.hpp"

namespace clipper {

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

ElementCounts Transfer::clip(std::uint64_t chunk, std::byte* memory, Counting counting) {
  const auto [begin, count] = chunks_[chunk];
  const ElementCounts counts =
      clip_.clip(plan_.slice.first + begin, read_at(chunk, memory).data(), memory, count, counting);
  if (counting == Counting::on) {
    const std::lock_guard lock(counts_mutex_);
    counts_ += counts;
  }
  if (plan_.refuse_nan && !plan_.conversion) first_nan_.look_at(plan_.operation, memory, count, begin);
  return counts;
}

void Transfer::write(std::uint64_t chunk, const std::byte* memory, OutputFile& output,
                     std::span<const std::byte> header) const {
  const std::span bytes = written_at(chunk, memory);
  if (!output.is_regular()) {
    if (chunk == 0) output.write(header);
    output.write(bytes);
  } else if (chunk == 0) {
    output.write_start(header, bytes);
  } else {
    output.write_at(bytes, header.size() + chunks_[chunk].begin * out_size_);
  }
}

void Transfer::show_read(std::uint64_t chunk, std::byte* memory, const Look& look) const {
  if (look) look(begin() + chunks_[chunk].begin * in_size_, read_at(chunk, memory));
}

void Transfer::show_written(std::uint64_t chunk, const std::byte* memory, std::span<const std::byte> header,
                            const Look& look) const {
  if (!look) return;
  const std::span bytes = written_at(chunk, memory);
  if (chunk != 0) return look(header.size() + chunks_[chunk].begin * out_size_, bytes);
  // The last block of the header also has elements in it.
  std::vector<std::byte> start(header.begin(), header.end());
  const std::size_t more = std::min(bytes.size(), kSummedBlock - header.size() % kSummedBlock);
  start.insert(start.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(more));
  look(0, start);
  if (more < bytes.size()) look(start.size(), bytes.subspan(more));
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

bool Transfer::is_refused_before(std::uint64_t element) const {
  return first_nan_.is_before(element) || clip_.is_refused_before(plan_.slice.first + element);
}

bool Transfer::is_refused(std::uint64_t chunk) const {
  return is_refused_before(chunks_[chunk].begin + chunks_[chunk].count);
}

bool Transfer::comes_after_refusal(std::uint64_t chunk) const {
  return is_refused_before(chunks_[chunk].begin);
}

void Transfer::expect_valid() const {
  clip_.expect_valid();
  const std::optional<std::uint64_t> nan = first_nan_.position();
  if (!nan) return;
  const std::uint64_t position = plan_.slice.first + *nan;
  throw Error(ErrorKind::input, fmt::format("{}: NaN at {} (element {})", input_.path(),
                                            index_text(plan_.input, position), position));
}

ElementCounts Transfer::counts() const {
  const std::lock_guard lock(counts_mutex_);
  return counts_;
}

}  // namespace clipper
