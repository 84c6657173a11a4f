#include <nlohmann/json.hpp>

#include "cli/clipper.hpp"
#include "support/archives.hpp"

namespace clipper::testing {
namespace {

using Json = nlohmann::json;

Result run_in(const WorkingDirectory& directory, const Words& arguments, std::string_view input = "") {
  return directory.run(arguments, input);
}

/// Checks that clipper succeeds, prints nothing and changes no file.
void check_same(const WorkingDirectory& directory, const Words& arguments, std::string_view input = "") {
  CAPTURE(arguments);
  const auto before = directory.snapshot();
  const Result result = run_in(directory, arguments, input);
  CAPTURE(result.output);
  check_done(result);
  CHECK(result.output.empty());
  CHECK(directory.snapshot() == before);
}

void check_different(const WorkingDirectory& directory, const Words& arguments, const std::string& output,
                     std::string_view input = "") {
  CAPTURE(arguments);
  const auto before = directory.snapshot();
  const Result result = run_in(directory, arguments, input);
  CHECK(result.exit_code == 1);
  CHECK(result.output == output);
  CHECK(result.error.empty());
  CHECK(directory.snapshot() == before);
}

void check_updated(const WorkingDirectory& directory, Words arguments, const std::string& line,
                   const std::string& golden) {
  CAPTURE(arguments);
  arguments.emplace_back("--update-golden");
  const Result result = run_in(directory, arguments);
  CHECK(result.exit_code == 0);
  CHECK(result.output.empty());
  CHECK(result.error == line);
  CHECK(directory.read("golden.npy") == golden);
  check_same(directory, arguments);
}

struct timespec change_of(const std::string& path) {
  return status_of(path).st_ctim;
}

/// The transpose of an m x n matrix, both in C order.
std::vector<float> transposed(const std::vector<float>& elements, std::size_t m, std::size_t n) {
  std::vector<float> result(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) result[i % n * m + i / n] = elements[i];
  return result;
}

}  // namespace

TEST_CASE("--verify prints nothing if the result equals the golden file") {
  const WorkingDirectory directory{{"in.npy", float32_file({-1, 3, 9})},
                                   {"golden.npy", float32_file({0, 3, 6})}};
  const Words words{"--min", "0", "--max", "6", "in.npy", "--verify", "golden.npy"};
  check_same(directory, words);
  check_same(directory, {"--verify=golden.npy", "-q", "--min", "0", "--max", "6", "in.npy"});
  check_same(directory, {"--min", "0", "--max", "6", "-", "--verify", "golden.npy"},
             directory.read("in.npy"));
  check_same(directory, {"--min", "0", "--max", "6", "in.npy", "--verify", "-"},
             directory.read("golden.npy"));
  check_same(directory, {"--min", "0", "--max", "6", "golden.npy", "--verify", "golden.npy"});
  check_same(directory, {"--scale", "2", "--bias", "-3", "--max", "5", "in.npy", "--verify", "result.npy"},
             [&] {
               directory.write("result.npy", float32_file({-5, 3, 5}));
               return "";
             }());
  CHECK(run_in(directory, {"--min", "0", "--max", "6", "in.npy", "--verify", "golden.npy", "-v"}).output ==
        "ok in.npy\n");
}

TEST_CASE("--verify prints differences as compare does") {
  const WorkingDirectory directory{{"in.npy", float32_file({-1, 3, 9, 5})},
                                   {"golden.npy", float32_file({-0.0F, 3, 6, 5.5F})}};
  const Words words{"--min", "0", "--max", "6", "in.npy", "--verify", "golden.npy"};
  check_different(directory, words,
                  "FAIL in.npy: 2 of 4 differ (50 %); first [0] actual 0 expected -0 (bits 0x0 and "
                  "0x80000000); max abs 0.5 at [3]\n");
  Words more = words;
  more.emplace_back("-q");
  check_different(directory, more, "");
  more.back() = "--json";
  const Result result = run_in(directory, more);
  CHECK(result.exit_code == 1);
  const Json json = Json::parse(result.output);
  CHECK(json["actual"] == "in.npy");
  CHECK(json["expected"] == "golden.npy");
  CHECK(json["status"] == 1);
  CHECK(json["mismatches"] == 2);

  directory.write("golden.npy", npy_file("<f4", "False", "(2, 2)", bytes_of<float>({0, 3, 6, 5})));
  check_different(directory, words, "FAIL in.npy: shape (4,), expected (2, 2)\n");
  directory.write("golden.npy", npy_file("<i4", "False", "(4,)", bytes_of<float>({0, 3, 6, 5})));
  check_different(directory, words, "FAIL in.npy: dtype float32, expected int32\n");
}

TEST_CASE("--verify accepts a golden file with another memory order, byte order and header") {
  const WorkingDirectory directory;
  const std::vector<float> elements = scattered_floats(210'000);
  std::vector<float> golden = clipped(elements, 0, 6);
  directory.write("in.npy", npy_file("<f4", "False", "(700, 300)", bytes_of(elements)));
  const auto write_golden = [&] {
    const std::string swapped = byte_swapped(bytes_of(transposed(golden, 700, 300)), 4);
    directory.write("golden.npy", npy_file(">f4", "True", "(700, 300)", swapped, 16));
  };
  write_golden();
  const Words words{"--min", "0", "--max", "6", "in.npy", "--verify", "golden.npy"};
  check_same(directory, words);
  golden[5105] = 100;  // [17, 5]
  write_golden();
  const Result result = run_in(directory, words);
  CHECK(result.exit_code == 1);
  CHECK(result.output.starts_with("FAIL in.npy: 1 of 210000 differ (0.000476 %); first [17, 5] actual "));
}

TEST_CASE("--verify finds one changed element of many with any number of threads") {
  const WorkingDirectory directory;
  const std::vector<float> elements = scattered_floats(500'000);
  directory.write("in.npy", float32_file(elements));
  for (const std::size_t at : {0u, 31'999u, 32'768u, 499'999u}) {
    std::vector<float> golden = clipped(elements, 0, 6);
    golden[at] = std::nextafter(golden[at], 100.0F);
    directory.write("golden.npy", float32_file(golden));
    for (const char* const threads : {"1", "2", "5"}) {
      const Result result = run_in(directory, {"--min", "0", "--max", "6", "in.npy", "--verify", "golden.npy",
                                               "--json", "--threads", threads});
      CAPTURE(at, threads);
      CHECK(result.exit_code == 1);
      const Json json = Json::parse(result.output);
      CHECK(json["mismatches"] == 1);
      CHECK(json["first"][0]["index"][0] == at);
    }
  }
}

TEST_CASE("--verify takes NaN as equal to NaN, and compares nothing after --nan error") {
  const WorkingDirectory directory;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> elements = scattered_floats(300'000);
  elements[70'000] = elements[250'000] = nan;
  directory.write("in.npy", float32_file(elements));
  directory.write("golden.npy", float32_file(elements));
  check_same(directory, {"--max", "20", "in.npy", "--verify", "golden.npy"});
  const Words words{"--max", "20", "--nan", "error", "in.npy", "--verify", "golden.npy"};
  directory.refused(words, 3, "in.npy: NaN at [70000]\n");
  Words updating = words;
  updating.emplace_back("--update-golden");
  directory.refused(updating, 3, "in.npy: NaN at [70000]\n");
  directory.write("golden.npy", float32_file({1}));
  directory.refused(updating, 3, "in.npy: NaN at [70000]");
}

TEST_CASE("--update-golden writes a missing or different golden file, and no equal one") {
  const WorkingDirectory directory{{"in.npy", float32_file({-1, 3, 9})}};
  const std::string golden = float32_file({0, 3, 6});
  const Words words{"--min", "0", "--max", "6", "in.npy", "--verify", "golden.npy"};
  check_updated(directory, words, "clipper: golden.npy: created\n", golden);
  const std::string updated = "clipper: golden.npy: updated\n";
  for (const std::string& other :
       {float32_file({0, 3, 7}), float32_file({0, 3, 6, 6}), float32_file({-0.0F, 3, 6}),
        npy_file("<i4", "False", "(3,)", bytes_of<std::int32_t>({0, 3, 6}))}) {
    directory.write("golden.npy", other);
    set_mode(directory / "golden.npy", 0640);
    check_updated(directory, words, updated, golden);
    CHECK(mode_of(directory / "golden.npy") == 0640);
  }

  // A golden file that differs only in its header is not rewritten.
  Words updating = words;
  updating.emplace_back("--update-golden");
  directory.write("golden.npy", npy_file(">f4", "True", "(3,)", byte_swapped(bytes_of<float>({0, 3, 6}), 4)));
  const struct timespec before = change_of(directory / "golden.npy");
  check_same(directory, updating);
  const struct timespec after = change_of(directory / "golden.npy");
  CHECK(before.tv_sec == after.tv_sec);
  CHECK(before.tv_nsec == after.tv_nsec);
}

TEST_CASE("--update-golden is reported by --json and on standard error unless --quiet") {
  const WorkingDirectory directory{{"in.npy", float32_file({-1, 3, 9})}};
  const Words words{"--min", "0", "in.npy", "--verify", "golden.npy", "--update-golden", "--json"};
  const Result created = run_in(directory, words);
  CHECK(created.exit_code == 0);
  CHECK(Json::parse(created.output) ==
        Json::parse(R"({"version": 2, "actual": "in.npy", "expected": "golden.npy",
    "status": 0, "golden": "created", "reason": "golden.npy is missing"})"));
  CHECK(created.error == "clipper: golden.npy: created\n");
  directory.write("golden.npy", float32_file({0, 3, 8}));
  const Result updated = run_in(directory, words);
  CHECK(updated.exit_code == 0);
  CHECK(Json::parse(updated.output)["mismatches"] == 1);
  CHECK(Json::parse(updated.output)["status"] == 0);
  CHECK(Json::parse(updated.output)["golden"] == "updated");
  directory.write("golden.npy", float32_file({0, 3, 8}));
  check_done(run_in(directory, {"--min", "0", "in.npy", "--verify", "golden.npy", "--update-golden", "-q"}));
  CHECK(directory.read("golden.npy") == float32_file({0, 3, 9}));
}

TEST_CASE("--verify refuses files that are not tensors or cannot be read") {
  const WorkingDirectory directory{{"in.npy", float32_file({-1, 3, 9})},
                                   {"text.npy", "text"},
                                   {"short.npy", float32_file({-1, 3, 9}).substr(0, 130)}};
  for (const Words& more : std::vector<Words>{{}, {"--update-golden"}}) {
    const auto refused = [&](const std::string& in, const std::string& golden, int code, const char* word) {
      directory.refused(joined({"--max", "6", in, "--verify", golden}, more), code, word);
    };
    refused("in.npy", "text.npy", 3, "text.npy: ");
    refused("in.npy", "short.npy", 3, "short.npy: ");
    refused("text.npy", "in.npy", 3, "text.npy: ");
    refused("none.npy", "in.npy", 4, "none.npy: ");
  }
  directory.refused({"--max", "6", "in.npy", "--verify", "none/golden.npy", "--update-golden"}, 4,
                    "none/golden.npy: ");
  directory.refused({"--min", "300", "in.npy", "--min-above-max", "error", "--max", "6", "--verify",
                     "none.npy", "--update-golden"},
                    2, "300");
  const Result result = run_in(directory, {"--max", "6", "in.npy", "--verify", "text.npy", "--json"});
  CHECK(result.exit_code == 3);
  CHECK(Json::parse(result.output)["status"] == 3);
}

TEST_CASE("a golden file that is missing is a difference, and the message names --update-golden") {
  const WorkingDirectory directory{{"in.npy", float32_file({-1, 3, 9})}};
  check_different(directory, {"--max", "6", "in.npy", "--verify", "none/golden.npy"},
                  "FAIL in.npy: no golden; --update-golden writes it\n");
  check_different(directory, {"--max", "6", "in.npy", "in.npy", "--verify", "golden"},
                  "FAIL in.npy: no golden; --update-golden writes it\n"
                  "FAIL in.npy: no golden; --update-golden writes it\n2 pairs: 0 ok, 2 missing\n");
}

TEST_CASE("--verify accepts the differences that compare accepts") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const WorkingDirectory directory{{"in.npy", float32_file({-1, 3, 9, nan})},
                                   {"golden.npy", float32_file({-0.0F, 3.00001F, 6, nan})}};
  const Words words{"--min", "0", "--max", "6", "in.npy", "--verify", "golden.npy"};
  CHECK(directory.run(words).exit_code == 1);
  check_same(directory, joined(words, {"--rtol", "1e-5"}));
  check_same(directory, joined(words, {"--atol", "1e-4"}));
  check_same(directory, joined(words, {"--ulp", "42"}));
  check_same(directory, joined(words, {"--max-mismatch", "50%"}));
  check_same(directory, joined(words, {"--tolerance", "numpy", "--ulp", "42"}));
  CHECK(directory.run(joined(words, {"--tolerance", "torch"})).output.starts_with("FAIL in.npy: 1 of 4 "));
  const Result nans = directory.run(joined(words, {"--atol", "1", "--nan-differ", "--show", "2"}));
  CHECK(nans.exit_code == 1);
  CHECK(nans.output ==
        "FAIL in.npy: 1 of 4 differ (25 %); first [3] actual nan expected nan; max abs 1e-05 at [1]; no "
        "tolerance would let it pass\n  [3] actual nan expected nan\n");
  check_different(
      directory, joined(words, {"--ulp", "1"}),
      "FAIL in.npy: 1 of 4 differ (25 %); first [1] actual 3 expected 3.00001 (1e-05, 42 ulp); max "
      "abs 1e-05 at [1]; would pass with --atol 1.01e-05 or --ulp 42\n");
}

TEST_CASE("--verify compares the results of a tree with the files of a directory, archives by member") {
  const std::string in = float32_file({-1, 3, 9});
  const std::string golden = float32_file({0, 3, 6});
  const std::string mask = npy_file("|b1", "False", "(1,)", "\1");
  const WorkingDirectory directory{
      {"in/a.npy", in}, {"in/t/b.npy", in}, {"in/z.npz", npz_file({{"w.npy", in}, {"mask.npy", mask}})}};
  const Words words{"--min", "0", "--max", "6", "-r", "in", "--verify", "golden"};
  const Words updating = joined(words, {"--update-golden"});
  const Result created = directory.run(updating);
  CHECK(created.exit_code == 0);
  CHECK(created.output == "3 pairs: 0 ok, 3 created\n");
  CHECK(directory.read("golden/t/b.npy") == golden);
  const auto all_same = [&](const Words& arguments, const std::string& line) {
    const auto before = directory.snapshot();
    const Result result = directory.run(arguments);
    CHECK(result.exit_code == 0);
    CHECK(result.output == line);
    CHECK(result.error.empty());
    CHECK(directory.snapshot() == before);
  };
  all_same(words, "4 pairs: 4 ok\n");
  all_same(updating, "4 pairs: 4 ok\n");
  const Words bounds{"--min", "0", "--max", "6"};
  all_same(joined(bounds, {"in/a.npy", "in/t/b.npy", "--verify", "golden", "--relative-to", "in"}),
           "2 pairs: 2 ok\n");
  all_same(joined(bounds, {"in/a.npy", "--flat", "--verify", "golden/"}), "1 pair: 1 ok\n");
  directory.write("list", "in/a.npy\n");
  all_same(joined(bounds, {"--files-from", "list", "--flat", "--verify", "golden"}), "1 pair: 1 ok\n");
  all_same(joined(bounds, {"--verify", "golden/z.npz", "in/z.npz"}), "");

  // Only what fails is written: b, and the archive, of which one member differs and one is missing.
  directory.write("golden/t/b.npy", float32_file({0, 3, 5}));
  directory.write("golden/z.npz", npz_file({{"w.npy", float32_file({0, 3, 5})}, {"old.npy", in}}));
  const Result different = directory.run(words);
  CHECK(different.exit_code == 1);
  CHECK(
      different.output ==
      "FAIL in/t/b.npy: 1 of 3 differ (33.3 %); first [2] actual 6 expected 5 (1, 2097152 ulp); max abs 1 at "
      "[2]\nFAIL in/z.npz:w: 1 of 3 differ (33.3 %); first [2] actual 6 expected 5 (1, 2097152 ulp); max abs "
      "1 at [2]\nFAIL in/z.npz:old: is missing\nFAIL in/z.npz:mask: golden/z.npz:mask is missing\n"
      "5 pairs: 1 ok, 2 FAIL, 2 missing\n");
  const struct timespec before = change_of(directory / "golden/a.npy");
  const Result updated = directory.run(updating);
  CHECK(updated.exit_code == 0);
  CHECK(updated.error == "clipper: golden/t/b.npy: updated\nclipper: golden/z.npz: updated\n");
  const struct timespec after = change_of(directory / "golden/a.npy");
  CHECK((before.tv_sec == after.tv_sec && before.tv_nsec == after.tv_nsec));
  all_same(words, "4 pairs: 4 ok\n");
}

TEST_CASE("a golden file below GOLDEN whose input has vanished fails, and is never deleted") {
  const std::string file = float32_file({1});
  const WorkingDirectory directory{{"in/a.npy", file},       {"in/t/b.npy", file},     {"golden/a.npy", file},
                                   {"golden/t/b.npy", file}, {"golden/t/c.npy", file}, {"golden/note", ""}};
  const auto check = [&](const Words& more, const std::string& output) {
    CAPTURE(more);
    const Result result = directory.run(joined({"--max", "6", "--verify", "golden"}, more));
    CHECK(result.exit_code == (contains(output, "FAIL") ? 1 : 0));
    CHECK(result.output == output);
    CHECK(directory.read("golden/t/c.npy") == file);
  };
  const std::string lost = "FAIL in/t/c.npy: is missing\n";
  check({"-r", "in"}, lost + "3 pairs: 2 ok, 1 missing\n");
  check({"-r", "in/"}, lost + "3 pairs: 2 ok, 1 missing\n");
  check({"-r", "in", "--update-golden"}, lost + "3 pairs: 2 ok, 1 missing\n");
  check({"-r", "in", "--include", "t/*.npy"}, lost + "2 pairs: 1 ok, 1 missing\n");
  check({"-r", "in", "--include", "a*"}, "1 pair: 1 ok\n");
  check({"-r", "in", "--exclude", "*c.npy"}, "2 pairs: 2 ok\n");
  check({"-r", "in/t", "--relative-to", "in"}, lost + "2 pairs: 1 ok, 1 missing\n");
  check({"in/a.npy", "in/t/b.npy", "--relative-to", "in"}, "2 pairs: 2 ok\n");
  directory.write("list", "in/a.npy\n");
  check({"-r", "--files-from", "list", "--relative-to", "in"}, "1 pair: 1 ok\n");
  directory.write("flat/a.npy", file);
  directory.write("flat/b.npy", file);
  directory.write("flat/d.npy", file);
  const Result flat = directory.run({"--max", "6", "--flat", "-r", "in", "--verify", "flat"});
  CHECK(flat.output == "FAIL in/d.npy: is missing\n3 pairs: 2 ok, 1 missing\n");
}

TEST_CASE("--dtype says what inputs are, and raw golden files are what the result is") {
  const WorkingDirectory directory{{"in.npy", float32_file({1, 9})},
                                   {"raw.npy", npy_file("|V2", "False", "(2,)", {"\x80\x3f\0\x40", 4})}};
  for (const Words& words :
       std::vector<Words>{{"--to", "float8_e4m3fn", "in.npy"},
                          {"--to", "float8_e5m2", "in.npy"},
                          {"--to", "bfloat16", "in.npy"},
                          {"--dtype", "bfloat16", "--max", "1", "raw.npy"},
                          {"--dtype", "bfloat16", "--to", "float32", "raw.npy"},
                          {"--dtype", "bfloat16", "--to", "float8_e8m0fnu", "raw.npy"}}) {
    CAPTURE(words);
    std::filesystem::remove(directory / "golden.npy");
    CHECK(directory.run(joined(words, {"--verify", "golden.npy", "--update-golden"})).exit_code == 0);
    check_same(directory, joined(words, {"--verify", "golden.npy"}));
  }
  check_same(directory,
             {"--max", "9", "--to", "bfloat16", "raw.npy", "--dtype", "bfloat16", "--verify", "raw.npy"});
  const Words verify{"--max", "9", "in.npy", "--verify", "raw.npy"};
  check_different(directory, verify,
                  "FAIL in.npy: dtype float32, expected |V2; --golden-dtype says what it is\n");
  check_different(directory, joined(verify, {"--golden-dtype", "bfloat16"}),
                  "FAIL in.npy: dtype float32, expected bfloat16\n");
  directory.refused({"--max", "9", "in.npy", "out.npy", "--golden-dtype", "bfloat16"}, 2,
                    "--golden-dtype needs --verify");
}

TEST_CASE("--dtype and --golden-dtype say what integers of golden files are") {
  const WorkingDirectory directory{
      {"u2.npy", npy_file("<u2", "False", "(2,)", {"\x80\x3f\xe0\x40", 4})},
      {"clipped.npy", npy_file(">i2", "False", "(2,)", {"\x3f\x80\x40\xc0", 4})},
      {"u1.npy", npy_file("|u1", "False", "(2,)", {"\x38\x7e", 2})},
      {"in.npy", float32_file({1, 6})},
      {"a.npz", npz_file({{"a.npy", npy_file("<u2", "False", "(1,)", {"\xe0\x40", 2})},
                          {"b.npy", npy_file("<u2", "False", "(1,)", {"\xe0\x40", 2})}})}};
  for (const Words& words :
       {Words{"--dtype", "bfloat16", "u2.npy"}, Words{"--dtype", "float8_e4m3fn", "u1.npy"},
        Words{"--dtype", "bfloat16", "--member", "a", "a.npz"}}) {
    const Words verify = joined({"--max", "6", "--verify", "golden"}, words);
    CAPTURE(words);
    std::filesystem::remove(directory / "golden");
    CHECK(directory.run(joined(verify, {"--update-golden"})).exit_code == 0);
    check_same(directory, verify);
  }
  const Words verify{"--max", "6", "--verify", "clipped.npy"};
  check_same(directory, joined(verify, {"--dtype", "bfloat16", "u2.npy"}));
  check_same(directory, joined(verify, {"--to", "bfloat16", "--golden-dtype", "bfloat16", "in.npy"}));
  check_different(directory, joined(verify, {"--to", "bfloat16", "in.npy"}),
                  "FAIL in.npy: dtype bfloat16, expected int16\n");
  check_different(directory, {"--max", "6", "--dtype", "bfloat16", "u2.npy", "--verify", "in.npy"},
                  "FAIL u2.npy: dtype bfloat16, expected float32\n");
  directory.refused({"--max", "6", "in.npy", "--verify", "in.npy", "--golden-dtype", "bfloat16"}, 3,
                    "in.npy: the file's dtype is '<f4' (float32), but --golden-dtype says bfloat16");
}

TEST_CASE("--dtype says nothing about members that are copied") {
  const WorkingDirectory directory{
      {"a.npz", npz_file({{"a.npy", npy_file("|V2", "False", "(1,)", {"\xe0\x40", 2})},
                          {"b.npy", float32_file({1})},
                          {"c.npy", npy_file("|V2", "False", "(1,)", {"\xe0\x40", 2})}})}};
  const Words verify{"--dtype", "bfloat16", "--max", "6", "--member", "a", "a.npz", "--verify", "golden.npz"};
  CHECK(directory.run(joined(verify, {"--update-golden"})).exit_code == 0);
  check_same(directory, verify);
}

TEST_CASE("directories and FIFOs called .npy below GOLDEN are no golden files") {
  const WorkingDirectory directory{{"in/x.npy/in.npy", float32_file({1})}};
  for (const Words& flat : {Words{}, Words{"--flat"}}) {
    CAPTURE(flat);
    const std::string golden = flat.empty() ? "golden" : "flat";
    directory.done(joined(flat, {"--max", "6", "-r", "in", "--output-dir", golden}));
    make_fifo(directory / (golden + "/fifo.npy"));
    check_same(directory, joined(flat, {"--max", "6", "-r", "in", "-q", "--verify", golden}));
  }
}

TEST_CASE("a line or a report that gets lost after a golden file was written ends with 6") {
  needs_posix("/dev/full");
  const WorkingDirectory directory{{"in.npy", float32_file({-1, 3, 9})}};
  const Words reporting{"--min",           "0",        "in.npy",         "--verify", "golden.npy",
                        "--update-golden", "--report", "junit=/dev/full"};
  const Result reported = directory.run(reporting);
  CHECK(reported.exit_code == 6);
  CHECK(contains(reported.error, "/dev/full: cannot be written: No space left on device"));
  CHECK(directory.read("golden.npy") == float32_file({0, 3, 9}));
  directory.refused(reporting, 4, "/dev/full: cannot be written");
  std::filesystem::remove(directory / "golden.npy");
  const Words words{"--min", "0", "in.npy", "--verify", "golden.npy", "--update-golden", "--json"};
  const Result updated = directory.run_in_shell("\"$@\" >/dev/full", words);
  CHECK(updated.exit_code == 6);
  CHECK(contains(updated.error, "standard output: cannot be written: No space left on device"));
  CHECK(directory.read("golden.npy") == float32_file({0, 3, 9}));
  check_refused(directory.run_in_shell("\"$@\" >/dev/full", words), 4,
                "standard output: cannot be written: No space left on device");
}

TEST_CASE("--verify of many inputs goes on after an input that cannot be read") {
  const WorkingDirectory directory{
      {"a.npy", float32_file({1})}, {"text.npy", "text"}, {"golden/a.npy", float32_file({1})}};
  const Result result =
      directory.run({"--max", "6", "text.npy", "none.npy", "a.npy", "--verify", "golden", "-v"});
  CHECK(result.exit_code == 4);
  CHECK(result.output == "ok a.npy\n3 pairs: 1 ok, 2 not compared\n");
  CHECK(contains(result.error, "clipper: text.npy: "));
  CHECK(contains(result.error, "clipper: none.npy: cannot be opened"));
}

TEST_CASE("wrong usage of --verify is refused") {
  const WorkingDirectory directory;
  const std::string in = float32_file({-1, 3, 9});
  directory.write("in.npy", in);
  directory.write("golden.npy", float32_file({1}));
  const auto check_usage = [&](Words arguments, std::string_view word) {
    arguments.insert(arguments.end(), {"--max", "6"});
    directory.refused(arguments, 2, word, in);
  };
  for (const Words& other : std::vector<Words>{{"--in-place"},
                                               {"--output", "x"},
                                               {"--output-dir", "x"},
                                               {"--direct"},
                                               {"--sync"},
                                               {"--no-clobber"},
                                               {"--dry-run"},
                                               {"--fail-if-clipped", "5%"}}) {
    check_usage(joined({"in.npy", "--verify", "golden.npy"}, other),
                fmt::format("--verify and {} cannot be used together", other[0]));
  }
  check_usage({"in.npy", "out.npy", "--verify", "golden.npy"},
              "--verify: golden.npy is not a directory; with several inputs, GOLDEN is the directory of");
  check_usage({"in.npy", "out.npy", "--ulp", "1"}, "--ulp needs --verify");
  check_usage({"in.npy", "--verify", "golden.npy", "--flat"}, "--flat needs a directory as GOLDEN");
  check_usage({"-", "--verify", "./"},
              "--verify of a directory cannot name the golden file of standard input");
  check_usage({"-r", ".", "--verify", "./"}, "--verify ./ lies within the input directory .");
  check_usage({"in.npy", "in.npy", "--verify", "golden/", "--update-golden"},
              "in.npy and in.npy would both be written to golden/in.npy");
  check_usage({"--verify", "golden.npy"}, "IN is missing");
  check_usage({"in.npy", "--verify", ""}, "--verify");
  check_usage({"-", "--verify", "-"}, "standard input cannot be both");
  check_usage({"in.npy", "out.npy", "--update-golden"}, "--update-golden needs --verify");
  check_usage({"-", "--verify", "golden.npy", "--update-golden"}, "standard input cannot be IN or GOLDEN");
  check_usage({"-", "--verify", "none.npy", "--update-golden"}, "standard input cannot be IN or GOLDEN");
  check_usage({"in.npy", "--verify", "-", "--update-golden"}, "standard input cannot be IN or GOLDEN");
  check_usage({"in.npy", "--verify", "in.npy", "--update-golden"}, "in.npy and IN are the same file");
}

}  // namespace clipper::testing
