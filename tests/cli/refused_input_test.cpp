#include "cli/compare.hpp"

/// Inputs that are refused, and bytes after the array, which np.load ignores.
namespace clipper::testing {
namespace {

using namespace std::string_literals;

/// Inputs that are refused, each with a word of the reason.
using Refused = std::vector<std::pair<std::string, std::string>>;

const std::string kThree = bytes_of(std::vector<float>{1, 2, 3});

std::string with_text(const std::string& text) {
  return "\x93NUMPY\x01\0"s + static_cast<char>(text.size()) + '\0' + text + kThree;
}

std::string with_shape(const std::string& shape) {
  return npy_file("<f4", "False", shape, kThree);
}

std::string with_descr(const std::string& descr) {
  return npy_file(descr, "False", "(3,)", kThree);
}

/// Checks that clipper refuses every file with its path and the word.
void check_all(const Refused& files) {
  const WorkingDirectory directory{{"out.npy", "old"}};
  for (const auto& [file, word] : files) {
    CAPTURE(file.substr(0, 200));
    directory.write("in.npy", file);
    for (const char* out : {"out.npy", "new.npy"}) {
      const Result result = directory.refused({"--min", "0", "in.npy", out}, 3, word);
      CHECK(result.error.starts_with("clipper: in.npy: "));
      CHECK(result.output.empty());
    }
  }
}

const std::string kArray = float32_file({-1, 2, 9});
const std::string kClipped = float32_file({0, 2, 6});

}  // namespace

TEST_CASE("files that are not .npy, and incomplete .npy files, are refused") {
  const std::string good = float32_file({1, 2, 3});
  check_all({{"", "not a .npy file: it is empty"},
             {"not a tensor at all", "not a .npy file but text"},
             {"\x93NUMPX" + good.substr(6), "not a .npy file: it begins with '\\x93NUMPX'"},
             {good.substr(0, 6), "truncated"},
             {good.substr(0, 9), "truncated"},
             {good.substr(0, 100), "truncated"},
             {good.substr(0, 128), "12 data bytes expected"},
             {good.substr(0, good.size() - 1), "has 11"},
             {good + "x", "1 byte after the array"},
             {"\x93NUMPY\x00\x00"s + good.substr(8), "version 0.0"},
             {"\x93NUMPY\x01\x01"s + good.substr(8), "version 1.1"},
             {"\x93NUMPY\x04\x00"s + good.substr(8), "version 4.0"},
             {"\x93NUMPY\x02\x00\xf0\xff\xff\xff"s, "4294967280"},
             {"\x93NUMPY\x02\x00\x01\x00\x01\x00"s + std::string(70'000, ' '), "65537"}});
}

TEST_CASE("headers that are not the expected dict are refused") {
  check_all({{with_text("{'descr': '<f4', 'fortran_order': False}"), "shape"},
             {with_text("{'descr': '<f4', 'shape': (3,)}"), "fortran_order"},
             {with_text("{'shape': (3,), 'fortran_order': False}"), "descr"},
             {with_text("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}"), "more"},
             {with_text("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}"), "descr"},
             {with_text("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} # w\xe9"), "ASCII"},
             {with_text("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)"), "end"},
             {with_text("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}\0"s), "\\x00"},
             {with_text("{'descr': '<f4', 'fortran_order': \xff, 'shape': (3,)}"), "\\xff"},
             {with_text("[]"), "{"},
             {with_text(std::string(200, '[')), "{"},
             {npy_file("<f4", "0", "(3,)", kThree), "True or False"},
             {npy_file("<f4", "'False'", "(3,)", kThree), "True or False"}});
}

TEST_CASE("impossible shapes are refused") {
  std::string too_many = "(";
  for (int i = 0; i < 65; ++i) too_many += "1, ";
  check_all({{with_shape("(3)"), "','"},
             {with_shape("[3]"), "'('"},
             {with_shape("3"), "'('"},
             {with_shape("(-3,)"), "-3"},
             {with_shape("(3.0,)"), ".0"},
             {with_shape("(0x3,)"), "x3"},
             {with_shape("(1_0,)"), "_0"},
             {with_shape("(True,)"), "True"},
             {with_shape("((3,),)"), "dimension"},
             {with_shape(too_many + ")"), "64 dimensions"},
             {with_shape("(4294967296, 4294967296)"), "too large"},
             {with_shape("(4611686018427387904,)"), "too large"},
             {with_shape("(18446744073709551616,)"), "too large"},
             {with_shape("(1180591620717411303424,)"), "too large"},
             {with_shape("(0, 9223372036854775808)"), "too large"},
             {with_shape("(2305843009213693951,)"), "12"}});
}

TEST_CASE("unsupported dtypes are refused by name") {
  check_all({{with_descr("|O"), "Python objects"},
             {with_descr("<c8"), "complex"},
             {with_descr("|S4"), "strings"},
             {with_descr("<U1"), "strings"},
             {with_descr("<M8[0s]"), "dates, datetime64"},
             {with_descr("<m8[s/3]"), "durations, timedelta64"},
             {with_descr("|V4"), "V4"},
             {with_descr("|V2"), "--dtype bfloat16"},
             {with_descr("<f16"), "'<f16' (long double, float128)"},
             {with_descr(">f16"), "convert it in Python: np.save('x.npy', np.load("},
             {with_descr("<i3"), "i3"},
             {with_descr(""), "dtype"},
             {with_text("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,)}"), "structured"},
             {with_text("{'descr': ('<f4', (3,)), 'fortran_order': False, 'shape': (1,)}"), "sub-array"}});
}

TEST_CASE("files of other kinds are named with a command that helps") {
  const WorkingDirectory directory{{"x.npy", float32_file({-1, 2, 9})},
                                   {"clipped.npy", float32_file({0, 2, 6})}};
  check_done(directory.run_in_shell("gzip -c x.npy >x.npy.gz && tar -cf x.tar x.npy", {}));
  directory.write("x.npz", "PK\3\4" + std::string(26, '\0') + "x.npy" + directory.read("x.npy"));
  directory.write("x.pt", "PK\3\4" + std::string(26, '\0') + "archive/data.pkl and 1000 bytes");
  const std::string why = "not a .npy file but ";
  const auto gzip = [&](const std::string& file) {
    return why + "gzip data; decompress it first: zcat " + file + " | clipper ... - OUT\n";
  };
  const Words uses[] = {{"--min", "0", "x.npy.gz", "out.npy"},
                        {"--min", "0", "--in-place", "x.npy.gz"},
                        {"--min", "0", "x.npy", "--verify", "x.npy.gz"},
                        {"compare", "x.npy", "x.npy.gz"},
                        {"info", "x.npy.gz"}};
  for (const Words& use : uses)
    CHECK(directory.refused(use, 3, "").error == "clipper: x.npy.gz: " + gzip("x.npy.gz"));
  for (const Words& use :
       {Words{"--min", "0", "-", "out.npy"}, Words{"info", "-"}, Words{"compare", "x.npy", "-"}})
    CHECK(directory.refused(use, 3, "", directory.read("x.npy.gz")).error ==
          "clipper: standard input: " + gzip("FILE"));
  CHECK(directory.refused({"info", "x.npz"}, 3, "").error ==
        "clipper: x.npz: truncated: no end record of a zip archive\n");
  CHECK(directory.refused({"info", "x.pt"}, 3, "").error ==
        "clipper: x.pt: " + why +
            "a PyTorch file; convert it in Python: np.save('x.npy', torch.load('x.pt').numpy())\n");
  // The suggested commands, with names filled in.
  for (const std::string command : {"zcat x.npy.gz", "tar -xOf x.tar x.npy"}) {
    const Result result =
        directory.run_in_shell(command + " | \"$@\" - out.npy", {"--min", "0", "--max", "6"});
    CAPTURE(command, result.error);
    CHECK(result.exit_code == 0);
    CHECK(directory.read("out.npy") == directory.read("clipped.npy"));
  }
}

TEST_CASE("truncated files of all lengths are refused") {
  const WorkingDirectory directory;
  const std::string file = npy_file("<f4", "False", "(3,)", kThree, 16);
  for (std::size_t length = 0; length < file.size(); length += 3) {
    directory.write("in.npy", file.substr(0, length));
    directory.refused({"--min", "0", "in.npy", "out.npy"}, 3, "in.npy: ");
  }
}

TEST_CASE("--dtype must agree with the file") {
  const WorkingDirectory directory{{"in.npy", float32_file({1})}};
  directory.refused({"--dtype", "float64", "--min", "0", "in.npy", "out.npy"}, 3, "in.npy: ");
  directory.refused({"--dtype", "float8", "in.npy", "out.npy"}, 2, "float8");
}

TEST_CASE("bytes after the array are an error with their number and advice") {
  const WorkingDirectory directory{{"x.npy", kArray + "x"}};
  const std::string one = "x.npy: 1 byte after the array; to allow this, set --trailing ignore\n";
  directory.refused(clip({"x.npy", "out.npy"}), 3, one);
  directory.refused(clip({"--trailing", "error", "x.npy", "out.npy"}), 3, one);
  directory.refused({"info", "x.npy"}, 3, one);
  directory.refused({"compare", "x.npy", "x.npy"}, 3, one);
  directory.write("x.npy", kArray + "xyz");
  directory.refused(clip({"x.npy", "--verify", "x.npy"}), 3,
                    "x.npy: 3 bytes after the array; to allow this, set --trailing ignore\n");
  directory.refused(
      clip({"-", "out.npy"}), 3,
      "standard input: unexpected bytes after the array; to allow this, set --trailing ignore\n",
      kArray + "xyz");
}

TEST_CASE("--trailing ignore reads files without the bytes after the array") {
  const WorkingDirectory directory{{"x.npy", kArray + "xyz"}};
  directory.done(clip({"--trailing", "ignore", "x.npy", "out.npy"}));
  CHECK(directory.read("out.npy") == kClipped);
  directory.done(clip({"--trailing=ignore", "--output-dir", "o", "x.npy"}));
  CHECK(directory.read("o/x.npy") == kClipped);
  directory.done(clip({"--trailing=ignore", "--shard", "0/1", "x.npy", "s.npy"}));
  directory.done({"--finalize", "s.npy"});
  CHECK(directory.read("s.npy") == kClipped);

  directory.write("golden.npy", kClipped + std::string(70'000, '\0'));
  directory.done(clip({"--trailing=ignore", "x.npy", "--verify", "golden.npy"}));
  check_same(directory, {"--trailing", "ignore", "out.npy", "golden.npy"});
  check_same(directory, {"--trailing", "ignore", "golden.npy", "-"}, kClipped + "x");
  const Result info = directory.run({"info", "--stats", "--trailing", "ignore", "x.npy"});
  check_done(info);
  CHECK(contains(info.output, "  data      12 bytes after"));
}

TEST_CASE("--trailing ignore reads a stream to its end") {
  const WorkingDirectory directory{{"x.npy", kArray}};
  const std::string rest(3'000'000, 'x');  // more than a pipe holds: a writer without reader gets EPIPE
  for (const char* const threads : {"1", "2"}) {
    const Words words = clip({"--trailing=ignore", "--threads", threads, "-", "-"});
    const Result result = directory.run(words, kArray + rest);
    check_done(result);
    CHECK(result.output == kClipped);
  }
  const Result piped =
      directory.run_in_shell("{ cat x.npy; head -c 3000000 /dev/zero && echo done >&2; } | \"$@\" >out.npy",
                             clip({"--trailing=ignore", "-", "-"}));
  CHECK(piped.error == "done\n");
  CHECK(directory.read("out.npy") == kClipped);
}

TEST_CASE("in place, --trailing ignore refuses to lose bytes after the array") {
  const WorkingDirectory directory{{"x.npy", kArray + "xyz"}};
  const std::string why =
      "x.npy: refused to avoid data loss: in place, the 3 bytes after the array would be lost; write to "
      "another file\n";
  for (const Words& way : {Words{"-i"}, Words{"-i", "--direct"}, Words{"-i", "--dry-run"}, Words{"x.npy"}}) {
    directory.refused(joined(clip({"--trailing=ignore", "x.npy"}), way), 5, why);
  }
  directory.write("x.npy", kArray);
  directory.done(clip({"--trailing=ignore", "-i", "x.npy"}));
  CHECK(directory.read("x.npy") == kClipped);
}

TEST_CASE("wrong usage of --trailing is refused") {
  const WorkingDirectory directory{{"x.npy", kArray}};
  const std::string word = "--trailing: unknown value 'keep'; expected one of: error, ignore";
  directory.refused(clip({"--trailing", "keep", "x.npy", "out.npy"}), 2, word);
  directory.refused({"compare", "--trailing=keep", "x.npy", "x.npy"}, 2, word);
  directory.refused({"compare", "--bytes", "--trailing=ignore", "x.npy", "x.npy"}, 2, "--bytes");
}

}  // namespace clipper::testing
