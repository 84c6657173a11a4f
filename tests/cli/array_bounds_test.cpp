#include "cli/clipper.hpp"
#include "simd/levels.hpp"
#include "support/tsv.hpp"

/// Arrays as --min, --max, --scale and --bias, as users see them.
namespace clipper::testing::array_bounds_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string floats(std::string_view shape, const std::vector<float>& elements) {
  return tensor_of("<f4", elements, shape);
}

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
  directory.refused({"--profile", "clipper", "--min", "@lo.npy", "x.npy", "o"}, 2,
                    "NaN at [1, 0] cannot be a bound");
  directory.refused({"--profile", "pytorch", "--min", "@lo.npy", "--max", "7", "x.npy", "o"}, 2,
                    "PyTorch 2 clamp takes no array beside a number");
  directory.refused({"--profile", "stablehlo", "--min", "@lo.npy", "--max", "7", "x.npy", "o"}, 3,
                    "StableHLO 1 clamp needs one number or the tensor's shape, (3, 5000)");
  directory.refused(
      {"--profile", "numpy", "--min", "@lo.npy", "--max", "-1", "--min-above-max", "error", "x.npy", "o"}, 2,
      "exceeds --max -1");
}

TEST_CASE("arrays give numpy's bytes as a file, through pipes, in place and with --direct") {
  const std::vector<std::string> names{"min.npy", "max.npy", "scale.npy", "bias.npy"};
  std::size_t number = 0;
  for (const auto& row : tsv::read("arrays/cases.tsv")) {
    const std::string input = file_of(row[2]);
    const std::string expected = file_of(row.back());
    const WorkingDirectory directory{{"in.npy", input}};
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

}  // namespace clipper::testing::array_bounds_test
