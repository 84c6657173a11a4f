#include "cli/clipper.hpp"

namespace clipper::testing::verify_test {
namespace {

/// The transpose of an m x n matrix, both in C order.
std::vector<float> transposed(const std::vector<float>& elements, std::size_t m, std::size_t n) {
  std::vector<float> result(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) result[i % n * m + i / n] = elements[i];
  return result;
}

}  // namespace

TEST_CASE("--verify accepts a golden file with another memory order, byte order and header") {
  const WorkingDirectory directory;
  const std::vector<float> elements = scattered_floats(210'000);
  std::vector<float> golden = clipped(elements, 0, 6);
  directory.write("in.npy", tensor_of("<f4", elements, "(700, 300)"));
  const auto write_golden = [&] {
    const std::string swapped = byte_swapped(bytes_of(transposed(golden, 700, 300)), 4);
    directory.write("golden.npy", npy_file(">f4", "True", "(700, 300)", swapped, 16));
  };
  write_golden();
  const Words words{"--min", "0", "--max", "6", "in.npy", "--verify", "golden.npy"};
  directory.done(words);
  golden[5105] = 100;  // [17, 5]
  write_golden();
  const Result result = directory.run(words);
  CHECK(result.exit_code == 1);
  CHECK(result.output.starts_with("FAIL in.npy: 1 of 210000 differ (0.000476 %); first [17, 5] actual "));
}

}  // namespace clipper::testing::verify_test
