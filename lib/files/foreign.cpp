#include "files/foreign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "element/boxes.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/temporary_file.hpp"
#include "npy/file_kind.hpp"
#include "onnx/tensor_proto.hpp"
#include "os/os.hpp"
#include "raw/raw.hpp"

namespace clipper {
namespace {

/// What is held in memory of a stream, or of elements that have to be decoded. More goes to an unnamed file.
constexpr std::uint64_t kMaxHeldForeign = 1UL << 20;
constexpr std::uint64_t kMaxRawHeader = 16UL << 20;

std::span<const std::byte> bytes_in(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::vector<std::byte> copy_of(std::string_view text) {
  return {bytes_in(text).begin(), bytes_in(text).end()};
}

/// Bytes that are written in order and read again.
class Held {
 public:
  explicit Held(std::string path) : path_(std::move(path)) {}

  void write(std::span<const std::byte> bytes) {
    size_ += bytes.size();
    if (size_ > kMaxHeldForeign && !file_) {
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

MemberContents contents_of_stream(InputFile& file) {
  Held held(file.path());
  std::vector<std::byte> bytes(1UL << 16);
  while (const std::size_t got = file.read(bytes)) held.write(std::span(bytes).first(got));
  return std::move(held).contents();
}

bool is_named_pb(const std::string& name) {
  const TensorFormat* const format = format_named(name);
  return format != nullptr && format->framing == Framing::pb;
}

Foreign raw_file(const InputFile& file, const raw::Layout& given, MemberContents own) {
  const TensorLayout layout =
      with_path(file.path(), [&] { return raw::tensor_in(given, own.size(), file.ignores_trailing()); });
  Foreign foreign{std::move(own), Framing::raw};
  if (given.offset > kMaxRawHeader)
    throw Error(ErrorKind::usage,
                Term{"raw", "raw"} + fmt::format(": an OFFSET of {} bytes exceeds the limit of {}",
                                                 given.offset, kMaxRawHeader));
  foreign.before.resize(given.offset);
  const std::size_t got = foreign.contents.read_at(
      file.descriptor(), std::as_writable_bytes(std::span(foreign.before)), 0, file.path());
  if (got < given.offset) throw_changed(file.path());
  foreign.contents =
      std::move(foreign.contents)
          .part(copy_of(npy::format_named(layout)), given.offset, foreign.contents.size() - given.offset);
  return foreign;
}

/// Elements in a file of their own.
void take_external(const InputFile& file, const onnx::Tensor& tensor, Foreign& foreign) {
  if (!file.is_regular())
    throw Error(ErrorKind::input, file.path() + ": has external data, which a stream cannot have");
  const onnx::External& from = *tensor.external;
  foreign.other = std::make_shared<InputFile>(InputFile::open_below(file.path(), from.location));
  const InputFile& other = *foreign.other;
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
  foreign.contents = MemberContents(std::move(copy), other.size())
                         .part(copy_of(npy::format_named(tensor.layout)), from.offset, needed);
}

Foreign pb_file(const InputFile& file, MemberContents own) {
  Foreign foreign{std::move(own), Framing::pb};
  const std::uint64_t size = foreign.contents.size();
  const onnx::ReadAt read = [&](std::span<std::byte> bytes, std::uint64_t offset) {
    return foreign.contents.read_at(file.descriptor(), bytes, offset, file.path());
  };
  onnx::Tensor tensor = with_path(file.path(), [&] { return onnx::parse(read, size); });
  foreign.before = std::move(tensor.kept.name);
  foreign.after = std::move(tensor.kept.fields);
  const std::string header = npy::format_named(tensor.layout);
  if (tensor.external) {
    take_external(file, tensor, foreign);
  } else if (tensor.elements) {
    foreign.contents =
        std::move(foreign.contents).part(copy_of(header), tensor.elements->begin, tensor.elements->size);
  } else {
    Held held("elements");
    held.write(bytes_in(header));
    with_path(file.path(), [&] {
      onnx::write_elements(tensor, read, size, [&](std::span<const std::byte> bytes) { held.write(bytes); });
    });
    foreign.contents = std::move(held).contents();
  }
  return foreign;
}

void expect_c_order(const InputFile& input, const TensorLayout& result, std::string_view what) {
  if (result.fortran_order && !has_one_order(result))
    throw Error(ErrorKind::input,
                fmt::format("{}: is in Fortran order, and {} is in C order, which a stream cannot become; "
                            "save it as a file first",
                            input.path(), what));
}

}  // namespace

void read_as(InputFile& file, const Reading& how) {
  if (how.ignore_trailing) file.ignore_trailing();
  const bool is_pb = how.pb || is_named_pb(file.path());
  if (file.foreign() != nullptr || (!how.raw && !is_pb)) return;
  std::array<std::byte, npy::kKindSize> bytes{};
  MemberContents own = file.is_regular() ? MemberContents(0, file.size()) : contents_of_stream(file);
  const std::span start = std::span(bytes).first(
      file.is_member() ? file.read_some_at(bytes, 0) : own.read_at(file.descriptor(), bytes, 0, file.path()));
  const TensorFormat* const archive = container_format(start);
  const bool is_npy = !start.empty() && npy::can_be_npy(start);
  const bool is_known = is_npy || archive != nullptr || file.is_member();
  const bool is_forced = how.raw && how.raw->forced && !how.raw_if_needed && !file.is_member();
  if (how.raw && !is_forced && !how.raw_if_needed && (is_known || is_pb))
    throw Error(
        ErrorKind::usage,
        file.path() + ": " + Term{"raw", "raw"} +
            fmt::format(" is for files without a header, and this is {}; force: in front of the dtype "
                        "reads it so all the same",
                        archive != nullptr ? archive->name
                        : is_known         ? "a .npy file"
                                           : "a TensorProto"));
  if (is_known && !is_forced) {
    if (!file.is_regular()) file.set_foreign({std::move(own)});
    return;
  }
  file.set_foreign(is_pb && !is_forced ? pb_file(file, std::move(own))
                                       : raw_file(file, *how.raw, std::move(own)));
}

std::vector<std::string> files_behind(const Reading& how, const std::string& path) {
  const bool is_forced = how.raw && how.raw->forced && !how.raw_if_needed;
  if (path == "-" || is_forced) return {};
  try {
    const auto member = member_path(path);
    const std::string& file = member ? member->archive : path;
    if (is_index(file)) return paths_of_set(file);
    if (member || !(how.pb || is_named_pb(file))) return {};
    const InputFile input = InputFile::open_regular_file(file);
    const onnx::ReadAt read = [&](std::span<std::byte> bytes, std::uint64_t offset) {
      return input.read_some_at(bytes, offset);
    };
    if (const auto external = onnx::parse(read, input.size()).external)
      return {beside(file, external->location)};
  } catch (const Error& error) {  // what is wrong with a name or contents, the work reports
    constexpr std::array kOfNames{0, ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG};
    if (std::ranges::find(kOfNames, error.system_error()) == kOfNames.end()) throw;
  }
  return {};
}

InputFile open_as(const Reading& how, const std::string& path, Streams streams) {
  const auto open = streams == Streams::taken ? &InputFile::open : &InputFile::open_regular;
  InputFile file = open(path, how.caching);
  read_as(file, how);
  return file;
}

Around around_result(const InputFile& input, const TensorLayout& result, const ResultName& name) {
  const Foreign* const foreign = input.foreign();
  Framing framing = foreign == nullptr ? Framing::npy : foreign->framing;
  const TensorFormat* const named = name.out ? format_named(*name.out) : nullptr;
  if (name.to_raw && named != nullptr)
    throw Error(ErrorKind::usage, *name.out + ": " + Term{"to_raw", "to_raw"} +
                                      " writes no header; name a file that does not end in " +
                                      std::string(named->suffix));
  if (name.to_raw) framing = Framing::raw;
  if (named != nullptr) framing = named->framing;
  const bool is_kept = foreign != nullptr && foreign->framing == framing;
  switch (framing) {
    case Framing::npy: break;
    case Framing::raw: expect_c_order(input, result, "a raw file"); return {is_kept ? foreign->before : ""};
    case Framing::pb: {
      expect_c_order(input, result, "a TensorProto");
      const onnx::Kept kept{is_kept ? foreign->before : "", is_kept ? foreign->after : ""};
      return {with_path(input.path(), [&] { return onnx::front(result, kept); }), kept.fields};
    }
  }
  return {npy::format(result)};
}

}  // namespace clipper
