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

}  // namespace clipper::testing
