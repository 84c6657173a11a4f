#include <regex>
#include <set>

#include "cli/clipper.hpp"
#include "compare/tolerance.hpp"
#include "support/tsv.hpp"

namespace clipper::testing::compare_test {

namespace {

using Json = nlohmann::json;

Result run_compare(const WorkingDirectory& directory, const Words& arguments, std::string_view input = "") {
  return directory.run(joined({"compare"}, arguments), input);
}

void check_same(const WorkingDirectory& directory, const Words& arguments) {
  const Result result = run_compare(directory, arguments);
  CAPTURE(arguments, result.output);
  check_done(result);
  CHECK(result.output.empty());
}

/// The transpose of an m x n matrix, both in C order.
std::vector<float> transposed(const std::vector<float>& elements, std::size_t m, std::size_t n) {
  std::vector<float> result(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) result[i % n * m + i / n] = elements[i];
  return result;
}

namespace fs = std::filesystem;

/// Checks the file with Debian's xmllint.
void check_valid_junit(const WorkingDirectory& directory, const std::string& name) {
  const Result result =
      Process({"xmllint", "--noout", "--schema", source_path("tests/cli/junit.xsd"), directory / name}, {})
          .finish();
  CAPTURE(result.error);
  CHECK(result.exit_code == 0);
}

}  // namespace

TEST_CASE("the files pass with the tolerance that compare suggests") {
  const WorkingDirectory directory;
  const std::vector<float> actual = scattered_floats(64);
  for (std::size_t i = 0; i + 1 < actual.size(); ++i) {
    directory.write("a.npy", float32_file({actual[i]}));
    directory.write("e.npy", float32_file({actual[i + 1]}));
    const std::string text = run_compare(directory, {"--rtol", "0.01", "a.npy", "e.npy"}).output;
    const std::string after = text.substr(text.find("--atol ") + 7);
    check_same(directory, {"--rtol", "0.01", "--atol", after.substr(0, after.find(' ')), "a.npy", "e.npy"});
  }
}

TEST_CASE("large tensors of different memory orders are compared by index") {
  const WorkingDirectory directory;
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
    directory.write("c.npy", tensor_of("<u4", c, "(" + text + ")"));
    directory.write("f.npy", npy_file("<u4", "True", "(" + text + ")", bytes_of(fortran)));
    check_same(directory, {"c.npy", "f.npy"});
    check_same(directory, {"--threads", "1", "f.npy", "c.npy"});
    fortran.back() += 5;
    directory.write("f.npy", npy_file("<u4", "True", "(" + text + ")", bytes_of(fortran)));
    const Json json = Json::parse(run_compare(directory, {"--json", "f.npy", "c.npy"}).output);
    CHECK(json["mismatches"] == 1);
    CHECK(json["compared"] == count);
    CHECK(json["first"][0]["index"].get<Shape>() == last);
    CHECK(json["first"][0]["difference"] == 5);
  }
}

TEST_CASE("the help has the tolerances of torch for each dtype") {
  const Result help = run_clipper({"compare", "--help"});
  for (const DTypeTraits& row : tsv::kGoldenDTypes) {
    const PresetTolerance torch = preset_tolerance(TolerancePreset::torch, row.dtype);
    const std::string_view name = is_floating(row.dtype) ? row.name : "integers";
    CHECK(contains(std::regex_replace(help.output, std::regex("\\s+"), " "),
                   fmt::format("{} {} and {}", name, torch.relative, torch.absolute)));
  }
}

TEST_CASE("metrics have the same digits with every number of threads and in every memory order") {
  WorkingDirectory directory;
  const std::vector<float> elements = scattered_floats(600'000);
  std::vector<float> nearby = elements;
  for (std::size_t i = 0; i < nearby.size(); i += 3) nearby[i] *= 1.01F;
  directory.write("a.npy", tensor_of("<f4", nearby, "(600, 1000)"));
  directory.write("e.npy", tensor_of("<f4", elements, "(600, 1000)"));
  directory.write("f.npy", npy_file("<f4", "True", "(600, 1000)", bytes_of(elements)));
  for (const char* const expected : {"e.npy", "f.npy"}) {
    std::set<std::string> outputs;
    for (const char* const threads : {"1", "2", "7", "64"})
      outputs.insert(
          run_compare(directory, {"--json", "--metrics", "-j", threads, "a.npy", expected}).output);
    CHECK(outputs.size() == 1);
  }
}

TEST_CASE("--diff-out is the same for all chunks, streams and memory orders") {
  const WorkingDirectory directory;
  constexpr std::size_t kRows = 700;
  constexpr std::size_t kColumns = 500;
  std::vector<std::int16_t> expected(kRows * kColumns);
  std::vector<std::int16_t> actual(expected.size());
  std::vector<std::uint16_t> difference(expected.size());
  std::vector<std::int16_t> fortran(expected.size());
  std::vector<std::uint16_t> fortran_difference(expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t place = i % kColumns * kRows + i / kColumns;
    expected[i] = static_cast<std::int16_t>(i * 40'503 % 65'536 - 32'768);
    actual[i] = fortran[place] = static_cast<std::int16_t>(i * 25'717 % 65'536 - 32'768);
    difference[i] = fortran_difference[place] = static_cast<std::uint16_t>(std::abs(actual[i] - expected[i]));
  }
  const auto file = [&](const char* descr, const char* order, const auto& elements) {
    return npy_file(descr, order, "(700, 500)", bytes_of(elements));
  };
  directory.write("c.npy", file("<i2", "False", actual));
  directory.write("f.npy", file("<i2", "True", fortran));
  directory.write("e.npy", file("<i2", "False", expected));
  for (const char* const threads : {"1", "2", "5"}) {
    CAPTURE(threads);
    const auto check = [&](const char* a, const char* e, const std::string& d, std::string_view input = "") {
      CAPTURE(a, e);
      CHECK(run_compare(directory, {a, e, "--threads", threads, "--diff-out", "d.npy"}, input).exit_code ==
            1);
      CHECK(directory.read("d.npy") == d);
    };
    check("c.npy", "e.npy", file("<u2", "False", difference));
    check("f.npy", "e.npy", file("<u2", "False", difference));
    check("e.npy", "f.npy", file("<u2", "True", fortran_difference));
    check("-", "e.npy", file("<u2", "False", difference), directory.read("c.npy"));
  }
}

TEST_CASE("--verify accepts a golden file with another memory order, byte order and header") {
  const WorkingDirectory directory;
  const std::vector<float> elements = scattered_floats(210'000);
  std::vector<float> golden = clipped(elements, 0, 6);
  directory.write("in.npy", tensor_of("<f4", elements, "(700, 300)"));
  const auto write_golden = [&] {
    const std::string swapped = byte_swapped(bytes_of(transposed(golden, 700, 300)), 4);
    directory.write("golden.npy", npy_file(">f4", "True", "(700, 300)", swapped, 16));
  };
  write_golden();
  const Words words{"--min", "0", "--max", "6", "in.npy", "--verify", "golden.npy"};
  directory.done(words);
  golden[5105] = 100;  // [17, 5]
  write_golden();
  const Result result = directory.run(words);
  CHECK(result.exit_code == 1);
  CHECK(result.output.starts_with("FAIL in.npy: 1 of 210000 differ (0.000476 %); first [17, 5] actual "));
}

TEST_CASE("10,000 pairs in a tree take few MiB of memory and end with one line") {
  const WorkingDirectory directory;
  const std::string file = float32_file({1, 2, 3});
  for (int i = 0; i < 10'000; ++i) directory.write(fmt::format("in/{}/{}.npy", i % 100, i), file);
  fs::copy(directory / "in", directory / "golden", fs::copy_options::recursive);
  const auto limited = [&](const Words& words) {
    // KiB of memory, stacks of threads, too. Sanitizers reserve more.
    return directory.run_in_shell("ulimit -d ${CLIPPER_ULIMIT:-65536}; \"$@\"", words);
  };
  for (const Words& words :
       {Words{"compare", "in", "golden", "-j", "1", "--report", "junit=r.xml"},
        Words{"--max", "6", "-r", "in", "--verify", "golden", "-j", "1", "--report", "junit=r.xml"}}) {
    const Result result = limited(words);
    CAPTURE(words, result.error);
    CHECK(result.exit_code == 0);
    CHECK(result.output == "10000 pairs: 10000 ok\n");
    CHECK(contains(directory.read("r.xml"), "tests=\"10000\" failures=\"0\""));
  }
  check_valid_junit(directory, "r.xml");
  const Result piped = directory.run_in_shell(
      "\"$@\" | cat >s.xml", {"compare", "in", "golden", "-q", "--report", "junit=/dev/fd/1"});
  CHECK(piped.exit_code == 0);
  check_valid_junit(directory, "s.xml");
  CHECK(contains(directory.read("s.xml"), "tests=\"10000\" failures=\"0\""));
}

}  // namespace clipper::testing::compare_test
