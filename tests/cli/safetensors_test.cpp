#include <nlohmann/json.hpp>

#include "cli/safetensors_files.hpp"

/// Clipping, comparing and describing safetensors files.
namespace clipper::testing {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFront = R"("__metadata__":{"format":"pt"},)";

/// The flags come first, so that the floats are not aligned.
std::vector<Part> parts(const std::string& w, const std::string& bytes) {
  return {{"mask", "BOOL", "\1"}, {"w", "F32", w}, {"layer.0", "U8", bytes}, {"q", "F8_E5M2", "\x7e\x01"}};
}

std::string input() {
  return file_of(parts(floats({-1, 3, 7}), "\1\x9"), kFront);
}
std::string result() {
  return file_of(parts(floats({0, 3, 6}), "\1\x6"), kFront);
}

class Directory : public WorkingDirectory {
 public:
  Directory() { write("a.safetensors", input()); }
};

}  // namespace

TEST_CASE("every tensor of a safetensors file that clipper clips is clipped; the header's bytes stay") {
  const Directory directory;
  directory.done(clip({"a.safetensors", "out.safetensors"}));
  CHECK(directory.read("out.safetensors") == result());
  directory.done(clip({"-i", "a.safetensors"}));
  CHECK(directory.read("a.safetensors") == result());
  const Result again = directory.run(clip({"-v", "-i", "a.safetensors"}));
  CHECK(contains(again.error, "a.safetensors:mask: copied (bool)"));
  CHECK(contains(again.error, "a.safetensors:q: copied (float8_e5m2)"));
}

TEST_CASE("a safetensors file is clipped alike with any number of threads and size of chunks") {
  std::string w;
  std::string clipped;
  for (int i = 0; i < 400'000; ++i) {
    const auto value = static_cast<float>(i % 23 - 8);
    w += floats({value});
    clipped += floats({std::clamp(value, 0.F, 6.F)});
  }
  const Directory directory;
  directory.write("large.safetensors", file_of(parts(w, "\1\x9")));
  const Words ways[] = {{"-j", "1"}, {"-j", "2", "--chunk-size", "4096"}, {"-j", "3", "--simd", "baseline"}};
  for (const Words& way : ways) {
    directory.done(clip(joined(way, {"large.safetensors", "out.safetensors"})));
    CHECK((directory.read("out.safetensors") == file_of(parts(clipped, "\1\x6"))));
  }
  directory.write("b.safetensors", directory.read("large.safetensors"));
  directory.done(clip({"-i", "b.safetensors"}));
  CHECK((directory.read("b.safetensors") == directory.read("out.safetensors")));
}

TEST_CASE("--member and --other choose tensors; dropping one writes a header as the library does") {
  const Directory directory;
  directory.done(clip({"--member", "layer.0", "a.safetensors", "out.safetensors"}));
  CHECK(directory.read("out.safetensors") == file_of(parts(floats({-1, 3, 7}), "\1\x6"), kFront));
  directory.done(clip({"--other", "drop", "a.safetensors", "out.safetensors"}));
  const std::string out = directory.read("out.safetensors");
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},)"
      R"("layer.0":{"dtype":"U8","shape":[2],"data_offsets":[12,14]}})";
  CHECK(out.substr(8, header.size()) == header);
  CHECK((8 + header.size() + 7) / 8 * 8 + 14 == out.size());
  CHECK(out.ends_with(floats({0, 3, 6}) + "\1\x6"));
  directory.refused(clip({"--other", "error", "a.safetensors", "o.safetensors"}), 3,
                    "a.safetensors:mask: would not be clipped (bool), which --other error forbids");
  directory.refused(clip({"--member", "x", "a.safetensors", "o.safetensors"}), 2,
                    "a.safetensors: no member 'x'; it has mask, w, layer.0, q");
}

TEST_CASE("--to sorts the tensors as the library does: by dtype, then by name") {
  const Directory directory;
  directory.done(
      clip({"--to", "uint8", "--only", "float", "--only", "int", "a.safetensors", "out.safetensors"}));
  const std::string out = directory.read("out.safetensors");
  CHECK(contains(
      out, R"("q":{"dtype":"F8_E5M2","shape":[2],"data_offsets":[0,2]},"layer.0":{"dtype":"U8","shape":[2],)"
           R"("data_offsets":[2,4]},"w":{"dtype":"U8","shape":[3],"data_offsets":[4,7]},"mask":)"));
  CHECK(out.ends_with("\x7e\1\1\6" + std::string("\0\3\6\1", 4)));
}

TEST_CASE("FILE:MEMBER of a safetensors file is a tensor wherever a tensor is read") {
  const Directory directory;
  directory.done(clip({"a.safetensors:w", "w.npy"}));
  directory.done(clip({"a.safetensors", "b.safetensors"}));
  directory.done({"compare", "w.npy", "b.safetensors:w"});
  directory.done({"--min", "@b.safetensors:w", "a.safetensors:w", "v.npy"});
  directory.done({"compare", "a.safetensors:layer.0", "a.safetensors:layer.0"});
  directory.refused(clip({"a.safetensors:mask", "m.npy"}), 2,
                    "a.safetensors:mask: --max 6 is not 0, 1, true or false, but the tensor is bool");
  directory.done({"--min", "0", "a.safetensors:mask", "m.npy"});
  directory.refused(clip({"a.safetensors:x", "m.npy"}), 2, "a.safetensors: no member 'x'");
  directory.refused(clip({"w.npy", "a.safetensors:w"}), 2, "a member cannot be written");
  directory.refused(clip({"w.npy:x.safetensors:w", "m.npy"}), 4, "cannot be opened");
  directory.write("c.safetensors", "not");
  directory.refused(clip({"c.safetensors:w", "m.npy"}), 3,
                    "c.safetensors: not a safetensors file, so it has no member 'w'");
}

TEST_CASE("compare of two safetensors files compares the tensors of the same name, others byte by byte") {
  const Directory directory;
  directory.done({"compare", "a.safetensors", "a.safetensors"});
  directory.write("b.safetensors", result());
  const Result result = directory.run({"compare", "a.safetensors", "b.safetensors"});
  CHECK(result.exit_code == 1);
  CHECK(contains(result.output, "FAIL a.safetensors:w: 2 of 3 differ"));
  CHECK(contains(result.output, "FAIL a.safetensors:layer.0: 1 of 2 differ"));
  CHECK_FALSE(contains(result.output, "mask"));
}

TEST_CASE("info prints a row for each tensor of a safetensors file") {
  const Directory directory;
  const Result result = directory.run({"info", "a.safetensors"});
  CHECK(result.output == R"(a.safetensors
  KEY      DTYPE        SHAPE  SIZE  COMPRESSION
  mask     bool         (1,)      1  stored
  w        float32      (3,)     12  stored
  layer.0  uint8        (2,)      2  stored
  q        float8_e5m2  (2,)      2  stored
)");
  const Json json = Json::parse(directory.run({"info", "--json", "--stats", "a.safetensors:w"}).output);
  CHECK(json["statistics"]["max"] == 7);
}

TEST_CASE("names and streams that a safetensors file does not fit are refused") {
  const Directory directory;
  directory.refused(
      clip({"a.safetensors", "o.npz"}), 2,
      "o.npz: a.safetensors is a safetensors file, so the result needs a name like OUT.safetensors");
  directory.refused(clip({"a.safetensors", "o.npy"}), 2, "needs a name like OUT.safetensors");
  directory.refused(clip({"a.safetensors", "-"}), 2, "an archive cannot be written to a stream");
  directory.refused(clip({"-", "o.npy"}), 3,
                    "standard input: not a .npy file but a safetensors file; save it as a file first",
                    input());
  directory.refused(clip({"--direct", "-i", "a.safetensors"}), 2,
                    "is an archive, which --in-place --direct does not take");
  directory.write("x.npy", directory.read("a.safetensors").substr(0, 20));
  directory.refused(clip({"x.npy", "y.safetensors"}), 3, "x.npy: truncated: the header has");
}

TEST_CASE("a file that is not as its header says is refused, and nothing is written") {
  const Directory directory;
  directory.write("a.safetensors", input().substr(0, input().size() - 1));
  directory.refused(clip({"-i", "a.safetensors"}), 3,
                    "a.safetensors: 17 bytes of elements expected, the file has 16");
  directory.write("a.safetensors", input() + "x");
  directory.refused(clip({"a.safetensors", "o.safetensors"}), 3,
                    "a.safetensors: 1 byte after the last tensor");
}

TEST_CASE("--recursive takes a safetensors file only if --include asks for it") {
  const Directory directory;
  std::filesystem::create_directories(directory / "in/deep");
  directory.write("in/deep/a.safetensors", input());
  directory.write("in/b.npy", float32_file({-1, 7}));
  directory.write("in/c.npy", float32_file({-1, 7}));
  directory.done(clip({"-r", "in", "--output-dir", "out", "--exclude", "c*"}));
  CHECK(std::filesystem::exists(directory / "out/b.npy"));
  CHECK_FALSE(std::filesystem::exists(directory / "out/c.npy"));
  CHECK_FALSE(std::filesystem::exists(directory / "out/deep"));
  directory.done(clip({"-r", "in", "--output-dir", "all", "--include", "*.safetensors", "--include",
                       "[bc].npy", "--exclude", "b.???"}));
  CHECK(directory.read("all/deep/a.safetensors") == result());
  CHECK(std::filesystem::exists(directory / "all/c.npy"));
  CHECK_FALSE(std::filesystem::exists(directory / "all/b.npy"));
  directory.refused(clip({"-r", "in", "--output-dir", "o", "--include", "*.bin"}), 3,
                    "in: contains no file that --include names");
  directory.refused(clip({"--include", "*", "in/b.npy", "o.npy"}), 2, "--include needs --recursive");
  directory.refused(clip({"--exclude", "*", "in/b.npy", "o.npy"}), 2, "--exclude needs --recursive");
}

}  // namespace clipper::testing
