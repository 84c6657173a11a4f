#include "cli/compare.hpp"

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "compare/tolerance.hpp"
#include "support/tsv.hpp"

namespace clipper::testing {

using Json = nlohmann::json;

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
  directory.write("a.npy", npy_file("<f4", "False", "(600, 1000)", bytes_of(nearby)));
  directory.write("e.npy", npy_file("<f4", "False", "(600, 1000)", bytes_of(elements)));
  directory.write("f.npy", npy_file("<f4", "True", "(600, 1000)", bytes_of(elements)));
  for (const char* const expected : {"e.npy", "f.npy"}) {
    std::set<std::string> outputs;
    for (const char* const threads : {"1", "2", "7", "64"})
      outputs.insert(
          run_compare(directory, {"--json", "--metrics", "-j", threads, "a.npy", expected}).output);
    CHECK(outputs.size() == 1);
  }
}

}  // namespace clipper::testing
