
#include "flows/clip_file.hpp"
#include "flows/figure_requests.hpp"
#include "flows/tensor_sources.hpp"
#include "formats/formats.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

/// Writes to a file without changing its size.
void touch(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const float x = 12345;
  REQUIRE(::pwrite(file.get(), &x, sizeof(x), 128) == sizeof(x));
  const timespec times[2] = {{0, UTIME_OMIT}, {1, 0}};
  REQUIRE(::futimens(file.get(), times) == 0);  // the clock of the kernel may not have ticked
}

Request percentiles() {
  return {.min = Parameter::percentile(1), .max = Parameter::percentile(99)};
}

/// Changes the file after its percentiles were read.
class Intruder : public ClipObserver {
 public:
  explicit Intruder(std::string path) : path_(std::move(path)) {}
  void planned(const ClipResult& /*result*/) override { touch(path_); }

 private:
  std::string path_;
};

template <class T>
Plan planned(const Request& request, const TensorLayout& layout, const std::vector<T>& elements) {
  const auto read = [&](const ElementSource::Look& look) { look(std::as_bytes(std::span(elements))); };
  return plan_with_figures(request, layout, {layout.dtype, layout.count, read}, simd_levels().back());
}

}  // namespace

TEST_CASE("every number of threads and chunk size finds the same percentiles") {
  const std::vector<float> elements = scattered_floats(500'000);
  const TemporaryDirectory directory{{"x.npy", float32_file(elements)}};
  std::vector<float> sorted = elements;
  std::ranges::sort(sorted);
  for (const unsigned threads : {1U, 2U, 7U})
    for (const std::size_t chunk : {4096U, 12'288U, 262'144U}) {
      Engine::Options options;
      options.threads = threads;
      options.chunk_size = chunk;
      Engine engine(options);
      InputFile input = InputFile::open(directory / "x.npy");
      const TensorLayout header = read_header(input, std::nullopt);
      const std::vector<Number> wanted{0, *parse_number("50"), 100, *parse_number("12.5")};
      const auto found = as_scalars(header.dtype, read_percentiles(engine, input, header, wanted));
      CHECK(from_bits<float>(found[0]->bits) == sorted.front());
      CHECK(from_bits<float>(found[2]->bits) == sorted.back());
      CHECK(from_bits<float>(found[1]->bits) ==
            static_cast<float>((static_cast<double>(sorted[249'999]) + static_cast<double>(sorted[250'000])) /
                               2));
      CHECK(from_bits<float>(found[3]->bits) ==
            static_cast<float>(
                static_cast<double>(sorted[62'499]) +
                0.875 * (static_cast<double>(sorted[62'500]) - static_cast<double>(sorted[62'499]))));
      CHECK(engine.done() == 0);
    }
}

TEST_CASE("a file that changes after its percentiles were read is refused, and nothing is written") {
  const TemporaryDirectory directory{{"x.npy", float32_file(scattered_floats(100'000))}};
  const std::string path = directory / "x.npy";
  Engine engine{{}};
  const ClipSettings settings{.request = percentiles(), .max_clipped = std::nullopt};
  Intruder intruder(path);
  ClipResult result;
  const std::string message = refusal(ErrorKind::io, [&] {
    prepare_to_file({settings, engine, intruder, result}, path, directory / "y.npy",
                    OutputFile::Existing::replace)
        ->write();
  });
  CHECK(message.starts_with(path + ": "));
  CHECK(directory.entries() == std::vector<std::string>{"x.npy"});
}

TEST_CASE("a file that changed since it was opened has no percentiles") {
  const TemporaryDirectory directory{{"x.npy", float32_file(scattered_floats(100'000))}};
  const std::string path = directory / "x.npy";
  Engine engine{{}};
  InputFile input = InputFile::open(path);
  const TensorLayout header = read_header(input, std::nullopt);
  touch(path);
  const std::vector<Number> wanted{50};
  CHECK(refusal(ErrorKind::io, [&] {
          return read_percentiles(engine, input, header, wanted);
        }).starts_with(path + ": "));
}

TEST_CASE("a plan does not ignore a percentile that is unknown") {
  TensorLayout header;
  header.shape = {3};
  header.count = 3;
  const auto refused = [&](const Request& request) {
    return refusal(ErrorKind::usage, [&] { return make_plan(request, header); });
  };
  CHECK(refused(percentiles()) == "min 1%: a percentile needs all elements of the tensor");
  CHECK(refused({.scale = Parameter::percentile(1)}) == "scale 1%: cannot be a percentile");
  CHECK(refused({.bias = Parameter::percentile(1)}) == "bias 1%: cannot be a percentile");
  CHECK(refused({.min = 1, .nan = Parameter::percentile(5)}) ==
        "nan 5%: a percentile needs all elements of the tensor");
}

TEST_CASE("the check before a run finds everything that does not depend on the elements") {
  TensorLayout header;
  header.dtype = DType::uint8;
  const auto refused = [&](const Request& request) {
    return refusal(ErrorKind::usage, [&] { return plan_before_reading(request, header); });
  };
  CHECK(refused({.min = 256, .max = Parameter::percentile(99)})
            .starts_with("min 256 exceeds the uint8 maximum"));
  CHECK(refused({.max = Parameter::percentile(99), .profile = profile_named("openvino")})
            .ends_with("min is missing"));
  CHECK_NOTHROW(plan_before_reading({.min = 255, .max = Parameter::percentile(0)}, header));
}

}  // namespace clipper::testing
