#include "element/text.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

constexpr std::array<std::string_view, 7> kNames{
    "--min", "--max", "--min-above-max", "--verbose", "--in-place", "--verify", "info"};

std::string nearest(std::string_view typed) {
  return std::string(nearest_name(typed, kNames).value_or("none"));
}

}  // namespace

TEST_CASE("the edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(edit_distance("abc", "axc") == 1);
  CHECK(edit_distance("abc", "ac") == 1);
  CHECK(edit_distance("ac", "abc") == 1);
  CHECK(edit_distance("abc", "acb") == 1);
  CHECK(edit_distance("abcd", "badc") == 2);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ca", "abc") == 3);  // 2 if a swapped byte could be edited again
}

TEST_CASE("the nearest name is at most 2 edits away, fewer than half of the bytes") {
  CHECK(nearest("--mim") == "--min");
  CHECK(nearest("--mni") == "--min");
  CHECK(nearest("-min") == "--min");
  CHECK(nearest("--mxa") == "--max");
  CHECK(nearest("--inplace") == "--in-place");
  CHECK(nearest("--vrbse") == "--verbose");
  CHECK(nearest("inof") == "info");
  CHECK(nearest("--vrbs") == "none");                                            // 3 edits
  CHECK(nearest("ixxo") == "none");                                              // 2 edits of 4 bytes
  CHECK_FALSE(nearest_name("--min", std::array<std::string_view, 1>{"--nan"}));  // hyphens do not count
  CHECK(nearest("") == "none");
  CHECK(nearest(std::string(100'000, 'x')) == "none");
}

TEST_CASE("no name is suggested if several are equally near") {
  CHECK(nearest("--mxn") == "--min");
  CHECK(nearest("--mxn-above-mxx") == "--min-above-max");
  CHECK(nearest("--mix") == "none");  // --min or --max
  CHECK(nearest_name("onnx-7", std::array<std::string_view, 2>{"onnx-1", "onnx-6"}) == std::nullopt);
}

TEST_CASE("a name that begins with a typed word of at least 3 bytes is the nearest") {
  CHECK(nearest("--verb") == "--verbose");
  CHECK(nearest("--ver") == "none");  // --verify or --verbose
  CHECK(nearest("--mi") == "--min");  // not --min-above-max, which is an extension of --min
  CHECK(nearest("--min-a") == "--min-above-max");
  CHECK(nearest("inf") == "info");
  CHECK(nearest("in") == "none");
}

TEST_CASE("an empty list has no nearest name") {
  CHECK_FALSE(nearest_name("--min", {}));
}

}  // namespace clipper
