#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

#include "npz/read_records.hpp"
#include "npz/refuse.hpp"
#include "npz/zip_records.hpp"

namespace clipper::npz {
namespace {

constexpr std::size_t kRecords64 = EndRecord64::kLength + EndLocator::kLength;
constexpr std::size_t kMaxComment = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t kMaxMembers = 400'000;
constexpr std::string_view kSignatureBytes = "PK\5\6";

/// Whether there is an end record at `at` whose comment ends where `tail`, the end of the file, ends.
bool ends_at_end(std::string_view tail, std::size_t at) {
  const std::string_view record = tail.substr(at);
  return is_record<EndRecord>(record) &&
         get(record, EndRecord::kCommentLength) == record.size() - EndRecord::kLength;
}

/// Where the end record is in `tail`, the end of the file. Python takes the last 22 bytes if they are a
/// record without comment, and otherwise the last signature; other programs take the last or the first record
/// that ends where the file ends.
std::size_t find_end_record(std::string_view tail) {
  const std::size_t last = tail.size() < EndRecord::kLength ? 0 : tail.size() - EndRecord::kLength;
  const std::size_t at = ends_at_end(tail, last) ? last : tail.rfind(kSignatureBytes);
  if (at == std::string_view::npos || tail.size() - at < EndRecord::kLength)
    refuse("truncated: no end record of a zip archive");
  if (!ends_at_end(tail, at)) refuse("damaged: the end record of the zip archive is not at the end");
  for (std::size_t other = tail.find(kSignatureBytes); other < at;
       other = tail.find(kSignatureBytes, other + 1))
    if (ends_at_end(tail, other)) refuse("ambiguous: two end records of a zip archive");
  return at;
}

/// Whether a field of EndRecord agrees with the field of EndRecord64 that replaces it.
template <class Small>
bool agrees(Small small, std::uint64_t large) {
  return small == large || small == std::numeric_limits<Small>::max();
}

/// Replaces what EndRecord, which begins at byte `at` of the file, says by what EndRecord64 says.
void read_end64(std::string_view before, std::string_view record, std::uint64_t at, End& end) {
  const std::string_view locator = before.substr(before.size() - EndLocator::kLength);
  if (get(locator, EndLocator::kDisk) != 0 || get(locator, EndLocator::kDisks) > 1)
    refuse("a part of a zip archive on several disks");
  if (before.size() < kRecords64 || get(locator, EndLocator::kRecordBegin) != at - kRecords64)
    refuse("damaged: the ZIP64 end record is not where its locator says");
  const std::string_view record64 = before.substr(before.size() - kRecords64);
  if (!is_record<EndRecord64>(record64) ||
      get(record64, EndRecord64::kRest) != EndRecord64::kLength - EndRecord64::kMadeBy.at)
    refuse("damaged: the ZIP64 end record is malformed");
  if (get(record64, EndRecord64::kDisk) != 0 || get(record64, EndRecord64::kListDisk) != 0)
    refuse("a part of a zip archive on several disks");
  end.count = get(record64, EndRecord64::kCount);
  end.list_begin = get(record64, EndRecord64::kListBegin);
  end.list_size = get(record64, EndRecord64::kListSize);
  if (get(record64, EndRecord64::kCountHere) != end.count ||
      !agrees(get(record, EndRecord::kCount), end.count) ||
      !agrees(get(record, EndRecord::kListBegin), end.list_begin) ||
      !agrees(get(record, EndRecord::kListSize), end.list_size))
    refuse("damaged: the end record and the ZIP64 end record disagree");
}

std::string read_tail(const ReadAt& read, std::uint64_t size) {
  std::string tail(
      static_cast<std::size_t>(std::min<std::uint64_t>(size, kRecords64 + EndRecord::kLength + kMaxComment)),
      '\0');
  if (read(std::as_writable_bytes(std::span(tail)), size - tail.size()) != tail.size())
    refuse("truncated while it was read");
  return tail;
}

}  // namespace

End read_end(const ReadAt& read, std::uint64_t size) {
  const std::string tail = read_tail(read, size);
  const std::size_t at_in_tail = find_end_record(tail);
  const std::uint64_t at = size - tail.size() + at_in_tail;
  const std::string_view record = std::string_view(tail).substr(at_in_tail);
  const std::string_view before = std::string_view(tail).substr(0, at_in_tail);
  End end{get(record, EndRecord::kCount), get(record, EndRecord::kListBegin),
          get(record, EndRecord::kListSize), std::string(record.substr(EndRecord::kLength))};
  if (get(record, EndRecord::kDisk) != 0 || get(record, EndRecord::kListDisk) != 0 ||
      get(record, EndRecord::kCountHere) != get(record, EndRecord::kCount))
    refuse("a part of a zip archive on several disks");

  std::uint64_t list_end = at;
  if (before.size() >= EndLocator::kLength &&
      is_record<EndLocator>(before.substr(before.size() - EndLocator::kLength))) {
    read_end64(before, record, at, end);
    list_end -= kRecords64;
  }
  if (end.list_size > list_end || end.list_begin != list_end - end.list_size)
    refuse("damaged: the list of members is not directly before the end record of the zip archive");
  if (end.count > kMaxMembers) refuse(fmt::format("more than {} members", kMaxMembers));
  if (end.count > end.list_size / ListEntry::kLength) refuse("damaged: the list of members is too short");
  return end;
}

}  // namespace clipper::npz
