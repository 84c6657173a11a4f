#include <nlohmann/json.hpp>

#include "cli/clipper.hpp"
#include "simd/levels.hpp"
#include "support/tsv.hpp"

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
class Arrays : public WorkingDirectory {
 public:
  Arrays() {
    write("x.npy", floats("(2, 3)", {-1, 0, 1, 2, 3, kNan}));
    write("lo.npy", floats("(3,)", {0, 1, 2}));
    write("hi.npy", floats("(1, 3)", {1, 2, 2}));
    write("column.npy", floats("(2, 1)", {5, 7}));
  }

  /// The object that clipper prints with --json.
  [[nodiscard]] Json json(Words words) const {
    words.emplace_back("--json");
    const Result result = run(words);
    CAPTURE(words);
    check_done(result);
    return Json::parse(result.output);
  }
};

/// A cell of data/arrays/cases.tsv, "pool;descr;fortran_order;shape;begin;count", as a file.
std::string file_of(const std::string& cell) {
  static std::map<std::string, std::string> pools;
  const std::vector<std::string> parts = tsv::split(cell, ';');
  REQUIRE(parts.size() == 6);
  std::string& pool = pools[parts[0]];
  if (pool.empty()) {
    const std::string file = read_file(source_path("data/arrays/" + parts[0] + ".npy"));
    pool = file.substr(file.find('\n') + 1);
  }
  const std::string& descr = parts[1];
  const std::size_t size = std::stoul(descr.substr(2));
  std::string elements = pool.substr(std::stoul(parts[4]) * size, std::stoul(parts[5]) * size);
  if (descr.front() == '>') elements = byte_swapped(std::move(elements), size);
  return npy_file(descr, parts[2], parts[3], elements);
}

/// The settings of case `number`, none of which may change the result.
Words settings(std::size_t number) {
  const auto levels = simd_levels();
  const std::string level(to_string(levels[number % levels.size()]));
  return {"-q", "--simd", level, "--threads", std::to_string(number % 3 + 1), "--chunk-size", "4096"};
}

}  // namespace

TEST_CASE("info counts the elements beyond arrays") {
  const Arrays arrays;
  const Result result = arrays.run({"info", "--min", "@lo.npy", "--max", "@hi.npy", "x.npy"});
  check_done(result);
  CHECK(contains(result.output, "\n  below @lo.npy  3 (50 %)\n  above @hi.npy  2 (33.3 %)\n\n"));
  CHECK_FALSE(contains(result.output, "----"));
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
  const Result result = arrays.run({"info", "--json", "--min", "2", "--max", "@hi.npy", "-"}, tensor);
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
      arrays.refused(words, status, why);
    };
    refused("--min=@nan.npy", 2, "clipper: x.npy: --min @nan.npy: NaN at [1] cannot be a bound\n");
    refused("--max=@one.npy", 3,
            "clipper: x.npy: --max @one.npy has shape (1, 1, 1); it must broadcast to (2, 3)\n");
  }
  arrays.done({"info", "--min", "@hi.npy", "--max", "@lo.npy", "x.npy"});
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
  CHECK(contains(result.error, " min @lo.npy (3,), max inf, NaN becomes min, profile native\n"));
  CHECK(contains(result.error, "x.npy: clipped 50 % (50 % raised, 0 % lowered), 1 NaN became min\n"));
  CHECK(arrays.read("out.npy") == floats("(2, 3)", {0, 1, 2, 2, 3, 2}));
}

TEST_CASE("a shape that does not broadcast is refused with both shapes") {
  const Arrays arrays;
  const auto refused = [&](std::string_view shape, std::size_t count) {
    arrays.write("b.npy", floats(shape, std::vector<float>(count)));
    arrays.refused(
        {"--bias", "@b.npy", "x.npy", "o"}, 3,
        fmt::format("clipper: x.npy: --bias @b.npy has shape {}; it must broadcast to (2, 3)\n", shape));
  };
  refused("(2,)", 2);
  refused("(3, 2)", 6);
  refused("(2, 2, 3)", 12);
  refused("(1, 1, 1)", 1);
  refused("(0,)", 0);
}

TEST_CASE("elements that cannot be parameters are refused with their index") {
  const Arrays arrays;
  const auto refused = [&](const Words& parameters, std::string_view why) {
    Words words = parameters;
    words.insert(words.end(), {"x.npy", "o"});
    arrays.refused(words, 2, fmt::format("clipper: x.npy: {}\n", why));
  };
  arrays.write("nan.npy", floats("(2, 1)", {0, kNan}));
  arrays.write("inf.npy", floats("(1, 3)", {0, 1, -kInf}));
  arrays.write("huge.npy", array_file<double>("<f8", "(3,)", {0, 1, 1e300}));
  refused({"--min", "@nan.npy"}, "--min @nan.npy: NaN at [1, 0] cannot be a bound");
  refused({"--max", "@nan.npy"}, "--max @nan.npy: NaN at [1, 0] cannot be a bound");
  refused({"--scale", "@nan.npy"}, "--scale @nan.npy: NaN at [1, 0] is not a finite float32 number");
  refused({"--scale", "@inf.npy"}, "--scale @inf.npy: -inf at [0, 2] is not a finite float32 number");
  refused({"--bias", "@huge.npy"}, "--bias @huge.npy: 1e+300 at [2] is not a finite float32 number");
}

TEST_CASE("min above max is refused with the first index at which that is") {
  const Arrays arrays;
  const std::string advice = "; to allow this, add --min-above-max max (as numpy) or min\n";
  const auto refused = [&](std::string_view min, std::string_view max, std::string_view why) {
    arrays.refused({"--min", std::string(min), "--max", std::string(max), "x.npy", "o"}, 2,
                   "clipper: x.npy: " + std::string(why) + advice);
  };
  refused("@hi.npy", "@lo.npy", "--min @hi.npy (1) exceeds --max @lo.npy (0) at [0, 0]");
  refused("@column.npy", "6", "--min @column.npy (7) exceeds --max 6 at [1, 0]");
  refused("1.5", "@lo.npy", "--min 1.5 exceeds --max @lo.npy (0) at [0, 0]");
  arrays.done({"--min", "@hi.npy", "--max", "@lo.npy", "--min-above-max", "max", "x.npy", "o"});
  CHECK(arrays.read("o") == floats("(2, 3)", {0, 1, 2, 0, 1, kNan}));
}

TEST_CASE("an array or number of another dtype is a bound if the tensor's dtype has all its numbers") {
  const Arrays arrays;
  arrays.write("same.npy", array_file<float>("<f4", "(3,)", {0, 1.5, -2}));
  arrays.done({"--max", "@same.npy", "x.npy", "want"});
  arrays.write("wide.npy", array_file<double>("<f8", "(3,)", {0, 1.5, -2}));
  arrays.write("big.npy", npy_file(">f8", "False", "(3,)", byte_swapped(bytes_of<double>({0, 1.5, -2}), 8)));
  for (const char* file : {"@wide.npy", "@big.npy"}) {
    arrays.done({"--max", file, "x.npy", "o"});
    CHECK(arrays.read("o") == arrays.read("want"));
  }
  arrays.write("one.npy", array_file<std::int64_t>("<i8", "()", {1}));
  arrays.done({"--max", "@one.npy", "x.npy", "o"});
  arrays.done({"--max", "1", "x.npy", "want"});
  CHECK(arrays.read("o") == arrays.read("want"));
  arrays.write("tenth.npy", array_file<double>("<f8", "(3,)", {0, 0.1, 2}));
  arrays.refused({"--max", "@tenth.npy", "x.npy", "o"}, 2, "which does not have all its numbers exactly");
  arrays.write("int16.npy", array_file<std::int16_t>("<i2", "(3,)", {0, 1, 2}));
  arrays.refused({"--max", "@same.npy", "int16.npy", "o"}, 2, "is float32, but the tensor is int16");
}

TEST_CASE("an array of another dtype is refused with both dtypes") {
  const Arrays arrays;
  arrays.write("int32.npy", array_file<std::int32_t>("<i4", "(3,)", {0, 1, (1 << 24) + 1}));
  arrays.write("int16.npy", array_file<std::int16_t>("<i2", "(3,)", {0, 1, 2}));
  arrays.write("long.npy", array_file<std::int64_t>("<i8", "(3,)", {0, 1, 2}));
  const auto refused = [&](const Words& words, std::string_view why) { arrays.refused(words, 2, why); };
  refused({"--max", "@int32.npy", "x.npy", "o"},
          "x.npy: --max @int32.npy is int32, but the tensor is float32, which does not have all its numbers "
          "exactly\n");
  refused({"--scale", "@int32.npy", "x.npy", "o"},
          "x.npy: --scale @int32.npy is int32; it must be float32 or float64\n");
  refused({"--scale", "@int32.npy", "int16.npy", "o"},
          "int16.npy: --scale @int32.npy is int32; it must be int16, float32 or float64\n");
  refused({"--bias", "@int32.npy", "long.npy", "o"},
          "long.npy: --bias @int32.npy is int32; it must be int64, uint64, float32 or float64\n");
}

TEST_CASE("arrays of bounds with NaN and zeros, in long rows and in tiles, follow the profile") {
  const float payload = from_bits<float>(0xff812345);
  const WorkingDirectory directory;
  for (const std::size_t columns : {3u, 200u, 5000u}) {  // tiles, the kernel for numbers, and several chunks
    std::vector<float> x;
    std::vector<float> ordered;
    std::vector<float> poisoned;
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t i = 0; i < columns; ++i) {
        const float element = i % 3 == 0 ? -0.0F : i % 3 == 1 ? -1.0F : kNan;
        x.push_back(element);
        const bool keeps = i % 3 == 2;
        const float at_zero = keeps ? kNan : row == 0 ? 0.0F : row == 1 ? payload : -0.0F;
        ordered.push_back(at_zero);
        poisoned.push_back(row == 0 && i % 3 == 0 ? -0.0F : at_zero);
      }
    const std::string shape = fmt::format("(3, {})", columns);
    directory.write("x.npy", floats(shape, x));
    directory.write("lo.npy", floats("(3, 1)", {0.0F, payload, -0.0F}));
    std::vector<float> all;
    for (const float bound : {0.0F, payload, -0.0F}) all.insert(all.end(), columns, bound);
    directory.write("all.npy", floats(shape, all));
    const auto clipped = [&](const Words& words) {
      directory.done(joined({"-f", "--chunk-size", "4096", "x.npy", "y.npy"}, words));
      return directory.read("y.npy");
    };
    CAPTURE(columns);
    CHECK(clipped({"--profile", "numpy", "--min", "@lo.npy"}) == floats(shape, poisoned));
    CHECK(clipped({"--profile", "pytorch", "--min", "@all.npy"}) == floats(shape, poisoned));
    CHECK(clipped({"--profile", "stablehlo", "--min", "@all.npy", "--max", "7"}) == floats(shape, ordered));
  }
  directory.refused({"--profile", "native", "--min", "@lo.npy", "x.npy", "o"}, 2,
                    "NaN at [1, 0] cannot be a bound");
  directory.refused({"--profile", "pytorch", "--min", "@lo.npy", "--max", "7", "x.npy", "o"}, 2,
                    "PyTorch 2 clamp takes no array beside a number");
  directory.refused({"--profile", "stablehlo", "--min", "@lo.npy", "--max", "7", "x.npy", "o"}, 3,
                    "StableHLO 1 clamp needs one number or the tensor's shape, (3, 5000)");
  directory.refused(
      {"--profile", "numpy", "--min", "@lo.npy", "--max", "-1", "--min-above-max", "error", "x.npy", "o"}, 2,
      "exceeds --max -1");
}

TEST_CASE("profiles of operators that take numbers refuse arrays and name the operator") {
  const Arrays arrays;
  const auto refused = [&](std::string_view profile, std::string_view system) {
    arrays.refused(
        {"--profile", std::string(profile), "--min", "@lo.npy", "--max", "9", "x.npy", "o"}, 2,
        fmt::format("x.npy: --min @lo.npy has shape (3,); {} takes one number, profile native takes "
                    "arrays\n",
                    system));
  };
  refused("directml", "DirectML feature level 5.0");
  refused("onnx-6", "ONNX Clip-6");
  refused("onnx", "ONNX Clip-13");
  refused("openvino", "OpenVINO Clamp-1");
  refused("tosa", "TOSA 1.0 CLAMP");
  refused("tensorflow", "TensorFlow 2 clip_by_value");
}

TEST_CASE("files that are no arrays are refused with their option") {
  const Arrays arrays;
  arrays.write("a.npz", "PK\3\4" + std::string(26, '\0') + "x.npy");
  arrays.write("a.csv", "1,2\n");
  arrays.write("cut.npy", floats("(3,)", {0, 1}));
  arrays.write("long.npy", floats("(3,)", {0, 1, 2, 3}));
  const auto refused = [&](std::string_view file, int status, std::string_view why) {
    arrays.refused({"--trailing", "ignore", "--min", "@" + std::string(file), "x.npy", "o"}, status,
                   fmt::format("clipper: --min @{}: {}", file, why));
  };
  refused("none.npy", 4, "cannot be opened: No such file or directory\n");
  refused(".", 4, "cannot be read: Is a directory\n");
  refused("a.npz", 3, "not a .npy file but an .npz archive; name a tensor in it: a.npz:NAME\n");
  refused("a.csv", 3, "not a .npy file but text (CSV?); convert it in Python: ");
  refused("cut.npy", 3, "12 data bytes expected for float32 (3,), the file has 8\n");
  refused("long.npy", 3, "4 bytes after the array\n");
  refused("-", 2, "cannot be read from standard input; use a file\n");
  arrays.refused({"--min", "lo.npy", "x.npy", "o"}, 2,
                 "--min: 'lo.npy' is not a number; to read the number from a file, write @lo.npy\n");
}

TEST_CASE("an array in a stream is refused") {
  if (!has_proc()) return skip_without("/proc");
  const Arrays arrays;
  const Result result = arrays.run_in_shell("cat lo.npy | \"$@\" --min @/proc/self/fd/0 x.npy o", {});
  check_refused(
      result, 2,
      "clipper: --min @/proc/self/fd/0: has shape (3,), but is a stream; an array must be in a regular "
      "file\n");
  arrays.write("one.npy", floats("(1,)", {1}));
  check_done(arrays.run_in_shell("cat one.npy | \"$@\" --min @/proc/self/fd/0 x.npy o", {}));
}

TEST_CASE("an output that is an array's file is refused, however it is named") {
  const Arrays arrays;
  std::filesystem::create_hard_link(arrays / "lo.npy", arrays / "link.npy");
  const auto refused = [&](const Words& words, std::string_view why) {
    arrays.refused(words, 2, fmt::format("clipper: {}\n", why));
  };
  refused({"--min", "@lo.npy", "x.npy", "lo.npy"}, "x.npy would be written to lo.npy, which --min reads");
  refused({"--max", "@lo.npy", "x.npy", "link.npy"}, "x.npy would be written to link.npy, which --max reads");
  refused({"--scale", "@lo.npy", "-i", "link.npy"},
          "link.npy would be written to link.npy, which --scale reads");
  refused({"--bias", "@x.npy", "-i", "--direct", "x.npy"},
          "x.npy would be written to x.npy, which --bias reads");
}

TEST_CASE("a batch in which one file does not broadcast writes nothing without --keep-going") {
  const Arrays arrays;
  arrays.write("other.npy", floats("(2,)", {0, 1}));
  const Words words{"--min", "@lo.npy", "--output-dir", "out", "x.npy", "other.npy"};
  const std::string why = "other.npy: --min @lo.npy has shape (3,); it must broadcast to (2,)\n";
  arrays.refused(words, 3, why);
  Words all = words;
  all.emplace_back("-k");
  check_refused(arrays.run(all), 3, why);
  CHECK(arrays.read("out/x.npy") == floats("(2, 3)", {0, 1, 2, 2, 3, kNan}));
}

TEST_CASE("shards recognise an array by its content") {
  const Arrays arrays;
  arrays.write("copy.npy", arrays.read("lo.npy"));
  for (const char* const shard : {"0/2", "1/2"})
    arrays.done({"--min", "@lo.npy", "--shard", shard, "x.npy", "o"});
  check_refused(arrays.run({"--finalize", "--min", "@hi.npy", "--shard", "0/2", "x.npy", "o"}), 5,
                "o.shards belongs to another run: 2 shards, float32 (2, 3), little-endian, C order, "
                "min @lo.npy (3,), ");
  arrays.done({"--finalize", "--min", "@copy.npy", "--shard", "0/2", "x.npy", "o"});
  CHECK(arrays.read("o") == floats("(2, 3)", {0, 1, 2, 2, 3, kNan}));
}

TEST_CASE("arrays give numpy's bytes as a file, through pipes, in place and with --direct") {
  const std::vector<std::string> names{"min.npy", "max.npy", "scale.npy", "bias.npy"};
  std::size_t number = 0;
  for (const auto& row : tsv::read("arrays/cases.tsv")) {
    const WorkingDirectory directory;
    const std::string input = file_of(row[2]);
    const std::string expected = file_of(row.back());
    directory.write("in.npy", input);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!row[3 + i].empty()) directory.write(names[i], file_of(row[3 + i]));
    const Words words = joined(tsv::split(row[1], ' '), settings(number));
    INFO(row[0] << " case " << number << ": " << row[1] << "; in " << row[2]);

    directory.done(joined(words, {"in.npy", "out.npy"}));
    CHECK((directory.read("out.npy") == expected));
    const Result piped = directory.run(joined(words, {"-", "-"}), input);
    check_done(piped);
    CHECK((piped.output == expected));
    ++number;
    if (number % 4 != 0) continue;  // these flush the disk
    Words in_place{"--in-place", "in.npy"};
    if (number % 8 == 0 && !contains(row[1], "--scale") && !contains(row[1], "--bias"))
      in_place.insert(in_place.begin(), "--direct");
    directory.done(joined(words, in_place));
    CHECK((directory.read("in.npy") == expected));
  }
  CHECK(number > 400);
}

}  // namespace clipper::testing
