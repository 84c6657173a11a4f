#include <nlohmann/json.hpp>

#include "cli/clipper.hpp"
#include "support/archives.hpp"

namespace clipper::testing {
namespace {

using namespace std::string_literals;
using Json = nlohmann::json;

std::vector<Json> objects(const std::string& output) {
  std::vector<Json> all;
  for (const std::string& line : lines_of(output)) all.push_back(Json::parse(line));
  return all;
}

/// A member of each kind.
std::string mixed_archive() {
  return npz_file({{"weights.npy", float32_file({1, 2, 3}), true},
                   {"big.npy", npy_file(">i2", "True", "(2, 3)", std::string(12, '\0'))},
                   {"mask.npy", npy_file("|b1", "False", "(2,)", std::string(2, '\0'))},
                   {"maybe.npy", npy_file("|V2", "False", "(2,)", std::string(4, '\0'))},
                   {"notes.txt", "text"},
                   {"nested/", ""},
                   {"weights", npy_file("|i1", "False", "()", "\1")}});
}

}  // namespace

TEST_CASE("info prints a row for each member of an archive, in its order") {
  const WorkingDirectory directory{{"a.npz", mixed_archive()}};
  const Result result = directory.run({"info", "a.npz"});
  check_done(result);
  CHECK(result.output ==
        "a.npz\n"
        "  KEY          DTYPE              SHAPE                  SIZE  COMPRESSION\n"
        "  weights.npy  float32            (3,)                     12  deflated to 104 %\n"
        "  big          int16, big-endian  (2, 3), Fortran order    12  stored\n"
        "  mask         bool               (2,)                      2  stored\n"
        "  maybe        |V2 (bfloat16?)    (2,)                      4  stored\n"
        "  notes.txt    not .npy           -                         4  stored\n"
        "  nested/      not .npy           -                         0  stored\n"
        "  weights      int8               ()                        1  stored\n");
}

TEST_CASE("The columns of a terminal align, whatever the characters of the keys take") {
  const WorkingDirectory directory;
  const std::string tensor = float32_file({1});
  directory.write("a.npz", npz_file({{"größe.npy", tensor}, {"重み.npy", tensor}, {"x.npy", tensor}}));
  const Result result = directory.run({"info", "a.npz"});
  check_done(result);
  CHECK(result.output ==
        "a.npz\n"
        "  KEY    DTYPE    SHAPE  SIZE  COMPRESSION\n"
        "  größe  float32  (1,)      4  stored\n"
        "  重み   float32  (1,)      4  stored\n"
        "  x      float32  (1,)      4  stored\n");
}

TEST_CASE("info of several archives and files is a table with a line for each tensor") {
  const WorkingDirectory directory{{"d/a.npz", npz_file({{"x.npy", float32_file({1})}})},
                                   {"d/b.npy", float32_file({1})},
                                   {"d/c.npz", npz_file({})}};
  const Result result = directory.run({"info", "d"});
  check_done(result);
  CHECK(result.output ==
        "FILE       DTYPE       SHAPE  SIZE\n"
        "d/a.npz:x  float32     (1,)      4\n"
        "d/b.npy    float32     (1,)      4\n"
        "d/c.npz    no members  -         0\n");
  CHECK(contains(directory.run({"info", "--stats", "d"}).output, "\n\nd/b.npy\n"));
}

TEST_CASE("info --json prints an object for each member") {
  const WorkingDirectory directory{{"a.npz", mixed_archive()}};
  const Result result = directory.run({"info", "--json", "a.npz"});
  check_done(result);
  const std::vector<Json> all = objects(result.output);
  REQUIRE(all.size() == 7);
  CHECK(all[0] == Json::parse(R"({"version": 2, "input": "a.npz", "member": "weights.npy", "status": 0,
    "compression": "deflated", "compressed_bytes": 145, "npy_version": "1.0", "dtype": "float32",
    "byte_order": "little", "shape": [3], "fortran_order": false, "elements": 3, "header_bytes": 128,
    "bytes": 12, "commands": ["clip", "compare", "info", "show"]})"));
  CHECK(all[2] == Json::parse(R"({"version": 2, "input": "a.npz", "member": "mask.npy", "status": 0,
    "compression": "stored", "compressed_bytes": 130, "npy_version": "1.0", "dtype": "bool",
    "byte_order": "little", "shape": [2], "fortran_order": false, "elements": 2, "header_bytes": 128,
    "bytes": 2, "commands": ["clip", "compare", "info", "show"]})"));
  CHECK(all[3]["dtype"] == "|V2");
  CHECK(all[4]["other"] == "not .npy");
  CHECK(all[6]["member"] == "weights");
}

TEST_CASE("info --stats prints for each member what it prints for the member alone") {
  const WorkingDirectory directory{{"a.npz", npz_file({{"x.npy", float32_file({1, 2, 9}), true},
                                                       {"mask.npy", npy_file("|b1", "False", "(1,)", "\1")},
                                                       {"y.npy", float32_file({-1, 5})}})}};
  const auto info = [&](const std::string& path) {
    const Result result = directory.run({"info", "--min", "0", "--percentile", "50,90", path});
    check_done(result);
    return result.output;
  };
  const std::string mask =
      "\na.npz:mask\n"
      "  dtype          bool\n"
      "  shape          (1,), C order\n"
      "  elements       1\n"
      "  data           1 bytes after a 128-byte header, npy 1.0\n"
      "  min            True\n"
      "  max            True\n"
      "  mean           1\n"
      "  std            0\n"
      "  median         True\n"
      "  percentile 50  True\n"
      "  percentile 90  True\n\n"
      "  True  1  100.00 %  " +
      std::string(59, '#') + "\n\n";
  CHECK(info("a.npz") == info("a.npz:x") + mask + info("a.npz:y"));
  const Result json = directory.run({"info", "--json", "--stats", "a.npz"});
  check_done(json);
  const std::vector<Json> all = objects(json.output);
  REQUIRE(all.size() == 3);
  CHECK(all[0]["statistics"]["max"] == 9);
  CHECK(all[1]["statistics"]["median"] == true);
  CHECK(all[2]["statistics"]["min"] == -1);
}

TEST_CASE("A member that cannot be read is an error, and the others are shown") {
  const WorkingDirectory directory;
  const std::string tensor = float32_file({1, 2});
  std::string archive = npz_file({{"good.npy", tensor},
                                  {"short.npy", tensor.substr(0, tensor.size() - 1)},
                                  {"long.npy", tensor + "surplus"},
                                  {"text.npy", "text"},
                                  {"last.npy", tensor}});
  directory.write("a.npz", archive);
  const Result result = directory.run({"info", "--json", "a.npz"});
  CHECK(result.exit_code == 3);
  CHECK(result.error ==
        "clipper: a.npz:short: 8 data bytes expected for float32 (2,), the file has 7\n"
        "clipper: a.npz:long: 7 bytes after the array; to allow this, set --trailing ignore\n"
        "clipper: a.npz:text: not a .npy file but text (CSV?); convert it in Python: "
        "np.save('x.npy', np.loadtxt('FILE', delimiter=','))\n");
  const std::vector<Json> all = objects(result.output);
  REQUIRE(all.size() == 5);
  for (const std::size_t failed : {1U, 2U, 3U}) {
    CHECK(all[failed]["status"] == 3);
    CHECK(all[failed]["input"] == "a.npz");
  }
  CHECK(all[1]["member"] == "short.npy");
  CHECK(all[4]["status"] == 0);
  const Result ignored = directory.run({"info", "--trailing", "ignore", "a.npz"});
  CHECK(contains(ignored.output, "\n  long "));
  CHECK(contains(ignored.output, "\n  last "));
}

TEST_CASE("info --stats finds damaged contents, of which info alone reads only the header") {
  for (const bool is_deflated : {false, true}) {
    const WorkingDirectory directory;
    std::string archive =
        npz_file({{"bad.npy", float32_file({1, 2}), is_deflated}, {"good.npy", float32_file({3})}});
    archive[archive.find(bytes_of<float>({2}))] ^= 1;
    directory.write("a.npz", archive);
    check_done(run_clipper({"info", "a.npz"}, {directory.path()}));
    const Result result = run_clipper({"info", "--stats", "a.npz"}, {directory.path()});
    check_refused(result, 3, "a.npz:bad: ");
    CHECK(result.output.starts_with("a.npz:good\n"));
  }
}

TEST_CASE("info says in one line why an archive cannot be read, and goes on with the next file") {
  const WorkingDirectory directory;
  const std::string archive = npz_file({{"x.npy", float32_file({1})}});
  directory.write("a.npz", archive.substr(0, archive.size() - 1));
  directory.write("b.npz", archive);
  const Result result = directory.run({"info", "--json", "a.npz", "b.npz"});
  check_refused(result, 3, "a.npz: ");
  const std::vector<Json> all = objects(result.output);
  REQUIRE(all.size() == 2);
  CHECK(all[0]["status"] == 3);
  CHECK_FALSE(all[0].contains("member"));
  CHECK(all[1]["member"] == "x.npy");
}

TEST_CASE("info reads |V2 members as bfloat16 with --dtype") {
  const WorkingDirectory directory{
      {"a.npz", npz_file({{"x.npy", npy_file("|V2", "False", "(2,)", "\0\0\x80\x3f"s)}})}};
  const Result result = directory.run({"info", "--dtype", "bfloat16", "a.npz"});
  check_done(result);
  CHECK(contains(result.output, "\n  x    bfloat16, little-endian, written as |V2  (2,)"));
}

}  // namespace clipper::testing
