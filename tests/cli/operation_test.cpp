#include "cli/clipper.hpp"
#include "element/dtype.hpp"
#include "simd/levels.hpp"
#include "support/tsv.hpp"

namespace clipper::testing {
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
        if (row[0] == "native" && row[1] == dtype.name && row[4] == arguments) cases.push_back(row);
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

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A tensor of shape (300, 1000) that is NaN from position 123456 on: every thread finds a NaN.
std::string with_nans(const char* fortran_order) {
  std::vector<float> elements = scattered_floats(123'456);
  elements.resize(300'000, kNan);
  return npy_file("<f4", fortran_order, "(300, 1000)", bytes_of(elements));
}

}  // namespace

TEST_CASE("the program writes the goldens of every dtype, including headers") {
  for (const auto& row : some_cases()) {
    const DTypeTraits& dtype = traits(dtype_named(row[1]).value());
    const std::string elements = data_file("edge/" + row[1] + ".npy").substr(kUsualHeader);
    const std::string golden =
        data_file("goldens/native/" + row[1] + ".npy")
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

TEST_CASE("tensors with no or one element are clipped") {
  const Words arguments{"--min", "0", "--max", "6"};
  const std::string nine = bytes_of(std::vector<float>{9});
  const std::string six = bytes_of(std::vector<float>{6});
  CHECK(output_for(npy_file("<f4", "False", "()", nine), arguments) == npy_file("<f4", "False", "()", six));
  CHECK(output_for(npy_file("<f4", "False", "(1, 1)", nine), arguments) ==
        npy_file("<f4", "False", "(1, 1)", six));
  for (const char* shape : {"(0,)", "(3, 0)", "(0, 1000000)"}) {
    const std::string file = npy_file("<f4", "False", shape, "");
    CHECK(output_for(file, arguments) == file);
  }
}

TEST_CASE("the output has np.save's header for every header of the input") {
  const Words unchanging{"--min", "0"};
  const std::string elements = bytes_of(std::vector<float>{1, 2, 3});
  const std::string expected = npy_file("<f4", "False", "(3, 1)", elements);
  CHECK(output_for(npy_file("<f4", "True", "(3, 1)", elements), unchanging) == expected);
  CHECK(output_for(npy_file("f4", "False", "(3L, 1)", elements, 16), unchanging) == expected);
  CHECK(output_for(npy_file("<f4", "True", "(0, 3)", ""), unchanging) ==
        npy_file("<f4", "False", "(0, 3)", ""));
}

TEST_CASE("a bound from a file is the file's element") {
  const WorkingDirectory directory{
      {"lo.npy", npy_file(">f4", "False", "()", byte_swapped(bytes_of(std::vector{1.5F}), 4))}};
  CHECK(output_for(float32_file({1, 2}), {"--min", "@" + directory / "lo.npy"}) == float32_file({1.5F, 2}));
}

TEST_CASE("--nan error names the first NaN with any threads and chunks, and writes nothing") {
  const WorkingDirectory directory{{"out.npy", "old"}};
  for (const auto& [order, index] :
       std::vector<std::pair<const char*, std::string>>{{"False", "[123, 456]"}, {"True", "[156, 411]"}}) {
    directory.write("in.npy", with_nans(order));
    for (const char* threads : {"1", "2", "7"}) {
      for (const char* chunk_size : {"4096", "8192", "262144", "16777216"}) {
        for (const char* out : {"out.npy", "new.npy"}) {
          const Result result = directory.refused({"--nan", "error", "--max", "6", "--threads", threads,
                                                   "--chunk-size", chunk_size, "in.npy", out},
                                                  3, index);
          CHECK(contains(result.error, "in.npy: "));
          CHECK(contains(result.error, "123456"));
        }
      }
    }
  }
}

TEST_CASE("--nan error between pipes names the first NaN and sends nothing after it") {
  for (const char* threads : {"1", "7"}) {
    const Result result = run_clipper(
        {"--nan", "error", "--threads", threads, "--chunk-size", "4096", "-", "-"}, {}, with_nans("False"));
    check_refused(result, 3, "standard input: NaN at [123, 456]");
    CHECK(result.output.size() <= 128 + 123'456 * sizeof(float));
  }
}

TEST_CASE("--nan error names the NaN of a 0-d tensor, and accepts tensors without NaN") {
  const WorkingDirectory directory{{"in.npy", npy_file("<f4", "False", "()", bytes_of(std::vector{kNan}))}};
  directory.refused({"--nan", "error", "in.npy", "out.npy"}, 3, "NaN at []");
  for (const std::string& file :
       {float32_file({1, 2}), float32_file({}), npy_file("|i1", "False", "(3,)", "abc")}) {
    directory.write("in.npy", file);
    directory.done({"--nan", "error", "in.npy", "out.npy"});
    CHECK(directory.read("out.npy") == file);
  }
}

}  // namespace clipper::testing
