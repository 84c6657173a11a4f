#include "formats/container.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <utility>

#include "files/descriptor.hpp"
#include "npy/other.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

/// Returns work(), which reads the archive. Puts `path` in front of the errors of lib/npz; these are
/// {input}, and mean nothing if the archive was written to meanwhile.
template <class Work>
auto reading(const InputFile& archive, const std::string& path, Work work) {
  try {
    auto result = work();
    archive.expect_unwritten();
    return result;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    archive.expect_unwritten();
    throw Error(error.kind(), path + ": " + error.message());
  }
}

/// The last colon before byte `end` of a path that may be the one of FILE:MEMBER.
std::size_t entry_colon(std::string_view path, std::size_t end) {
  for (std::size_t at = path.substr(0, end).rfind(':'); at != path.npos; at = path.substr(0, at).rfind(':')) {
    const Format* const format = format_named(path.substr(0, at));
    if (format != nullptr && format->has_entries()) return at;
  }
  return path.npos;
}

/// Calls `take` with the index of each member that the pattern stands for. Returns whether there is one.
template <class Take>
bool for_each_match(const Container& archive, const std::string& pattern, const Take& take) {
  if (const Entry* const named = archive.find(pattern)) {
    take(archive.index_of(*named), NameChoice::How::by_name);
    return true;
  }
  bool found = false;
  const std::vector<Entry>& members = archive.entries();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!matches(pattern, std::string(members[i].key())) && !matches(pattern, members[i].name)) continue;
    found = true;
    take(i, NameChoice::How::by_pattern);
  }
  return found;
}

/// Whether a file of the archive's set, NAME-00001-of-00002.safetensors, has a member for the pattern.
bool set_has(const std::string& path, const std::string& pattern) try {
  const std::size_t end = path.rfind("-of-");
  const std::size_t begin = end == path.npos ? end : path.rfind('-', end - 1);
  if (begin == path.npos) return false;
  const InputFile file = InputFile::open_regular(path.substr(0, begin) + std::string(kIndexSuffix));
  const Format* const format = archive_format(file);
  return format != nullptr && for_each_match(Container(file, *format, KeptFor::reading), pattern,
                                             [](std::size_t, NameChoice::How) {});
} catch (const Error&) {  // there is no whole set
  return false;
}

constexpr Term kMembers{"member", "a choice of members"};
constexpr Term kExcluded{"exclude_member", "an exclusion of members"};

TypeChoice choice_of(std::initializer_list<std::string_view> words) {
  TypeChoice choice;
  for (const std::string_view word : words) static_cast<void>(choice.add(word));
  return choice;
}

}  // namespace

std::string_view refused_type(const Error& error) {
  std::string_view type;
  static_cast<void>(error.message().text_with([&](const Term& term) {
    if (term.field == kTypeField) type = term.words;
    return term.words;
  }));
  return type;
}

Container::Container(const InputFile& file, const Format& format, KeptFor kept_for)
    : file_(file),
      format_(format),
      entries_(reading(file, file.path(), [&] { return format_.entries(file, kept_for); })) {}

std::string Container::path_of(const Entry& member) const {
  return fmt::format("{}:{}", file_.path(), member.key());
}

const Entry* Container::find(std::string_view name) const {
  const Entry* found = nullptr;
  for (const Entry& entry : entries_.list) {
    if (entry.name == name) return &entry;
    if (entry.key() == name) found = &entry;
  }
  return found;
}

const Entry& Container::named(std::string_view name) const {
  if (const Entry* const found = find(name)) return *found;
  throw Error(ErrorKind::usage, fmt::format("{}: no member '{}'; {}", file_.path(), name, first_keys()));
}

std::string Container::first_keys() const {
  constexpr std::size_t kShown = 5;
  constexpr std::size_t kLongest = 200;
  if (entries_.list.empty()) return "it has no members";
  std::string text = "it has ";
  for (std::size_t i = 0; i < entries_.list.size(); ++i) {
    if (i > 0) text += ", ";
    const std::string_view key = entries_.list[i].key();
    if (i == kShown || text.size() + key.size() > kLongest) return text + "...";
    text += key;
  }
  return text;
}

std::shared_ptr<const InputFile> Container::file_of(const Entry& member) const {
  if (member.file == nullptr) return {std::shared_ptr<const InputFile>(), &file_};  // owned by the caller
  const auto& [path, before] = *member.file;
  const std::lock_guard lock(mutex_);
  if (!opened_ || opened_->path() != path) {
    opened_ = std::make_shared<const InputFile>(InputFile::open_regular(path));
    const os::Status& now = opened_->status();
    if (id_of(before) != id_of(now) || is_written(before, now) || !has_same_attributes(before, now))
      throw_changed(path);
  }
  return opened_;
}

InputFile Container::open(const Entry& member, Check check) const {
  const std::shared_ptr<const InputFile> file = file_of(member);
  std::string path = path_of(member);
  Source source =
      reading(*file, path, [&] { return format_.entry(*file, path, member, check, member.contents.size); });
  return file->member(std::move(path), std::move(source));
}

std::vector<std::byte> Container::start(const Entry& member, std::uint64_t size) const {
  const std::shared_ptr<const InputFile> file = file_of(member);
  const std::string path = path_of(member);
  return reading(*file, path, [&] {
    const MemberContents contents = format_.entry(*file, path, member, Check::by_caller, size).contents;
    std::vector<std::byte> bytes(contents.size());
    bytes.resize(contents.read_at(file->descriptor(), bytes, 0, file->path()));
    return bytes;
  });
}

EntryHeader Container::header(const Entry& member, const npy::GivenDType& dtype, npy::Types types) const {
  EntryHeader result{{}, {}, member.other};
  const std::string path = path_of(member);
  const bool is_npy = member.type.empty();
  if (is_npy) {
    result.bytes = start(member, npy::kKindSize);
    if (!npy::can_be_npy(result.bytes) && !member.name.ends_with(".npy")) result.other = "not .npy";
  }
  if (!result.other.empty()) return result;
  if (is_npy) {
    const std::uint64_t offset = with_path(path, [&] { return npy::data_offset(result.bytes); });
    if (offset > result.bytes.size()) result.bytes = start(member, offset);
  }
  try {
    result.header =
        is_npy ? npy::parse(result.bytes, dtype, npy::Opaque::refused, types)
               : npy::accepted(*format_.entry(file_, path, member, Check::by_caller, 0).layout, dtype, types);
  } catch (const Error& error) {
    result.other = refused_type(error);
    if (result.other.empty()) throw_with_path(path, error);
    return result;
  }
  if (is_npy) result.bytes.resize(result.header->data_offset);
  if (result.header->has_objects()) return result;
  with_path(path, [&] { npy::expect_data(*result.header, member.contents.size); });
  const std::uint64_t end = result.header->data_offset + result.header->data_size();
  if (!file_.ignores_trailing() && member.contents.size > end)
    refuse_trailing(path, member.contents.size - end);
  return result;
}

std::optional<MemberPath> member_path(const std::string& path) {
  os::Status status{};
  std::size_t at = entry_colon(path, path.size());
  if (at == std::string::npos || os::lstat(path.c_str(), &status) == 0) return std::nullopt;
  if (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG)  // there may be a file with this name
    throw_system_error(path, "cannot be examined");
  for (; at != std::string::npos; at = entry_colon(path, at)) {
    std::string archive = path.substr(0, at);
    if (os::stat(archive.c_str(), &status) == 0 && !S_ISDIR(status.st_mode))
      return MemberPath{std::move(archive), path.substr(at + 1)};
  }
  return std::nullopt;
}

void expect_no_member(const std::string& path) {
  if (member_path(path))
    throw Error(ErrorKind::usage, path + ": is a member of an archive; write to another file");
}

InputFile open_member(const MemberPath& path, Caching caching) {
  const InputFile file = InputFile::open_regular(path.archive, caching);
  const Format* const format = archive_format(file);
  if (format == nullptr)
    throw Error(ErrorKind::input, fmt::format("{}: not {}, so it has no member '{}'", path.archive,
                                              format_named(path.archive)->name, path.member));
  const Container archive(file, *format, KeptFor::reading);
  return archive.open(archive.named(path.member));
}

bool matches(const std::string& pattern, const std::string& text) {
  return os::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& text) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, text); });
}

NameChoice::NameChoice(std::vector<std::string> patterns, std::vector<std::string> excluded, Needed needed)
    : patterns_(std::move(patterns)),
      excluded_(std::move(excluded)),
      needed_(needed),
      used_(std::make_shared<std::deque<std::atomic<bool>>>(patterns_.size() + excluded_.size())) {}

std::vector<NameChoice::How> NameChoice::of(const Container& archive) const {
  std::vector<How> chosen(archive.entries().size(), has_patterns() ? How::not_chosen : How::by_pattern);
  auto used = used_->begin();
  const auto match = [&](const std::string& pattern, bool is_excluded, const auto& take) {
    const bool found = for_each_match(archive, pattern, take);
    if (found) *used = true;
    if (!found && needed_ == Needed::in_each && !(is_excluded && set_has(archive.file().path(), pattern)))
      static_cast<void>(archive.named(pattern));  // throws
    ++used;
  };
  for (const std::string& pattern : patterns_)
    match(pattern, false,
          [&](std::size_t member, How how) { chosen[member] = std::max(chosen[member], how); });
  for (const std::string& pattern : excluded_)
    match(pattern, true, [&](std::size_t member, How /*how*/) { chosen[member] = How::not_chosen; });
  return chosen;
}

Term NameChoice::term() const {
  return has_patterns() ? kMembers : kExcluded;
}

void NameChoice::expect_used() const {
  if (needed_ == Needed::in_each) return;
  auto used = used_->begin();
  for (const auto& [patterns, term] : {std::pair(&patterns_, kMembers), std::pair(&excluded_, kExcluded)})
    for (const std::string& pattern : *patterns)
      if (!*used++)
        throw Error(ErrorKind::usage, term + Message(": no archive has a member '" + pattern + "'"));
}

bool TypeChoice::add(std::string_view word) {
  const bool is_all = word == "all";
  bool is_known = is_all || word == "bool" || word == "date";
  const std::optional<DType> dtype = dtype_word(word).dtype;
  for (const DTypeTraits& row : kDTypes) {
    const bool is_kind = !row.only_if_named && word == (is_floating(row.dtype) ? "float" : "int");
    if (!is_all && !is_kind && dtype != row.dtype) continue;
    dtypes_ |= 1U << static_cast<unsigned>(row.dtype);
    is_known = true;
  }
  bool_ = bool_ || is_all || word == "bool";
  date_ = date_ || is_all || word == "date";
  other_ = other_ || is_all;
  return is_known;
}

bool TypeChoice::contains(DType dtype, const LogicalType& meaning) const {
  switch (meaning.kind) {
    case LogicalType::Kind::number: return (dtypes_ >> static_cast<unsigned>(dtype) & 1U) != 0;
    case LogicalType::Kind::boolean: return bool_;
    case LogicalType::Kind::datetime:
    case LogicalType::Kind::timedelta: return date_;
    case LogicalType::Kind::complex: break;
  }
  return other_;
}

TypeChoice TypeChoice::all() {
  return choice_of({"all"});
}

TypeChoice TypeChoice::floats() {
  static const TypeChoice choice = choice_of({"float"});
  return choice;
}

TypeChoice TypeChoice::numbers() {
  static const TypeChoice choice = choice_of({"float", "int"});
  return choice;
}

}  // namespace clipper
