#include "files/container.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "error.hpp"
#include "files/temporary_file.hpp"
#include "npy/file_kind.hpp"
#include "npz/codecs.hpp"

namespace clipper {
namespace {

/// The largest deflated member that is held in memory.
constexpr std::uint64_t kMaxHeld = 1UL << 20;

npz::ReadAt reader(const InputFile& file) {
  return [&](std::span<std::byte> bytes, std::uint64_t offset) {
    return read_at(file.descriptor(), bytes, offset, file.path());
  };
}

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

bool begins_npz(std::span<const std::byte> start) {
  return npz::can_be_archive(start) && !npy::is_torch(start);
}

/// A new format is a row here, and what Container does with it.
constexpr TensorFormat kFormats[] = {
    {".npy", "a .npy file", false, false, true, "", [] { return true; }, &npy::can_be_npy},
    {".npz", "an .npz archive", true, true, true, "ISA-L and zlib", &npz::is_supported, &begins_npz},
    {".safetensors", "a safetensors file", true, false, false, "nlohmann-json", &safetensors::is_supported,
     &safetensors::can_be_safetensors}};

/// The last colon before byte `end` of a path that may be the one of FILE:MEMBER.
std::size_t entry_colon(std::string_view path, std::size_t end) {
  for (std::size_t at = path.substr(0, end).rfind(':'); at != path.npos; at = path.substr(0, at).rfind(':')) {
    const TensorFormat* const format = format_named(path.substr(0, at));
    if (format != nullptr && format->has_entries) return at;
  }
  return path.npos;
}

/// numpy's descriptor of a type that is no dtype of clipper; the type's own name if numpy does not have it.
/// The name of a float8, whose descriptor would not say which one it is.
std::string_view descr_of(const safetensors::Type& type) {
  if (type.dtype) return traits(*type.dtype).name;
  return type.name == "BOOL" ? "|b1" : type.name == "C64" ? "<c8" : type.name;
}

/// The .npy header for a tensor of a safetensors file.
std::vector<std::byte> header_of(const Entry& member) {
  const safetensors::Type& type = *member.type;
  std::string text = npy::format(descr_of(type), false, member.shape);
  if (type.dtype && !is_float8(*type.dtype)) {
    const ByteOrder order = traits(*type.dtype).size == 1 ? kNativeOrder : ByteOrder::little;
    text = npy::format(TensorLayout{.dtype = *type.dtype, .order = order, .shape = member.shape});
  }
  const std::span bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Reads the header into `result`, or what the entry is if `types` does not have its type.
void parse_entry(const npy::GivenDType& dtype, npy::Types types, EntryHeader& result) {
  try {
    result.header = npy::parse(result.bytes, dtype, npy::Opaque::refused, types);
  } catch (const Error& error) {
    result.other = refused_type(error);
    if (result.other.empty()) throw;
  }
}

[[noreturn]] void refuse_method(unsigned method) {
  constexpr std::pair<unsigned, std::string_view> kNames[] = {
      {9, ", Deflate64"}, {12, ", bzip2"}, {14, ", LZMA"}, {93, ", Zstandard"}, {95, ", xz"}};
  const auto* const row = std::ranges::find(kNames, method, &std::pair<unsigned, std::string_view>::first);
  throw Error(ErrorKind::input,
              fmt::format("compressed by a method ({}{}) that is not supported; save the archive again with "
                          "np.savez_compressed",
                          method, row == std::end(kNames) ? "" : row->second));
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

const TensorFormat* format_named(std::string_view name) {
  const auto* const row = std::ranges::find_if(
      kFormats, [&](const TensorFormat& format) { return name.ends_with(format.suffix); });
  return row == std::end(kFormats) ? nullptr : row;
}

const TensorFormat* container_format(std::span<const std::byte> start) {
  const auto* const row = std::ranges::find_if(
      kFormats, [&](const TensorFormat& format) { return format.has_entries && format.begins(start); });
  return row == std::end(kFormats) ? nullptr : row;
}

const TensorFormat* container_format(const InputFile& file) {
  if (!file.is_regular() || file.is_member()) return nullptr;
  std::array<std::byte, npy::kKindSize> bytes{};
  return container_format(std::span(bytes).first(file.read_some_at(bytes, 0)));
}

Container::Container(const InputFile& file, Records records) : file_(file), format_(*container_format(file)) {
  if (!format_.is_checked) {
    read_safetensors();
    return;
  }
  read_npz();
  const bool has_npy_keys = std::ranges::any_of(
      entries_, [](const Entry& member) { return member.is_npy() && member.key().ends_with(".npy"); });
  for (Entry& member : entries_) {
    if (!member.is_npy() || has_npy_keys) names_.insert(member.name);
    if (records == Records::kept) continue;
    std::string().swap(member.local);
    std::string().swap(member.listed);
  }
}

void Container::read_npz() {
  npz::Archive archive =
      reading(file_, file_.path(), [&] { return npz::read_archive(reader(file_), file_.size()); });
  comment_ = std::move(archive.comment);
  entries_.reserve(archive.members.size());
  for (npz::Member& member : archive.members) entries_.push_back({std::move(member)});
}

void Container::read_safetensors() {
  safetensors::Header header = reading(file_, file_.path(), [&] {
    std::string text(safetensors::kLengthSize, '\0');
    text.resize(file_.read_some_at(std::as_writable_bytes(std::span(text)), 0));
    const std::uint64_t size = safetensors::header_size(std::as_bytes(std::span(text)), file_.size());
    header_size_ = safetensors::kLengthSize + size;
    text.resize(size);
    file_.read_at(std::as_writable_bytes(std::span(text)), safetensors::kLengthSize);
    return safetensors::parse(text, file_.size() - header_size_);
  });
  metadata_ = std::move(header.metadata);
  entries_.reserve(header.tensors.size());
  for (safetensors::Tensor& tensor : header.tensors) {
    Entry& entry = entries_.emplace_back();
    entry.name = std::move(tensor.name);
    entry.contents.size = entry.contents.stored_size = tensor.end - tensor.begin;
    entry.data = header_size_ + tensor.begin;
    entry.type = tensor.type;
    entry.shape = std::move(tensor.shape);
  }
}

std::string_view Container::key_of(const Entry& member) const {
  if (member.type != nullptr) return member.name;
  const std::string_view key = member.key();
  return key.size() != member.name.size() && names_.contains(key) ? member.name : key;
}

std::string Container::path_of(const Entry& member) const {
  return fmt::format("{}:{}", file_.path(), key_of(member));
}

const Entry& Container::named(std::string_view name) const {
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.name == name) return entry;
    if (key_of(entry) == name) found = &entry;
  }
  if (found != nullptr) return *found;
  throw Error(ErrorKind::usage, fmt::format("{}: no member '{}'; {}", file_.path(), name, first_keys()));
}

std::string Container::first_keys() const {
  constexpr std::size_t kShown = 5;
  constexpr std::size_t kLongest = 200;
  if (entries_.empty()) return "it has no members";
  std::string text = "it has ";
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (i > 0) text += ", ";
    const std::string_view key = key_of(entries_[i]);
    if (i == kShown || text.size() + key.size() > kLongest) return text + "...";
    text += key;
  }
  return text;
}

InputFile Container::open(const Entry& member, Check check) const {
  std::string path = path_of(member);
  MemberContents contents = reading(file_, path, [&] {
    switch (member.method) {
      case Codec::stored: return stored(member, check);
      case Codec::deflated: return inflated(member);
    }
    refuse_method(static_cast<unsigned>(member.method));
  });
  return file_.member(std::move(path), std::move(contents));
}

MemberContents Container::stored(const Entry& member, Check check) const {
  constexpr std::uint64_t kBuffer = 1UL << 18;
  if (member.type != nullptr) return {header_of(member), member.data, member.contents.size};
  MemberContents contents(member.data, member.contents.size);
  if (check == Check::by_caller) return contents;
  std::vector<std::byte> buffer(std::min(kBuffer, member.contents.size));
  std::uint32_t crc = 0;
  std::uint64_t at = 0;
  while (const std::size_t got = contents.read_at(file_.descriptor(), buffer, at, file_.path())) {
    crc = npz::crc32(std::span(buffer).first(got), crc);
    at += got;
  }
  if (at != member.contents.size || crc != member.contents.crc)
    throw Error(ErrorKind::input, "damaged: its CRC-32 is not the one in the archive");
  return contents;
}

MemberContents Container::inflated(const Entry& member) const {
  if (member.contents.size <= kMaxHeld) {
    std::vector<std::byte> held;
    npz::inflate(reader(file_), member, [&](std::span<const std::byte> bytes) {
      held.insert(held.end(), bytes.begin(), bytes.end());
    });
    return MemberContents(std::move(held));
  }
  TemporaryFile file(path_of(member), member.contents.size);
  npz::inflate(reader(file_), member, [&](std::span<const std::byte> bytes) { file.write(bytes); });
  return {file.release(), member.contents.size};
}

std::vector<std::byte> Container::start(const Entry& member, std::size_t size) const {
  struct Enough {};
  size = std::min<std::uint64_t>(size, member.contents.size);
  return reading(file_, path_of(member), [&] {
    std::vector<std::byte> bytes(size);
    if (member.method == Codec::stored) {
      bytes.resize(read_at(file_.descriptor(), bytes, member.data, file_.path()));
      return bytes;
    }
    if (member.method != Codec::deflated) refuse_method(static_cast<unsigned>(member.method));
    bytes.clear();
    try {
      npz::inflate(reader(file_), member, [&](std::span<const std::byte> part) {
        part = part.first(std::min(part.size(), size - bytes.size()));
        bytes.insert(bytes.end(), part.begin(), part.end());
        if (bytes.size() == size) throw Enough{};
      });
    } catch (const Enough&) {
    }
    return bytes;
  });
}

EntryHeader Container::header(const Entry& member, const npy::GivenDType& dtype, Trailing trailing,
                              npy::Types types) const {
  EntryHeader result;
  const std::string path = path_of(member);
  if (member.type != nullptr) {
    result.bytes = header_of(member);
    if (member.shape.size() > kMaxRank)
      result.other = "number of dimensions";
    else if (!member.type->dtype && descr_of(*member.type) == member.type->name)
      result.other = member.type->meaning;
    else
      with_path(path, [&] { parse_entry(dtype, types, result); });
    return result;
  }
  result.bytes = start(member, npy::kKindSize);
  if (!npy::can_be_npy(result.bytes) && !member.is_npy()) {
    result.other = "not .npy";
    return result;
  }
  const std::uint64_t size = with_path(path, [&] { return npy::data_offset(result.bytes); });
  if (size > result.bytes.size()) result.bytes = start(member, size);
  with_path(path, [&] { parse_entry(dtype, types, result); });
  if (!result.header) return result;
  result.bytes.resize(result.header->data_offset);
  if (result.header->has_objects()) return result;
  with_path(path, [&] { npy::expect_data(*result.header, member.contents.size); });
  const std::uint64_t end = result.header->data_offset + result.header->data_size();
  if (trailing == Trailing::refused && member.contents.size > end)
    refuse_trailing(path, member.contents.size - end);
  return result;
}

std::optional<MemberPath> member_path(const std::string& path) {
  struct stat status {};
  std::size_t at = entry_colon(path, path.size());
  if (at == std::string::npos || ::lstat(path.c_str(), &status) == 0) return std::nullopt;
  if (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG)  // there may be a file with this name
    throw_system_error(path, "cannot be examined");
  for (; at != std::string::npos; at = entry_colon(path, at)) {
    std::string archive = path.substr(0, at);
    if (::stat(archive.c_str(), &status) == 0 && !S_ISDIR(status.st_mode))
      return MemberPath{std::move(archive), path.substr(at + 1)};
  }
  return std::nullopt;
}

InputFile open_member(const MemberPath& path, Caching caching) {
  const TensorFormat& format = *format_named(path.archive);
  if (!format.is_supported())
    throw Error(ErrorKind::input,
                fmt::format("{}: this clipper was built without {}, so it reads no archives", path.archive,
                            format.needed_libraries));
  const InputFile file = InputFile::open_regular(path.archive, caching);
  if (!is_archive(file))
    throw Error(ErrorKind::input,
                fmt::format("{}: not {}, so it has no member '{}'", path.archive, format.name, path.member));
  const Container archive(file);
  return archive.open(archive.named(path.member));
}

}  // namespace clipper
