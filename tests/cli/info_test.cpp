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

// Values of numpy 2 for the same files: x[~isnan(x)].min() and .max(), isnan(x).sum(), isposinf(x).sum(),
// isneginf(x).sum(), (x < 0).sum(), (x > 6).sum() and, in Python's integers, sum(x) / x.size.
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

}  // namespace clipper::testing
