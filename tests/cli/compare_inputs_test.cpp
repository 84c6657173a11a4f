#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/compare.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

using Json = nlohmann::json;

/// The elements of shape (2, 3, 4), numbered from 0 in C order, stored in C or Fortran order.
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

}  // namespace

TEST_CASE("tensors of different memory orders are compared by index") {
  const WorkingDirectory directory{{"c.npy", counted_file(false, counted(false))},
                                   {"f.npy", counted_file(true, counted(true))}};
  check_same(directory, {"c.npy", "f.npy"});
  check_same(directory, {"f.npy", "c.npy"});
  std::vector<float> changed = counted(true);
  changed[0 + 2 * 1 + 6 * 3] = 100;  // [0, 1, 3]
  changed[1 + 2 * 0 + 6 * 0] = 99;   // [1, 0, 0]
  directory.write("f.npy", counted_file(true, changed));
  CHECK(contains(run_compare(directory, {"f.npy", "c.npy"}).output, "first [0, 1, 3] actual 100 expected 7"));
  CHECK(contains(run_compare(directory, {"c.npy", "f.npy"}).output, "first [1, 0, 0] actual 12 expected 99"));
  check_refused(run_compare(directory, {"-", "c.npy"}, directory.read("f.npy")), 3,
                "standard input: is in Fortran order");
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
    directory.write("c.npy", npy_file("<u4", "False", "(" + text + ")", bytes_of(c)));
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

TEST_CASE("directories are paired by path, a missing file differs, an error stops nothing") {
  const WorkingDirectory directory;
  for (const char* const name : {"got", "got/sub", "want", "want/sub"})
    std::filesystem::create_directory(directory / name);
  directory.write("got/a.npy", float32_file({1}));
  directory.write("want/a.npy", float32_file({1}));
  directory.write("got/sub/b.npy", float32_file({1}));
  directory.write("want/sub/b.npy", float32_file({1}));
  directory.write("got/readme.txt", "");
  check_same(directory, {"got", "want"});

  directory.write("want/sub/b.npy", float32_file({2}));
  directory.write("got/only.npy", float32_file({1}));
  directory.write("want/sub/c.npy", float32_file({1}));
  const std::string lines =
      "FAIL got/only.npy: want/only.npy is missing\n"
      "FAIL got/sub/b.npy: 1 of 1 differ (100 %); first [0] actual 1 expected 2 (1, 8388608 ulp); "
      "max abs 1 at [0]; would pass with --atol 1 or --ulp 8388608\n"
      "FAIL got/sub/c.npy: is missing\n";
  check_different(directory, {"got", "want"}, lines);
  CHECK(run_compare(directory, {"-v", "got/", "want"}).output.starts_with("ok got/a.npy\n"));

  directory.write("want/a.npy", "text");
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

TEST_CASE("compare reads standard input") {
  const WorkingDirectory directory;
  const std::vector<float> elements = scattered_floats(300'000);
  const std::string file = float32_file(elements);
  directory.write("a.npy", file);
  check_same(directory, {"-", "a.npy"}, file);
  check_same(directory, {"a.npy", "-"}, file);
  std::vector<float> changed = elements;
  changed[299'999] = 50;
  const Result result = run_compare(directory, {"--json", "-", "a.npy"}, float32_file(changed));
  CHECK(result.exit_code == 1);
  CHECK(Json::parse(result.output)["first"][0]["index"] == Json::parse("[299999]"));
  check_refused(run_compare(directory, {"-", "a.npy"}, file.substr(0, file.size() - 1)), 3,
                "standard input: truncated");
  check_refused(run_compare(directory, {"-", "a.npy"}, file + "x"), 3,
                "standard input: unexpected bytes after");
  check_refused(run_compare(directory, {"--bytes", "-", "a.npy"}, file), 3, "--bytes needs a regular file");
}

TEST_CASE("one changed element of many is found with any number of threads") {
  const WorkingDirectory directory;
  const std::vector<float> elements = scattered_floats(500'000);
  directory.write("e.npy", float32_file(elements));
  for (const std::size_t at : {0u, 31'000u, 32'767u, 32'768u, 499'999u}) {
    std::vector<float> changed = elements;
    changed[at] += 64;
    directory.write("a.npy", float32_file(changed));
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

TEST_CASE("empty tensors, scalars and bfloat16 saved as |V2 are compared") {
  const WorkingDirectory directory{{"empty.npy", npy_file("<f8", "False", "(3, 0)", "")},
                                   {"fortran.npy", npy_file("<f8", "True", "(3, 0)", "")}};
  check_same(directory, {"empty.npy", "fortran.npy"});
  directory.write("scalar.npy", npy_file("<f8", "False", "()", bytes_of<double>({1})));
  directory.write("other.npy", npy_file("<f8", "False", "()", bytes_of<double>({2})));
  CHECK(contains(run_compare(directory, {"scalar.npy", "other.npy"}).output, "first [] actual 1 expected 2"));
  directory.write("v.npy", npy_file("|V2", "False", "(1,)", {"\x80\x3f", 2}));
  directory.write("b.npy", npy_file("<V2", "False", "(1,)", {"\x80\x3f", 2}));
  check_refused(run_compare(directory, {"v.npy", "b.npy"}), 3, "--dtype bfloat16");
  check_same(directory, {"--dtype", "bfloat16", "v.npy", "b.npy"});
}

}  // namespace clipper::testing
