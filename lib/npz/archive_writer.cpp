#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "npz/archive.hpp"

namespace clipper::npz {
namespace {

/// Removes the first field and returns it. Nothing after the last one.
std::optional<std::string_view> take_field(std::string_view& extras) {
  if (extras.size() < kExtraPreamble) {
    // Programs that align the data pad extra fields with zeros.
    if (extras.find_first_not_of('\0') != std::string_view::npos) refuse("its extra fields are malformed");
    return std::nullopt;
  }
  const std::size_t length = kExtraPreamble + get(extras, Field16{2});
  if (length > extras.size()) refuse("its extra fields are malformed");
  const std::string_view field = extras.substr(0, length);
  extras.remove_prefix(length);
  return field;
}

}  // namespace

std::optional<std::string_view> extra_field(std::string_view extras, std::uint16_t id) {
  std::optional<std::string_view> found;
  while (const std::optional<std::string_view> field = take_field(extras)) {
    if (get(*field, Field16{0}) != id) continue;
    if (found) refuse(fmt::format("it has two extra fields {:#06x}", id));
    found = field->substr(kExtraPreamble);
  }
  return found;
}

std::size_t count_extra_fields(std::string_view extras) {
  std::size_t count = 0;
  while (take_field(extras)) ++count;
  return count;
}

void take_zip64(std::string_view extras, std::initializer_list<std::uint64_t*> numbers, bool may_have_all) {
  const std::optional<std::string_view> field = extra_field(extras, kZip64);
  std::string_view rest = field.value_or("");
  const bool has_all = may_have_all && rest.size() == numbers.size() * sizeof(std::uint64_t);
  for (std::uint64_t* const number : numbers) {
    const bool is_in_field = *number == kInZip64;
    if (!is_in_field && !has_all) continue;
    if (rest.size() < sizeof(std::uint64_t)) refuse("its ZIP64 field is too short");
    const std::uint64_t value = get(rest, Field64{0});
    if (!is_in_field && value != *number) refuse("its ZIP64 field disagrees with its other fields");
    *number = value;
    rest.remove_prefix(sizeof(std::uint64_t));
  }
  if (!rest.empty()) refuse("its ZIP64 field is too long");
}

void check_unicode_path(std::string_view extras, std::string_view name) {
  constexpr std::size_t kPreamble = 5;  // a version and the CRC-32 of the name
  const std::optional<std::string_view> field = extra_field(extras, kUnicodePath);
  if (field && (field->size() < kPreamble || field->substr(kPreamble) != name || !is_utf8_text(name)))
    refuse("its extra field 0x7075 gives it another name");
}

namespace {

// The limits of Python's zipfile, which np.savez uses. It writes larger numbers in ZIP64 fields.
constexpr std::uint64_t kMaxNumber = 0x7fffffff;
constexpr std::uint64_t kMaxCount = 0xffff;

/// The extra fields of a record, without the ZIP64 field.
struct Extras {
  bool had_zip64 = false;
  std::string before;  ///< the fields before the ZIP64 field, or all if there is none
  std::string after;
};

Extras without_zip64(std::string_view extras) {
  const std::optional<std::string_view> field = extra_field(extras, kZip64);
  if (!field) return {false, std::string(extras), ""};
  const auto data = static_cast<std::size_t>(field->data() - extras.data());
  return {true, std::string(extras.substr(0, data - kExtraPreamble)),
          std::string(extras.substr(data + field->size()))};
}

std::string zip64_field(const std::vector<std::uint64_t>& numbers) {
  std::string field(kExtraPreamble + numbers.size() * sizeof(std::uint64_t), '\0');
  put(field, Field16{0}, kZip64);
  put(field, Field16{2}, static_cast<std::uint16_t>(field.size() - kExtraPreamble));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    put(field, Field64{kExtraPreamble + i * sizeof(std::uint64_t)}, numbers[i]);
  return field;
}

/// Sets the fields that local headers and list entries share. Sizes that are `in_zip64` are only there.
template <class Record>
void put_contents(std::string& record, const Contents& contents, bool in_zip64) {
  const auto flags = static_cast<std::uint16_t>(get(record, Record::kFlags) & ~kHasDescriptor);
  put(record, Record::kFlags, flags);
  put(record, Record::kCrc, contents.crc);
  put(record, Record::kSize, in_zip64 ? kInZip64 : static_cast<std::uint32_t>(contents.size));
  put(record, Record::kStoredSize, in_zip64 ? kInZip64 : static_cast<std::uint32_t>(contents.stored_size));
}

template <class Record>
void put_extras_length(std::string& record, std::size_t length) {
  if (length > std::numeric_limits<std::uint16_t>::max()) refuse("a member has too many extra fields");
  put(record, Record::kExtraLength, static_cast<std::uint16_t>(length));
}

void raise_version(std::string& record, Field16 field, std::uint16_t version) {
  put(record, field, std::max(get(record, field), version));
}

/// Sets only the low byte, the version. The high byte is the system.
void raise_made_by(std::string& entry) {
  const std::uint16_t made_by = get(entry, ListEntry::kMadeBy);
  if ((made_by & 0xffU) < kZip64Version)
    put(entry, ListEntry::kMadeBy, static_cast<std::uint16_t>((made_by & 0xff00U) | kZip64Version));
}

bool is_large(const Contents& contents) {
  return contents.size > kMaxNumber || contents.stored_size > kMaxNumber;
}

}  // namespace

Member new_member(std::string name) {
  constexpr std::uint16_t kVersion = 20;
  constexpr std::uint16_t kUnix = 3U << 8U;
  constexpr std::uint32_t kFirstDay = 0x21UL << 16;
  constexpr std::uint32_t kMode = 0600UL << 16;
  const auto length = static_cast<std::uint16_t>(name.size());
  std::string local = new_record<LocalHeader>();
  put(local, LocalHeader::kVersion, kVersion);
  put(local, LocalHeader::kTime, kFirstDay);
  put(local, LocalHeader::kNameLength, length);
  std::string listed = new_record<ListEntry>();
  put(listed, ListEntry::kMadeBy, static_cast<std::uint16_t>(kUnix | kVersion));
  put(listed, ListEntry::kVersion, kVersion);
  put(listed, ListEntry::kTime, kFirstDay);
  put(listed, ListEntry::kNameLength, length);
  put(listed, ListEntry::kAttributes, kMode);
  return {.name = name, .contents = {}, .local = local + name, .listed = listed + name};
}

std::string ArchiveWriter::local_header(const Member& from, const Contents& contents) {
  const std::size_t name_end = LocalHeader::kLength + get(from.local, LocalHeader::kNameLength);
  std::string header = from.local.substr(0, name_end);
  const Extras extras = without_zip64(std::string_view(from.local).substr(name_end));

  // Without a ZIP64 field, Python adds one if the deflated data might need it. With one, Python 3.11.4 and
  // later have the sizes only there, earlier versions have small sizes in both places.
  const bool may_be_large = contents.size + contents.size / 20 > kMaxNumber;
  const bool has_zip64 = extras.had_zip64 || may_be_large;
  const bool was_in_zip64 =
      get(header, LocalHeader::kSize) == kInZip64 || get(header, LocalHeader::kStoredSize) == kInZip64;
  const bool in_zip64 = has_zip64 && (was_in_zip64 || !extras.had_zip64 || is_large(contents));
  put_contents<LocalHeader>(header, contents, in_zip64);
  if (in_zip64) raise_version(header, LocalHeader::kVersion, kZip64Version);

  const std::string zip64 = has_zip64 ? zip64_field({contents.size, contents.stored_size}) : "";
  put_extras_length<LocalHeader>(header, extras.before.size() + zip64.size() + extras.after.size());
  return header + extras.before + zip64 + extras.after;
}

void ArchiveWriter::add(const Member& from, const Contents& contents, std::uint64_t begin) {
  const std::size_t name_end = ListEntry::kLength + get(from.listed, ListEntry::kNameLength);
  const std::size_t extras_end = name_end + get(from.listed, ListEntry::kExtraLength);
  std::string entry = from.listed.substr(0, name_end);
  const Extras extras = without_zip64(std::string_view(from.listed).substr(name_end, extras_end - name_end));

  std::vector<std::uint64_t> numbers;
  if (is_large(contents)) numbers = {contents.size, contents.stored_size};
  put_contents<ListEntry>(entry, contents, is_large(contents));
  if (begin > kMaxNumber) numbers.push_back(begin);
  put(entry, ListEntry::kBegin, begin > kMaxNumber ? kInZip64 : static_cast<std::uint32_t>(begin));
  raise_version(entry, ListEntry::kVersion, get(local_header(from, contents), LocalHeader::kVersion));
  if (!numbers.empty()) {
    raise_version(entry, ListEntry::kVersion, kZip64Version);
    raise_made_by(entry);
  }

  const std::string zip64 = numbers.empty() ? "" : zip64_field(numbers);
  put_extras_length<ListEntry>(entry, zip64.size() + extras.before.size() + extras.after.size());
  list_ += entry + zip64 + extras.before + extras.after + from.listed.substr(extras_end);
  ++count_;
}

std::string ArchiveWriter::end_records(std::uint64_t begin) const {
  std::string after;
  if (count_ > kMaxCount || begin > kMaxNumber || list_.size() > kMaxNumber) {
    std::string record = new_record<EndRecord64>();
    put(record, EndRecord64::kRest, EndRecord64::kLength - EndRecord64::kMadeBy.at);
    put(record, EndRecord64::kMadeBy, kZip64Version);
    put(record, EndRecord64::kVersion, kZip64Version);
    put(record, EndRecord64::kCountHere, count_);
    put(record, EndRecord64::kCount, count_);
    put(record, EndRecord64::kListSize, list_.size());
    put(record, EndRecord64::kListBegin, begin);
    std::string locator = new_record<EndLocator>();
    put(locator, EndLocator::kRecordBegin, begin + list_.size());
    put(locator, EndLocator::kDisks, 1);
    after = record + locator;
  }
  std::string record = new_record<EndRecord>();
  const auto count = static_cast<std::uint16_t>(std::min<std::uint64_t>(count_, kMaxCount));
  put(record, EndRecord::kCountHere, count);
  put(record, EndRecord::kCount, count);
  put(record, EndRecord::kListSize,
      static_cast<std::uint32_t>(std::min<std::uint64_t>(list_.size(), kInZip64)));
  put(record, EndRecord::kListBegin, static_cast<std::uint32_t>(std::min<std::uint64_t>(begin, kInZip64)));
  put(record, EndRecord::kCommentLength, static_cast<std::uint16_t>(comment_.size()));
  return after + record + comment_;
}

}  // namespace clipper::npz
