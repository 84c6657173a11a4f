#include "clipper.hpp"
#include "support/archives.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

/// bool, datetime64, timedelta64 and complex numbers in files, for programs that include clipper.hpp.
namespace clipper::testing {
namespace {

const std::string kDays =
    tensor_of<std::int64_t>("<M8[D]", {kNaT, -1, 18'000, 18'321, 20'000});  // 18,321 is 2020-02-29
const std::string kFlags = tensor_of<char>("|b1", {0, 1, 0, 1});

/// Files of dates, durations, flags, complex numbers, and an archive.
struct DateFiles : TemporaryDirectory {
  DateFiles()
      : TemporaryDirectory({{"day.npy", kDays},
                            {"span.npy", tensor_of<std::int64_t>("<m8[25s]", {kNaT, -7, 0, 7})},
                            {"flag.npy", kFlags},
                            {"c.npy", tensor_of<float>("<c8", {1, 2, 3, 4}, "(2,)")},
                            {"a.npz", npz_file({{"x.npy", float32_file({-1, 2})}, {"day.npy", kDays}})}}) {}

  /// The file that clip_file() writes.
  [[nodiscard]] std::string clipped(const std::string& name, const Request& request,
                                    const FileOptions& options = {}) const {
    clip_file(*this / name, *this / "out", request, options);
    return read("out");
  }
};

}  // namespace

TEST_CASE("files of dates, durations and flags are clipped to bounds from text") {
  const DateFiles files;
  const Request since{.min = Parameter("1970-01-02"), .max = Parameter("2020-02-28T00:00")};
  CHECK(files.clipped("day.npy", since) ==
        tensor_of<std::int64_t>("<M8[D]", {kNaT, 1, 18'000, 18'320, 18'320}));
  CHECK(files.clipped("a.npz:day", since, {.special_paths = true}) == files.read("out"));
  CHECK(files.clipped("day.npy", {.max = Parameter("2020-02-28"), .nan = Parameter("1970-01-11")}) ==
        tensor_of<std::int64_t>("<M8[D]", {10, -1, 18'000, 18'320, 18'320}));
  CHECK(files.clipped("span.npy", {.min = -2, .max = Parameter("2")}) ==
        tensor_of<std::int64_t>("<m8[25s]", {kNaT, -2, 0, 2}));
  CHECK(files.clipped("span.npy", {.min = Parameter::duration(-50, *parse_unit("s")),
                                   .max = Parameter::duration(5, *parse_unit("20s"))}) ==
        tensor_of<std::int64_t>("<m8[25s]", {kNaT, -2, 0, 4}));
  CHECK(files.clipped("flag.npy", {.min = Parameter("true")}) == tensor_of<char>("|b1", {1, 1, 1, 1}));
  needs_posix("to replace an open file");
  const Counts counts = clip_in_place(files / "day.npy", since);
  CHECK(counts.raised == 1);
  CHECK(counts.lowered == 2);
  CHECK(counts.nan == 1);
  CHECK(files.read("day.npy") == tensor_of<std::int64_t>("<M8[D]", {kNaT, 1, 18'000, 18'320, 18'320}));
}

TEST_CASE("text that is no bound, or none of the tensor's type, is refused") {
  const DateFiles files;
  const auto refused = [&](const std::string& name, const Request& request) {
    return refusal(ErrorKind::usage, [&] { clip_file(files / name, files / "out", request); });
  };
  CHECK(refused("day.npy", {.min = "2020-02-30"}) ==
        "min: '2020-02-30' is not a number, a percentage, a statistic, a date, true or false");
  CHECK(Parameter("0.1").number == *parse_number("0.1"));
  CHECK(
      refused("day.npy", {.min = 0}) ==
      files /
          "day.npy: min 0 is not a date, but the tensor is datetime64[D]; write a date, such as 2020-02-29");
  CHECK(refused("span.npy", {.min = Parameter::duration(24, *parse_unit("s"))}) ==
        files / "span.npy: min 24 s is not a duration of timedelta64[25s]");
  std::vector<float> numbers{1};
  CHECK(refusal(ErrorKind::usage, [&] { clip(numbers, {.max = Parameter("true")}); }) ==
        "max true is not a number, but the tensor is float32");
  CHECK(refusal(ErrorKind::usage, [&] {
          PreparedClip({.min = Parameter("true")}, tensor_in(files / "flag.npy"));
        }) == "elements in memory are numbers, not bool");
}

TEST_CASE("a comparison, statistics and percentiles say what elements mean") {
  const DateFiles files;
  files.write("later.npy", tensor_of<std::int64_t>("<M8[D]", {kNaT, -1, 18'000, 18'322, kNaT}));
  files.write("c2.npy", tensor_of<float>("<c8", {1, 2, 3, 5}, "(2,)"));
  Comparison found = compare_files(files / "later.npy", files / "day.npy", {.max_listed = 2});
  CHECK(found.mismatches == 2);
  CHECK(found.largest == 1);
  CHECK(found.meaning == tensor_in(files / "day.npy").meaning);
  CHECK(element_text(found.dtype, found.meaning, found.first.at(0).actual) == "2020-03-01");
  found = compare_files(files / "c2.npy", files / "c.npy");
  const Comparison::Mismatch& mismatch = found.first.at(0);
  CHECK(element_text(found.dtype, found.meaning, mismatch.actual, mismatch.actual_imaginary) == "3+5j");
  CHECK(from_bits<float>(mismatch.expected_imaginary) == 4);
  CHECK(found.largest == 1);

  const Statistics days = statistics(files / "day.npy");
  CHECK(days.count == 5);
  CHECK(days.nan == 1);
  CHECK(from_bits<std::int64_t>(*days.min) == -1);
  CHECK(element_text(days.dtype, days.meaning, days.median->bits) == "2019-04-14");
  CHECK_FALSE(days.mean);
  CHECK_FALSE(days.standard_deviation);
  CHECK(statistics(files / "flag.npy").mean == 0.5);
  CHECK(percentiles(files / "day.npy", std::array{Number(100)}).front()->bits == 20'000);
  needs_posix("a path without a colon");
  CHECK(refusal(ErrorKind::input, [&] { static_cast<void>(statistics(files / "c.npy")); }) ==
        (files / "c.npy") +
            ": dtype '<c8' (complex numbers) is not supported; convert it in Python: np.save('x.npy', " +
            "np.load('" + (files / "c.npy") + "').real)");
}

}  // namespace clipper::testing
