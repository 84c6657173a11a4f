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

}  // namespace clipper::testing
