#include "cli/compare.hpp"

namespace clipper::testing {

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

}  // namespace clipper::testing
