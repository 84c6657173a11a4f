#include "cli/compare.hpp"

namespace clipper::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::string file_of(std::string_view descr, const std::vector<T>& elements) {
  return npy_file(descr, "False", fmt::format("({},)", elements.size()), bytes_of(elements));
}

/// The file that --diff-out writes for two files, which must differ.
std::string differences(const std::string& actual, const std::string& expected, Words more = {}) {
  const WorkingDirectory directory{{"a.npy", actual}, {"e.npy", expected}};
  more.insert(more.end(), {"--diff-out", "d.npy", "a.npy", "e.npy"});
  const Result result = run_compare(directory, more);
  CAPTURE(result.error);
  CHECK(result.exit_code == 1);
  CHECK(result.output.starts_with("FAIL a.npy: "));
  CHECK(directory.entries() == std::vector<std::string>{"a.npy", "d.npy", "e.npy"});
  return directory.read("d.npy");
}

}  // namespace

TEST_CASE("--diff-out writes |a - e| of every element") {
  const std::vector<float> actual{1, 5.5F, -3, 0.0F, kInf, kInf, -kInf, 7, kNan, 1, 3e38F};
  const std::vector<float> expected{1, 6, 2, -0.0F, kInf, -kInf, 5, kInf, 1, kNan, -3e38F};
  const std::vector<float> difference{0, 0.5F, 5, 0, 0, kInf, kInf, kInf, kNan, kNan, kInf};
  const std::string a = file_of("<f4", actual);
  const std::string e = file_of("<f4", expected);
  CHECK(differences(a, e) == file_of("<f4", difference));
  CHECK(differences(a, e, {"--atol", "1"}) == file_of("<f4", difference));
  CHECK(differences(a, e, {"--bits"}) == file_of("<f4", difference));
  CHECK(differences(file_of(">f4", actual).replace(128, 44, byte_swapped(bytes_of(actual), 4)), e) ==
        file_of("<f4", difference));
}

TEST_CASE("--diff-out writes 0 for two NaN, or NaN with --nan differ") {
  const std::string a = file_of<float>("<f4", {kNan, -kNan, 2});
  const std::string e = file_of<float>("<f4", {kNan, kNan, 1});
  CHECK(differences(a, e) == file_of<float>("<f4", {0, 0, 1}));
  CHECK(differences(a, e, {"--nan", "differ"}) == file_of<float>("<f4", {kNan, kNan, 1}));
}

TEST_CASE("--diff-out writes integer differences in an exact dtype, others as float32 or float64") {
  using Limits = std::numeric_limits<std::int64_t>;
  CHECK(differences(file_of<std::int64_t>("<i8", {Limits::min(), 9007199254740993, -1}),
                    file_of<std::int64_t>("<i8", {Limits::max(), 9007199254740992, -1})) ==
        file_of<std::uint64_t>("<u8", {~0ULL, 1, 0}));
  CHECK(differences(file_of<std::uint64_t>("<u8", {0, 5}), file_of<std::uint64_t>("<u8", {~0ULL, 7})) ==
        file_of<std::uint64_t>("<u8", {~0ULL, 2}));
  CHECK(differences(file_of<std::int32_t>("<i4", {-2147483647 - 1}), file_of<std::int32_t>("<i4", {7})) ==
        file_of<std::uint32_t>("<u4", {2147483655U}));
  CHECK(differences(file_of<std::uint32_t>("<u4", {1}), file_of<std::uint32_t>("<u4", {3})) ==
        file_of<std::uint32_t>("<u4", {2}));
  CHECK(differences(file_of<std::int16_t>("<i2", {-300}), file_of<std::int16_t>("<i2", {300})) ==
        file_of<std::uint16_t>("<u2", {600}));
  CHECK(differences(file_of<std::uint16_t>("<u2", {65535}), file_of<std::uint16_t>("<u2", {0})) ==
        file_of<std::uint16_t>("<u2", {65535}));
  CHECK(differences(file_of<std::int8_t>("|i1", {-128, 127}), file_of<std::int8_t>("|i1", {127, 127})) ==
        file_of<std::uint8_t>("|u1", {255, 0}));
  CHECK(differences(file_of<std::uint8_t>("|u1", {3}), file_of<std::uint8_t>("|u1", {200})) ==
        file_of<std::uint8_t>("|u1", {197}));
  CHECK(differences(file_of<double>("<f8", {0.1}), file_of<double>("<f8", {0.3})) ==
        file_of<double>("<f8", {0.3 - 0.1}));
  // float16: 1, the smallest subnormal and infinity; 65504, 0 and 1
  CHECK(differences(file_of<std::uint16_t>("<f2", {0x3c00, 1, 0x7c00}),
                    file_of<std::uint16_t>("<f2", {0x7bff, 0, 0x3c00})) ==
        file_of<float>("<f4", {65503, 0x1p-24F, kInf}));
  CHECK(differences(file_of<std::uint16_t>("<V2", {0x3f80, 0x0001}),
                    file_of<std::uint16_t>("<V2", {0xbf80, 0x0000})) ==
        file_of<float>("<f4", {2, 0x1p-133F}));
}

TEST_CASE("--diff-out replaces an old file after every comparison, but not after a failure") {
  const WorkingDirectory directory{{"a.npy", file_of<float>("<f4", {1, 2})},
                                   {"i.npy", file_of<std::int32_t>("<i4", {1, 2})},
                                   {"row.npy", npy_file("<f4", "False", "(1, 2)", bytes_of<float>({1, 2}))},
                                   {"d.npy", "old"}};
  for (const char* const other : {"i.npy", "row.npy"}) {
    CHECK(run_compare(directory, {"a.npy", other, "--diff-out", "d.npy"}).exit_code == 1);
    CHECK(directory.read("d.npy") == "old");
  }
  check_refused(run_compare(directory, {"-", "a.npy", "--diff-out", "d.npy"}, directory.read("a.npy") + "x"),
                3, "bytes after");
  CHECK(directory.read("d.npy") == "old");
  check_done(run_compare(directory, {"a.npy", "a.npy", "--diff-out", "d.npy"}));
  CHECK(directory.read("d.npy") == file_of<float>("<f4", {0, 0}));

  directory.write("scalar.npy", npy_file("<f8", "False", "()", bytes_of<double>({1})));
  check_done(run_compare(directory, {"scalar.npy", "scalar.npy", "--diff-out", "d.npy"}));
  CHECK(directory.read("d.npy") == npy_file("<f8", "False", "()", bytes_of<double>({0})));
  directory.write("empty.npy", npy_file("<i2", "False", "(3, 0)", ""));
  check_done(run_compare(directory, {"empty.npy", "empty.npy", "--diff-out", "d.npy"}));
  CHECK(directory.read("d.npy") == npy_file("<u2", "False", "(3, 0)", ""));
  CHECK(directory.entries() ==
        std::vector<std::string>{"a.npy", "d.npy", "empty.npy", "i.npy", "row.npy", "scalar.npy"});
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

TEST_CASE("--diff-out is refused for an input, for directories and for --bytes") {
  const WorkingDirectory directory{{"a.npy", file_of<float>("<f4", {1, 2})},
                                   {"e.npy", file_of<float>("<f4", {1, 3})},
                                   {"got/a.npy", file_of<float>("<f4", {1, 2})}};
  const auto refused = [&](const Words& arguments, int code, std::string_view word) {
    directory.refused(joined({"compare"}, arguments), code, word);
  };
  refused({"got", "got", "--diff-out", "d.npy"}, 2, "not directories");
  refused({"a.npy", "e.npy", "--bytes", "--diff-out", "d.npy"}, 2, "--bytes");
  refused({"a.npy", "e.npy", "--diff-out", ""}, 2, "--diff-out");
  refused({"a.npy", "e.npy", "--diff-out", "a.npy"}, 2, "a.npy is one of the compared files");
  refused({"a.npy", "e.npy", "--diff-out", "./e.npy"}, 2, "./e.npy is one of the compared files");
  refused({"a.npy", "e.npy", "--diff-out", "-"}, 2, "- is not a regular file");
  refused({"a.npy", "e.npy", "--diff-out", "none/d.npy"}, 4, "none");
}

}  // namespace clipper::testing
