#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/clipper.hpp"
#include "support/tensors.hpp"

/// Arrays as --min, --max, --scale and --bias, as users see them.
namespace clipper::testing {
namespace {

using Json = nlohmann::json;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
std::string array_file(std::string_view descr, std::string_view shape, const std::vector<T>& elements) {
  return npy_file(descr, "False", shape, bytes_of(elements));
}

std::string floats(std::string_view shape, const std::vector<float>& elements) {
  return array_file("<f4", shape, elements);
}

/// A directory with a tensor x.npy of shape (2, 3) and arrays that broadcast to it: rows 0 to 2 and 3 to 5.
class Arrays : public TemporaryDirectory {
 public:
  Arrays() {
    write("x.npy", floats("(2, 3)", {-1, 0, 1, 2, 3, kNan}));
    write("lo.npy", floats("(3,)", {0, 1, 2}));
    write("hi.npy", floats("(1, 3)", {1, 2, 2}));
    write("column.npy", floats("(2, 1)", {5, 7}));
  }

  void write(std::string_view name, const std::string& bytes) const { write_file(*this / name, bytes); }

  [[nodiscard]] Result run(const Words& words) const { return run_clipper(words, {path()}); }

  /// The object that clipper prints with --json.
  [[nodiscard]] Json json(Words words) const {
    words.emplace_back("--json");
    const Result result = run(words);
    CAPTURE(words);
    check_done(result);
    return Json::parse(result.output);
  }
};

}  // namespace

TEST_CASE("info counts the elements beyond arrays") {
  const Arrays arrays;
  const Result result = arrays.run({"info", "--min", "@lo.npy", "--max", "@hi.npy", "x.npy"});
  check_done(result);
  CHECK(result.output.find("\n  below @lo.npy  3 (50 %)\n  above @hi.npy  2 (33.3 %)\n\n") !=
        std::string::npos);
  CHECK(result.output.find("----") == std::string::npos);
  const Json bounds =
      arrays.json({"info", "--min", "@lo.npy", "--max", "@hi.npy", "x.npy"})["statistics"]["bounds"];
  CHECK(bounds == Json::parse(R"({"min": {"file": "lo.npy", "shape": [3]},
    "max": {"file": "hi.npy", "shape": [1, 3]}, "below": 3, "above": 2})"));
  const Json clipped = arrays.json({"--min", "@lo.npy", "--max", "@hi.npy", "x.npy", "out.npy"});
  CHECK(clipped["raised"] == bounds["below"]);
  CHECK(clipped["lowered"] == bounds["above"]);
}

TEST_CASE("info counts beyond an array and a number, in any byte and memory order, and from a stream") {
  const Arrays arrays;
  const std::string big = byte_swapped(bytes_of<float>({-1, 2, 0, 3, 1, kNan}), 4);
  const std::string tensor = npy_file(">f4", "True", "(2, 3)", big);
  const Result result =
      run_clipper({"info", "--json", "--min", "2", "--max", "@hi.npy", "-"}, {arrays.path()}, tensor);
  check_done(result);
  const Json bounds = Json::parse(result.output)["statistics"]["bounds"];
  CHECK(bounds["min"] == 2);
  CHECK(bounds["below"] == 3);
  CHECK(bounds["above"] == 2);
}

TEST_CASE("info counts beyond arrays of many chunks") {
  const Arrays arrays;
  constexpr std::size_t kRows = 1000;
  constexpr std::size_t kColumns = 1001;
  std::vector<float> elements;
  std::vector<float> row(kColumns);
  for (std::size_t i = 0; i < kColumns; ++i) row[i] = static_cast<float>(i % 7);
  std::size_t below = 0;
  for (std::size_t i = 0; i < kRows * kColumns; ++i) {
    elements.push_back(static_cast<float>(i % 11));
    if (elements.back() < row[i % kColumns]) ++below;
  }
  arrays.write("x.npy", floats("(1000, 1001)", elements));
  arrays.write("row.npy", floats("(1001,)", row));
  const Json bounds = arrays.json({"info", "--min", "@row.npy", "x.npy"})["statistics"]["bounds"];
  CHECK(bounds["below"] == below);
  CHECK(bounds["above"] == 0);
}

TEST_CASE("info refuses an array as a clip does, but not a min above max") {
  const Arrays arrays;
  arrays.write("nan.npy", floats("(3,)", {0, kNan, 2}));
  arrays.write("one.npy", floats("(1, 1, 1)", {0}));
  for (const Words& files : {Words{"info", "x.npy"}, Words{"x.npy", "out.npy"}}) {
    const auto refused = [&](std::string_view bound, int status, std::string_view why) {
      Words words = files;
      words.emplace_back(bound);
      check_refused_untouched(arrays, words, status, why);
    };
    refused("--min=@nan.npy", 2, "clipper: x.npy: --min @nan.npy: NaN at [1] cannot be a bound\n");
    refused("--max=@one.npy", 3,
            "clipper: x.npy: --max @one.npy has shape (1, 1, 1); it must broadcast to (2, 3)\n");
  }
  check_done(arrays.run({"info", "--min", "@hi.npy", "--max", "@lo.npy", "x.npy"}));
}

TEST_CASE("--json names arrays and their shapes") {
  const Arrays arrays;
  const Json all = arrays.json(
      {"--min", "@lo.npy", "--max", "@hi.npy", "--scale", "@column.npy", "--bias", "@lo.npy", "x.npy", "o"});
  CHECK(all["min"] == Json::parse(R"({"file": "lo.npy", "shape": [3]})"));
  CHECK(all["max"] == Json::parse(R"({"file": "hi.npy", "shape": [1, 3]})"));
  CHECK(all["scale"] == Json::parse(R"({"file": "column.npy", "shape": [2, 1]})"));
  CHECK(all["bias"] == Json::parse(R"({"file": "lo.npy", "shape": [3]})"));
  const Json some = arrays.json({"--min", "@lo.npy", "--scale", "2", "x.npy", "o"});
  CHECK(some["max"] == "inf");
  CHECK_FALSE(some.contains("scale"));
  CHECK_FALSE(some.contains("bias"));
}

TEST_CASE("-v names arrays, and what replaces NaN") {
  const Arrays arrays;
  const Result result = arrays.run({"-v", "--min", "@lo.npy", "--nan", "min", "x.npy", "out.npy"});
  CHECK(result.exit_code == 0);
  CHECK(result.error.find(" min @lo.npy (3,), max inf, NaN becomes min, profile native\n") !=
        std::string::npos);
  CHECK(result.error.find("x.npy: clipped 50 % (50 % raised, 0 % lowered), 1 NaN became min\n") !=
        std::string::npos);
  CHECK(read_file(arrays / "out.npy") == floats("(2, 3)", {0, 1, 2, 2, 3, 2}));
}

}  // namespace clipper::testing
