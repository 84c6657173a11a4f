#include "engine/byte_results.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace clipper {

ByteResults::ByteResults(std::size_t result_size, Clip clip)
    : result_size_(result_size), clip_(std::move(clip)) {
  std::array<std::byte, 256> bytes;
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) bytes[byte] = static_cast<std::byte>(byte);
  static_cast<void>(clip_(bytes.data(), results_.data(), bytes.size(), Counting::off));
}

void ByteResults::find_kinds() {
  for (std::size_t byte = 0; byte < done_.size(); ++byte) {
    const auto element = static_cast<std::byte>(byte);
    std::array<std::byte, sizeof(ElementBits)> result;
    done_[byte] = clip_(&element, result.data(), 1, Counting::on);
    if (done_[byte] == Converted{}) continue;
    const auto kind = std::ranges::find(kinds_, done_[byte]);
    bits_[byte] = std::byte{1} << (kind - kinds_.begin());
    if (kind == kinds_.end()) kinds_.push_back(done_[byte]);
  }
}

/// A refused byte must be found; otherwise it is enough to know how many bytes there are of each kind.
Converted ByteResults::count(const std::byte* in, std::size_t count, SimdLevel level) {
  std::call_once(finds_kinds_, [this] { find_kinds(); });
  Converted total;
  if (kinds_.size() <= 8) {
    const auto occurs = count_bits(bits_, in, count, level);
    bool has_refused = false;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      total.counts.add(kinds_[i].counts, occurs[i]);
      has_refused |= occurs[i] != 0 && (kinds_[i].first_nan || kinds_[i].first_beyond);
    }
    if (!has_refused) return total;
    total = {};
  }
  const auto occurs = count_bytes({in, count});
  for (std::size_t byte = 0; byte < occurs.size(); ++byte) {
    const Converted& done = done_[byte];
    total.counts.add(done.counts, occurs[byte]);
    if (occurs[byte] == 0 || (!done.first_nan && !done.first_beyond)) continue;
    const auto first = static_cast<std::size_t>(std::find(in, in + count, static_cast<std::byte>(byte)) - in);
    if (done.first_nan) total.first_nan = std::min(first, total.first_nan.value_or(first));
    if (done.first_beyond) total.first_beyond = std::min(first, total.first_beyond.value_or(first));
  }
  return total;
}

void ByteResults::write(const std::byte* in, std::byte* out, std::size_t count, SimdLevel level) const {
  if (result_size_ != 1) return look_up(results_, result_size_, in, out, count);
  ByteTable table;
  std::memcpy(table.data(), results_.data(), table.size());
  look_up(table, in, out, count, byte_lookups(level).back());
}

}  // namespace clipper
