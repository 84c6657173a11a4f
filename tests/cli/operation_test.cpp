#include "cli/clipper.hpp"
#include "simd/levels.hpp"
#include "support/tsv.hpp"

namespace clipper::testing::operation_test {
namespace {

constexpr std::size_t kUsualHeader = 128;

std::string data_file(const std::string& name) {
  return read_file(source_path("data/" + name));
}

/// What clipper writes for the file.
std::string output_for(const std::string& file, Words arguments) {
  const WorkingDirectory directory{{"in.npy", file}};
  arguments.insert(arguments.end(), {"in.npy", "out.npy"});
  CAPTURE(arguments);
  directory.done(arguments);
  CHECK(directory.entries() == Words{"in.npy", "out.npy"});
  return directory.read("out.npy");
}

/// Rows of goldens/cases.tsv: a plain clip and one with scale and bias, for every dtype.
std::vector<std::vector<std::string>> some_cases() {
  std::vector<std::vector<std::string>> cases;
  for (const DTypeTraits& dtype : tsv::kGoldenDTypes) {
    const int limit = is_floating(dtype.dtype) ? 6 : 100;
    for (const std::string& arguments :
         {std::string("--min 0 --max 6"), fmt::format("--min 0 --max {} --scale 0.5 --bias 1", limit)}) {
      const std::size_t known = cases.size();
      for (const auto& row : tsv::read("goldens/cases.tsv"))
        if (row[0] == "clipper" && row[1] == dtype.name && row[4] == arguments) cases.push_back(row);
      CAPTURE(dtype.name, arguments);
      CHECK(cases.size() == known + 1);
    }
  }
  return cases;
}

/// Checks a golden in one byte order: 1-D, and 2-D in both memory orders.
void check_golden(const Words& arguments, const std::string& descr, const std::string& elements,
                  const std::string& golden, std::size_t size) {
  const std::size_t half = elements.size() / size / 2;
  const std::string line = fmt::format("({},)", elements.size() / size);
  const std::string matrix = fmt::format("(2, {})", half);
  CAPTURE(descr);
  CHECK(output_for(npy_file(descr, "False", line, elements), arguments) ==
        npy_file(descr, "False", line, golden));
  for (const char* fortran_order : {"False", "True"}) {
    CAPTURE(fortran_order);
    CHECK(output_for(npy_file(descr, fortran_order, matrix, elements.substr(0, 2 * half * size)),
                     arguments) == npy_file(descr, fortran_order, matrix, golden.substr(0, 2 * half * size)));
  }
}

}  // namespace

TEST_CASE("the program writes the goldens of every dtype, including headers") {
  for (const auto& row : some_cases()) {
    const DTypeTraits& dtype = traits(dtype_named(row[1]).value());
    const std::string elements = data_file("edge/" + row[1] + ".npy").substr(kUsualHeader);
    const std::string golden =
        data_file("goldens/clipper/" + row[1] + ".npy")
            .substr(kUsualHeader + std::stoul(row[2]) * elements.size(), elements.size());
    const Words arguments = joined({"-q"}, tsv::split(row[4], ' '));  // no warning about fractions
    CAPTURE(row[1], arguments);
    const std::string descr(dtype.descr);
    check_golden(arguments, (dtype.size == 1 ? "|" : "<") + descr, elements, golden, dtype.size);
    if (dtype.size > 1)
      check_golden(arguments, ">" + descr, byte_swapped(elements, dtype.size),
                   byte_swapped(golden, dtype.size), dtype.size);
  }
}

TEST_CASE("every SIMD level, thread count and chunk size gives the same bytes") {
  const std::vector<float> elements = scattered_floats(800'001);
  const std::string input = float32_file(elements);
  const std::string expected = float32_file(clipped(elements, 0, 6));
  for (const SimdLevel level : simd_levels()) {
    for (const char* threads : {"1", "2", "7"}) {
      for (const char* chunk_size : {"4096", "262144"}) {
        CAPTURE(to_string(level), threads, chunk_size);
        const bool same = expected == output_for(input, {"--min", "0", "--max", "6", "--simd",
                                                         std::string(to_string(level)), "--threads", threads,
                                                         "--chunk-size", chunk_size});
        CHECK(same);
      }
    }
  }
}

}  // namespace clipper::testing::operation_test
