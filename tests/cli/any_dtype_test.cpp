#include <nlohmann/json.hpp>

#include "cli/compare.hpp"

/// Comparisons of numbers of different dtypes, and of integers with fractions as tolerances.
namespace clipper::testing {
namespace {

using Json = nlohmann::json;

std::string int64_file(const std::vector<std::int64_t>& elements) {
  return npy_file("<i8", "False", fmt::format("({},)", elements.size()), bytes_of(elements));
}

}  // namespace

TEST_CASE("--any-dtype compares numbers of different dtypes exactly") {
  const auto int64 = [](std::int64_t x) { return int64_file({x}); };
  const auto uint64 = [](std::uint64_t x) {
    return npy_file("<u8", "False", "(1,)", bytes_of<std::uint64_t>({x}));
  };
  const auto float64 = [](double x) {
    return npy_file(">f8", "False", "(1,)", byte_swapped(bytes_of<double>({x}), 8));
  };
  const auto float32 = [](float x) { return float32_file({x}); };
  const std::string one_half = npy_file("<f2", "False", "(1,)", std::string("\x00\x3c", 2));  // float16 1
  constexpr std::int64_t kBig = std::int64_t{1} << 60;
  constexpr auto kHuge = static_cast<double>(kBig);
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  struct Row {
    std::string a;
    std::string e;
    bool same;
  };
  const float inf = std::numeric_limits<float>::infinity();
  for (const Row& row :
       {Row{int64(3), float32(3), true}, Row{float32(0.1F), float64(0.1), false},
        Row{float32(0.1F), float64(static_cast<double>(0.1F)), true}, Row{one_half, int64(1), true},
        Row{int64(kBig), float64(kHuge), true}, Row{int64(kBig + 1), float64(kHuge), false},
        Row{int64(kBig - 1), float64(kHuge), false}, Row{int64(kBig + 1), uint64(kBig + 1), true},
        Row{int64(kBig + 1), uint64(kBig), false}, Row{int64(-1), uint64(~std::uint64_t{0}), false},
        Row{uint64(~std::uint64_t{0}), float64(0x1p64), false}, Row{int64(kMin), float64(-0x1p63), true},
        Row{float32(inf), float64(std::numeric_limits<double>::infinity()), true},
        Row{float32(-0.0F), int64(0), true}}) {
    const WorkingDirectory directory{{"a.npy", row.a}, {"e.npy", row.e}};
    CAPTURE(&row);
    for (const Words& words : {Words{"a.npy", "e.npy"}, Words{"e.npy", "a.npy"}}) {
      CHECK(run_compare(directory, joined(words, {"--any-dtype"})).exit_code == (row.same ? 0 : 1));
      CHECK(contains(run_compare(directory, words).output, ", expected "));
    }
  }
  const WorkingDirectory directory{
      {"a.npy", npy_file("<i4", "True", "(2, 3)", bytes_of<std::int32_t>({1, 4, 2, 5, 3, 7}))},
      {"e.npy", npy_file("<f4", "False", "(2, 3)", bytes_of<float>({1, 2, 3, 4, 5, 6}))}};
  CHECK(run_compare(directory, {"--any-dtype", "a.npy", "e.npy"})
            .output.starts_with("FAIL a.npy: 1 of 6 differ (16.7 %); first [1, 2] actual 7 expected 6 (1, "
                                "1125899906842624 ulp); max abs 1 "));
  check_same(directory, {"--any-dtype", "--atol", "1", "a.npy", "e.npy"});
  check_same(directory, {"--any-dtype", "--ulp", "1125899906842624", "a.npy", "e.npy"});
  check_refused(run_compare(directory, {"--any-dtype", "--bits", "a.npy", "e.npy"}), 2,
                "cannot be used together");
}

TEST_CASE("--any-dtype is exact for 64-bit integers, and prints what the files have") {
  const auto float64 = [](double x) { return npy_file("<f8", "False", "(1,)", bytes_of<double>({x})); };
  const auto uint64 = [](std::uint64_t x) {
    return npy_file("<u8", "False", "(1,)", bytes_of<std::uint64_t>({x}));
  };
  constexpr std::int64_t kBig = std::int64_t{1} << 60;
  struct Row {
    std::string a;
    std::string e;
    std::string least;  // the smallest --atol that passes
    std::string below;
    std::string text;
  };
  for (const Row& row :
       {Row{uint64(kBig + 300), int64_file({kBig}), "300", "299.999",
            "actual 1152921504606847276 expected 1152921504606846976 (300); max abs 300 at [0]; would pass "
            "with --atol 300\n"},
        Row{int64_file({(std::int64_t{1} << 53) + 1}), float64(0x1p53), "1", "0.99",
            "actual 9007199254740993 expected 9007199254740992 (1, 1 ulp); max abs 1 at [0]; would pass with "
            "--atol 1 or --ulp 1\n"},
        Row{int64_file({-1}), uint64(~std::uint64_t{0}), "18446744073709551616", "18446744073709551615",
            "actual -1 expected 18446744073709551615 (18446744073709551616); max abs 18446744073709551616 at "
            "[0]; would pass with --atol 18446744073709551616\n"},
        Row{float64(0.5), int64_file({kBig + 1}), "1152921504606846976.5", "1152921504606846976.4",
            "actual 0.5 expected 1152921504606846977 (1.15e+18, "}}) {
    const WorkingDirectory directory{{"a.npy", row.a}, {"e.npy", row.e}};
    CAPTURE(row.text);
    CHECK(contains(run_compare(directory, {"--any-dtype", "a.npy", "e.npy"}).output, row.text));
    check_same(directory, {"--any-dtype", "--atol", row.least, "a.npy", "e.npy"});
    CHECK(run_compare(directory, {"--any-dtype", "--atol", row.below, "a.npy", "e.npy"}).exit_code == 1);
  }
  const WorkingDirectory directory{
      {"a.npy", int64_file({kBig + 1, -5})},
      {"e.npy", npy_file("<u8", "False", "(2,)", bytes_of<std::int64_t>({kBig + 1, 5}))}};
  const Json json = Json::parse(
      run_compare(directory, {"--any-dtype", "--metrics", "--json", "--atol", "10", "a.npy", "e.npy"})
          .output);
  CHECK(json["status"] == 0);
  CHECK(json["metrics"]["rmse"] == std::sqrt(50.0));
}

TEST_CASE("the advice for a 64-bit integer and a float lets them match") {
  const auto float64 = [](double x) { return npy_file("<f8", "False", "(1,)", bytes_of<double>({x})); };
  const WorkingDirectory directory{
      {"a.npy", float64(0.1)}, {"zero.npy", int64_file({0})}, {"huge.npy", float64(0x1p64)}};
  for (const Words& pair : {Words{"a.npy", "zero.npy"}, Words{"zero.npy", "a.npy"}}) {
    CHECK(contains(run_compare(directory, joined(pair, {"--any-dtype"})).output, "--atol 0.1 or"));
    check_same(directory, joined(pair, {"--any-dtype", "--atol", "0.1"}));
    CHECK(run_compare(directory, joined(pair, {"--any-dtype", "--atol", "0.0999999"})).exit_code == 1);
  }
  const Words huge{"--any-dtype", "huge.npy", "zero.npy", "--atol"};
  check_same(directory, joined(huge, {"1.8446744073709552e19"}));
  CHECK(run_compare(directory, joined(huge, {"18446744073709551615"})).exit_code == 1);
}

TEST_CASE("integers within A + R * |e| match, with all fractions of A and R") {
  const WorkingDirectory directory{{"a.npy", int64_file({5})}, {"e.npy", int64_file({3})}};
  const auto passes = [&](const std::string& absolute, const std::string& relative) {
    return run_compare(directory, {"--atol", absolute, "--rtol", relative, "a.npy", "e.npy"}).exit_code == 0;
  };
  CHECK(passes("0.5", "0.5"));
  CHECK_FALSE(passes("0.49", "0.5"));
  CHECK_FALSE(passes("0.5", "0.4999999999999999999999999999"));
  CHECK(passes("0.5000000000000000000000000003", "0.4999999999999999999999999999"));
  CHECK(passes("1.1", "0.3"));
}

}  // namespace clipper::testing
