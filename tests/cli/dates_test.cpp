#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/clipper.hpp"
#include "element/element.hpp"
#include "support/archives.hpp"

/// Clipping bool, datetime64 and timedelta64. tests/fuzz/clips_vs_exact.py compares with np.clip.
namespace clipper::testing {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kNat = std::numeric_limits<std::int64_t>::min();

std::string ticks(const std::string& descr, const std::vector<std::int64_t>& elements) {
  return npy_file(descr, "False", fmt::format("({},)", elements.size()), bytes_of(elements));
}

std::string flags(const std::string& elements) {
  return npy_file("|b1", "False", fmt::format("({},)", elements.size()), elements);
}

const std::string kDays = ticks("<M8[D]", {kNat, -1, 18'000, 18'321, 20'000});
const std::string kSpans = ticks("<m8[25s]", {kNat, -7, 0, 7});
const std::string kFlags = flags(std::string("\0\1\0\1", 4));

class Directory : public WorkingDirectory {
 public:
  Directory() {
    write("day.npy", kDays);
    write("span.npy", kSpans);
    write("flag.npy", kFlags);
    write("c.npy", npy_file("<c8", "False", "(1,)", bytes_of<float>({1, 2})));
    write("x.npy", float32_file({-1, 2}));
  }
};

}  // namespace

TEST_CASE("dates are clipped to dates, durations to their units, flags to flags; NaT is a NaN") {
  const Directory directory;
  const auto clipped = [&](const std::string& file, Words words) {
    words.insert(words.end(), {file, "out.npy"});
    directory.done(words);
    return directory.read("out.npy");
  };
  const auto days = [](std::int64_t nat, std::int64_t lo, std::int64_t hi) {
    return ticks("<M8[D]", {nat, lo, 18'000, hi, hi});
  };
  CHECK(clipped("day.npy", {"--min", "1970-01-02", "--max", "2020-02-28"}) == days(kNat, 1, 18'320));
  CHECK(clipped("day.npy", {"--min", "1970-01-02T00:00:00.000", "--max", "2020-02-28"}) ==
        days(kNat, 1, 18'320));
  CHECK(clipped("day.npy", {"--max", "2020-02-28", "--nan", "max"}) == days(18'320, -1, 18'320));
  CHECK(clipped("day.npy", {"--max", "2020-02-28", "--nan", "1970-01-11"}) == days(10, -1, 18'320));
  CHECK(clipped("span.npy", {"--min", "-2", "--max", "2"}) == ticks("<m8[25s]", {kNat, -2, 0, 2}));
  CHECK(clipped("flag.npy", {"--min", "true"}) == flags("\1\1\1\1"));
  CHECK(clipped("flag.npy", {"--profile", "numpy", "--min", "0", "--max", "false"}) ==
        flags(std::string(4, '\0')));
  directory.refused({"--nan", "error", "day.npy", "new.npy"}, 3, "day.npy: NaN at [0]");
  const Result json = directory.run({"--json", "-v", "--min", "1970-01-02", "day.npy", "out.npy"});
  const Json record = Json::parse(json.output);
  CHECK(record["dtype"] == "datetime64[D]");
  CHECK(record["min"] == "1970-01-02");
  CHECK(record["raised"] == 1);
  CHECK(record["nan"] == 1);
  const Result without_min = directory.run({"--json", "-v", "--max", "1970-01-02", "day.npy", "out.npy"});
  CHECK(Json::parse(without_min.output)["min"] == "-25252734927764585-06-08");  // 1 - 2^63 days
}

TEST_CASE("bounds that a type does not have, and what only numbers have, are refused") {
  const Directory directory;
  const auto refused = [&](Words words, std::string_view why) {
    words.emplace_back("out.npy");
    directory.refused(words, 2, why);
  };
  refused({"--min", "0", "day.npy"},
          "--min 0 is not a date, but the tensor is datetime64[D]; write a date, such as 2020-02-29");
  refused({"--min", "2020", "day.npy"}, "is not a date");
  refused({"--min", "2020-02-29T12", "day.npy"}, "--min 2020-02-29T12 is not a date of datetime64[D]");
  refused({"--min", "2021-02-29", "day.npy"}, "'2021-02-29' is not a number");
  refused({"--min", "NaT", "day.npy"}, "--min NaT: NaT cannot be a bound");
  refused({"--min", "2021-01-01", "--max", "2020-01-01", "day.npy"},
          "--min 2021-01-01 exceeds --max 2020-01-01");
  refused({"--min", "1.5", "span.npy"},
          "--min 1.5 is not a number of units, but the tensor is timedelta64[25s]");
  refused({"--max", "-9223372036854775808", "span.npy"}, "is not a number of units");
  refused({"--max", "6", "flag.npy"}, "--max 6 is not 0, 1, true or false, but the tensor is bool");
  refused({"--max", "true", "x.npy"}, "--max true is not a number, but the tensor is float32");
  refused({"--max", "2020-01-01", "x.npy"}, "--max 2020-01-01 is not a number, but the tensor is float32");
  refused({"--scale", "2", "span.npy"}, "--scale: not for a tensor of timedelta64[25s]");
  refused({"--max", "0", "--round", "floor", "flag.npy"}, "--round: not for a tensor of bool");
  refused({"--to", "int64", "day.npy"}, "--to: not for a tensor of datetime64[D]");
  directory.write("one.npy", ticks("<i8", {1}));
  refused({"--max", "@one.npy", "span.npy"}, "cannot be a bound of timedelta64[25s]");
  directory.refused({"--profile", "onnx", "--max", "0", "flag.npy", "out.npy"}, 3, "does not take bool");
  directory.write("nat.npy", ticks("<M8[D]", {kNaT}));
  directory.refused({"--min", "50%", "nat.npy", "out.npy"}, 3, "--min 50%: all elements are NaT");
  directory.refused({"--max", "0", "c.npy", "out.npy"}, 3, "np.save('x.npy', np.load('c.npy').real)");
}

TEST_CASE("flags become 0 and 1 of every dtype, and every byte that is not 0 is 1") {
  const Directory directory;
  directory.write("odd.npy", flags({"\0\1\2\xff", 4}));
  for (const DTypeTraits& row : kDTypes) {
    CAPTURE(row.name);
    if (row.dtype == DType::float8_e8m0fnu) continue;  // has no 0
    const ElementBits one = is_floating(row.dtype) ? nearest_element(row.dtype, 1) : 1;
    std::string elements(4 * row.size, '\0');
    for (std::size_t i = 1; i < 4; ++i) std::memcpy(&elements[i * row.size], &one, row.size);
    const std::string wanted =
        npy_file((row.size == 1 ? row.descr.starts_with('f') ? "<" : "|" : "<") + std::string(row.descr),
                 "False", "(4,)", elements);
    directory.done({"--to", std::string(row.name), "odd.npy", "out.npy"});
    CHECK(directory.read("out.npy").substr(128) == wanted.substr(128));
    directory.write("again.npy", flags({"\0\1\2\xff", 4}));
    directory.done({"--to", std::string(row.name), "--in-place", "again.npy"});
    CHECK(directory.read("again.npy") == directory.read("out.npy"));
  }
  directory.done({"--to", "uint8", "odd.npy", "out.npy"});
  CHECK(directory.read("out.npy") == npy_file("|u1", "False", "(4,)", {"\0\1\1\1", 4}));
  directory.done({"--to", "float32", "--max", "false", "odd.npy", "out.npy"});
  CHECK(directory.read("out.npy") == float32_file({0, 0, 0, 0}));
  const Result json = directory.run({"--to", "uint8", "-v", "--json", "odd.npy", "out.npy"});
  CHECK(contains(json.output, R"("dtype":"bool","to":"uint8",)"));
  CHECK(contains(json.error, "bool to uint8, clipped 0 %"));

  directory.write("a.npz", npz_file({{"flag.npy", kFlags}, {"x.npy", float32_file({-1, 2})}}));
  directory.done({"--to", "float32", "--member", "flag", "a.npz", "out.npz"});
  directory.done({"--max", "1", "out.npz:flag", "out.npy"});
  directory.done({"--to", "float32", "flag.npy", "--verify", "out.npy"});
}

TEST_CASE("in archives and below directories dates and flags are clipped only if they are named") {
  const Directory directory;
  directory.write("a.npz",
                  npz_file({{"x.npy", float32_file({-1, 2})}, {"day.npy", kDays}, {"flag.npy", kFlags}}));
  directory.done({"--min", "0", "a.npz", "out.npz"});
  CHECK(directory.read("out.npz") ==
        npz_file({{"x.npy", float32_file({0, 2})}, {"day.npy", kDays}, {"flag.npy", kFlags}}));
  directory.done({"--min", "1", "--member", "flag", "a.npz", "out.npz"});
  CHECK(directory.read("out.npz") ==
        npz_file({{"x.npy", float32_file({-1, 2})}, {"day.npy", kDays}, {"flag.npy", flags("\1\1\1\1")}}));
  directory.done({"--min", "true", "a.npz:flag", "out.npy"});
  CHECK(directory.read("out.npy") == flags("\1\1\1\1"));
  std::filesystem::create_directory(directory / "d");
  directory.write("d/flag.npy", kFlags);
  CHECK(directory.run({"--min", "1", "-r", "d", "--output-dir", "e"}).exit_code == 0);
  CHECK(directory.read("e/flag.npy") == kFlags);
}

TEST_CASE("percentiles of dates are elements, and statistics leave out NaT") {
  const Directory directory;
  directory.done({"--min", "50%", "--max", "80%", "day.npy", "out.npy"});
  CHECK(directory.read("out.npy") == ticks("<M8[D]", {kNat, 18'000, 18'000, 18'321, 18'321}));
  directory.done({"--max", "99%", "flag.npy", "out.npy"});
  CHECK(directory.read("out.npy") == kFlags);
  const std::string text =
      directory.run({"info", "--min", "2019-04-15", "--percentile", "0", "day.npy"}).output;
  CHECK(text.starts_with(R"(day.npy
  dtype             datetime64[D], little-endian
  shape             (5,), C order
  elements          5
  data              40 bytes after a 128-byte header, npy 1.0
  min               1969-12-31
  max               2024-10-04
  median            2019-04-14
  percentile 0      1969-12-31
  NaT               1 (20 %)
  below 2019-04-15  2 (40 %)

)"));
  CHECK(contains(text, "  [1964-05-24, 1970-01-01)  1   25.00 %  "));
  CHECK(contains(text, "- min 2019-04-15\n"));
  const Json days =
      Json::parse(directory.run({"info", "--json", "--max", "2019-04-13", "day.npy"}).output)["statistics"];
  CHECK(days["min"] == "1969-12-31");
  CHECK(days["median"] == "2019-04-14");
  CHECK(days["mean"] == nullptr);
  CHECK(days["nan"] == 1);
  CHECK(days["bounds"]["max"] == "2019-04-13");
  CHECK(days["bounds"]["above"] == 3);
  const Json spans =
      Json::parse(directory.run({"info", "--json", "--stats", "span.npy"}).output)["statistics"];
  CHECK(spans["min"] == -7);
  CHECK(spans["mean"] == 0.0);
  CHECK(spans["nan"] == 1);
  const Json flags =
      Json::parse(directory.run({"info", "--json", "--stats", "flag.npy"}).output)["statistics"];
  CHECK(flags["min"] == false);
  CHECK(flags["max"] == true);
  CHECK(flags["mean"] == 0.5);
  CHECK(flags["histogram"] == Json::parse(R"({"edges": [0, 1, 2], "counts": [2, 2]})"));
  CHECK(days["histogram"]["edges"].front() == "1964-05-24");
}

TEST_CASE("dates are changed in place, and verified") {
  const Directory directory;
  const std::string expected = ticks("<M8[D]", {kNat, -1, 18'000, 18'000, 18'000});
  directory.write("golden.npy", expected);
  directory.done({"--max", "2019-04-14", "day.npy", "--verify", "golden.npy"});
  const Result differs = directory.run({"--max", "2019-04-15", "day.npy", "--verify", "golden.npy"});
  CHECK(differs.exit_code == 1);
  CHECK(contains(differs.output, "first [3] actual 2019-04-15 expected 2019-04-14 (1)"));
  directory.done({"--max", "2019-04-14", "-i", "day.npy"});
  CHECK(directory.read("day.npy") == expected);
  directory.write("day.npy", kDays);
  directory.done({"--max", "2019-04-14", "-i", "--direct", "day.npy"});
  CHECK(directory.read("day.npy") == expected);
}

}  // namespace clipper::testing
