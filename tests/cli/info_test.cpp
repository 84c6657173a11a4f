#include <nlohmann/json.hpp>

#include "cli/clipper.hpp"
#include "support/archives.hpp"

namespace clipper::testing {
namespace {

using Json = nlohmann::json;

std::vector<Json> objects(const std::string& output) {
  std::vector<Json> result;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) result.push_back(Json::parse(line));
  return result;
}

/// A number's decimal, whether it is a JSON number or a string.
std::string text_of(const Json& number) {
  return number.is_string() ? number.get<std::string>() : number.dump();
}

/// The object that `clipper info --json` prints for one file.
Json info_of(Words arguments, const Process::Settings& settings = {}, std::string_view input = "") {
  arguments.insert(arguments.begin(), {"info", "--json"});
  const Result result = run_clipper(arguments, settings, input);
  CAPTURE(arguments, result.output);
  check_done(result);
  const std::vector<Json> all = objects(result.output);
  REQUIRE(all.size() == 1);
  return all.front();
}

/// Contains NaN, both infinities, -0, both bounds 0 and 6, and a value beyond each bound.
std::string mixed_file() {
  const float inf = std::numeric_limits<float>::infinity();
  return float32_file({-1.5F, -0.0F, 0.0F, 6.0F, 6.5F, inf, -inf, std::numeric_limits<float>::quiet_NaN()});
}

}  // namespace

TEST_CASE("info prints the header") {
  const WorkingDirectory directory{{"big.npy", npy_file(">i2", "True", "(2, 3)", std::string(12, '\0'))}};
  const Result result = directory.run({"info", "big.npy"});
  check_done(result);
  CHECK(result.output ==
        "big.npy\n"
        "  dtype     int16, big-endian\n"
        "  shape     (2, 3), Fortran order\n"
        "  elements  6\n"
        "  data      12 bytes after a 128-byte header, npy 1.0\n");

  const Json json = info_of({"big.npy"}, {directory.path()});
  CHECK(json == Json::parse(R"({"version": 2, "input": "big.npy", "status": 0, "npy_version": "1.0",
    "dtype": "int16", "byte_order": "big", "shape": [2, 3], "fortran_order": true, "elements": 6,
    "header_bytes": 128, "bytes": 12, "commands": ["clip", "compare", "info", "show"]})"));
}

TEST_CASE("info --min --max prints statistics, and a histogram with the bounds") {
  const WorkingDirectory directory{{"x.npy", mixed_file()}};
  const Result result = directory.run({"info", "--min", "0", "--max=6", "x.npy"});
  check_done(result);
  CHECK(result.output == R"(x.npy
  dtype     float32, little-endian
  shape     (8,), C order
  elements  8
  data      32 bytes after a 128-byte header, npy 1.0
  min       -inf
  max       inf
  mean      2.2 of 5 finite elements
  std       3.35559
  median    0
  NaN       1 (12.5 %)
  inf       1 (12.5 %)
  -inf      1 (12.5 %)
  below 0   2 (25 %)
  above 6   2 (25 %)

  [-1.5,   -1)  1   20.00 %  ##########################
  [  -1, -0.5)  0    0.00 %
  [-0.5,    0)  0    0.00 %
  ------------------------------------------------------------------------ min 0
  [   0,  0.5)  2   40.00 %  ###################################################
  [ 0.5,    1)  0    0.00 %
  [   1,  1.5)  0    0.00 %
  [ 1.5,    2)  0    0.00 %
  [   2,  2.5)  0    0.00 %
  [ 2.5,    3)  0    0.00 %
  [   3,  3.5)  0    0.00 %
  [ 3.5,    4)  0    0.00 %
  [   4,  4.5)  0    0.00 %
  [ 4.5,    5)  0    0.00 %
  [   5,  5.5)  0    0.00 %
  [ 5.5,    6)  0    0.00 %
  ------------------------------------------------------------------------ max 6
  [   6,  6.5)  1   20.00 %  ##########################
  [ 6.5,    7)  1   20.00 %  ##########################
)");
}

TEST_CASE("the lines of the bounds enclose the rows within the bounds") {
  const WorkingDirectory directory{{"x.npy", npy_file("|u1", "False", "(4,)", {"\x03\x04\x05\x07", 4})}};
  const auto histogram = [&](const Words& bounds) {
    const std::string output = directory.run(joined({"info", "x.npy"}, bounds)).output;
    std::string starts;
    std::istringstream lines(output.substr(output.find("\n\n") + 2));
    for (std::string line; std::getline(lines, line);)
      starts += line[2] == '-' ? line.substr(line.rfind('-') + 1) : line.substr(2, 1);
    return starts;
  };
  CHECK(histogram({"--stats"}) == "34567");
  CHECK(histogram({"--min", "4", "--max", "6"}) == "3 min 4456 max 67");
  CHECK(histogram({"--min", "0", "--max", "255"}) == " min 034567 max 255");
  CHECK(histogram({"--min", "8"}) == "34567 min 8");
  CHECK(histogram({"--max", "1"}) == " max 134567");
}

TEST_CASE("info --histogram-svg writes a picture with the bounds, complete or not at all") {
  const WorkingDirectory directory{{"x.npy", mixed_file()},
                                   {"u.npy", npy_file("|u1", "False", "(4,)", "\1\2\3\4")},
                                   {"c.npy", npy_file("<c8", "False", "(1,)", "12345678")},
                                   {"a.npz", npz_file({{"w.npy", mixed_file()}})}};
  const auto svg = [&](const Words& more) {
    CHECK(directory.run(joined({"info", "--histogram-svg", "o.svg"}, more)).exit_code == 0);
    return directory.read("o.svg");
  };
  const auto count = [](const std::string& text, const std::string& part) {
    return (replaced(text, part, part + "x").size() - text.size());
  };
  const std::string picture = svg({"--min", "0", "--max", "6", "x.npy"});
  CAPTURE(picture);
  CHECK(picture.starts_with("<svg "));
  CHECK(picture.ends_with("</svg>\n"));
  CHECK(count(picture, "<title>") == 17);
  CHECK(contains(picture, "<title>[-1.5, -1): 1</title><rect class=\"clipped\" x=\"20.00\" y=\"160.00\" "));
  CHECK(contains(picture, ">min 0</text>"));
  CHECK(contains(picture, ">max 6</text>"));
  // The bar of 6.0 begins at max, that of 3 ends there: integers have rows of their own.
  CHECK(count(svg({"--max", "3", "u.npy"}), "\"clipped\"") == 1);
  CHECK(count(svg({"--min", "2.5", "u.npy"}), "\"clipped\"") == 2);
  CHECK(count(svg({"a.npz:w"}), "\"clipped\"") == 0);
  const std::string before = directory.read("o.svg");
  const auto refused = [&](const Words& more, int status, std::string_view word) {
    check_refused(directory.run(joined({"info", "--histogram-svg", "o.svg"}, more)), status, word);
    CHECK(directory.read("o.svg") == before);
  };
  refused({"x.npy", "u.npy"}, 2, "takes one tensor, not 2");
  refused({"a.npz"}, 2, "a.npz: is an archive; --histogram-svg takes one tensor, FILE:NAME");
  check_refused(directory.run({"info", "--histogram-svg", "x.npy", "u.npy"}), 2,
                "'x.npy' does not end in .svg");
  CHECK(directory.run({"info", "--histogram-svg", "o.svg", "c.npy"}).exit_code == 3);
  CHECK(directory.run({"info", "--histogram-svg", "none/o.svg", "x.npy"}).exit_code == 4);
}

TEST_CASE("info --stats without finite elements prints no mean and no histogram") {
  const WorkingDirectory directory;
  const auto statistics = [&](const std::string& file) {
    directory.write("x.npy", file);
    directory.done({"info", "--stats", "x.npy"});
    return info_of({"--stats", "x.npy"}, {directory.path()})["statistics"];
  };
  const Json empty = statistics(npy_file("<f8", "False", "(3, 0)", ""));
  CHECK(empty["min"].is_null());
  CHECK(empty["mean"].is_null());
  CHECK(empty["standard_deviation"].is_null());
  CHECK(empty["median"].is_null());
  CHECK(empty["percentiles"] == Json::array());
  CHECK(empty["histogram"] == Json::parse(R"({"edges": [], "counts": []})"));
  const Json nan = statistics(float32_file({std::numeric_limits<float>::quiet_NaN()}));
  CHECK(nan["max"].is_null());
  CHECK(nan["median"].is_null());
  CHECK(nan["nan"] == 1);
  const Json infinite = statistics(float32_file({std::numeric_limits<float>::infinity()}));
  CHECK(infinite["min"] == "inf");
  CHECK(infinite["mean"].is_null());
  CHECK(infinite["standard_deviation"].is_null());
  CHECK(infinite["median"] == "inf");
  const Json scalar = statistics(npy_file("<i8", "False", "()", bytes_of<std::int64_t>({-7})));
  CHECK(scalar["min"] == -7);
  CHECK(scalar["mean"] == -7);
  CHECK(scalar["standard_deviation"] == 0);
  CHECK(scalar["median"] == -7);
  CHECK(scalar["histogram"] == Json::parse(R"({"edges": [-7, -6], "counts": [1]})"));
}

// Values of numpy 2 for the same files: x[~isnan(x)].min() and .max(), isnan(x).sum(), isposinf(x).sum(),
// isneginf(x).sum(), (x < 0).sum(), (x > 6).sum() and, in Python's integers, sum(x) / x.size.
TEST_CASE("info prints numpy's statistics for every dtype") {
  struct Row {
    std::string name, min, max;
    int nan, positive_infinity, negative_infinity, below, above;
    std::string mean;
  };
  const std::vector<Row> rows{
      {"int8", "-128", "127", 0, 0, 0, 12, 5, "-5.333333333333333"},
      {"int16", "-32768", "32767", 0, 0, 0, 19, 12, "-862.3157894736842"},
      {"int32", "-2147483648", "2147483647", 0, 0, 0, 27, 20, "-39768215.7037037"},
      {"int64", "-9223372036854775808", "9223372036854775807", 0, 0, 0, 37, 30, "-1.2464016266019968e+17"},
      {"uint8", "0", "255", 0, 0, 0, 0, 8, "56.333333333333336"},
      {"uint16", "0", "65535", 0, 0, 0, 0, 15, "7522.590909090909"},
      {"uint32", "0", "4294967295", 0, 0, 0, 0, 23, "358485400.8666667"},
      {"uint64", "0", "18446744073709551615", 0, 0, 0, 0, 33, "1153822225015933400"},
      {"float16", "-inf", "inf", 10, 1, 1, 20, 5, ""},
      {"float32", "-inf", "inf", 10, 1, 1, 22, 7, ""},
      {"float64", "-inf", "inf", 10, 1, 1, 28, 13, ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Json statistics =
        info_of({"--min", "0", "--max", "6", source_path("data/edge/" + row.name + ".npy")})["statistics"];
    CHECK(text_of(statistics["min"]) == row.min);
    CHECK(text_of(statistics["max"]) == row.max);
    CHECK(statistics["nan"] == row.nan);
    CHECK(statistics["positive_infinity"] == row.positive_infinity);
    CHECK(statistics["negative_infinity"] == row.negative_infinity);
    CHECK(statistics["bounds"]["below"] == row.below);
    CHECK(statistics["bounds"]["above"] == row.above);
    if (!row.mean.empty()) CHECK(statistics["mean"].get<double>() == std::stod(row.mean));
  }
}

TEST_CASE("a histogram has numpy's counts for the same edges") {
  // np.histogram(np.linspace(-3, 9.5, 24, dtype=np.float32), np.arange(-3, 11))[0]
  std::vector<float> elements;
  for (int i = 0; i < 24; ++i) elements.push_back(static_cast<float>(-3 + i * 12.5 / 23));
  const WorkingDirectory directory{{"x.npy", float32_file(elements)}};
  const Json statistics = info_of({"--stats", "x.npy"}, {directory.path()})["statistics"];
  CHECK(statistics["histogram"]["counts"] == Json::parse("[2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 1]"));
  CHECK(statistics["histogram"]["edges"].front() == -3);
  CHECK(statistics["histogram"]["edges"].back() == 10);
  CHECK(statistics["bounds"] == Json::parse(R"({"min": null, "max": null, "below": 0, "above": 0})"));
}

TEST_CASE("info prints the same for files and streams, with any number of threads") {
  const WorkingDirectory directory;
  const std::string file = float32_file(scattered_floats(500'000));
  directory.write("x.npy", file);
  const Json from_file = info_of({"--min", "-3.25", "x.npy"}, {directory.path()})["statistics"];
  CHECK(from_file["bounds"]["min"] == -3.25);
  CHECK(from_file["bounds"]["below"].get<std::uint64_t>() > 100'000);
  for (const char* const threads : {"1", "2", "7"}) {
    CHECK(info_of({"--min", "-3.25", "--threads", threads, "x.npy"}, {directory.path()})["statistics"] ==
          from_file);
    const Json from_stream = info_of({"--min", "-3.25", "--threads", threads, "-"}, {}, file);
    Json expected = from_file;
    expected["median"] = nullptr;
    CHECK(from_stream["statistics"] == expected);
    CHECK(from_stream["input"] == "-");
  }
  check_refused(run_clipper({"info", "--stats", "-"}, {}, file.substr(0, file.size() - 1)), 3,
                "standard input: truncated: ends before its last element");
  check_refused(run_clipper({"info", "--stats", "-"}, {}, file + "x"), 3, "bytes after the array");
}

TEST_CASE("info --percentile prints percentiles as elements of the dtype") {
  const WorkingDirectory directory{
      {"x.npy", float32_file({4, 1, 3, std::numeric_limits<float>::quiet_NaN(), 2})}};
  const Result result = directory.run({"info", "--percentile", "0,12.50,1e2", "x.npy"});
  check_done(result);
  CHECK(contains(result.output,
                 "\n"
                 "  mean             2.5 of 4 finite elements\n"
                 "  std              1.11803\n"
                 "  median           2.5\n"
                 "  percentile 0     1\n"
                 "  percentile 12.5  1.375\n"
                 "  percentile 100   4\n"
                 "  NaN              1 (20 %)\n"));
  const Json json = info_of({"--percentile", "99.9%,1%,99.9", "x.npy"}, {directory.path()})["statistics"];
  CHECK(json["median"] == 2.5);
  CHECK(json["standard_deviation"].get<double>() == std::sqrt(1.25));
  CHECK(json["percentiles"] == Json::parse(R"([{"percent": 99.9, "value": 3.997},
    {"percent": 1, "value": 1.03}, {"percent": 99.9, "value": 3.997}])"));

  directory.write("i.npy",
                  npy_file(">i8", "False", "(2,)",
                           {"\x7f\xff\xff\xff\xff\xff\xff\xfe\x7f\xff\xff\xff\xff\xff\xff\xff", 16}));
  const Json integers = info_of({"--percentile", "50,100", "i.npy"}, {directory.path()})["statistics"];
  CHECK(integers["median"] == "9223372036854775806");
  CHECK(integers["percentiles"][1] == Json::parse(R"({"percent": 100, "value": "9223372036854775807"})"));
  CHECK(integers["standard_deviation"] == 0.5);
  const float inf = std::numeric_limits<float>::infinity();
  directory.write("inf.npy", float32_file({-inf, inf}));
  CHECK(info_of({"--stats", "inf.npy"}, {directory.path()})["statistics"]["median"] == "nan");
  directory.write("nan.npy", float32_file({std::numeric_limits<float>::quiet_NaN()}));
  const Json nan = info_of({"--percentile", "1", "nan.npy"}, {directory.path()})["statistics"];
  CHECK(nan["percentiles"] == Json::parse(R"([{"percent": 1, "value": null}])"));
  CHECK(contains(directory.run({"info", "--percentile", "1", "nan.npy"}).output, "\n  percentile 1  none\n"));
}

TEST_CASE("a stream has no median, and --percentile refuses it") {
  const WorkingDirectory directory;
  const std::string file = float32_file({1, 2, 4});
  directory.write("x.npy", file);
  const Result streamed = run_clipper({"info", "--stats", "-"}, {}, file);
  check_done(streamed);
  CHECK(contains(streamed.output, "\n  std       1.24722\n  NaN "));
  check_refused(run_clipper({"info", "--percentile", "1", "-"}, {}, file), 2,
                "standard input: must be a file, not a stream: for --percentile it needs to be read twice");
  const Result both = directory.run({"info", "--percentile", "1", "-", "x.npy"}, file);
  CHECK(both.exit_code == 2);
  CHECK(both.output.starts_with("x.npy\n"));
}

TEST_CASE("info counts elements beyond the exact bounds as typed") {
  const WorkingDirectory directory;
  const auto counts = [&](const std::string& file, const std::string& min, const std::string& max) {
    directory.write("x.npy", file);
    const Json bounds =
        info_of({"--min", min, "--max", max, "x.npy"}, {directory.path()})["statistics"]["bounds"];
    CHECK(text_of(bounds["min"]) == min);
    CHECK(text_of(bounds["max"]) == max);
    return fmt::format("{} {}", bounds["below"].get<int>(), bounds["above"].get<int>());
  };
  const std::string int32 = npy_file("<i4", "False", "(5,)", bytes_of<std::int32_t>({-2, -1, 0, 1, 2}));
  CHECK(counts(int32, "1.5", "1.5") == "4 1");
  CHECK(counts(int32, "-1.5", "-1.5") == "1 4");
  CHECK(counts(int32, "1e+400", "1e+400") == "5 0");
  CHECK(counts(int32, "-1e+400", "-inf") == "0 5");
  CHECK(counts(int32, "2", "-2") == "4 4");
  const std::string uint8 = npy_file("|u1", "False", "(3,)", {"\x00\x01\xff", 3});
  CHECK(counts(uint8, "300", "255") == "3 0");
  CHECK(counts(uint8, "254.5", "-0.5") == "2 3");
  const std::string int64 = npy_file(">i8", "False", "(1,)", {"\x7f\xff\xff\xff\xff\xff\xff\xff", 8});
  CHECK(counts(int64, "9223372036854775807.5", "9223372036854775806.5") == "1 1");
  CHECK(counts(int64, "9223372036854775807", "9223372036854775807") == "0 0");
  const float inf = std::numeric_limits<float>::infinity();
  const std::string float32 =
      float32_file({-inf, -0.0F, 0.0F, 0.1F, inf, std::numeric_limits<float>::quiet_NaN()});
  CHECK(counts(float32, "0.1", "0.1") == "3 2");  // float32(0.1) is more than 0.1
  CHECK(counts(float32, "0.100000002", "0.100000002") == "4 1");
  CHECK(counts(float32, "1e+400", "-1e+400") == "4 4");
  CHECK(counts(float32, "inf", "-inf") == "4 4");
  CHECK(counts(float32, "1e-400", "-1e-400") == "3 4");
  const std::string float64 = npy_file("<f8", "False", "(1,)", bytes_of<double>({0.3}));  // less than 0.3
  CHECK(counts(float64, "0.3", "0.3") == "1 0");
  const std::string float16 = npy_file("<f2", "False", "(2,)", {"\x66\x2e\x00\x7c", 4});  // 0.09998, inf
  CHECK(counts(float16, "0.1", "65519") == "1 1");
}

TEST_CASE("info prints typed bounds as typed, and bounds from files as elements") {
  const WorkingDirectory directory{
      {"x.npy", npy_file("<i4", "False", "(3,)", bytes_of<std::int32_t>({1, 2, 3}))},
      {"two.npy", npy_file("<i4", "False", "()", bytes_of<std::int32_t>({2}))}};
  const Result result = directory.run({"info", "--min", "1.5", "--max", "@two.npy", "x.npy"});
  check_done(result);
  CHECK(result.output.ends_with(R"(
  below 1.5  1 (33.3 %)
  above 2    1 (33.3 %)

  1  1   33.33 %  ##############################################################
  ---------------------------------------------------------------------- min 1.5
  2  1   33.33 %  ##############################################################
  ------------------------------------------------------------------------ max 2
  3  1   33.33 %  ##############################################################
)"));
  const Words beyond{"info", "--min", "300", "--max", "-300.5", "x.npy"};
  CHECK(contains(directory.run(beyond).output, "\n  ---"));
  const Json bounds = info_of({"--max", "@two.npy", "x.npy"}, {directory.path()})["statistics"]["bounds"];
  CHECK(bounds == Json::parse(R"({"min": null, "max": 2, "below": 0, "above": 1})"));
}

TEST_CASE("info continues after a file that it refuses") {
  const WorkingDirectory directory{{"a.npy", float32_file({1})},
                                   {"bad.npy", "text"},
                                   {"cut.npy", float32_file({1, 2}).substr(0, 130)},
                                   {"z.npy", float32_file({2})}};
  const Words files{"a.npy", "bad.npy", "none.npy", "cut.npy", "z.npy"};
  Words arguments = joined({"info"}, files);
  const Result text = directory.run(arguments);
  CHECK(text.exit_code == 4);
  CHECK(text.output ==
        "FILE   DTYPE    SHAPE  SIZE\n"
        "a.npy  float32  (1,)      4\n"
        "z.npy  float32  (1,)      4\n");
  CHECK(std::count(text.error.begin(), text.error.end(), '\n') == 3);
  CHECK(text.error.starts_with("clipper: bad.npy: "));

  arguments.emplace_back("--json");
  const Result json = directory.run(arguments);
  CHECK(json.exit_code == 4);
  CHECK(json.error == text.error);
  const std::vector<Json> all = objects(json.output);
  REQUIRE(all.size() == files.size());
  const std::vector<int> statuses{0, 3, 4, 3, 0};
  for (std::size_t i = 0; i < files.size(); ++i) {
    CHECK(all[i]["version"] == 2);
    CHECK(all[i]["input"] == files[i]);
    CHECK(all[i]["status"] == statuses[i]);
    CHECK(all[i].contains("error") == (statuses[i] != 0));
  }
  check_refused(directory.run({"info", "cut.npy"}), 3,
                "8 data bytes expected for float32 (2,), the file has 2");
}

TEST_CASE("info takes |V2 for raw bytes, unless --dtype says that it is bfloat16") {
  const WorkingDirectory directory{{"v.npy", npy_file("|V2", "False", "(1,)", {"\x80\x3f", 2})}};
  CHECK(contains(directory.run({"info", "v.npy"}).output, "  dtype     |V2 (bfloat16?)\n"));
  const Json json = info_of({"--stats", "--dtype", "bfloat16", "v.npy"}, {directory.path()});
  CHECK(json["dtype"] == "bfloat16");
  CHECK(json["statistics"]["max"] == 1);
}

TEST_CASE("info describes every type by the header, and statistics are those of numbers") {
  struct Row {
    std::string descr;
    std::size_t size;
    std::string type;
    Json order;
    std::vector<std::string> commands;
  };
  const std::vector<std::string> all{"clip", "compare", "info", "show"};
  const std::vector<std::string> compared{"compare", "info", "show"};
  const std::vector<std::string> described{"info"};
  const Row rows[] = {
      {"'|b1'", 1, "bool", "little", all},
      {"'>c16'", 16, "complex128", "big", compared},
      {"'<M8[25s]'", 8, "datetime64[25s]", "little", all},
      {"'<m8'", 8, "timedelta64", "little", all},
      {"'>f16'", 16, "float128", "big", described},
      {"'<c32'", 32, "complex256", "little", described},
      {"'|S5'", 5, "|S5", nullptr, described},
      {"'>U2'", 8, ">U2", nullptr, described},
      {"'|V3'", 3, "|V3", nullptr, described},
      {"[('it\\'s', '<i4'), ('y', '|b1', (2,))]", 6, "[(\"it's\", '<i4'), ('y', '?', (2,))]", nullptr,
       described},
      {"[(('t', 'x'), '<f8'), ('', '|V8')]", 16,
       "{'names': ['x'], 'formats': ['<f8'], 'offsets': [0], 'titles': ['t'], 'itemsize': 16}", nullptr,
       described}};
  for (const Row& row : rows) {
    CAPTURE(row.descr);
    const std::string text =
        fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': (3,), }}\n", row.descr);
    const std::string header = std::string("\x93NUMPY\1\0", 8) + static_cast<char>(text.size()) + '\0' + text;
    const WorkingDirectory directory{{"x.npy", header + std::string(3 * row.size, '\0')},
                                     {"short.npy", header + std::string(3 * row.size - 1, '\0')}};
    const Json json = info_of({"--stats", "x.npy"}, {directory.path()});
    CHECK(json["dtype"] == row.type);
    CHECK(json["byte_order"] == row.order);
    CHECK(json["bytes"] == 3 * row.size);
    CHECK(json["commands"] == row.commands);
    CHECK(json.contains("statistics") == (row.commands == all));
    CHECK(contains(directory.run({"info", "x.npy"}).output, row.type));
    check_refused(directory.run({"info", "short.npy"}), 3, "short.npy: ");
  }
  const WorkingDirectory objects{{"x.npy", npy_file("|O", "False", "(3,)", "a pickle")}};
  CHECK(info_of({"x.npy"}, {objects.path()})["bytes"] == nullptr);
  check_refused(run_clipper({"info", "-"}, {}, npy_file("<M8[0s]", "False", "()", std::string(8, '\0'))), 3,
                "dtype '<M8[0s]' (dates, datetime64) is not supported");
}

TEST_CASE("info escapes a path that is not printable UTF-8") {
  const WorkingDirectory directory{{"a\xff\n.npy", float32_file({1})}};
  CHECK(directory.run({"info", "a\xff\n.npy"}).output.starts_with("a\\xff\\x0a.npy\n"));
  CHECK(info_of({"a\xff\n.npy"}, {directory.path()})["input"] == "a\xef\xbf\xbd\n.npy");
}

TEST_CASE("wrong usage of info is refused") {
  const std::string example = source_path("data/in.npy");
  const std::string int8 = source_path("data/edge/int8.npy");
  const auto check_usage = [](Words arguments, std::string_view word) {
    arguments.insert(arguments.begin(), "info");
    const Result result = run_clipper(arguments);
    CAPTURE(arguments);
    check_refused(result, 2, word);
    CHECK(result.output.empty());
  };
  check_usage({}, "FILE is missing");
  check_usage({"--min", "low", example}, "--min: 'low' is not a number");
  check_usage({"--min=", example}, "--min has no value");
  check_usage({"--min", "nan", example}, "NaN cannot be a bound");
  check_usage({"--max", "nan", int8}, "NaN cannot be a bound");
  for (const std::string list : {"-1", "100.1", "nan", "1,,2", "1,", ",", "1;2", "1 ,2", "%", "1%%"})
    check_usage({"--percentile=" + list, example}, "is not a percentage from 0 to 100");
  check_usage({"--percentile=", example}, "--percentile has no value");
  check_usage({"--percentile", "5,101%", example}, "--percentile: '101%' is not a percentage from 0 to 100");
  check_usage({"--percentile", "0.12345678901234567", example}, "more than 16 decimal places");
  check_usage({"--trailing", "drop", example}, "--trailing: unknown value 'drop'");
  check_usage({"--dtype", "floot32", example}, "--dtype: unknown value 'floot32'");
  check_usage({"--threads", "0", example}, "--threads: '0'");
  check_usage({"--histogram", example}, "--histogram");
  CHECK(contains(run_clipper({"info", "--help"}).output, "--stats"));
}

}  // namespace clipper::testing
