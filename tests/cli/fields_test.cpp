#include "contract/fields.hpp"

#include <regex>
#include <set>

#include "cli/clipper.hpp"
#include "clip/clip_option_table.hpp"
#include "command_line/command_spec.hpp"
#include "counts.hpp"
#include "support/archives.hpp"

/// A member of a request that is added to contract/fields.hpp must be typed, documented and reported.
namespace clipper::testing::fields_test {
namespace {

using Json = nlohmann::json;
using Names = std::set<std::string>;

std::string source(const std::string& path) {
  return read_file(source_path(path));
}

/// A request also has the later stages.
Names names_of_request() {
  Names names{"then"};
  for (const Field& field : fields::kAll) names.emplace(field.name);
  return names;
}

/// What the pattern's only group has matched.
Names found_in(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  Names names;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
    names.insert((*match)[1].str());
  return names;
}

/// The lines between two texts.
std::string between(const std::string& text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin);
  REQUIRE(from != text.npos);
  return text.substr(from, text.find(end, from) - from);
}

/// Options that together give every field of contract/fields.hpp, for x.npy, which is float32 1 2, beside
/// y.npy, which is float32 1 9.
const std::array kEveryField{
    Words{"--profile", "numpy-2", "--min", "6", "--max", "0", "--min-above-max", "max", "--nan", "keep"},
    Words{"--scale", "1/@y.npy", "--bias", "5", "--nodata", "2", "--nodata", "nan", "--nodata-to", "3",
          "--mask", "@y.npy", "--mask-to", "4"},
    Words{"--max", "@y.npy", "--min", "0%", "--subtract", "mean", "--divide", "2", "--divide-zero", "keep",
          "--per-axis", "-1", "--round", "floor", "--saturate", "--to", "float16"},
    Words{"--min", "25%", "--max", "75%", "--stretch", "0:255", "--to", "uint8", "--pooled"},
    Words{"--stretch", "0:255", "--stretch-from", "1:50%", "--mask", "@y.npy"},
    Words{"--max-norm", "3", "--norm", "1", "--then", "--max-norm", "2"},
    Words{"--min", "0", "--replace-below", "1", "--max", "1", "--replace-above", "0", "--zero-point", "3",
          "--to", "uint8"},
};

}  // namespace

TEST_CASE("every field of a request is an option, and the manual has it") {
  const Result manual = run_clipper({"--generate", "clipper.1"});
  check_done(manual);
  for (const Field& field : fields::kAll) {
    CAPTURE(field.name);
    CHECK(option_named(kClipSpec, field.option()) != nullptr);
    CHECK(contains(manual.output, inline_to_troff(fmt::format("`{}", field.option()))));
  }
}

TEST_CASE("every field of a request is in the types of the Python module") {
  const std::string stub = source("app/python/core/clipper/__init__.pyi");
  Names names = found_in(between(stub, "class _Request(", "class ClipperError"), "\n    (\\w+): ");
  names.merge(found_in(between(stub, "def clip_file(", "dtype: "), "\n    (min|max|to): "));
  CHECK(names == names_of_request());
}

TEST_CASE("--json and -v report every field of a request that is given") {
  const WorkingDirectory directory{{"x.npy", float32_file({1, 2})}, {"y.npy", float32_file({1, 9})}};
  Names names;
  for (const Words& words : kEveryField) {
    const Result result = directory.run(joined(words, {"--json", "-v", "x.npy", "o.npy"}));
    CAPTURE(words, result.error);
    CHECK(result.exit_code == 0);
    const Json request = Json::parse(result.output).at("request");
    for (const auto& [name, value] : request.items()) names.insert(name);
    std::string typed;
    for (const std::string& word : words) typed += " " + word;
    for (const Field& field : fields::kAll)
      if (contains(typed, " " + std::string(field.option()) + " ")) CHECK(request.contains(field.name));
    CHECK(std::ranges::count(words, "--nodata") == std::ssize(request.value("nodata", Json::array())));
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with("--");
      if (words[i].starts_with("--"))
        CHECK(contains(result.error, " " + words[i] + (has_value ? " " + words[i + 1] : "")));
    }
  }
  CHECK(names == names_of_request());
}

TEST_CASE("every count is in JSON, in the schema and in the types of the Python module") {
  Names counts{"elements", "changed"};
  for (const CountedElements& row : kCountedElements) counts.emplace(row.name);
  const std::string stub = source("app/python/core/clipper/__init__.pyi");
  Names in_python = counts;
  in_python.emplace("then");
  CHECK(found_in(between(stub, "class Counts(", "class reciprocal"), "\n    (\\w+): ") == in_python);
  const std::string module = between(source("app/python/core/clipper/_files.py"), "class Counts(", "\ndef ");
  CHECK(found_in(module, "\n    (\\w+): ") == in_python);

  const Json schema = Json::parse(run_clipper({"--generate", "clipper.schema.json"}).output)
                          .at("$defs")
                          .at("clip")
                          .at("properties");
  const WorkingDirectory directory{{"x.npy", float32_file({1, 2})}};
  const Json all = Json::parse(directory
                                   .run({"--max", "1", "--replace-above", "0", "--nodata", "9", "--to",
                                         "float16", "--json", "x.npy", "o.npy"})
                                   .output);
  const Json some = Json::parse(directory.run({"--max", "1", "--json", "x.npy", "o.npy"}).output);
  for (const std::string& name : counts) {
    CAPTURE(name);
    CHECK((schema.contains(name) && all.contains(name)));
  }
  CHECK_FALSE((some.contains("replaced") || some.contains("nodata") || some.contains("became_zero")));
}

TEST_CASE("values of --json are as typed") {
  const WorkingDirectory directory{{"x.npy", float32_file({1, 2})}, {"y.npy", float32_file({1, 9})}};
  const auto request = [&](const Words& words) {
    return Json::parse(directory.run(joined(words, {"--json", "x.npy", "o.npy"})).output).at("request");
  };
  CHECK(request(kEveryField[1]) == Json{{"scale", {{"file", "y.npy"}, {"shape", {2}}, {"divides", true}}},
                                        {"bias", 5},
                                        {"nodata", {2, "nan"}},
                                        {"nodata_to", 3},
                                        {"mask", {{"file", "y.npy"}, {"shape", {2}}}},
                                        {"mask_to", 4}});
  CHECK(request(kEveryField[3]) ==
        Json{{"min", "25%"}, {"max", "75%"}, {"stretch", "0:255"}, {"to", "uint8"}, {"pooled", true}});
}

}  // namespace clipper::testing::fields_test
