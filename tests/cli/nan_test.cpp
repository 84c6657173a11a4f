#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cli/clipper.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A tensor of shape (300, 1000) that is NaN from position 123456 on: every thread finds a NaN.
std::string with_nans(const char* fortran_order) {
  std::vector<float> elements = scattered_floats(123'456);
  elements.resize(300'000, kNan);
  return npy_file("<f4", fortran_order, "(300, 1000)", bytes_of(elements));
}

}  // namespace

TEST_CASE("--nan error names the first NaN with any threads and chunks, and writes nothing") {
  const WorkingDirectory directory{{"out.npy", "old"}};
  for (const auto& [order, index] :
       std::vector<std::pair<const char*, std::string>>{{"False", "[123, 456]"}, {"True", "[156, 411]"}}) {
    directory.write("in.npy", with_nans(order));
    for (const char* threads : {"1", "2", "7"}) {
      for (const char* chunk_size : {"4096", "8192", "262144", "16777216"}) {
        for (const char* out : {"out.npy", "new.npy"}) {
          const Result result = directory.refused({"--nan", "error", "--max", "6", "--threads", threads,
                                                   "--chunk-size", chunk_size, "in.npy", out},
                                                  3, index);
          CHECK(contains(result.error, "in.npy: "));
          CHECK(contains(result.error, "123456"));
        }
      }
    }
  }
}

TEST_CASE("--nan error between pipes names the first NaN and sends nothing after it") {
  for (const char* threads : {"1", "7"}) {
    const Result result = run_clipper(
        {"--nan", "error", "--threads", threads, "--chunk-size", "4096", "-", "-"}, {}, with_nans("False"));
    check_refused(result, 3, "standard input: NaN at [123, 456]");
    CHECK(result.output.size() <= 128 + 123'456 * sizeof(float));
  }
}

TEST_CASE("--nan error finds NaN that --scale produces") {
  const WorkingDirectory directory{{"in.npy", float32_file({1, std::numeric_limits<float>::infinity()})}};
  directory.refused({"--nan", "error", "--scale", "0", "in.npy", "out.npy"}, 3, "[1]");
}

TEST_CASE("--nan error names the NaN of a 0-d tensor, and accepts tensors without NaN") {
  const WorkingDirectory directory{{"in.npy", npy_file("<f4", "False", "()", bytes_of(std::vector{kNan}))}};
  directory.refused({"--nan", "error", "in.npy", "out.npy"}, 3, "NaN at []");
  for (const std::string& file :
       {float32_file({1, 2}), float32_file({}), npy_file("|i1", "False", "(3,)", "abc")}) {
    directory.write("in.npy", file);
    directory.done({"--nan", "error", "in.npy", "out.npy"});
    CHECK(directory.read("out.npy") == file);
  }
}

}  // namespace clipper::testing
