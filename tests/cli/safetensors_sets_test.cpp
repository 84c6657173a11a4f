#include <nlohmann/json.hpp>

#include "cli/safetensors_files.hpp"

/// Sets of safetensors files: an index, model.safetensors.index.json, stands for the files that it names.
namespace clipper::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kIndex = "model.safetensors.index.json";
const Words kIn{kIndex, "--output-dir", "out"};
constexpr int kFiles = 4;

std::string file(int number) {
  return fmt::format("model-{:05}-of-{:05}.safetensors", number, kFiles);
}

std::string bf16(std::initializer_list<float> values) {
  std::string bytes;
  for (const float value : values) bytes += floats({value}).substr(2);
  return bytes;
}

/// Little-endian integers that another dtype would change.
const std::string kIds("\1\0\0\1\0\0\0\0", 8);

/// The text as transformers writes it.
std::string text_of(const Json& index) {
  return index.dump(2) + "\n";
}

std::vector<Part> parts_of(int number) {
  switch (number) {
    case 1: return {{"embed", "F32", floats({1.5, -2, 300})}, {"ids", "I64", kIds}};
    case 2: return {{"norm", "BF16", bf16({-1, 7})}, {"w", "F32", floats({7, -1})}};
    case 3: return {{"mask", "BOOL", std::string("\1\0", 2)}, {"steps", "I64", kIds}};
    default: return {{"head", "F32", floats({0.5})}};
  }
}

/// Four files and their index, which has keys that clipper does not know.
class Set : public WorkingDirectory {
 public:
  Set() {
    for (int i = 1; i <= kFiles; ++i)
      write(file(i), file_of(parts_of(i), R"("__metadata__":{"format":"pt"},)"));
    write(kIndex, text_of(index(46)));
  }

  [[nodiscard]] static Json index(int total_size) {
    Json json{{"metadata", {{"total_size", total_size}, {"by", "us"}}}, {"version", {1, nullptr, 2.5}}};
    for (int i = 1; i <= kFiles; ++i)
      for (const Part& part : parts_of(i)) json["weight_map"][part.name] = file(i);
    return json;
  }

  void write_index(const Json& json) const { write(kIndex, text_of(json)); }

  /// Checks that the directory below this has what clipper makes of each file alone, and its index.
  void check_cast(const std::string& directory) const {
    for (int i = 1; i <= kFiles; ++i) {
      CAPTURE(directory, i);
      if (i == 3) {
        CHECK(read(directory + file(i)) == read(file(i)));
        continue;
      }
      static_cast<void>(run({"--to", "bfloat16", file(i), "alone.safetensors"}));
      CHECK(read(directory + file(i)) == read("alone.safetensors"));
    }
    CHECK(read(directory + kIndex) == text_of(index(34)));
  }
};

Words cast(const Words& more) {
  return joined({"--to", "bfloat16"}, more);
}

}  // namespace

TEST_CASE("an index stands for its files, and its result has their new sizes and every other key") {
  const Set set;
  const Result result = set.run(cast(kIn));
  CHECK(result.exit_code == 0);
  CHECK(result.error == "clipper: 5 files: 4 clipped, 1 copied (bool); 1 member not converted (int64)\n");
  set.check_cast("out/");
  CHECK(contains(set.read("out/" + file(1)), kIds));
  const Result named = set.run(cast({"-v", kIndex, "new/" + kIndex}));
  CHECK(named.exit_code == 0);
  CHECK(contains(named.error, kIndex + ": written after its files\nclipper: 5 files: "));
  set.check_cast("new/");
  set.done(clip({kIndex, "--output-dir", "same"}));
  CHECK(set.read("same/" + kIndex) == set.read(kIndex));
  const Result json = set.run(cast({"--json", kIndex, "--output-dir", "json"}));
  CHECK(contains(json.output, R"("output":"json/model.safetensors.index.json","status":0,"written":true)"));
}

TEST_CASE("a set in place gets a new index only if the index changes") {
  const Set set;
  set.done(clip({"-i", kIndex}));
  CHECK(set.read(kIndex) == text_of(Set::index(46)));
  const Set other;
  const Result dry = other.run(cast({"--dry-run", "-i", kIndex}));
  CHECK(contains(dry.error, kIndex + ": would be replaced"));
  CHECK(other.run(cast({"-q", "-i", kIndex})).error.empty());
  CHECK(other.read(kIndex) == text_of(Set::index(34)));
  CHECK(contains(other.read(file(1)), kIds));
  const auto before = other.snapshot();
  const Result again = other.run(cast({"-v", "-i", kIndex}));
  CHECK(contains(again.error, kIndex + ": nothing changes, not rewritten"));
  CHECK(other.snapshot() == before);
}

TEST_CASE("tensors and files that are dropped leave the index") {
  const Set set;
  CHECK(set.run(cast(joined({"-q", "--other", "drop"}, kIn))).exit_code == 0);
  CHECK_FALSE(fs::exists(set / ("out/" + file(3))));
  Json expected = Set::index(16);
  for (const char* name : {"ids", "mask", "steps"}) expected["weight_map"].erase(name);
  CHECK(set.read("out/" + kIndex) == text_of(expected));
  set.done({"info", "out/" + kIndex});
  set.refused(cast({"--other", "drop", "-i", kIndex}), 2, "could not finish after an interruption in place");
  set.refused(cast(joined({"--other", "error"}, kIn)), 3, "which --other error forbids");
}

TEST_CASE("--member and --only choose among the tensors of all files of a set") {
  const Set set;
  CHECK(set.run(joined({"-q", "--max", "1", "--member", "h*", "--member", "w"}, kIn)).exit_code == 0);
  CHECK(set.read("out/" + file(1)) == set.read(file(1)));
  CHECK(set.read("out/" + file(2)).ends_with(bf16({-1, 7}) + floats({1, -1})));
  set.refused(joined({"--max", "1", "--member", "x*", "--member", "w"}, kIn), 2,
              "no archive has a member 'x*'");
  CHECK(set.run(joined({"-q", "--max", "1", "--only", "bool"}, kIn)).exit_code == 0);
  set.refused(joined({"--max", "1", "--only", "uint8"}, kIn), 3, kIndex + ": no member can be clipped");
}

TEST_CASE("ways in which a set would not stay together are refused") {
  const Set set;
  const auto refuse = [&](const Words& words, std::string_view why) { set.refused(cast(words), 2, why); };
  const std::string in_is_out = "IN is OUT; choose another directory, or --in-place to replace the input";
  refuse({kIndex, kIndex}, in_is_out);
  refuse({kIndex, "other.safetensors.index.json"}, in_is_out);
  refuse({kIndex, "out"}, "stands for several files; use --output-dir or --in-place");
  refuse({file(1), "out.safetensors.index.json"}, "so the result needs a name like OUT.safetensors");
  refuse({kIndex, "-o", "{stem}.new{ext}"}, "whose names --output would change");
  refuse({"--shard", "0/2", kIndex, "--output-dir", "out"}, "which --shard would not all have");
  refuse({"--shard", "0/2", kIndex, "out/" + kIndex}, "which --shard would not all have");
  refuse({kIndex, file(2), "--output-dir", "out"}, "would both be written to");
  refuse({kIndex, kIndex, "--output-dir", "out"}, kIndex + ": is an input twice");
  const std::string other = "other.safetensors.index.json";
  set.write(other, text_of({{"weight_map", {{"head", file(4)}}}}));
  for (const Words& way : {Words{"-i"}, Words{"--output-dir", "out"}})
    refuse(joined({kIndex, other}, way),
           fmt::format("{} and {} both name {}; a run takes one of them", kIndex, other, file(4)));
  fs::remove(set / other);
  set.refused(clip({"--direct", "-i", kIndex}), 2, "is an archive, which --in-place --direct does not take");
  set.refused(cast({kIndex + ":w", "--output-dir", "out"}), 2, "take the archive " + kIndex);
  fs::create_directories(set / "sub");
  fs::rename(set / file(4), set / "sub/head.safetensors");
  Json index = Set::index(46);
  index["weight_map"]["head"] = "sub/head.safetensors";
  set.write_index(index);
  refuse({kIndex, "--flat", "--output-dir", "out"},
         "--flat would part it from its file sub/head.safetensors");
  CHECK(set.run(cast(joined({"-q"}, kIn))).exit_code == 0);
  CHECK(fs::exists(set / "out/sub/head.safetensors"));
}

TEST_CASE("--recursive takes a set, and each of its files once, where --include asks for safetensors files") {
  const Set set;
  fs::create_directories(set / "tree/deep");
  for (int i = 1; i <= kFiles; ++i) fs::copy_file(set / file(i), set / ("tree/deep/" + file(i)));
  fs::copy_file(set / kIndex, set / ("tree/deep/" + kIndex));
  set.write("tree/x.npy", float32_file({-1, 7}));
  const Words walk{"-q", "-r", "tree", "--include", "*.safetensors", "--output-dir"};
  CHECK(set.run(cast(joined(walk, {"out"}))).exit_code == 0);
  set.check_cast("out/deep/");
  CHECK_FALSE(fs::exists(set / "out/x.npy"));
  CHECK(set.run(cast(joined(walk, {"some", "--exclude", "*model.safetensors"}))).exit_code == 0);
  CHECK_FALSE(fs::exists(set / ("some/deep/" + kIndex)));
  for (const Words& way : {cast(joined(walk, {"half"})),
                           cast({"-r", "tree", "-i", "--include", "*.json"}),
                           {"info", "tree", "--include", "*.safetensors"},
                           {"compare", "out", "tree"}})
    set.refused(joined(way, {"--exclude", "deep/*-of-*"}), 2,
                "deep/" + kIndex + ": --exclude leaves out its file " + file(1) +
                    "; to leave out the set, exclude the index, too");
  set.done({"info", "tree", "--exclude", "deep/*"});
  needs_posix("to replace an open file");
  CHECK(set.run(cast({"-q", "-r", "tree", "--include", "*.json", "-i"})).exit_code == 0);
  set.check_cast("tree/deep/");
  const Result info = set.run({"info", "tree", "--include", "*.safetensors"});
  CHECK(std::ranges::count(info.output, '\n') == 9);
  set.done({"compare", "out", "tree", "--exclude", "*.npy"});
  set.done(cast({"-r", "tree", "--include", "*.safetensors", "--verify", "out"}));
}

TEST_CASE("compare and --verify treat a set as one archive, whatever its files are") {
  const Set set;
  std::vector<Part> all;
  Json other;
  for (int i = kFiles; i >= 1; --i)
    for (const Part& part : parts_of(i)) all.push_back(part);
  set.write("all.safetensors", file_of(all));
  set.write("b/one.safetensors", file_of({all.begin(), all.begin() + 3}));
  set.write("b/two.safetensors", file_of({all.begin() + 3, all.end()}));
  for (const Part& part : all)
    other["weight_map"][part.name] = &part < &all[3] ? "one.safetensors" : "two.safetensors";
  set.write("b/" + kIndex, text_of(other));
  for (const std::string& a : {kIndex, "b/" + kIndex, std::string("all.safetensors")})
    for (const std::string& b : {"b/" + kIndex, std::string("all.safetensors")}) set.done({"compare", a, b});
  set.done({"compare", kIndex + ":w", "all.safetensors:w"});
  all.back().data.back() = '\2';
  set.write("all.safetensors", file_of({all.begin() + 1, all.end()}));
  const Result different = set.run({"compare", kIndex, "all.safetensors"});
  CHECK(different.exit_code == 1);
  CHECK(contains(different.output, "FAIL " + kIndex + ":ids: 1 of 1 differ"));
  CHECK(contains(different.output, "FAIL " + kIndex + ":head"));
  CHECK(std::ranges::count(different.output, '\n') == 2);
  CHECK(set.run(cast(joined({"-q"}, kIn))).exit_code == 0);
  set.done(cast({kIndex, "--verify", "out/" + kIndex}));
  CHECK(set.run({"--max", "1", kIndex, "--verify", "out/" + kIndex}).exit_code == 1);
  set.refused({"--max", "1", kIndex, "--verify", "out/" + kIndex, "--update-golden"}, 2,
              "stands for several files, which this way to clip does not take");
  set.refused({"compare", "--update-golden", kIndex, "out/" + kIndex}, 2, "--update-golden takes no set");
  fs::create_directory(set / "empty");
  set.refused({"compare", "--update-golden", "out", "empty"}, 2, "--update-golden takes no set");
  CHECK(fs::is_empty(set / "empty"));
}

TEST_CASE("info, show and FILE:NAME find the tensors of a set") {
  const Set set;
  CHECK(contains(set.run({"info", kIndex}).output, "  ids    int64     (1,)      8  stored\n"));
  CHECK(contains(set.run({"info", "--stats", "--json", kIndex + ":embed"}).output, R"("max":300)"));
  CHECK(set.run({"show", kIndex + ":embed"}).output == "[1.5  -2 300]\n");
  CHECK(set.run({"show", kIndex, "--member", "h*"}).output == kIndex + ":head\n[0.5]\n");
  set.write("x.npy", float32_file({1, 9}));
  set.done({"--max", "@" + kIndex + ":head", "x.npy", "y.npy"});
  CHECK(set.read("y.npy") == float32_file({0.5, 0.5}));
  CHECK(contains(set.run({"--generate", "members", "--", kIndex}).output, "steps\n"));
}

TEST_CASE("an index that does not say what its files have is refused before anything is written") {
  const Set set;
  const WorkingDirectory outside{{"w.safetensors", file_of(parts_of(4))}};
  make_link(outside / "w.safetensors", set / "link.safetensors");
  make_link(outside.path(), set / "away");
  set.write("lfs.safetensors", "version https://git-lfs.github.com/spec/v1\n");
  fs::create_directory(set / "folder.safetensors");
  const std::string lacks = file(4) + " lacks the tensor 'ghost', which the index has";
  const std::tuple<std::string, Json, std::string> cases[] = {
      {"head", "missing.safetensors", "its file 'missing.safetensors' cannot be found"},
      {"head", "../" + file(4), "' is not a relative path below its directory"},
      {"head", outside / "w.safetensors", "' is not a relative path below its directory"},
      {"head", "", "its file '' is not a relative path below its directory"},
      {"head", std::string("a\0b", 3), "is not a relative path below its directory"},
      {"head", "link.safetensors", "is, or is behind, a symbolic link out of its directory"},
      {"head", "away/w.safetensors", "is, or is behind, a symbolic link out of its directory"},
      {"head", "lfs.safetensors", "its file 'lfs.safetensors' is no safetensors file"},
      {"head", "folder.safetensors", "its file 'folder.safetensors' is no regular file"},
      {"head", kIndex, "is no safetensors file"},
      {"head", 7, "is no index, which is JSON with an object weight_map of texts"},
      {"ghost", file(4), lacks},
      {"ids", file(4), file(1) + " has the tensor 'ids', which the index has in " + file(4)},
      {"ids", nullptr, file(1) + " has the tensor 'ids', which the index lacks"}};
  for (const auto& [tensor, name, why] : cases) {
    CAPTURE(tensor, why);
    Json index = Set::index(46);
    index["weight_map"][tensor] = name;
    if (name.is_null()) index["weight_map"].erase(tensor);
    set.write_index(index);
    for (const Words& way : {cast(kIn), cast({"-i", kIndex}), {"info", kIndex}, {"compare", kIndex, file(1)}})
      set.refused(way, 3, why);
  }
  const std::string good = text_of(Set::index(46));
  const std::pair<std::string, std::string> texts[] = {
      {"", "is no index"},
      {"[1]", "is no index"},
      {good.substr(0, good.size() - 3), "is no index"},
      {good + std::string("\0", 1), "is no index"},
      {good + "x", "is no index"},
      {replaced(good, "embed", "\xff"), "is no index"},
      {R"({"weight_map":{}})", "is no index"},
      {R"({"weight_map":[["head","x"]]})", "is no index"},
      {replaced(good, "weight_map", "weightmap"), "is no index"},
      {replaced(good, "\"ids\"", "\"embed\""), "the index has the tensor 'embed' twice"},
      {replaced(good, "2.5", std::string(100'000, '[') + std::string(100'000, ']')),
       "nested deeper than 100"}};
  for (const auto& [text, why] : texts) {
    CAPTURE(why);
    set.write(kIndex, text);
    set.refused(cast(kIn), 3, why);
  }
  set.write(kIndex, good);
  flip(set / file(2), 9);
  set.refused(cast(kIn), 3, kIndex + ": " + file(2) + ": ");
}

TEST_CASE("the links of huggingface_hub's cache lead to the files of a set") {
  const Set set;
  fs::create_directories(set / "cache/snapshots/1");
  fs::create_directories(set / "cache/blobs");
  for (const std::string& name : {kIndex, file(1), file(2), file(3), file(4)}) {
    fs::copy_file(set / name, set / ("cache/blobs/" + std::string(name.rbegin(), name.rend())));
    make_link("../../blobs/" + std::string(name.rbegin(), name.rend()), set / ("cache/snapshots/1/" + name));
  }
  CHECK(set.run(cast({"-q", "cache/snapshots/1/" + kIndex, "--flat", "--output-dir", "out"})).exit_code == 0);
  set.check_cast("out/");
}

TEST_CASE("an index with a variant in its name is one, as transformers and diffusers write it") {
  const Set set;
  const std::string index = "model.safetensors.index.fp16.json";
  fs::rename(set / kIndex, set / index);
  CHECK(set.run(cast({"-q", index, "--output-dir", "out"})).exit_code == 0);
  CHECK(set.read("out/" + index) == text_of(Set::index(34)));
  CHECK(set.run(cast({"-q", index, "new/" + index})).exit_code == 0);
  set.done({"compare", "new/" + index, "out/" + index});
  CHECK(set.run({"show", index + ":embed"}).output == "[1.5  -2 300]\n");
  CHECK(contains(set.run({"info", ".", "--include", "model.safetensors"}).output, index));
  for (const std::string name : {"a.safetensors.index.x.y.json", "a.index.fp16.json"}) {
    fs::copy_file(set / index, set / name);
    set.refused(cast({"-q", name, "--output-dir", "out"}), 3, name);
  }
}

TEST_CASE("a run that was killed has no index and no half file, and --skip-existing finishes it") {
  for (int round = 0; round < 3; ++round) {
    const WorkingDirectory directory;
    Json index{{"metadata", {{"total_size", 0}}}};
    for (int i = 1; i <= kFiles; ++i) {
      directory.write(file(i), file_of({{fmt::format("w{}", i), "F32", std::string(8 << 20, '\1')}}));
      index["weight_map"][fmt::format("w{}", i)] = file(i);
    }
    directory.write(kIndex, text_of(index));
    directory.done(cast({kIndex, "--output-dir", "whole"}));
    Process process(clipper_words(cast({"--json", "-j", "1", kIndex, "--output-dir", "out"})),
                    {directory.path()});
    process.wait_for_output_or_end();
    process.send(SIGKILL);
    const bool was_killed = process.finish().signal == SIGKILL;
    CHECK(fs::exists(directory / ("out/" + kIndex)) == !was_killed);
    for (int i = 1; i <= kFiles; ++i)
      if (fs::exists(directory / ("out/" + file(i))))
        CHECK((directory.read("out/" + file(i)) == directory.read("whole/" + file(i))));
    if (round == 2) directory.write("out/" + kIndex, directory.read(kIndex));
    directory.done(cast({"-q", kIndex, "--output-dir", "out", "--skip-existing"}));
    for (const std::string& name : {kIndex, file(1), file(2), file(3), file(4)})
      CHECK((directory.read("out/" + name) == directory.read("whole/" + name)));
    const auto before = directory.snapshot();
    const Result again = directory.run(cast({"-v", kIndex, "--output-dir", "out", "--skip-existing"}));
    CHECK(contains(again.error, "clipper: 5 files: 0 clipped, 5 skipped\n"));
    CHECK(directory.snapshot() == before);
    directory.write("out/" + kIndex, directory.read(kIndex));  // of the inputs
    directory.done(cast({"-q", kIndex, "--output-dir", "out", "--skip-existing"}));
    CHECK(directory.read("out/" + kIndex) == directory.read("whole/" + kIndex));
  }
}

TEST_CASE("an index may name its files by ./NAME, and keeps these names and its numbers") {
  const Set set;
  std::string index = text_of(Set::index(46));
  for (std::size_t at = 0; (at = index.find("\"model-", at)) != index.npos; at += 3)
    index.insert(at + 1, "./");
  index.insert(index.find("\"version\""), "\"big\": 18446744073709551616, \"big\": 1.10, ");
  for (int i = 1; i <= kFiles; ++i) set.write("tree/" + file(i), set.read(file(i)));
  set.write("tree/" + kIndex, index);
  const Words walk{"-q", "-r", "tree", "--include", "*.safetensors", "--output-dir", "out"};
  check_done(set.run(cast(walk)));
  CHECK(set.read("out/" + kIndex) == index.replace(index.find("46"), 2, "34"));
  check_done(set.run(cast({"-q", "tree/" + kIndex, "--output-dir", "named"})));
}

TEST_CASE("with --keep-going an index is written only if it is true") {
  const Set set;
  fs::create_directories(set / ("out/" + file(4)));
  const Result result = set.run(cast(joined({"--keep-going"}, kIn)));
  CHECK(result.exit_code != 0);
  CHECK_FALSE(fs::exists(set / ("out/" + kIndex)));
  CHECK(fs::exists(set / ("out/" + file(1))));
}

}  // namespace clipper::testing
