#include "formats/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "element/text.hpp"
#include "error.hpp"
#include "files/place.hpp"
#include "files/replacement.hpp"
#include "formats/container.hpp"
#include "npy/dict.hpp"
#include "npy/other.hpp"
#include "onnx/tensor_proto.hpp"
#include "os/os.hpp"
#include "safetensors/header.hpp"

namespace clipper {
namespace {

// The functions of formats whose files are one tensor.

/// What is held in memory of a stream, or of elements that have to be decoded. More goes to an unnamed file.
constexpr std::uint64_t kMaxHeldBytes = 1UL << 20;
constexpr std::uint64_t kMaxRawHeader = 16UL << 20;

/// Bytes that are written in order and read again.
class Held {
 public:
  explicit Held(std::string path) : path_(std::move(path)) {}

  void write(std::span<const std::byte> bytes) {
    size_ += bytes.size();
    if (size_ > kMaxHeldBytes && !file_) {
      file_.emplace(path_, size_);
      file_->write(held_);
      held_ = {};
    }
    if (file_)
      file_->write(bytes);
    else
      held_.insert(held_.end(), bytes.begin(), bytes.end());
  }

  [[nodiscard]] MemberContents contents() && {
    return file_ ? MemberContents(file_->release(), size_) : MemberContents(std::move(held_));
  }

 private:
  std::string path_;
  std::vector<std::byte> held_;
  std::optional<TemporaryFile> file_;
  std::uint64_t size_ = 0;
};

/// Elements in a file of their own.
void take_external(const InputFile& file, const onnx::Tensor& tensor, Source& source) {
  if (!file.is_regular())
    throw Error(ErrorKind::input, file.path() + ": has external data, which a stream cannot have");
  const onnx::External& from = *tensor.external;
  source.other = std::make_shared<InputFile>(InputFile::open_below(file.path(), from.location));
  const InputFile& other = *source.other;
  const std::uint64_t rest = other.size() - std::min(from.offset, other.size());
  const std::uint64_t needed = tensor.layout.data_size();
  const bool is_wrong_length = from.length.value_or(needed) != needed;
  if (is_wrong_length || (from.length ? rest < needed : rest != needed))
    throw Error(ErrorKind::input,
                fmt::format("{}: {} data bytes expected, {} {}", file.path(), needed,
                            is_wrong_length ? "the length of its external data is" : "its external data has",
                            is_wrong_length ? *from.length : rest));
  Descriptor copy(os::fcntl(other.descriptor().get(), F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) throw_system_error(other.path(), "cannot be opened");
  source.contents = MemberContents(std::move(copy), other.size()).part(from.offset, needed);
}

Source raw_source(const InputFile& file, const Reading& how, MemberContents own) {
  const raw::Layout& given = *how.raw;
  Source source{std::move(own)};
  source.layout = with_path(
      file.path(), [&] { return raw::tensor_in(given, source.contents.size(), file.ignores_trailing()); });
  if (given.offset > kMaxRawHeader)
    throw Error(ErrorKind::usage,
                Term{"raw", "raw"} + fmt::format(": an OFFSET of {} bytes exceeds the limit of {}",
                                                 given.offset, kMaxRawHeader));
  source.before.resize(given.offset);
  const std::size_t got = source.contents.read_at(
      file.descriptor(), std::as_writable_bytes(std::span(source.before)), 0, file.path());
  if (got < given.offset) throw_changed(file.path());
  const std::uint64_t size = source.contents.size() - given.offset;
  source.contents = std::move(source.contents).part(given.offset, size);
  return source;
}

Source pb_source(const InputFile& file, const Reading& /*how*/, MemberContents own) {
  Source source{std::move(own)};
  const std::uint64_t size = source.contents.size();
  const onnx::ReadAt read = [&](std::span<std::byte> bytes, std::uint64_t offset) {
    return source.contents.read_at(file.descriptor(), bytes, offset, file.path());
  };
  onnx::Tensor tensor = with_path(file.path(), [&] { return onnx::parse(read, size); });
  source.layout = tensor.layout;
  source.before = std::move(tensor.kept.name);
  source.after = std::move(tensor.kept.fields);
  if (tensor.external) {
    take_external(file, tensor, source);
  } else if (tensor.elements) {
    source.contents = std::move(source.contents).part(tensor.elements->begin, tensor.elements->size);
  } else {
    Held held("elements");
    with_path(file.path(), [&] {
      onnx::write_elements(tensor, read, size, [&](std::span<const std::byte> bytes) { held.write(bytes); });
    });
    source.contents = std::move(held).contents();
  }
  return source;
}

Frame npy_frame(const TensorLayout& result, const Source* /*kept*/) {
  return {.front = npy::format(result)};
}

Frame raw_frame(const TensorLayout& /*result*/, const Source* kept) {
  return {.front = kept != nullptr ? kept->before : ""};
}

Frame pb_frame(const TensorLayout& result, const Source* kept) {
  const onnx::Kept fields{kept != nullptr ? kept->before : "", kept != nullptr ? kept->after : ""};
  return {.front = onnx::front(result, fields), .back = fields.fields};
}

MemberContents contents_of_stream(InputFile& file) {
  Held held(file.path());
  std::vector<std::byte> bytes(1UL << 16);
  while (const std::size_t got = file.read(bytes)) held.write(std::span(bytes).first(got));
  return std::move(held).contents();
}

std::vector<std::string> external_file(const std::string& path) {
  const InputFile input = InputFile::open_regular(path);
  const onnx::ReadAt read = [&](std::span<std::byte> bytes, std::uint64_t offset) {
    return input.read_some_at(bytes, offset);
  };
  if (const auto external = onnx::parse(read, input.size()).external)
    return {beside(path, external->location)};
  return {};
}

enum Row : std::uint8_t { npy_row, npz_row, safetensors_row, index_row, pb_row, raw_row, rows };

constexpr std::array<Format, rows> kFormats{
    Format{.name = "a .npy file",
           .suffixes = {".npy"},
           .pattern = "npy",
           .walked = Walked::always,
           .begins = &npy::can_be_npy,
           .frame = &npy_frame},
    Format{.name = "an .npz archive",
           .suffixes = {".npz"},
           .pattern = "npz",
           .walked = Walked::always,
           .has_crc = true,
           .begins = &begins_npz,
           .entries = &npz_entries,
           .entry = &npz_entry,
           .has_dtype = [](DType /*dtype*/) { return true; }},
    Format{.name = "a safetensors file",
           .suffixes = {".safetensors"},
           .pattern = "safetensors",
           .walked = Walked::unless_replaced,
           .little_endian = true,
           .begins = &safetensors::can_be_safetensors,
           .entries = &safetensors_entries,
           .entry = &safetensors_entry,
           .has_dtype = &has_safetensors_dtype},
    Format{.name = "the index of a set",
           .suffixes = {kIndexSuffix},
           .pattern = "safetensors.index*.json",
           .walked = Walked::unless_replaced,
           .little_endian = true,
           .entries = &index_entries,
           .entry = &safetensors_entry,
           .has_dtype = &has_safetensors_dtype},
    Format{.name = "a TensorProto",
           .suffixes = {".pb", ".onnx-tensor"},
           .pattern = "pb",
           .word = "pb",
           .in_c_order = true,
           .little_endian = true,
           .source = &pb_source,
           .frame = &pb_frame},
    Format{.name = "a raw file", .in_c_order = true, .source = &raw_source, .frame = &raw_frame},
};

const Format* archive_format_of(std::span<const std::byte> start, const std::string& path) {
  const Format* const format = archive_format(start);
  return format == nullptr && is_index(path) ? &kFormats[index_row] : format;
}

/// What `how` or the name says that a file is which its content does not tell; null: a .npy file.
const Format* format_said(const Reading& how, const std::string& path) {
  if (how.format != nullptr) return how.format;
  const Format* const named = format_named(path);
  return named != nullptr && named->source != nullptr ? named : nullptr;
}

bool is_forced(const Reading& how) {
  return how.raw && how.raw->forced && !how.raw_if_needed;
}

/// Reads on until `bytes` are the file's first `size` bytes, or the whole file if it is shorter.
void read_up_to(InputFile& file, std::size_t size, std::vector<std::byte>& bytes) {
  const std::size_t start = bytes.size();
  bytes.resize(std::max(start, size));
  bytes.resize(start + file.read(std::span(bytes).subspan(start)));
}

/// The array in Python, for commands in messages.
std::string python_text(const InputFile& file) {
  if (file.is_member()) return "x";
  return fmt::format("np.load('{}')", npy::name_for_commands(file.path()));
}

/// Error{input} if a file that begins with `start` is an archive.
void expect_no_archive(const InputFile& file, std::span<const std::byte> start) {
  const std::string& path = file.path();
  const Format* format = archive_format(start);
  const bool is_json = !start.empty() && start.front() == std::byte{'{'};
  if (format == nullptr && is_json && is_index(path)) format = format_named(path);
  if (format == nullptr) return;
  const bool has_name = format_named(path) == format;
  if (!has_name && npz::can_be_archive(start) && !npy::is_npz(start)) return;  // a zip archive of other files
  std::string advice = fmt::format("name a tensor in it: {}:NAME", npy::name_for_commands(path));
  if (!file.is_regular())
    advice = "save it as a file first";
  else if (file.is_member())
    advice = "extract it first";
  else if (!has_name)
    advice = fmt::format("rename it to name a tensor in it: {}{}:NAME", npy::name_for_commands(path),
                         format->suffix());
  throw Error(ErrorKind::input, fmt::format("{}: not a .npy file but {}; {}", path, format->name, advice));
}

/// The .npy header at the start of the file, whose bytes become `bytes`.
npy::Header parse_header(InputFile& file, const npy::GivenDType& dtype, std::vector<std::byte>& bytes,
                         const std::optional<npy::Start>& start, npy::Opaque opaque, npy::Types types) {
  read_up_to(file, npy::kPreambleSize, bytes);
  if (!npy::can_be_npy(bytes)) {
    read_up_to(file, npy::kKindSize, bytes);
    expect_no_archive(file, bytes);
    if (file.path().ends_with(".onnx"))
      throw Error(ErrorKind::input, file.path() + ": not a tensor but an ONNX model");
    const Format* const named = format_named(file.path());
    const std::string_view expected = named != nullptr ? named->name : "a .npy file";
    throw Error(ErrorKind::input,
                file.path() + ": " + npy::not_npy(bytes, npy::name_for_commands(file.path()), expected));
  }
  if (start) std::ranges::copy(*start, bytes.begin());
  return with_path(file.path(), [&] {
    read_up_to(file, npy::data_offset(bytes), bytes);
    return npy::parse(bytes, dtype, opaque, types, python_text(file));
  });
}

/// A kind of file that is not written, and the way to it.
struct OtherKind {
  std::string_view suffix;
  std::string_view name;
  Term way;
};

constexpr Term kToText{"", "; name OUT.npy, and convert it in Python: np.savetxt"};
constexpr Term kToTorch{"", "; name OUT.npy, and convert it in Python: torch.save"};
constexpr std::array kOtherKinds{
    OtherKind{".gz", "gzip data", {"gzip", "; compress the result", Says::advice}},
    OtherKind{".zst", "zstd data", {"zstd", "; compress the result", Says::advice}},
    OtherKind{".csv", "text", kToText},
    OtherKind{".txt", "text", kToText},
    OtherKind{".pt", "a PyTorch file", kToTorch},
    OtherKind{".pth", "a PyTorch file", kToTorch},
    OtherKind{".h5", "an HDF5 file", {"", "; name OUT.npy, and convert it in Python: h5py.File"}},
    OtherKind{".onnx", "an ONNX model", {"", "; name OUT.pb to write a TensorProto"}},
    OtherKind{".raw", "elements without a header", {"to_raw", ", which to_raw writes", Says::advice}},
};

}  // namespace

std::span<const Format> formats() noexcept {
  return kFormats;
}

bool has_suffix(std::string_view name, std::string_view suffix) noexcept {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return name.size() >= suffix.size() &&
         std::ranges::equal(name.substr(name.size() - suffix.size()), suffix, {}, small, small);
}

bool is_index(std::string_view name) {
  constexpr std::string_view kEnd = ".json";
  constexpr std::string_view kStart = kIndexSuffix.substr(0, kIndexSuffix.size() - kEnd.size());
  if (!has_suffix(name, kEnd)) return false;
  name.remove_suffix(kEnd.size());
  const std::size_t variant = name.find_last_of("./:");
  return has_suffix(name, kStart) ||
         (variant != name.npos && name[variant] == '.' && has_suffix(name.substr(0, variant), kStart));
}

const Format* format_named(std::string_view name) {
  if (is_index(name)) return &kFormats[index_row];
  const auto* const row = std::ranges::find_if(kFormats, [&](const Format& format) {
    return std::ranges::any_of(format.suffixes, [&](std::string_view suffix) {
      return !suffix.empty() && has_suffix(name, suffix);
    });
  });
  return row == kFormats.end() ? nullptr : row;
}

std::vector<std::string_view> format_words() {
  std::vector<std::string_view> words{"auto"};
  for (const Format& format : kFormats)
    if (!format.word.empty()) words.push_back(format.word);
  return words;
}

const Format* format_of_word(std::string_view word) {
  const auto* const row = std::ranges::find(kFormats, word, &Format::word);
  return word.empty() || row == kFormats.end() ? nullptr : row;
}

std::string walked_suffixes(Walked walk) {
  std::vector<std::string_view> suffixes;
  for (const Format& format : kFormats)
    if (format.walked <= walk && !format.suffix().empty() && !format.is_index())
      suffixes.push_back(format.suffix());
  const std::string_view last = suffixes.back();
  suffixes.pop_back();
  return fmt::format("{} or {}", joined(suffixes, ", "), last);
}

const Format* archive_format(std::span<const std::byte> start) {
  const auto* const row = std::ranges::find_if(kFormats, [&](const Format& format) {
    return format.has_entries() && format.begins != nullptr && format.begins(start);
  });
  return row == kFormats.end() ? nullptr : row;
}

const Format* archive_format(const InputFile& file) {
  if (!file.is_regular() || file.source() != nullptr) return nullptr;
  std::array<std::byte, npy::kKindSize> bytes{};
  return archive_format_of(std::span(bytes).first(file.read_some_at(bytes, 0)), file.path());
}

void read_as(InputFile& file, const Reading& how) {
  if (how.ignore_trailing) file.ignore_trailing();
  const bool is_read = file.source() != nullptr && !file.is_member();
  const Format* const said = format_said(how, file.path());
  if (is_read || (!how.raw && said == nullptr)) return;
  std::array<std::byte, npy::kKindSize> bytes{};
  MemberContents own = file.is_regular() ? MemberContents(0, file.size()) : contents_of_stream(file);
  const std::span start = std::span(bytes).first(
      file.is_member() ? file.read_some_at(bytes, 0) : own.read_at(file.descriptor(), bytes, 0, file.path()));
  const Format* known = archive_format_of(start, file.path());
  if (known == nullptr && (file.is_member() || npy::can_be_npy(start))) known = &kFormats[npy_row];
  const bool forces = is_forced(how) && !file.is_member();
  if (how.raw && !forces && !how.raw_if_needed && (known != nullptr || said != nullptr))
    throw Error(
        ErrorKind::usage,
        file.path() + ": " + Term{"raw", "raw"} +
            fmt::format(" is for files without a header, and this is {}; force: in front of the dtype "
                        "reads it so all the same",
                        known != nullptr ? known->name : said->name));
  if (known != nullptr && !forces) {
    if (!file.is_regular()) file.read_from({std::move(own)});
    return;
  }
  const Format& format = said != nullptr && !forces ? *said : kFormats[raw_row];
  Source source = format.source(file, how, std::move(own));
  source.format = &format;
  file.read_from(std::move(source));
}

std::vector<std::string> files_behind(const Reading& how, const std::string& path) {
  if (path == "-" || is_forced(how)) return {};
  try {
    const auto member = member_path(path);
    const std::string& file = member ? member->archive : path;
    if (is_index(file)) return paths_of_set(file);
    if (member || format_said(how, file) != &kFormats[pb_row]) return {};
    return external_file(file);
  } catch (const Error& error) {  // what is wrong with a name or contents, the work reports
    if (const int number = error.system_error(); number != 0 && !is_of_name(number)) throw;
  }
  return {};
}

InputFile open_input(const std::string& path, Streams streams, Caching caching) {
  if (const auto member = member_path(path)) return open_member(*member, caching);
  return streams == Streams::taken ? InputFile::open(path, caching) : InputFile::open_regular(path, caching);
}

InputFile open_to_change(const std::string& path, Caching caching) {
  if (const std::optional<MemberPath> member = member_path(path))
    throw Error(ErrorKind::usage, path + ": is a member of an archive; " +
                                      Term{"in_place", "change the archive", Says::advice} + " " +
                                      npy::name_for_commands(member->archive) + " " +
                                      Term{"member", "and its member"} + " " +
                                      npy::name_for_commands(member->member, "MEMBER"));
  return InputFile::open_to_change(path, caching);
}

InputFile open_as(const Reading& how, const std::string& path, Streams streams) {
  InputFile file = open_input(path, streams, how.caching);
  read_as(file, how);
  return file;
}

npy::Header read_header(InputFile& file, const npy::GivenDType& dtype, std::vector<std::byte>* header_bytes,
                        std::optional<npy::Start> start, npy::Opaque opaque, npy::Types types) {
  std::vector<std::byte> bytes;
  file.rewind();
  const Source* const source = file.source();
  if (source != nullptr && !source->why_none.empty())
    throw Error(ErrorKind::input, file.path() + ": " + source->why_none);
  npy::Header header =
      source != nullptr && source->layout
          ? with_path(file.path(),
                      [&] { return npy::accepted(*source->layout, dtype, types, python_text(file)); })
          : parse_header(file, dtype, bytes, start, opaque, types);
  if (file.is_regular()) with_path(file.path(), [&] { npy::expect_data(header, file.size()); });
  if (!header.has_objects()) file.expect_size(header.data_offset + header.data_size());
  file.set_data_begin(header.data_offset);
  if (header_bytes != nullptr) *header_bytes = std::move(bytes);
  return header;
}

const Format& result_format(const InputFile& input, const std::optional<std::string>& out, bool to_raw) {
  if (const Format* const named = out ? format_named(*out) : nullptr) return *named;
  if (to_raw) return kFormats[raw_row];
  const Source* const source = input.source();
  return source != nullptr && source->format != nullptr ? *source->format : kFormats[npy_row];
}

void expect_written_kind(const InputFile& input, const std::string& out, bool to_raw,
                         bool (*is_stream)(const std::string&)) {
  const bool is_raw = result_format(input, out, to_raw).source == &raw_source;
  for (const OtherKind& kind : kOtherKinds)
    if (has_suffix(out, kind.suffix) && !has_suffix(input.path(), kind.suffix) &&
        !(is_raw && kind.way.field == "to_raw") && !is_stream(out))
      throw Error(ErrorKind::usage, out + fmt::format(": the name says {}", kind.name) + Message(kind.way));
}

Frame result_frame(const InputFile& input, const TensorLayout& result, const std::optional<std::string>& out,
                   bool to_raw) {
  const Format& format = result_format(input, out, to_raw);
  if (to_raw && format.source != &raw_source)
    throw Error(ErrorKind::usage, *out + ": " + Term{"to_raw", "to_raw"} +
                                      " writes no header; name a file that does not end in " +
                                      std::string(format.suffix()));
  if (format.in_c_order && result.fortran_order && !has_one_order(result))
    throw Error(ErrorKind::input,
                fmt::format("{}: is in Fortran order, and {} is in C order, which a stream cannot become; "
                            "save it as a file first",
                            input.path(), format.name));
  const bool is_kept = &format == &result_format(input, std::nullopt, false);
  return with_path(input.path(), [&] { return format.frame(result, is_kept ? input.source() : nullptr); });
}

}  // namespace clipper
