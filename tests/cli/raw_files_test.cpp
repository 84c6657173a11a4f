#include "cli/clipper.hpp"
#include "support/archives.hpp"

/// Raw files, and ONNX's TensorProto files. tests/fuzz/formats_vs_libraries.py compares with numpy and onnx.
namespace clipper::testing {
namespace {

using namespace std::string_literals;

const std::string kElements = float32_file({-3.5F, 0, 5, 7}).substr(128);
const Words kRaw{"--raw", "float32:2,2"};

/// A TensorProto of 2 x 2 elements with a name, a doc_string and an unknown field.
std::string pb(const std::string& elements) {
  return "\x08\x02\x08\x02\x10\x01\x42\x01w\x4a\x10"s + elements +
         "\x62\x01"
         "d\x98\x06\x05"s;
}

std::string npy(const std::string& elements) {
  return npy_file("<f4", "False", "(2, 2)", elements);
}

}  // namespace

TEST_CASE("a raw file and a TensorProto get elements in C order, and a TensorProto little-endian ones") {
  const WorkingDirectory directory;
  const std::string in_c{"\0\1\0\3\0\2\0\4"s};
  directory.write("f.npy", npy_file(">i2", "True", "(2, 2)", "\0\1\0\2\0\3\0\4"s));
  directory.done({"--max", "9", "--to-raw", "f.npy", "f.raw"});
  CHECK(directory.read("f.raw") == in_c);
  directory.done({"--max", "9", "f.npy", "f.pb"});
  CHECK(directory.read("f.pb") == "\x08\x02\x08\x02\x10\x05\x4a\x08\1\0\3\0\2\0\4\0"s);
  directory.done({"--raw", ">i2:2,2", "--max", "9", "f.raw", "g.pb"});
  CHECK(directory.read("g.pb") == directory.read("f.pb"));
  directory.refused({"--max", "9", "--to-raw", "-", "g.raw"}, 3, "save it as a file first",
                    directory.read("f.npy"));

  std::string elements;
  for (int i = 0; i < 300 * 7 * 200; ++i) elements += {static_cast<char>(i % 251), static_cast<char>(i % 13)};
  directory.write("big.npy", npy_file("<i2", "True", "(300, 7, 200)", elements));
  directory.done({"--min", "1%", "--to-raw", "--chunk-size", "4096", "--threads", "3", "big.npy", "big.raw"});
  directory.done({"--min", "1%", "big.npy", "clipped.npy"});
  directory.done({"compare", "--raw", "int16:300,7,200", "big.raw", "clipped.npy"});
}

TEST_CASE("elements that a TensorProto has as varints are decoded, also more than fit into memory") {
  std::string varints;
  std::string elements;
  for (int i = 0; i < 700'000; ++i) {
    varints += static_cast<char>(i % 128);
    elements += std::string{static_cast<char>(std::min(i % 128, 6)), '\0'};
  }
  const WorkingDirectory directory;
  directory.write("in.pb", "\x08\xe0\xdc\x2a\x10\x05\x2a\xe0\xdc\x2a"s + varints);
  directory.done(clip({"in.pb", "out.npy"}));
  CHECK((directory.read("out.npy") == npy_file("<i2", "False", "(700000,)", elements)));
}

TEST_CASE("a file of another kind than --raw or a name says is refused by its kind") {
  const WorkingDirectory directory;
  directory.write("in.npy", npy(kElements));
  directory.write("in.raw", kElements);
  directory.write("in.pb", pb(kElements));
  directory.write("m.onnx", "\x08\x0a\x12\x01p"s);
  directory.write("s.pb", "\x0a\x01s\x10\x01\x1a\x00"s);
  directory.refused(joined(kRaw, clip({"in.npy", "o"})), 2,
                    "--raw is for files without a header, and this is a .npy file");
  directory.refused(joined(kRaw, clip({"in.pb", "o"})), 2, "and this is a TensorProto");
  directory.done(joined({"--raw", "force:uint8"}, clip({"in.npy", "o"})));
  directory.refused({"--raw", "float32:3", "--min", "0", "in.raw", "o"}, 3,
                    "but float32:3 takes 12; the nearest is float32:4, which takes 16");
  directory.refused(joined({"--raw", "float33"}, clip({"in.raw", "o"})), 2,
                    "--raw: 'float33' does not begin");
  directory.refused(clip({"in.raw", "o"}), 3, "--raw DTYPE:SHAPE reads files without a header");
  directory.refused(joined(kRaw, clip({"--direct", "-i", "in.raw"})), 2, "is no .npy file");
  directory.refused(clip({"m.onnx", "o"}), 3, "m.onnx: not a tensor but an ONNX model");
  directory.refused(clip({"s.pb", "o"}), 3, "a SequenceProto");
  directory.refused(clip({"--shard", "0/2", "in.pb", "o.pb"}), 2, "--shard writes a .npy file");
}

}  // namespace clipper::testing
