#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "clipper.hpp"
#include "tensors.hpp"

namespace clipper::testing {
namespace {

using Json = nlohmann::json;

Result run_compare(const TemporaryDirectory& directory, Words arguments, std::string_view input = "") {
  arguments.insert(arguments.begin(), "compare");
  return run_clipper(arguments, {directory.path()}, input);
}

void check_same(const TemporaryDirectory& directory, const Words& arguments, std::string_view input = "") {
  const Result result = run_compare(directory, arguments, input);
  CAPTURE(arguments, result.output, result.error);
  check_done(result);
  CHECK(result.output.empty());
}

/// It says so on standard output, and nothing else anywhere.
void check_different(const TemporaryDirectory& directory, const Words& arguments, const std::string& output,
                     std::string_view input = "") {
  const Result result = run_compare(directory, arguments, input);
  CAPTURE(arguments);
  CHECK(result.exit_code == 1);
  CHECK(result.output == output);
  CHECK(result.error.empty());
}

/// 2 x 3 x 4 elements from 0 in C order, as bytes in either order.
std::vector<float> counted(bool fortran_order) {
  std::vector<float> elements(24);
  for (std::size_t i = 0; i < 24; ++i) {
    const std::size_t x = i / 12, y = i / 4 % 3, z = i % 4;
    elements[fortran_order ? x + 2 * y + 6 * z : i] = static_cast<float>(i);
  }
  return elements;
}

std::string counted_file(bool fortran_order, const std::vector<float>& elements) {
  return npy_file("<f4", fortran_order ? "True" : "False", "(2, 3, 4)", bytes_of(elements));
}

std::string int64_file(const std::vector<std::int64_t>& elements) {
  return npy_file("<i8", "False", fmt::format("({},)", elements.size()), bytes_of(elements));
}

}  // namespace

TEST_CASE("compare says nothing of files that are the same, whatever their headers") {
  const TemporaryDirectory directory;
  const std::string elements = bytes_of(scattered_floats(1000));
  write_file(directory / "a.npy", npy_file("<f4", "False", "(1000,)", elements));
  write_file(directory / "order.npy", npy_file("<f4", "True", "(1000,)", elements, 16));
  write_file(directory / "big.npy", npy_file(">f4", "False", "(1000,)", byte_swapped(elements, 4)));
  for (const char* const name : {"a.npy", "order.npy", "big.npy"}) {
    check_same(directory, {"a.npy", name});
    check_same(directory, {"--bits", name, "a.npy"});
  }
  check_same(directory, {"--bytes", "a.npy", "a.npy"});
  check_same(directory, {"--header", "strict", "a.npy", "a.npy"});
  check_different(directory, {"--bytes", "a.npy", "order.npy"}, "FAIL a.npy: 4128 bytes, expected 4080\n");
  check_different(directory, {"--header", "strict", "a.npy", "big.npy"},
                  "FAIL a.npy: the headers differ at byte 21\n");
  check_same(directory, {"--header=semantic", "a.npy", "big.npy"});
  CHECK(run_compare(directory, {"-v", "a.npy", "a.npy"}).output == "ok a.npy\n");
}

TEST_CASE("compare says what is different, and which tolerance would do") {
  const TemporaryDirectory directory;
  write_file(directory / "a.npy", float32_file({1, 5.9999995F, 3, 7.5F}));
  write_file(directory / "e.npy", float32_file({1, 6, 3, 7.25F}));
  const std::string line =
      "FAIL a.npy: 2 of 4 differ (50 %); first [1] actual 5.9999995 expected 6 (4.8e-07, 1 ulp); "
      "max abs 0.25 at [3]; would pass with --atol 0.25 or --ulp 524288\n";
  check_different(directory, {"a.npy", "e.npy"}, line);
  check_different(directory, {"--show", "10", "a.npy", "e.npy"},
                  line +
                      "  [1] actual 5.9999995 expected 6 (4.8e-07, 1 ulp)\n"
                      "  [3] actual 7.5 expected 7.25 (0.25, 524288 ulp)\n");
  check_different(directory, {"--show", "1", "a.npy", "e.npy"},
                  line + "  [1] actual 5.9999995 expected 6 (4.8e-07, 1 ulp)\n");
  check_different(directory, {"--quiet", "a.npy", "e.npy"}, "");
  check_same(directory, {"--atol", "0.25", "a.npy", "e.npy"});
  check_same(directory, {"--ulp", "524288", "a.npy", "e.npy"});
  check_same(directory, {"--rtol", "0.04", "a.npy", "e.npy"});
  check_different(directory, {"--rtol", "0.03", "a.npy", "e.npy"},
                  "FAIL a.npy: 1 of 4 differ (25 %); first [3] actual 7.5 expected 7.25 (0.25, 524288 ulp); "
                  "max abs 0.25 at [3]; would pass with --atol 0.033 or --ulp 524288\n");
  check_same(directory, {"--rtol", "0.03", "--atol", "0.033", "a.npy", "e.npy"});
}

TEST_CASE("a tolerance that compare offers lets the files pass") {
  const TemporaryDirectory directory;
  const std::vector<float> actual = scattered_floats(64);
  for (std::size_t i = 0; i + 1 < actual.size(); ++i) {
    write_file(directory / "a.npy", float32_file({actual[i]}));
    write_file(directory / "e.npy", float32_file({actual[i + 1]}));
    const std::string text = run_compare(directory, {"--rtol", "0.01", "a.npy", "e.npy"}).output;
    const std::string after = text.substr(text.find("--atol ") + 7);
    check_same(directory, {"--rtol", "0.01", "--atol", after.substr(0, after.find(' ')), "a.npy", "e.npy"});
  }
}

TEST_CASE("compare does not pass what others do") {
  const TemporaryDirectory directory;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  write_file(directory / "a.npy", int64_file({9007199254740993}));
  write_file(directory / "e.npy", int64_file({9007199254740992}));
  check_different(directory, {"a.npy", "e.npy"},
                  "FAIL a.npy: 1 of 1 differ (100 %); first [0] actual 9007199254740993 expected "
                  "9007199254740992 (1); max abs 1 at [0]; would pass with --atol 1\n");
  write_file(directory / "nan.npy", float32_file({nan, inf, -inf, 0.0F}));
  write_file(directory / "number.npy", float32_file({1, inf, -inf, -0.0F}));
  write_file(directory / "finite.npy", float32_file({nan, 1, -inf, 0}));
  check_different(directory, {"--atol", "1e300", "--ulp", "4294967295", "nan.npy", "number.npy"},
                  "FAIL nan.npy: 1 of 4 differ (25 %); first [0] actual nan expected 1; "
                  "no tolerance would let it pass\n");
  check_different(directory, {"--rtol", "1", "--ulp", "4294967295", "nan.npy", "finite.npy"},
                  "FAIL nan.npy: 1 of 4 differ (25 %); first [1] actual inf expected 1 (inf); "
                  "max abs inf at [1]; no tolerance would let it pass\n");
  check_same(directory, {"nan.npy", "nan.npy"});
  check_different(directory, {"--nan", "differ", "nan.npy", "nan.npy"},
                  "FAIL nan.npy: 1 of 4 differ (25 %); first [0] actual nan expected nan; "
                  "no tolerance would let it pass\n");
  write_file(directory / "zero.npy", float32_file({0.0F}));
  write_file(directory / "minus.npy", float32_file({-0.0F}));
  check_same(directory, {"zero.npy", "minus.npy"});
  check_different(directory, {"--bits", "zero.npy", "minus.npy"},
                  "FAIL zero.npy: 1 of 1 differ (100 %); first [0] actual 0 expected -0 "
                  "(bits 0x0 and 0x80000000)\n");
}

TEST_CASE("dtype and shape must be the same") {
  const TemporaryDirectory directory;
  write_file(directory / "f.npy", float32_file({1, 2}));
  write_file(directory / "i.npy", npy_file("<i4", "False", "(2,)", bytes_of<std::int32_t>({1, 2})));
  write_file(directory / "row.npy", npy_file("<f4", "False", "(1, 2)", bytes_of<float>({1, 2})));
  check_different(directory, {"f.npy", "i.npy"}, "FAIL f.npy: dtype float32, expected int32\n");
  check_different(directory, {"f.npy", "row.npy"}, "FAIL f.npy: shape (2,), expected (1, 2)\n");
  const Json json = Json::parse(run_compare(directory, {"--json", "f.npy", "row.npy"}).output);
  CHECK(json == Json::parse(R"json({"version": 1, "actual": "f.npy", "expected": "row.npy", "status": 1,
    "reason": "shape (2,), expected (1, 2)"
})json"));
}

TEST_CASE("tensors of different memory orders are compared by index") {
  const TemporaryDirectory directory;
  write_file(directory / "c.npy", counted_file(false, counted(false)));
  write_file(directory / "f.npy", counted_file(true, counted(true)));
  check_same(directory, {"c.npy", "f.npy"});
  check_same(directory, {"f.npy", "c.npy"});
  std::vector<float> changed = counted(true);
  changed[0 + 2 * 1 + 6 * 3] = 100;  // [0, 1, 3]
  changed[1 + 2 * 0 + 6 * 0] = 99;   // [1, 0, 0]
  write_file(directory / "f.npy", counted_file(true, changed));
  CHECK(run_compare(directory, {"f.npy", "c.npy"}).output.find("first [0, 1, 3] actual 100 expected 7") !=
        std::string::npos);
  CHECK(run_compare(directory, {"c.npy", "f.npy"}).output.find("first [1, 0, 0] actual 12 expected 99") !=
        std::string::npos);
  check_refused(run_compare(directory, {"-", "c.npy"}, read_file(directory / "f.npy")), 3,
                "standard input: is in Fortran order");
}

TEST_CASE("large tensors of different memory orders, of shapes with short and long axes") {
  const TemporaryDirectory directory;
  using Shape = std::vector<std::size_t>;
  for (const Shape& shape : std::vector<Shape>{{700, 300},
                                               {3, 50'000, 2},
                                               {100'000, 2},
                                               {2, 100'000},
                                               {1, 300, 1, 400, 1},
                                               {13, 11, 7, 5, 3, 17}}) {
    std::size_t count = 1;
    std::string text;
    Shape last;
    for (const std::size_t extent : shape) {
      count *= extent;
      text += fmt::format("{}, ", extent);
      last.push_back(extent - 1);
    }
    std::vector<std::uint32_t> c(count);
    std::vector<std::uint32_t> fortran(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t rest = i, position = 0, stride = count;
      for (std::size_t axis = shape.size(); axis-- > 0;) {
        stride /= shape[axis];
        position += rest % shape[axis] * stride;
        rest /= shape[axis];
      }
      c[i] = fortran[position] = static_cast<std::uint32_t>(i);
    }
    CAPTURE(text);
    write_file(directory / "c.npy", npy_file("<u4", "False", "(" + text + ")", bytes_of(c)));
    write_file(directory / "f.npy", npy_file("<u4", "True", "(" + text + ")", bytes_of(fortran)));
    check_same(directory, {"c.npy", "f.npy"});
    check_same(directory, {"--threads", "1", "f.npy", "c.npy"});
    fortran.back() += 5;
    write_file(directory / "f.npy", npy_file("<u4", "True", "(" + text + ")", bytes_of(fortran)));
    const Json json = Json::parse(run_compare(directory, {"--json", "f.npy", "c.npy"}).output);
    CHECK(json["mismatches"] == 1);
    CHECK(json["compared"] == count);
    CHECK(json["first"][0]["index"].get<Shape>() == last);
    CHECK(json["first"][0]["difference"] == "5");
  }
}

TEST_CASE("compare --json has everything as text and numbers") {
  const TemporaryDirectory directory;
  write_file(directory / "a.npy", float32_file({1, 5.9999995F, std::numeric_limits<float>::infinity()}));
  write_file(directory / "e.npy", float32_file({1, 6, 2}));
  const Result result = run_compare(directory, {"--json", "--show", "2", "a.npy", "e.npy"});
  CHECK(result.exit_code == 1);
  CHECK(Json::parse(result.output) == Json::parse(R"({"version": 1, "actual": "a.npy", "expected": "e.npy",
    "status": 1, "dtype": "float32", "shape": [3], "compared": 3, "mismatches": 2,
    "largest": {"difference": "inf", "index": [2]}, "passes_with": {"atol": null, "ulp": null},
    "first": [
      {"index": [1], "actual": "5.9999995", "expected": "6", "difference": "4.76837158203125e-07", "ulp": 1},
      {"index": [2], "actual": "inf", "expected": "2", "difference": "inf", "ulp": null}]})"));
  const Json same = Json::parse(run_compare(directory, {"--json", "a.npy", "a.npy"}).output);
  CHECK(same == Json::parse(R"({"version": 1, "actual": "a.npy", "expected": "a.npy", "status": 0,
    "dtype": "float32", "shape": [3], "compared": 3, "mismatches": 0, "largest": null, "passes_with": null,
    "first": []})"));
}

TEST_CASE("a number of mismatches can be allowed") {
  const TemporaryDirectory directory;
  write_file(directory / "a.npy", int64_file({1, 2, 3, 4, 5, 6, 7, 8}));
  write_file(directory / "e.npy", int64_file({1, 2, 0, 4, 5, 0, 7, 8}));
  check_same(directory, {"--max-mismatch", "2", "a.npy", "e.npy"});
  check_same(directory, {"--max-mismatch", "25%", "a.npy", "e.npy"});
  for (const char* const allowed : {"1", "0", "24.9%"})
    CHECK(run_compare(directory, {"--max-mismatch", allowed, "a.npy", "e.npy"}).exit_code == 1);
  CHECK(run_compare(directory, {"-v", "--max-mismatch", "2", "a.npy", "e.npy"})
            .output.starts_with("ok a.npy: 2 of 8 differ (25 %); first [2] actual 3 expected 0 (3); "));
}

TEST_CASE("directories are paired by path; a missing file is a difference; trouble does not stop it") {
  const TemporaryDirectory directory;
  for (const char* const name : {"got", "got/sub", "want", "want/sub"})
    std::filesystem::create_directory(directory / name);
  write_file(directory / "got/a.npy", float32_file({1}));
  write_file(directory / "want/a.npy", float32_file({1}));
  write_file(directory / "got/sub/b.npy", float32_file({1}));
  write_file(directory / "want/sub/b.npy", float32_file({1}));
  write_file(directory / "got/readme.txt", "");
  check_same(directory, {"got", "want"});

  write_file(directory / "want/sub/b.npy", float32_file({2}));
  write_file(directory / "got/only.npy", float32_file({1}));
  write_file(directory / "want/sub/c.npy", float32_file({1}));
  const std::string lines =
      "FAIL got/only.npy: want/only.npy is missing\n"
      "FAIL got/sub/b.npy: 1 of 1 differ (100 %); first [0] actual 1 expected 2 (1, 8388608 ulp); max abs 1 "
      "at "
      "[0]; would pass with --atol 1 or --ulp 8388608\n"
      "FAIL got/sub/c.npy: is missing\n";
  check_different(directory, {"got", "want"}, lines);
  CHECK(run_compare(directory, {"-v", "got/", "want"}).output.starts_with("ok got/a.npy\n"));

  write_file(directory / "want/a.npy", "text");
  const Result result = run_compare(directory, {"got", "want"});
  CHECK(result.exit_code == 3);
  CHECK(result.output == lines);
  CHECK(result.error.starts_with("clipper: want/a.npy: "));
  const Result json = run_compare(directory, {"--json", "got", "want"});
  std::istringstream output(json.output);
  std::vector<int> statuses;
  for (std::string line; std::getline(output, line);) statuses.push_back(Json::parse(line)["status"]);
  CHECK(statuses == std::vector<int>{3, 1, 1, 1});
  CHECK(run_compare(directory, {"-q", "got", "want"}).output.empty());
}

TEST_CASE("streams are compared in order") {
  const TemporaryDirectory directory;
  const std::vector<float> elements = scattered_floats(300'000);
  const std::string file = float32_file(elements);
  write_file(directory / "a.npy", file);
  check_same(directory, {"-", "a.npy"}, file);
  check_same(directory, {"a.npy", "-"}, file);
  std::vector<float> changed = elements;
  changed[299'999] = 50;
  const Result result = run_compare(directory, {"--json", "-", "a.npy"}, float32_file(changed));
  CHECK(result.exit_code == 1);
  CHECK(Json::parse(result.output)["first"][0]["index"] == Json::parse("[299999]"));
  check_refused(run_compare(directory, {"-", "a.npy"}, file.substr(0, file.size() - 1)), 3,
                "standard input: ends");
  check_refused(run_compare(directory, {"-", "a.npy"}, file + "x"), 3, "standard input: bytes after");
  check_refused(run_compare(directory, {"--bytes", "-", "a.npy"}, file), 3, "--bytes compares only files");
}

TEST_CASE("one changed element of many is found with any number of threads") {
  const TemporaryDirectory directory;
  const std::vector<float> elements = scattered_floats(500'000);
  write_file(directory / "e.npy", float32_file(elements));
  for (const std::size_t at : {0u, 31'000u, 32'767u, 32'768u, 499'999u}) {
    std::vector<float> changed = elements;
    changed[at] += 64;
    write_file(directory / "a.npy", float32_file(changed));
    for (const char* const threads : {"1", "2", "5"}) {
      const Result result = run_compare(directory, {"--json", "--threads", threads, "a.npy", "e.npy"});
      CAPTURE(at, threads);
      CHECK(result.exit_code == 1);
      const Json json = Json::parse(result.output);
      CHECK(json["mismatches"] == 1);
      CHECK(json["largest"]["index"][0] == at);
    }
  }
}

TEST_CASE("compare of empty tensors and scalars, and of bfloat16 that was saved as |V2") {
  const TemporaryDirectory directory;
  write_file(directory / "empty.npy", npy_file("<f8", "False", "(3, 0)", ""));
  write_file(directory / "fortran.npy", npy_file("<f8", "True", "(3, 0)", ""));
  check_same(directory, {"empty.npy", "fortran.npy"});
  write_file(directory / "scalar.npy", npy_file("<f8", "False", "()", bytes_of<double>({1})));
  write_file(directory / "other.npy", npy_file("<f8", "False", "()", bytes_of<double>({2})));
  CHECK(run_compare(directory, {"scalar.npy", "other.npy"}).output.find("first [] actual 1 expected 2") !=
        std::string::npos);
  write_file(directory / "v.npy", npy_file("|V2", "False", "(1,)", {"\x80\x3f", 2}));
  write_file(directory / "b.npy", npy_file("<V2", "False", "(1,)", {"\x80\x3f", 2}));
  check_refused(run_compare(directory, {"v.npy", "b.npy"}), 3, "--dtype bfloat16");
  check_same(directory, {"--dtype", "bfloat16", "v.npy", "b.npy"});
}

TEST_CASE("wrong usage of compare, and files that are not there") {
  const TemporaryDirectory directory;
  write_file(directory / "a.npy", float32_file({1}));
  std::filesystem::create_directory(directory / "empty");
  const auto check_usage = [&](const Words& arguments, std::string_view word) {
    const Result result = run_compare(directory, arguments);
    CAPTURE(arguments);
    check_refused(result, 2, word);
    CHECK(result.output.empty());
  };
  check_usage({}, "ACTUAL is missing");
  check_usage({"a.npy"}, "EXPECTED is missing");
  check_usage({"a.npy", "a.npy", "a.npy"}, "a.npy");
  check_usage({"-", "-"}, "both");
  check_usage({"empty", "a.npy"}, "empty is a directory and a.npy is not");
  check_usage({"a.npy", "empty"}, "empty is a directory and a.npy is not");
  for (const char* const wrong : {"-1", "inf", "nan", "x", "1e999", ""}) {
    check_usage({"--atol", wrong, "a.npy", "a.npy"}, "--atol: '");
    check_usage({"--rtol", wrong, "a.npy", "a.npy"}, "--rtol: '");
  }
  for (const char* const wrong : {"-1", "1.5", "x"}) {
    check_usage({"--ulp", wrong, "a.npy", "a.npy"}, "--ulp: '");
    check_usage({"--max-mismatch", wrong, "a.npy", "a.npy"}, "--max-mismatch: '");
  }
  check_usage({"--max-mismatch", "101%", "a.npy", "a.npy"}, "--max-mismatch: '101%'");
  check_usage({"--show", "1001", "a.npy", "a.npy"}, "--show: '1001'");
  check_usage({"--nan", "same", "a.npy", "a.npy"}, "--nan: 'same'");
  check_usage({"--header", "loose", "a.npy", "a.npy"}, "--header: 'loose'");
  check_usage({"--bits", "--atol", "1", "a.npy", "a.npy"}, "--atol");
  check_usage({"--bits", "--bytes", "a.npy", "a.npy"}, "--bits");
  check_usage({"--json", "--quiet", "a.npy", "a.npy"}, "--json");
  check_refused(run_compare(directory, {"a.npy", "none.npy"}), 4, "none.npy: ");
  check_refused(run_compare(directory, {"none.npy", "a.npy"}), 4, "none.npy: ");
  check_refused(run_compare(directory, {"empty", "empty"}), 3, "no .npy file");
  CHECK(run_compare(directory, {"--help"}).output.find("--max-mismatch") != std::string::npos);
}

}  // namespace clipper::testing
