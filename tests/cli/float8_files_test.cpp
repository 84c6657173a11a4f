#include "cli/clipper.hpp"

/// Files of float8 elements, whose types ml_dtypes does not name in .npy headers.
namespace clipper::testing {
namespace {

using namespace std::string_literals;

/// -2, -0, 0.5, 1, 448 and NaN as float8_e4m3fn.
const std::string kElements("\xc0\x80\x30\x38\x7e\x7f", 6);

std::string file_of(std::string_view descr, const std::string& elements = kElements) {
  return npy_file(descr, "False", fmt::format("({},)", elements.size()), elements);
}

Words e4m3(const Words& words) {
  return joined({"--dtype", "float8_e4m3fn"}, words);
}

/// A safetensors file with a float8 and an uint8 tensor.
std::string safetensors(const std::string& q, const std::string& b) {
  std::string header =
      R"({"q":{"dtype":"F8_E4M3","shape":[6],"data_offsets":[0,6]},"b":{"dtype":"U8","shape":[2],"data_offsets":[6,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return std::string{static_cast<char>(header.size())} + std::string(7, '\0') + header + q + b;
}

const std::string kKept("\x00\x80\x30\x38\x4c\x7f", 6);

}  // namespace

TEST_CASE("a float8 file is clipped if --dtype says which float8 it is, and keeps its descriptor") {
  const WorkingDirectory directory;
  for (const std::string descr : {"<V1", "|V1"}) {
    directory.write("in.npy", file_of(descr));
    directory.done(e4m3(clip({"in.npy", "out.npy"})));
    CHECK(directory.read("out.npy") == file_of(descr, kKept));
    directory.done(e4m3(clip({"-i", "in.npy"})));
    CHECK(directory.read("in.npy") == file_of(descr, kKept));
    const Result result =
        directory.refused(clip({"in.npy", "other.npy"}), 3, "float8_e8m0fnu; if it is, add --dtype");
    CHECK(contains(result.error, "float8_e4m3fn, float8_e5m2, "));
    CHECK(contains(result.error, "int4, uint4, float4 and float6 are not supported: save x.astype('i1')"));
    directory.refused(joined({"--dtype", "float32"}, clip({"in.npy", "other.npy"})), 3,
                      "--dtype says float32");
  }
  const std::string e5m2("\xc0\x80\x30\x38\x7c\x7d", 6);
  directory.write("in.npy", file_of("<f1", e5m2));
  directory.done(clip({"in.npy", "out.npy"}));
  CHECK(directory.read("out.npy") == file_of("<f1", std::string("\x00\x80\x30\x38\x46\x7d", 6)));
}

TEST_CASE("the largest files of float8 are clipped alike with any number of threads, also directly") {
  std::string elements;
  for (int i = 0; i < 2'000'000; ++i) elements += static_cast<char>(i * i % 251);
  std::string clipped = elements;
  for (char& each : clipped) {
    const auto element = static_cast<unsigned char>(each);
    if (element > 0x80 && element < 0xff) each = '\0';
    if (element > 0x4c && element < 0x7f) each = '\x4c';
  }
  const WorkingDirectory directory;
  directory.write("in.npy", file_of("<V1", elements));
  for (const Words& way : {Words{"-j", "1"}, {"-j", "3", "--chunk-size", "4096"}, {"--simd", "baseline"}}) {
    directory.done(joined(way, e4m3(clip({"in.npy", "out.npy"}))));
    CHECK((directory.read("out.npy") == file_of("<V1", clipped)));
  }
  directory.done(e4m3(clip({"-i", "--direct", "in.npy"})));
  CHECK((directory.read("in.npy") == file_of("<V1", clipped)));
  directory.done(e4m3(clip({"--verify", "out.npy", "in.npy"})));
}

TEST_CASE("info, show and compare know float8") {
  const WorkingDirectory directory;
  directory.write("in.npy", file_of("|V1"));
  const Result info = directory.run(joined({"info", "--stats", "--max", "1"}, e4m3({"in.npy"})));
  for (const std::string_view line :
       {"dtype     float8_e4m3fn, written as |V1", "min       -2\n", "max       448\n", "median    0.5\n",
        "NaN       1 (16.7 %)", "above 1   1 (16.7 %)"})
    CHECK(contains(info.output, line));
  CHECK(directory.run(joined({"show"}, e4m3({"in.npy"}))).output == "[ -2  -0 0.5   1 448 nan]\n");
  directory.write("other.npy", file_of("<V1", std::string("\xc1\x00\x30\x38\x7e\xff", 6)));
  directory.done(joined({"compare", "--ulp", "1"}, e4m3({"other.npy", "in.npy"})));
  const Result result = directory.run(joined({"compare"}, e4m3({"other.npy", "in.npy"})));
  CHECK(result.exit_code == 1);
  CHECK(contains(result.output, "1 of 6 differ"));
  CHECK(contains(result.output, "actual -2.25 expected -2 (0.25, 1 ulp)"));
  directory.done(joined({"compare", "--diff-out", "d.npy", "--atol", "1"}, e4m3({"other.npy", "in.npy"})));
  CHECK(directory.run({"show", "d.npy"}).output == "[0.25    0    0    0    0    0]\n");
}

TEST_CASE("--to writes float8 as ml_dtypes saves it; what has no infinity overflows only with --saturate") {
  const WorkingDirectory directory;
  directory.write("in.npy", float32_file({-3.3F, 0.1F, 448, 465}));
  directory.refused(
      {"--to", "float8_e4m3fn", "in.npy", "out.npy"}, 3,
      "in.npy: the result at [3] (element 3) is beyond the range of float8_e4m3fn, -448 to 448; to clip "
      "it to this range, add --saturate");
  directory.done({"--to", "float8_e4m3fn", "--saturate", "in.npy", "out.npy"});
  CHECK(directory.read("out.npy") == file_of("<V1", std::string("\xc5\x1d\x7e\x7e", 4)));
  directory.done({"--to", "float8_e5m2", "in.npy", "out.npy"});
  CHECK(directory.read("out.npy") == file_of("<f1", std::string("\xc3\x2e\x5f\x5f", 4)));
  directory.refused({"--profile", "onnx", "--min", "0", "out.npy", "o.npy"}, 3, "this tensor is float8_e5m2");
}

TEST_CASE("--to writes little-endian elements of dtypes whose byte order numpy drops") {
  const WorkingDirectory directory{
      {"in.npy", npy_file(">f4", "False", "(2,)", byte_swapped(bytes_of(std::vector<float>{1, -2}), 4))}};
  for (const Words& way : {Words{"in.npy", "out.npy"}, Words{"in.npy", "in.npy"}}) {
    const std::string in = directory.read("in.npy");
    directory.done(joined({"--to", "bfloat16"}, way));
    CHECK(directory.read(way.back()) == npy_file("<V2", "False", "(2,)", "\x80\x3f\x00\xc0"s));
    directory.write("in.npy", in);
  }
  directory.done({"--to", "float8_e5m2", "in.npy", "out.npy"});
  CHECK(directory.read("out.npy") == file_of("<f1", "\x3c\xc0"));
  directory.done({"--to", "float8_e4m3fn", "in.npy", "out.npy"});
  CHECK(directory.read("out.npy") == file_of("<V1", "\x38\xc0"));
  directory.done({"--to", "float16", "in.npy", "out.npy"});
  CHECK(directory.read("out.npy") == npy_file(">f2", "False", "(2,)", "\x3c\x00\xc0\x00"s));
}

TEST_CASE("float8 tensors of an archive are clipped only if they are named") {
  const WorkingDirectory directory;
  const std::string bytes = "\x09\x01";
  directory.write("a.safetensors", safetensors(kElements, bytes));
  directory.done(clip({"a.safetensors", "out.safetensors"}));
  CHECK(directory.read("out.safetensors") == safetensors(kElements, "\x06\x01"));
  directory.done(clip({"--member", "q", "a.safetensors", "out.safetensors"}));
  CHECK(directory.read("out.safetensors") == safetensors(kKept, bytes));
  directory.done(clip({"a.safetensors:q", "q.npy"}));
  CHECK(directory.read("q.npy") == file_of("<V1", kKept));
  directory.done({"compare", "out.safetensors:q", "out.safetensors:q"});
  directory.refused(clip({"--dtype", "float8_e8m0fnu", "a.safetensors:q", "o.npy"}), 3, "--dtype says");
  directory.refused({"--to", "float8_e4m3b11fnuz", "--only", "int", "a.safetensors", "o.safetensors"}, 2,
                    "a safetensors file has no float8_e4m3b11fnuz");
  directory.done({"--to", "float8_e4m3fn", "--only", "int", "a.safetensors", "o.safetensors"});
  CHECK(contains(directory.read("o.safetensors"), R"("b":{"dtype":"F8_E4M3","shape":[2])"));
  CHECK(contains(directory.run({"info", "a.safetensors"}).output, "float8_e4m3fn"));
}

TEST_CASE("every command takes float8_e5m2 as np.load gives it back") {
  const WorkingDirectory directory;
  const std::string e5m2("\xc0\x80\x30\x38\x7c\x7d", 6);
  const Words dtype{"--dtype", "float8_e5m2"};
  for (const std::string descr : {"<V1", "|V1"}) {
    directory.write("in.npy", file_of(descr, e5m2));
    directory.done(joined(dtype, clip({"in.npy", "out.npy"})));
    CHECK(directory.read("out.npy") == file_of(descr, std::string("\x00\x80\x30\x38\x46\x7d", 6)));
    directory.done(joined(dtype, {"--to", "float32", "in.npy", "float32.npy"}));
    directory.done(joined({"compare"}, joined(dtype, {"in.npy", "in.npy"})));
    for (const std::string command : {"info", "show"})
      CHECK(directory.run(joined({command}, joined(dtype, {"in.npy"}))).exit_code == 0);
  }
}

TEST_CASE(
    "--dtype takes integers that are bfloat16 or float8 where the command line names them, and keeps the "
    "header") {
  const WorkingDirectory directory;
  const Words dtype{"--dtype", "bfloat16"};
  const std::string elements("\x80\xbf\x20\x40\x00\x41", 6);  // -1, 2.5, 8
  const std::string kept("\x00\x00\x20\x40\xc0\x40", 6);
  const auto bfloat16 = [](std::string_view descr, const std::string& data) {
    return npy_file(descr, "False", "(3,)", data);
  };
  for (const std::string descr : {"<u2", "<i2"}) {
    const std::string in = bfloat16(descr, elements);
    const std::string out = bfloat16(descr, kept);
    directory.write("in.npy", in);
    directory.done(joined(dtype, clip({"in.npy", "out.npy"})));
    CHECK(directory.read("out.npy") == out);
    directory.done(joined(dtype, clip({"in.npy", "-i"})));
    CHECK(directory.read("in.npy") == out);
    directory.done(
        joined(dtype, {"--scale", "2", "--to", "bfloat16", "--round", "floor", "in.npy", "cast.npy"}));
    CHECK(contains(directory.read("cast.npy"), descr));
    CHECK(contains(directory.run(joined({"info"}, joined(dtype, {"in.npy"}))).output, "written as " + descr));
    CHECK(contains(directory.run(joined({"show"}, joined(dtype, {"in.npy"}))).output, "2.5"));
    directory.write("v.npy", bfloat16("|V2", kept));
    directory.done(joined({"compare"}, joined(dtype, {"in.npy", "v.npy"})));

    directory.write("d/in.npy", in);
    directory.refused(joined(dtype, clip({"-r", "-i", "d"})), 3, "but --dtype says bfloat16");
    CHECK(directory.run(joined(dtype, clip({"--files-from", "-", "-i"})), "d/in.npy\n").exit_code == 3);
    CHECK(directory.run(joined({"compare"}, joined(dtype, {"d", "d"}))).exit_code == 3);
    CHECK(directory.read("d/in.npy") == in);
  }
  directory.write("in.npy", file_of("|u1"));
  directory.done(e4m3(clip({"in.npy", "out.npy"})));
  CHECK(directory.read("out.npy") == file_of("|u1", kKept));

  const std::string bytes("\x0a\x01", 2);
  const std::string whole = safetensors(kElements, bytes);
  directory.write("a.safetensors", whole);
  directory.refused(e4m3(clip({"a.safetensors", "out.safetensors"})), 3, "b: the file's dtype is '|u1'");
  const Words e5m2{"--dtype", "float8_e5m2"};
  directory.done(joined(e5m2, clip({"--member", "b", "a.safetensors", "out.safetensors"})));
  CHECK(directory.read("out.safetensors") == whole);
  directory.done(joined(e5m2, clip({"a.safetensors:b", "b.npy"})));
  CHECK(directory.read("b.npy") == npy_file("|u1", "False", "(2,)", bytes));
}

TEST_CASE("--recursive clips files of float8 only if --dtype names the dtype") {
  const WorkingDirectory directory;
  directory.write("d/in.npy", file_of("<f1"));
  CHECK(directory.run(clip({"-r", "-i", "d"})).error ==
        "clipper: 1 file: 0 clipped, 1 left alone (float8_e5m2)\n");
  CHECK(directory.read("d/in.npy") == file_of("<f1"));
  directory.done(joined({"--dtype", "float8_e5m2"}, clip({"-r", "-i", "d"})));
  CHECK(directory.read("d/in.npy") != file_of("<f1"));
}

TEST_CASE("a file of float8 gives bounds of float8 tensors") {
  const WorkingDirectory directory;
  directory.write("in.npy", file_of("<V1"));
  directory.write("lo.npy", file_of("|V1", std::string("\x30\x30\x38\x38\x38\x38", 6)));
  directory.done(e4m3({"--min", "@lo.npy", "in.npy", "out.npy"}));
  CHECK(directory.read("out.npy") == file_of("<V1", std::string("\x30\x30\x38\x38\x7e\x7f", 6)));
  const Words fnuz{"--dtype", "float8_e4m3fnuz", "--min", "@lo.npy", "in.npy", "out.npy"};
  directory.done(fnuz);
  CHECK(directory.read("out.npy") == file_of("<V1", std::string("\x30\x80\x38\x38\x7e\x7f", 6)));
  directory.write("one.npy", file_of("|V1", "\x38"));
  directory.done(joined({"--dtype", "float8_e4m3fnuz", "--max", "@one.npy"}, {"in.npy", "out.npy"}));
  CHECK(directory.read("out.npy") == file_of("<V1", std::string("\xc0\x80\x30\x38\x38\x38", 6)));
  directory.write("f.npy", float32_file({1.0F}));
  directory.refused({"--max", "@one.npy", "f.npy", "out.npy"}, 3, "'|V1' (raw bytes) may be float8_e4m3fn");
}

}  // namespace clipper::testing
