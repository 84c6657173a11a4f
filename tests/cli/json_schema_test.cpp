#include <set>

#include "cli/clipper.hpp"
#include "command_line/command_spec.hpp"
#include "support/archives.hpp"

namespace clipper::testing::json_schema_test {
namespace {

using Json = nlohmann::json;

const Json& schema() {
  static const Json read = Json::parse(run_clipper({"--generate", "clipper.schema.json"}).output);
  return read;
}

const Json& resolved(const Json& part) {
  return part.contains("$ref") ? schema().at(Json::json_pointer(part.at("$ref").get<std::string>().substr(1)))
                               : part;
}

/// Calls `visit` with the name of every member in an object's schema, nested objects included: "shard.index".
/// A request has those of later stages, which are requests.
template <class Visit>
void for_each_member(const Json& part, const std::string& prefix, const Visit& visit) {
  const bool is_of_itself = &part == &schema().at("$defs").at("request").at("properties").at("then");
  if (part.contains("items") && !is_of_itself) for_each_member(resolved(part.at("items")), prefix, visit);
  if (!part.contains("properties")) return;
  for (const auto& [name, member] : part.at("properties").items()) {
    visit(prefix + name, member);
    for_each_member(member, prefix + name + ".", visit);
  }
}

/// Whether the value is the object `array`, which stands where a number could.
bool is_parameter_array(const Json& value) {
  return value.is_object() && value.contains("file") && value.contains("shape");
}

/// Adds the names of all members of a value, nested objects included, but not those of `request`, which
/// fields_test.cpp checks, and of stages in `then`, which have those of the object.
void add_members(const Json& value, const std::string& prefix, std::set<std::string>& names) {
  if (value.is_array())
    for (const Json& each : value) add_members(each, prefix, names);
  if (!value.is_object() || is_parameter_array(value)) return;
  for (const auto& [name, member] : value.items()) {
    names.insert(prefix + name);
    if (name != "request" && name != "then") add_members(member, prefix + name + ".", names);
  }
}

const std::string kNotUtf8 = "not\xff";

struct Example {
  std::string_view object;  ///< its name in $defs of the schema
  std::vector<Words> commands;
};

const std::array kExamples{
    Example{
        "clip",
        {{"--json", "--min", "1.5", "--shard", "0/2", "i.npy", "o.npy"},
         {"--json", "--scale", "@y.npy", "--bias", "@y.npy", "x.npy", "o2.npy"},
         {"--json", "--subtract", "@y.npy", "--divide", "@y.npy", "--max-norm", "1", "x.npy", "o4.npy"},
         {"--json", "--min", "0", "--replace-below", "1", "--to", "int8", "--nodata", "2", "x.npy", "o3.npy"},
         {"--json", "--min", "0", "--then", "--max", "1", "x.npy", "o5.npy"},
         {"--json", "--min", "0", "a.npz", "o.npz"},
         {"--json", "--min", "0", "empty.npz", "o.npz"},
         {"--json", "--min", "0", kNotUtf8 + ".npz", kNotUtf8 + "-out.npz"},
         {"--json", "--min", "0", "text.npy", "o.npy"}}},
    Example{"clip_summary",
            {{"--json", "--min", "0", "--output-dir", "out", "--skip-existing", "x.npy", "i.npy"}}},
    Example{"info",
            {{"info", "--json", "--percentile", "1", "--nodata", "2", "x.npy", "text.npy", "a.npz",
              "empty.npz", kNotUtf8 + ".npz"},
             {"info", "--json", "--per-axis", "0", "--total", "--value", "mean", "x.npy"}}},
    Example{"compare",
            {{"compare", "--json", "x.npy", "y.npy"},
             {"compare", "--json", "--metrics", "x.npy", "y.npy"},
             {"compare", "--json", "x.npy", "i.npy"},
             {"compare", "--json", "x.npy", "text.npy"},
             {"compare", "--json", "a.npz", "a.npz"},
             {"compare", "--json", "empty.npz", "empty.npz"},
             {"compare", "--json", kNotUtf8 + ".npz", kNotUtf8 + ".npz"},
             {"--json", "--min", "1.5", "i.npy", "--verify", "i.npy"},
             {"--json", "--min", "1", "i.npy", "--verify", "new.npy", "--update-golden"}}},
    Example{"compare_summary",
            {{"compare", "--json", "d", "d"}, {"compare", "--json", "--ulp", "*=1", "d", "d"}}},
    Example{"error", {{"--json", "--unknown"}}},
    Example{"profile", {{"profiles", "--json"}}},
    Example{"profiles_of_file", {{"profiles", "--json", kNotUtf8 + ".npy"}}},
};

std::vector<Json> printed(const std::string& output) {
  if (Json whole = Json::parse(output, nullptr, false); !whole.is_discarded()) return {whole};
  std::vector<Json> objects;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) objects.push_back(Json::parse(line));
  return objects;
}

}  // namespace

TEST_CASE("the schema describes all members and allows no others") {
  for (const auto& [name, part] : schema().at("$defs").items()) {
    CAPTURE(name);
    if (part.contains("properties")) CHECK(part.at("additionalProperties") == false);
    for_each_member(part, "", [](const std::string& path, const Json& member) {
      CAPTURE(path);
      CHECK_FALSE(member.at("description").get<std::string>().empty());
      if (member.contains("properties")) CHECK(member.at("additionalProperties") == false);
      if (member.contains("items") && member.at("items").contains("properties"))
        CHECK(member.at("items").at("additionalProperties") == false);
    });
  }
}

TEST_CASE("the manual describes every object and every member of the schema in the same words") {
  const Result result = run_clipper({"--generate", "clipper-json.5"});
  check_done(result);
  const auto check = [&](const std::string& text) {
    CAPTURE(text);
    CHECK(contains(result.output, text));
  };
  for (const Json& each : schema().at("oneOf")) {
    const std::string name = each.at("$ref").get<std::string>().substr(std::string("#/$defs/").size());
    const Json& object = resolved(each);
    const auto words_of = [](const Json& part) {
      return inline_to_troff(part.at("description").get<std::string>()) + ".\n";
    };
    check(".SS The object " + name + "\n" + words_of(object));
    for_each_member(object, "", [&](const std::string& path, const Json& member) {
      check(".HP 4\n\\fB" + path + "\\fR: " + words_of(member));
    });
  }
}

TEST_CASE("every member in the schema is printed by some command") {
  const WorkingDirectory directory{
      {"x.npy", float32_file({1, 2})},
      {"y.npy", float32_file({1, 9})},
      {kNotUtf8 + ".npy", float32_file({1})},
      {"i.npy", tensor_of<std::int32_t>("<i4", {1, 2})},
      {"text.npy", "text"},
      {"a.npz", npz_file({{"x.npy", float32_file({1, 2})}, {"note.txt", "text"}})},
      {"empty.npz", npz_file({})},
      {"d/x.npy", float32_file({1})},
      {kNotUtf8 + ".npz", npz_file({{kNotUtf8 + ".npy", float32_file({1})}})}};
  for (const auto& [object, commands] : kExamples) {
    CAPTURE(object);
    std::set<std::string> names;
    for (const Words& words : commands)
      for (const Json& each : printed(directory.run(words).output))
        if (each.is_array() || each.at("object") == object) add_members(each, "", names);
    for_each_member(schema().at("$defs").at(std::string(object)), "",
                    [&](const std::string& name, const Json&) {
                      CAPTURE(name);
                      CHECK(names.erase(name) == 1);
                    });
    CHECK(names.empty());
  }
}

/// "string": the types that a schema allows, without null.
std::set<std::string> types_of(const Json& part) {
  const Json& schema = resolved(part);
  std::set<std::string> types;
  for (const char* const choice : {"anyOf", "oneOf"})
    if (schema.contains(choice))
      for (const Json& each : schema.at(choice)) types.merge(types_of(each));
  const auto add = [&](const Json& type) { types.insert(type.get<std::string>()); };
  if (schema.contains("type") && schema.at("type").is_array())
    for (const Json& type : schema.at("type")) add(type);
  else if (schema.contains("type"))
    add(schema.at("type"));
  if (schema.contains("enum"))
    for (const Json& value : schema.at("enum"))
      types.insert(value.is_number() ? "integer" : value.type_name());
  if (schema.contains("const"))
    types.insert(schema.at("const").is_number() ? "integer" : schema.at("const").type_name());
  types.erase("null");
  return types;
}

TEST_CASE("a member that several objects have is of one type") {
  std::map<std::string, std::set<std::string>> types;
  for (const Json& each : schema().at("oneOf")) {
    const Json& object = resolved(each);
    const Json item = object.value("items", object);
    for (const auto& [name, member] : resolved(item).at("properties").items()) {
      CAPTURE(name);
      CHECK(types.try_emplace(name, types_of(member)).first->second == types_of(member));
    }
  }
}

TEST_CASE("the file OUT.json of --split-output has all members of the schema") {
  const WorkingDirectory directory{{"x.npy", float32_file({1, 2})}};
  directory.done({"--min", "0", "--shard", "0/2", "--split-output", "x.npy", kNotUtf8 + ".npy"});
  Result index;
  index.output = directory.read(kNotUtf8 + ".json");
  record_json(clipper_words({"--json"}), index);
  std::set<std::string> names;
  add_members(Json::parse(index.output), "", names);
  for_each_member(schema().at("$defs").at("slabs"), "",
                  [&](const std::string& name, const Json&) { CHECK(names.erase(name) == 1); });
  CHECK(names.empty());
}

}  // namespace clipper::testing::json_schema_test
