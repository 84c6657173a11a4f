#include "npy/header.hpp"
#include "npy/other.hpp"
#include "support/refusal.hpp"

using namespace clipper;
using namespace std::string_literals;

namespace {

std::span<const std::byte> start_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string not_npy(std::string_view start) {
  return npy::not_npy(start_of(start)).text();
}

/// `text` after the header of a zip archive's first member, as np.savez writes it.
std::string zip_with(const std::string& text) {
  return "PK\3\4-\0\0\0\0\0\0\0!\0\xb6\x8c\x86S\xff\xff\xff\xff\xff\xff\xff\xff"s +
         static_cast<char>(text.size()) + "\0\0\0"s + text + "\x93NUMPY\1\0"s;
}

const std::string kPickle =
    "a Python pickle; if you trust it, convert it in Python: np.save('x.npy', np.load('FILE', "
    "allow_pickle=True))";
const std::string kTorch =
    "a PyTorch file; convert it in Python: np.save('x.npy', torch.load('FILE').numpy())";

}  // namespace

TEST_CASE("A file of another kind is named by its first bytes, with a command that helps") {
  // The first bytes that each program writes for np.arange(3, dtype='f4'), or for its .npy file. The images
  // and the last four follow the documents of their formats.
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"\x1f\x8b\x08\x00\xd3>\x03k\x02\xff\x9b\xec"s, "gzip data; decompress it first: zcat FILE"},
      {"\x28\xb5\x2f\xfd\x24\x8c\xa5\x02\x00\x84\x04\x93"s, "zstd data; decompress it first: zstdcat FILE"},
      {"\xfd\x37zXZ\0\0\4\xe6\xd6\xb4\x46"s, "xz data; decompress it first: xzcat FILE"},
      {"BZh91AY&SYd\xda", "bzip2 data; decompress it first: bzcat FILE"},
      {"\4\"M\x18\x64\x40\xa7W\0\0\0\xf0"s, "LZ4 data; decompress it first: lz4cat FILE"},
      {zip_with("x.npy"), "an .npz archive; extract a tensor first: unzip -p FILE NAME.npy"},
      {zip_with("readme"), "a zip archive; extract a tensor first: unzip -p FILE NAME.npy"},
      {"x.npy" + std::string(252, '\0') + "ustar  \0root"s,
       "a tar archive; extract a tensor first: tar -xOf FILE NAME.npy"},
      {"\x80\2cnumpy._core.multiarray\n_reconstruct\nq\0"s, kPickle},
      {"\x80\3cnumpy._core.multiarray\n_reconstruct\nq\0"s, kPickle},
      {"\x80\4\x95\x95\0\0\0\0\0\0\0\x8c\x16numpy._core.multiarray\x94"s, kPickle},
      {"\x80\5\x95\x80\0\0\0\0\0\0\0\x8c\x13numpy._core.numeric\x94"s, kPickle},
      {"cnumpy._core.multiarray\n_reconstruct\np0\n",
       "text; convert it in Python: np.save('x.npy', np.loadtxt('FILE'))"},
      {"1.0,2.5\r\n\t-3,1e9\n",
       "text (CSV?); convert it in Python: np.save('x.npy', np.loadtxt('FILE', delimiter=','))"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n",
       "a Git LFS pointer; fetch the file itself: git lfs pull"},
      {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s,
       "a PNG image; convert it in Python: np.save('x.npy', PIL.Image.open('FILE'))"},
      {"\xff\xd8\xff\xe0\0\x10JFIF"s,
       "a JPEG image; convert it in Python: np.save('x.npy', PIL.Image.open('FILE'))"},
      {zip_with("archive/data.pkl"), kTorch},
      {"\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."s, kTorch},
      {"\x48\0\0\0\0\0\0\0{\"x\":{\"dtype\":\"F32\""s,
       "a safetensors file; convert it in Python: np.save('x.npy', "
       "safetensors.numpy.load_file('FILE')['NAME'])"},
      {"\x89HDF\r\n\x1a\n\0\0\0\0"s,
       "an HDF5 file; convert it in Python: np.save('x.npy', h5py.File('FILE')['NAME'][()])"},
  };
  for (const auto& [start, message] : rows) {
    CAPTURE(start);
    CHECK_FALSE(npy::can_be_npy(start_of(start)));
    CHECK(not_npy(start) == "not a .npy file but " + message);
    const auto header = start_of(start);
    CHECK(refusal(ErrorKind::input, [&] { return npy::data_offset(header); }) == not_npy(start));
  }
}

TEST_CASE("Zip archives of .npy files and PyTorch files, which are zip archives, are told apart") {
  for (const auto& [name, is_npz, is_torch] :
       {std::tuple{"x.npy", true, false}, {"archive/data.pkl", false, true}, {"readme", false, false}}) {
    const std::string start = zip_with(name);
    CAPTURE(name);
    CHECK(npy::is_npz(start_of(start)) == is_npz);
    CHECK(npy::is_torch(start_of(start)) == is_torch);
  }
}

TEST_CASE("The program can add itself to a command that writes the tensor to standard output") {
  const auto text = [](std::string_view start) {
    return npy::not_npy(start_of(start)).text_with([](const Term& term) {
      return term.field == "input" && term.words.empty() ? " | clipper" : "?";
    });
  };
  CHECK(text("\x1f\x8b") == "not a .npy file but gzip data; decompress it first: zcat FILE | clipper");
  CHECK(text("1,2") == not_npy("1,2"));
}

TEST_CASE("A file of no known kind is quoted, harmless to a terminal") {
  CHECK(not_npy("") == "not a .npy file: it is empty");
  CHECK(not_npy("\x93NUMPX\1\0"s) == R"(not a .npy file: it begins with '\x93NUMPX')");
  CHECK(not_npy("\0"s) == R"(not a .npy file: it begins with '\x00')");
  CHECK(not_npy("\x1b[31mred") == R"(not a .npy file: it begins with '\x1b[31mr')");
  CHECK(not_npy("\x80\4.") == R"(not a .npy file: it begins with '\x80\x04.')");
  // A header length of 2^32 or more, which no safetensors file has.
  CHECK(not_npy("\0\0\0\0\1\0\0\0{\""s) == R"(not a .npy file: it begins with '\x00\x00\x00\x00\x01\x00')");
}

TEST_CASE("A file that begins with the magic, or with as much of it as it has, can be .npy") {
  const std::string magic(npy::kMagic);
  for (std::size_t size = 1; size <= magic.size(); ++size) {
    CHECK(npy::can_be_npy(start_of(magic.substr(0, size))));
    std::string damaged = magic.substr(0, size);
    damaged.back() = 'x';
    CHECK_FALSE(npy::can_be_npy(start_of(damaged)));
  }
  CHECK(npy::can_be_npy(start_of(magic + "anything")));
  CHECK_FALSE(npy::can_be_npy({}));
}

TEST_CASE("Only the first bytes tell the kind of a file") {
  CHECK(not_npy(std::string(npy::kKindSize, 'a') + '\0').starts_with("not a .npy file but text"));
  CHECK(not_npy(std::string(npy::kKindSize - 1, 'a') + '\0').starts_with("not a .npy file: it begins"));
}
