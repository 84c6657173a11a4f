#include "npy/file_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "npy/dict.hpp"

namespace clipper::npy {
namespace {

using namespace std::string_view_literals;

/// A file format, and how the user can get a .npy file from it.
struct Kind {
  std::size_t offset;        ///< of `magic` in the file
  std::string_view magic;    ///< bytes that every file of this kind has
  std::string_view content;  ///< text that is also among the first kKindSize bytes; "" for formats without
  std::string_view name;
  std::string_view advice;  ///< kFile stands for the file's name
  bool to_stdout;           ///< the advice ends in a command that writes the .npy file to standard output
};

constexpr std::string_view kFile = "FILE";
constexpr std::string_view kTorch = "a PyTorch file";
constexpr std::string_view kNpz = "an .npz archive";
constexpr std::string_view kFromTorch = "convert it in Python: np.save('x.npy', torch.load('FILE').numpy())";
constexpr std::string_view kFromPickle =
    "if you trust it, convert it in Python: np.save('x.npy', np.load('FILE', allow_pickle=True))";
constexpr std::string_view kFromSafetensors =
    "convert it in Python: np.save('x.npy', safetensors.numpy.load_file('FILE')['NAME'])";
constexpr std::string_view kFromHdf5 =
    "convert it in Python: np.save('x.npy', h5py.File('FILE')['NAME'][()])";
constexpr std::string_view kFromImage = "convert it in Python: np.save('x.npy', PIL.Image.open('FILE'))";
constexpr std::string_view kFromText =
    "convert it in Python: np.save('x.npy', np.loadtxt('FILE', delimiter=','))";

// The first row that matches is the kind. A zip archive begins with the name of its first member, which is
// NAME/data.pkl for PyTorch. Older PyTorch files are pickles of PyTorch's magic number. A pickle begins with
// its protocol and, from protocol 4 on, a frame. A safetensors file begins with a length, here below 2^32,
// and JSON.
constexpr Kind kKinds[] = {
    {0, "\x1f\x8b"sv, "", "gzip data", "decompress it first: zcat FILE", true},
    {0, "\x28\xb5\x2f\xfd"sv, "", "zstd data", "decompress it first: zstdcat FILE", true},
    {0, "\xfd\x37zXZ\0"sv, "", "xz data", "decompress it first: xzcat FILE", true},
    {4, "1AY&SY"sv, "", "bzip2 data", "decompress it first: bzcat FILE", true},
    {0, "\x04\x22\x4d\x18"sv, "", "LZ4 data", "decompress it first: lz4cat FILE", true},
    {0, "PK\3\4"sv, "data.pkl", kTorch, kFromTorch, false},
    {0, "PK\3\4"sv, ".npy", kNpz, "extract a tensor first: unzip -p FILE NAME.npy", true},
    {0, "PK\3\4"sv, "", "a zip archive", "extract a tensor first: unzip -p FILE NAME.npy", true},
    {257, "ustar"sv, "", "a tar archive", "extract a tensor first: tar -xOf FILE NAME.npy", true},
    {0, "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8"sv, "", kTorch, kFromTorch, false},
    {0, "\x80\2"sv, "", "a Python pickle", kFromPickle, false},
    {0, "\x80\3"sv, "", "a Python pickle", kFromPickle, false},
    {0, "\x80\4\x95"sv, "", "a Python pickle", kFromPickle, false},
    {0, "\x80\5\x95"sv, "", "a Python pickle", kFromPickle, false},
    {4, "\0\0\0\0{\""sv, "", "a safetensors file", kFromSafetensors, false},
    {0, "{"sv, "", "JSON", "of JSON, clipper reads only NAME.safetensors.index.json", false},
    {0, "\x89HDF\r\n\x1a\n"sv, "", "an HDF5 file", kFromHdf5, false},
    {0, "\x89PNG\r\n\x1a\n"sv, "", "a PNG image", kFromImage, false},
    {0, "\xff\xd8\xff"sv, "", "a JPEG image", kFromImage, false},
    {0, "version https://git-lfs"sv, "", "a Git LFS pointer", "fetch the file itself: git lfs pull", false},
};

constexpr Kind kText{0, "", "", "text (CSV?)", kFromText, false};

bool matches(const Kind& kind, std::string_view start) {
  return start.substr(std::min(kind.offset, start.size())).starts_with(kind.magic) &&
         start.find(kind.content) != std::string_view::npos;
}

bool is_text_character(char c) {
  return (c >= ' ' && c <= '~') || c == '\t' || c == '\n' || c == '\r';
}

const Kind* kind_of(std::string_view start) {
  const auto* const row =
      std::ranges::find_if(kKinds, [=](const Kind& kind) { return matches(kind, start); });
  if (row != std::end(kKinds)) return row;
  return std::ranges::all_of(start, is_text_character) ? &kText : nullptr;
}

bool is_called(std::span<const std::byte> start, std::string_view name) {
  const Kind* const kind = kind_of(as_text(start));
  return kind != nullptr && kind->name == name;
}

constexpr std::size_t kFingerprintAt = 2;
constexpr std::size_t kFingerprintSize = kVersionAt - kFingerprintAt;

}  // namespace

Start unfinished_start(const Start& start, std::uint64_t fingerprint) noexcept {
  Start unfinished = start;
  for (std::size_t i = 0; i < kFingerprintSize; ++i)
    unfinished[kFingerprintAt + i] = static_cast<std::byte>(fingerprint >> (8 * i));
  unfinished[kVersionAt] = kUnfinishedVersion;
  unfinished[kVersionAt + 1] = start[kVersionAt];
  return unfinished;
}

bool is_unfinished(std::span<const std::byte> start) noexcept {
  return start.size() >= sizeof(Start) && as_text(start).starts_with(kMagic.substr(0, kFingerprintAt)) &&
         start[kVersionAt] == kUnfinishedVersion && start[kVersionAt + 1] >= std::byte{1} &&
         start[kVersionAt + 1] <= std::byte{3};
}

Start finished_start(const Start& unfinished) noexcept {
  Start start{};
  std::ranges::copy(std::as_bytes(std::span(kMagic)), start.begin());
  start[kVersionAt] = unfinished[kVersionAt + 1];
  return start;
}

bool can_be_npy(std::span<const std::byte> start) {
  return !start.empty() &&
         (as_text(start).starts_with(kMagic.substr(0, start.size())) || is_unfinished(start));
}

Message not_npy(std::span<const std::byte> start, std::string_view file, std::string_view expected) {
  const std::string_view text = as_text(start.first(std::min(start.size(), kKindSize)));
  if (text.empty()) return fmt::format("not {}: it is empty", expected);
  const Kind* const kind = kind_of(text);
  if (kind == nullptr)
    return fmt::format("not {}: it begins with '{}'", expected, excerpt(text.substr(0, kMagic.size()))) +
           Term{"raw", ""};
  // Nobody keeps CSV under the name of an archive: the text is a page of an error, or a download that failed.
  if (kind == &kText && expected != "a .npy file") return fmt::format("not {} but text", expected);
  std::string advice(kind->advice);
  if (const std::size_t at = advice.find(kFile); at != advice.npos) advice.replace(at, kFile.size(), file);
  Message message = fmt::format("not {} but {}; {}", expected, kind->name, advice);
  if (kind->to_stdout) message += Term{"input", ""};
  return message;
}

bool is_torch(std::span<const std::byte> start) {
  return is_called(start, kTorch);
}

bool is_npz(std::span<const std::byte> start) {
  return is_called(start, kNpz);
}

}  // namespace clipper::npy
