#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <unordered_set>
#include <utility>

#include "element/text.hpp"
#include "error.hpp"
#include "files/place.hpp"
#include "files/replacement.hpp"
#include "formats/container.hpp"
#include "npy/dict.hpp"
#include "npy/other.hpp"
#include "npz/archive.hpp"
#include "safetensors/header.hpp"

/// The functions of Format for archives.
namespace clipper {
namespace {

// .npz archives. An entry is a member, whose contents are a .npy file or anything else.

/// The largest deflated member that is held in memory.
constexpr std::uint64_t kMaxHeld = 1UL << 20;

npz::ReadAt reader(const InputFile& file) {
  return [&](std::span<std::byte> bytes, std::uint64_t offset) {
    return read_at(file.descriptor(), bytes, offset, file.path());
  };
}

Frame npz_frame(const std::shared_ptr<const npz::Archive>& from) {
  const auto list = std::make_shared<npz::ArchiveWriter>(from->comment);
  std::size_t size = 0;
  for (const npz::Member& member : from->members) size += member.listed.size();
  list->reserve(size);
  Frame frame;
  frame.before = [from](std::size_t entry, const Contents& contents) {
    return npz::ArchiveWriter::local_header(from->members[entry], contents);
  };
  frame.add = [from, list](std::size_t entry, const Contents& contents, std::uint64_t begin) {
    list->add(from->members[entry], contents, begin);
  };
  frame.finish = [list](std::uint64_t begin, const Frame::Write& write) {
    write(list->list());
    write(list->end_records(begin));
  };
  return frame;
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

/// Error{input} if the contents do not have the CRC-32 of the archive.
void expect_crc(const InputFile& file, const MemberContents& contents, std::uint32_t expected) {
  constexpr std::uint64_t kBuffer = 1UL << 18;
  std::vector<std::byte> buffer(std::min(kBuffer, contents.size()));
  std::uint32_t crc = 0;
  std::uint64_t at = 0;
  while (const std::size_t got = contents.read_at(file.descriptor(), buffer, at, file.path())) {
    crc = npz::crc32(std::span(buffer).first(got), crc);
    at += got;
  }
  if (at != contents.size() || crc != expected)
    throw Error(ErrorKind::input, "damaged: its CRC-32 is not the one in the archive");
}

}  // namespace

bool begins_npz(std::span<const std::byte> start) {
  return npz::can_be_archive(start) && !npy::is_torch(start);
}

Entries npz_entries(const InputFile& file, KeptFor kept_for) {
  npz::expect_codecs();
  const auto archive = std::make_shared<npz::Archive>(npz::read_archive(reader(file), file.size()));
  std::vector<npz::Member>& members = archive->members;
  const bool has_npy_keys = std::ranges::any_of(
      members, [](const npz::Member& member) { return member.is_npy() && member.key().ends_with(".npy"); });
  std::unordered_set<std::string_view> names;  // those that can be the key of another member
  for (const npz::Member& member : members)
    if (!member.is_npy() || has_npy_keys) names.insert(member.name);
  Entries result;
  result.list.reserve(members.size());
  for (const npz::Member& member : members)
    result.list.push_back({.key_size = (names.contains(member.key()) ? member.name : member.key()).size(),
                           .method = member.method,
                           .contents = member.contents,
                           .data = member.data});
  for (std::size_t i = 0; i < members.size(); ++i) result.list[i].name = std::move(members[i].name);
  if (kept_for == KeptFor::rewriting)
    result.frame = [archive](std::span<const NewEntry> /*entries*/) { return npz_frame(archive); };
  return result;
}

Source npz_entry(const InputFile& file, const std::string& path, const Entry& entry, Check check,
                 std::uint64_t size) {
  struct Enough {};
  size = std::min(entry.contents.size, size);
  if (entry.method == Codec::stored) {
    MemberContents contents(entry.data, size);
    if (check == Check::now) expect_crc(file, contents, entry.contents.crc);
    return {std::move(contents)};
  }
  if (entry.method != Codec::deflated) refuse_method(static_cast<unsigned>(entry.method));
  const auto inflate = [&](const auto& write) {
    npz::inflate(reader(file), entry.data, entry.contents, write);
  };
  if (size > kMaxHeld) {
    TemporaryFile unnamed(path, size);
    inflate([&](std::span<const std::byte> bytes) { unnamed.write(bytes); });
    return {MemberContents(unnamed.release(), size)};
  }
  std::vector<std::byte> held;
  try {
    inflate([&](std::span<const std::byte> bytes) {
      bytes = bytes.first(std::min(bytes.size(), size - held.size()));
      held.insert(held.end(), bytes.begin(), bytes.end());
      if (check == Check::by_caller && held.size() == size) throw Enough{};
    });
  } catch (const Enough&) {
  }
  return {MemberContents(std::move(held))};
}

namespace {

// safetensors files. An entry is a tensor: its elements, which the file's header describes.

Frame safetensors_frame(const InputFile& file, std::uint64_t header_size,
                        const std::optional<safetensors::Metadata>& metadata,
                        std::span<const NewEntry> entries) {
  Frame frame;
  if (std::ranges::all_of(entries, [](const NewEntry& entry) { return !entry.is_dropped && !entry.to; })) {
    frame.front.resize(header_size);
    file.read_at(std::as_writable_bytes(std::span(frame.front)), 0);
    return frame;
  }
  safetensors::Header header{{}, metadata};
  std::vector<std::size_t> dropped;
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const NewEntry& entry = entries[i];
    const Entry& from = *entry.from;
    if (entry.is_dropped) {
      dropped.push_back(i);
      continue;
    }
    header.tensors.push_back({from.name,
                              entry.to ? safetensors::type_of(*entry.to) : safetensors::type_named(from.type),
                              from.shape, 0, entry.size});
    by_name.emplace(from.name, i);
  }
  safetensors::arrange(header.tensors);
  for (const safetensors::Tensor& tensor : header.tensors) frame.order.push_back(by_name.at(tensor.name));
  frame.order.insert(frame.order.end(), dropped.begin(), dropped.end());
  frame.front = safetensors::format(header);
  return frame;
}

/// What a tensor is whose elements clipper does not read.
std::string_view other_of(const safetensors::Tensor& tensor) {
  if (tensor.shape.size() > kMaxRank) return "number of dimensions";
  const bool has_meaning = tensor.type->name == "BOOL" || tensor.type->name == "C64";
  return tensor.type->dtype || has_meaning ? "" : tensor.type->meaning;
}

/// What the elements of a tensor are; nothing for those that clipper does not read.
std::optional<TensorLayout> layout_of(const Entry& tensor) {
  if (!tensor.other.empty()) return std::nullopt;
  const safetensors::Type& type = *safetensors::type_named(tensor.type);
  TensorLayout layout{.order = ByteOrder::little, .shape = tensor.shape};
  const bool is_bool = type.name == "BOOL";
  layout.dtype = type.dtype.value_or(is_bool ? DType::uint8 : DType::float32);
  if (!type.dtype) layout.meaning.kind = is_bool ? LogicalType::Kind::boolean : LogicalType::Kind::complex;
  return layout;
}

}  // namespace

Entries safetensors_entries(const InputFile& file, KeptFor /*kept_for*/) {
  std::string text(safetensors::kLengthSize, '\0');
  text.resize(file.read_some_at(std::as_writable_bytes(std::span(text)), 0));
  const std::uint64_t size = safetensors::header_size(std::as_bytes(std::span(text)), file.size());
  const std::uint64_t begin = safetensors::kLengthSize + size;
  text.resize(size);
  file.read_at(std::as_writable_bytes(std::span(text)), safetensors::kLengthSize);
  safetensors::Header header = safetensors::parse(text, file.size() - begin);
  Entries result;
  result.list.reserve(header.tensors.size());
  for (const safetensors::Tensor& tensor : header.tensors) {
    const std::uint64_t bytes = tensor.end - tensor.begin;
    result.list.push_back({.name = tensor.name,
                           .contents = {0, bytes, bytes},
                           .data = begin + tensor.begin,
                           .type = tensor.type->name,
                           .shape = tensor.shape,
                           .other = other_of(tensor)});
  }
  result.frame = [&file, begin, metadata = std::move(header.metadata)](std::span<const NewEntry> entries) {
    return safetensors_frame(file, begin, metadata, entries);
  };
  return result;
}

Source safetensors_entry(const InputFile& /*file*/, const std::string& /*path*/, const Entry& entry,
                         Check /*check*/, std::uint64_t /*size*/) {
  Source source{MemberContents(entry.data, entry.contents.size)};
  source.layout = layout_of(entry);
  if (entry.shape.size() > kMaxRank)
    source.why_none = fmt::format("more than {} dimensions", kMaxRank);
  else if (!source.layout)
    source.why_none = fmt::format("dtype '{}' is not supported", entry.type);
  return source;
}

namespace {

// Indexes. An entry is a tensor in a safetensors file of the set.

std::string text_of(const InputFile& index) {
  if (index.size() > safetensors::kMaxHeaderSize)
    throw Error(ErrorKind::input, fmt::format("an index of {} bytes exceeds the limit of {}", index.size(),
                                              safetensors::kMaxHeaderSize));
  std::string text(index.size(), '\0');
  index.read_at(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

/// The tensors of each file that the index names.
std::map<std::string, std::vector<std::string>> by_file(const safetensors::WeightMap& map) {
  std::map<std::string, std::vector<std::string>> files;
  for (const auto& [tensor, file] : map) files[file].push_back(tensor);
  return files;
}

/// Opens a file of the set. It lies below the directory of the index, or of the file that the index is a link
/// to: in the cache of huggingface_hub all names of a model are links into one directory.
InputFile open_part(const std::string& index, const std::string& name) {
  const auto refuse_part = [&](std::string_view why) {
    throw Error(ErrorKind::input, fmt::format("its file '{}' {}", npy::excerpt(name), why));
  };
  for (const std::string_view part : split(name, '/'))
    if (part.empty() || part == ".." || name.find('\0') != name.npos)
      refuse_part("is not a relative path below its directory");
  const std::string path = beside(index, name);
  if (!find_file(path)) refuse_part("cannot be found");
  const std::string real = resolved(path);
  os::Status status{};
  if (os::stat(real.c_str(), &status) != 0) throw_system_error(path, "cannot be examined");
  if (!S_ISREG(status.st_mode)) refuse_part("is no regular file");
  const auto is_below = [&](const std::string& directory) {
    return real.starts_with(directory.ends_with('/') ? directory : directory + "/");
  };
  if (!is_below(resolved(directory_of(index))) && !is_below(directory_of(resolved(index))))
    refuse_part("is, or is behind, a symbolic link out of its directory");
  InputFile file = InputFile::open_regular(path);
  const Format* const format = archive_format(file);
  if (format == nullptr || format->entries != &safetensors_entries) refuse_part("is no safetensors file");
  return file;
}

/// The entries of a file of the set, all of which the index has.
Entries entries_of_part(const InputFile& file, const std::string& name, const safetensors::WeightMap& map) {
  Entries result = with_path(name, [&] { return safetensors_entries(file, KeptFor::reading); });
  file.expect_unwritten();
  for (const Entry& entry : result.list) {
    const auto listed = map.find(entry.name);
    if (listed == map.end() || listed->second != name)
      throw Error(ErrorKind::input,
                  fmt::format("{} has the tensor '{}', which the index {}", name, npy::excerpt(entry.name),
                              listed == map.end() ? "lacks" : "has in " + npy::excerpt(listed->second)));
  }
  return result;
}

[[noreturn]] void refuse_lacking(const std::string& name, const std::string& tensor) {
  throw Error(ErrorKind::input,
              fmt::format("{} lacks the tensor '{}', which the index has", name, npy::excerpt(tensor)));
}

}  // namespace

Entries index_entries(const InputFile& index, KeptFor /*kept_for*/) {
  const safetensors::WeightMap map = safetensors::parse_index(text_of(index));
  Entries result;
  result.list.reserve(map.size());
  for (const auto& [name, tensors] : by_file(map)) {
    const InputFile file = open_part(index.path(), name);
    result.files.push_back({file.path(), file.status()});
    Entries part = entries_of_part(file, name, map);
    std::set<std::string_view> found;
    for (Entry& entry : part.list) {
      found.insert(entry.name);
      entry.file = &result.files.back();
    }
    for (const std::string& tensor : tensors)
      if (!found.contains(tensor)) refuse_lacking(name, tensor);
    std::ranges::move(part.list, std::back_inserter(result.list));
  }
  return result;
}

bool has_safetensors_dtype(DType dtype) {
  return safetensors::type_of(dtype) != nullptr;
}

std::string beside(const std::string& path, std::string_view name) {
  return path.substr(0, path.rfind('/') + 1).append(name);
}

std::vector<std::string> paths_of_set(const std::string& index) {
  const InputFile file = InputFile::open_regular(index);
  return with_path(index, [&] {
    std::vector<std::string> paths;
    for (const auto& [name, tensors] : by_file(safetensors::parse_index(text_of(file))))
      paths.push_back(beside(index, name));
    return paths;
  });
}

std::string index_text(const InputFile& index, const std::string& path,
                       const std::set<std::string>& dropped) {
  const std::string text = with_path(index.path(), [&] { return text_of(index); });
  return with_path(path, [&] {
    const safetensors::WeightMap map = safetensors::parse_index(text);
    const auto is_dropped = [&](const std::string& tensor) { return dropped.contains(tensor); };
    std::vector<std::string> gone;
    std::uint64_t total = 0;
    for (const auto& [name, tensors] : by_file(map)) {
      std::set<std::string> found;
      if (!std::ranges::all_of(tensors, is_dropped)) {
        const InputFile file = open_part(path, name);
        for (const Entry& entry : entries_of_part(file, name, map).list) {
          found.insert(entry.name);
          total += entry.contents.size;
        }
      }
      for (const std::string& tensor : tensors) {
        if (found.contains(tensor)) continue;
        if (!is_dropped(tensor)) refuse_lacking(name, tensor);
        gone.push_back(tensor);
      }
    }
    return safetensors::changed_index(text, gone, total);
  });
}

}  // namespace clipper
