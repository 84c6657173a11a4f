#include "cli/compare.hpp"

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "compare/tolerance.hpp"
#include "support/tsv.hpp"

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

TEST_CASE("compare prints nothing for equal tensors with different headers") {
  const WorkingDirectory directory;
  const std::string elements = bytes_of(scattered_floats(1000));
  directory.write("a.npy", npy_file("<f4", "False", "(1000,)", elements));
  directory.write("order.npy", npy_file("<f4", "True", "(1000,)", elements, 16));
  directory.write("big.npy", npy_file(">f4", "False", "(1000,)", byte_swapped(elements, 4)));
  for (const char* const name : {"a.npy", "order.npy", "big.npy"}) {
    check_same(directory, {"a.npy", name});
    check_same(directory, {"--bits", name, "a.npy"});
  }
  check_same(directory, {"--bytes", "a.npy", "a.npy"});
  check_same(directory, {"--header", "strict", "a.npy", "a.npy"});
  check_different(directory, {"--bytes", "a.npy", "order.npy"}, "FAIL a.npy: 4128 bytes, expected 4080\n");
  check_different(directory, {"--header", "strict", "a.npy", "big.npy"},
                  "FAIL a.npy: the headers differ at byte 21\n");
  check_same(directory, {"--header=semantic", "a.npy", "big.npy"});
  CHECK(run_compare(directory, {"-v", "a.npy", "a.npy"}).output == "ok a.npy\n");
}

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

TEST_CASE("every kind of file in directories has its pair") {
  const auto safetensors = [](float value) {
    const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    return bytes_of<std::uint64_t>({header.size()}) + header + bytes_of<float>({value});
  };
  const WorkingDirectory directory{{"got/a.npy", float32_file({1})},
                                   {"want/a.npy", float32_file({1})},
                                   {"got/m.safetensors", safetensors(1)},
                                   {"want/m.safetensors", safetensors(2)},
                                   {"want/t/n.safetensors", safetensors(1)}};
  const Result result = run_compare(directory, {"--atol", "0.5", "got", "want"});
  CHECK(result.exit_code == 1);
  CHECK(result.output.starts_with("FAIL got/m.safetensors:w: 1 of 1 differ (100 %); first "));
  CHECK(result.output.ends_with("FAIL got/t/n.safetensors: is missing\n3 pairs: 1 ok, 1 FAIL, 1 missing\n"));
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

TEST_CASE("a preset that does not exist is an error that names the nearest, and excludes what it sets") {
  const WorkingDirectory directory{{"a.npy", float32_file({1})}};
  check_refused(run_compare(directory, {"--tolerance", "numpi", "a.npy", "a.npy"}), 2,
                "--tolerance: unknown value 'numpi'; did you mean 'numpy'?");
  check_refused(run_compare(directory, {"--tolerance", "numpy", "--rtol", "1", "a.npy", "a.npy"}), 2,
                "--rtol and --tolerance cannot be used together");
  const Result help = run_clipper({"compare", "--help"});
  for (const DTypeTraits& row : tsv::kGoldenDTypes) {
    const PresetTolerance torch = preset_tolerance(TolerancePreset::torch, row.dtype);
    const std::string_view name = is_floating(row.dtype) ? row.name : "integers";
    CHECK(contains(std::regex_replace(help.output, std::regex("\\s+"), " "),
                   fmt::format("{} {} and {}", name, torch.relative, torch.absolute)));
  }
}

TEST_CASE("--metrics prints metrics of every pair, and their limits decide") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const WorkingDirectory directory{{"a.npy", float32_file({3, 4, 0})},
                                   {"e.npy", float32_file({4, 3, 0})},
                                   {"zero.npy", float32_file({0, 0, 0})},
                                   {"nan.npy", float32_file({nan, 1, 1})},
                                   {"two.npy", float32_file({1, 1})}};
  const auto run = [&](Words words) { return run_compare(directory, joined({"a.npy", "e.npy"}, words)); };
  CHECK(run({"--metrics"}).output ==
        "FAIL a.npy: 2 of 3 differ (66.7 %); first [0] actual 3 expected 4 (1, 4194304 ulp); max abs 1 at "
        "[0]; max "
        "rel 0.333, RMSE 0.816, cosine 0.96, SQNR 11 dB; would pass with --atol 1 or --ulp 4194304\n");
  CHECK(run_compare(directory, {"--metrics", "e.npy", "e.npy"}).output ==
        "ok e.npy: max rel 0, RMSE 0, cosine 1, SQNR inf dB\n");
  CHECK(run_compare(directory, {"--metrics", "nan.npy", "nan.npy"}).output ==
        "ok nan.npy: max rel none, RMSE none, cosine none, SQNR none\n");
  CHECK(run_compare(directory, {"--metrics", "zero.npy", "zero.npy"}).output ==
        "ok zero.npy: max rel 0, RMSE 0, cosine none, SQNR inf dB\n");
  const auto passes = [&](const Words& words) { return run(words).exit_code == 0; };
  CHECK(passes({"--min-cosine", "0.95"}));
  CHECK_FALSE(passes({"--min-cosine", "0.97"}));
  CHECK(passes({"--max-rmse", "0.817"}));
  CHECK_FALSE(passes({"--max-rmse", "0.816"}));
  CHECK(passes({"--min-sqnr", "10.9"}));
  CHECK_FALSE(passes({"--min-sqnr", "11"}));
  CHECK_FALSE(passes({"--min-cosine", "0.95", "--min-sqnr", "11"}));
  CHECK_FALSE(passes({"--min-cosine", "0.95", "--atol", "0.5"}));  // all must hold
  CHECK(passes({"--min-cosine", "0.95", "--atol", "1"}));
  CHECK_FALSE(passes({"--min-cosine", "0.97", "--max-mismatch", "3"}));
  CHECK(contains(run({"--min-cosine", "0.97", "--max-rmse", "0.9", "--min-sqnr", "11.5"}).output,
                 "SQNR 11 dB; cosine breaks --min-cosine 0.97, SQNR breaks --min-sqnr 11.5\n"));

  // What does not exist fails, unless every element matches.
  CHECK(run_compare(directory, {"--min-cosine", "1", "zero.npy", "zero.npy"}).exit_code == 0);
  CHECK(run_compare(directory, {"--min-cosine", "-1", "zero.npy", "a.npy"}).exit_code == 1);
  CHECK(run_compare(directory, {"--max-rmse", "9", "nan.npy", "a.npy"}).exit_code == 1);
  CHECK(run_compare(directory, {"--max-rmse", "9", "nan.npy", "nan.npy"}).exit_code == 0);
  check_different(directory, {"--metrics", "--min-cosine", "0", "two.npy", "a.npy"},
                  "FAIL two.npy: shape (2,), expected (3,)\n");
  check_refused(run({"--min-cosine", "nan"}), 2, "--min-cosine: 'nan' is not a number");
  check_refused(run({"--min-cosine", "1.01"}), 2, "--min-cosine: '1.01' is more than 1");
  check_refused(run({"--min-cosine", "-2"}), 2, "--min-cosine: '-2' is less than -1");
  check_refused(run({"--max-rmse", "-1"}), 2, "--max-rmse: '-1' is less than 0");

  const Words verify{"--max", "9", "a.npy", "--verify", "e.npy", "--min-cosine"};
  CHECK(directory.run(joined(verify, {"0.95"})).exit_code == 0);
  CHECK(directory.run(joined(verify, {"0.97"})).exit_code == 1);
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
