#include "clipper.hpp"

#include <chrono>
#include <stdexcept>

#include "support/files.hpp"
#include "support/fork.hpp"
#include "support/paths.hpp"
#include "support/tensors.hpp"

/// The interface that programs which include clipper.hpp rely on.
namespace clipper::testing {
namespace {

constexpr std::size_t kCount = 300'000;  // more than a chunk of every dtype

/// Pseudorandom bits as elements of a file.
std::string scattered_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 7;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

std::string npy_of(DType dtype, const std::string& elements) {
  const DTypeTraits& row = traits(dtype);
  const std::string shape = "(" + std::to_string(elements.size() / row.size) + ",)";
  return npy_file((row.size == 1 ? "|" : "<") + std::string(row.descr), "False", shape, elements);
}

std::string elements_of(const std::string& file, std::size_t size) {
  return file.substr(file.size() - size);
}

/// Checks that elements in memory, at an even or an odd address, become what they become in a file.
void check_as_in_file(DType from, const std::string& elements, const Request& request) {
  const TemporaryDirectory directory{{"in.npy", npy_of(from, elements)}};
  const std::size_t count = elements.size() / traits(from).size;
  const DType to = request.to.value_or(from);
  INFO(traits(from).name << " to " << traits(to).name);
  const Counts of_file = clip_file(directory / "in.npy", directory / "out.npy", request, {.dtype = from});
  const std::string expected = elements_of(directory.read("out.npy"), count * traits(to).size);
  REQUIRE(expected != elements);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}})
    for (const unsigned threads : {0U, 1U}) {
      CAPTURE(offset, threads);
      std::string memory = std::string(offset, 'x') + elements;
      std::string target(offset + expected.size() + 1, 'x');
      const auto check = [&](std::string& out) {
        const Counts counts =
            clip(from, memory.data() + offset, out.data() + offset, count, request, threads);
        CHECK(out.compare(offset, expected.size(), expected) == 0);
        CHECK(counts.elements == count);
        CHECK(counts.raised == of_file.raised);
        CHECK(counts.lowered == of_file.lowered);
        CHECK(counts.nan == of_file.nan);
        CHECK(counts.changed);
      };
      check(target);
      CHECK((target.back() == 'x' && target.starts_with(std::string(offset, 'x'))));
      CHECK(memory.compare(offset, elements.size(), elements) == 0);
      if (from == to) check(memory);
    }
}

template <class Work>
Error error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error");
  return {ErrorKind::io, ""};
}

}  // namespace

TEST_CASE("elements in memory and in a file become the same, for every dtype") {
  for (const DTypeTraits& row : kDTypes)
    check_as_in_file(row.dtype, scattered_bytes(kCount * row.size),
                     {.min = 3, .max = 90, .scale = 0.5, .bias = 1});
  std::vector<float> quarters(3'000'001);  // more than 4 MiB of every dtype but uint8: several threads
  for (std::size_t i = 0; i < quarters.size(); ++i)
    quarters[i] = static_cast<float>(i * 7919 % 8001) / 4 - 1000;
  for (const DTypeTraits& row : kKernelDTypes)
    check_as_in_file(DType::float32, bytes_of(quarters),
                     {.min = -900, .max = 900, .scale = 0.5, .bias = 1, .to = row.dtype});
}

TEST_CASE("every C++ element type has its dtype") {
  for (const DTypeTraits& row : kKernelDTypes)
    CHECK(with_type(row.dtype, []<class T>() { return dtype_of<T>(); }) == row.dtype);
  CHECK(dtype_of<long long>() == DType::int64);
  CHECK(dtype_of<unsigned long>() == (sizeof(long) == 8 ? DType::uint64 : DType::uint32));
}

TEST_CASE("vectors, arrays and spans are clipped in place and into another container") {
  std::vector<float> values{-1.5F, 0.25F, 7.0F};
  CHECK(clip(values, {.min = 0, .max = 6}).lowered == 1);
  CHECK(values == std::vector{0.0F, 0.25F, 6.0F});

  const std::array<std::int64_t, 2> in{std::numeric_limits<std::int64_t>::max(), -3};
  std::array<std::int64_t, 2> out{};
  clip(in, out, {.max = std::numeric_limits<std::int64_t>::max() - 1});
  CHECK(out == std::array<std::int64_t, 2>{std::numeric_limits<std::int64_t>::max() - 1, -3});
  clip(std::span(values).first(2), {.max = 0.125});
  CHECK(values == std::vector{0.0F, 0.125F, 6.0F});
  std::vector<double> none;
  CHECK(clip(none, {.max = 1}).elements == 0);
}

TEST_CASE("a wrong request is an error that names the parameter but no flag, and nothing is written") {
  std::vector<std::uint8_t> values{1, 2, 3};
  const Error range = error_of([&] { clip(values, {.min = 300}); });
  CHECK(range.kind() == ErrorKind::usage);
  CHECK(range.field() == "min");
  const Error order = error_of([&] { clip(values, {.min = 6, .max = 0}); });
  CHECK(order.kind() == ErrorKind::usage);
  for (const Error& error : {range, order}) CHECK(std::string(error.what()).find("--") == std::string::npos);
  CHECK(error_of([&] { clip(values, std::vector<std::uint8_t>(2), {.max = 1}); }).kind() == ErrorKind::usage);
  const auto shifted = [&] { clip(DType::uint8, values.data(), values.data() + 1, 2, {.max = 1}); };
  CHECK(error_of(shifted).kind() == ErrorKind::usage);
  CHECK(values == std::vector<std::uint8_t>{1, 2, 3});
}

/// Whether clip() accepts such elements in place.
template <class T>
concept Clippable = requires(T&& elements, const Request& request) {
  clip(std::forward<T>(elements), request);
};

TEST_CASE("a profile that profile_named() does not know is an error, and nothing is written") {
  const TemporaryDirectory directory{{"in.npy", float32_file({1, 9})}};
  const std::string in = directory / "in.npy";
  const std::string out = directory / "out.npy";
  std::array<float, 2> values{1, 9};
  const Request request{.max = 6, .profile = profile_named("onnx-99")};
  const auto check = [&](auto work) {
    const Error error = error_of(work);
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(error.field() == "profile");
  };
  check([&] { clip(values, request); });
  check([&] { PreparedClip(request, {DType::float32, {2}}); });
  check([&] { clip_file(in, out, request); });
  check([&] { clip_in_place(in, request); });
  check([&] { clip_in_place(in, request, {.direct = true}); });
  CHECK(values == std::array<float, 2>{1, 9});
  CHECK(read_file(in) == float32_file({1, 9}));
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("clip() does not accept elements that cannot be written") {
  STATIC_REQUIRE(Clippable<std::vector<float>&>);
  STATIC_REQUIRE(Clippable<std::span<float>>);
  STATIC_REQUIRE_FALSE(Clippable<const std::vector<float>&>);
  STATIC_REQUIRE_FALSE(Clippable<std::span<const float>>);
  STATIC_REQUIRE_FALSE(Clippable<std::vector<bool>&>);
}

TEST_CASE("a count beyond the address space is refused before anything is read") {
  for (const std::size_t count : {std::size_t{1} << 61U, std::size_t{1} << 62U, SIZE_MAX}) {
    CAPTURE(count);
    std::array<float, 1> value{9};
    CHECK(error_of([&] { clip(DType::float32, value.data(), value.data(), count, {.max = 6}); }).kind() ==
          ErrorKind::usage);
    CHECK(value[0] == 9);
  }
}

TEST_CASE("NaN cannot be replaced by a number that is not given") {
  std::vector<float> values{9};
  const Error error = error_of([&] { clip(values, {.max = 6, .nan = OnNan::replace}); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(error.field() == "nan");
  CHECK(values[0] == 9);
}

TEST_CASE("an error quotes the text of a number, with and without @") {
  std::vector<float> values{9};
  for (const std::string name : {"", "lo.npy", "@lo.npy"}) {
    CAPTURE(name);
    const Parameter opaque(Number(1), name, DType::bfloat16, true);
    const Error error = error_of([&] { clip(values, {.min = opaque}); });
    CHECK(error.kind() == ErrorKind::input);
    CHECK(std::string(error.what()).starts_with(name.empty() ? ": " : "lo.npy: "));
  }
}

TEST_CASE("a tolerance that is negative or not finite is an error that names the parameter") {
  const TemporaryDirectory directory{{"x.npy", tensor_of<std::int32_t>("<i4", {1})},
                                     {"y.npy", tensor_of<std::int32_t>("<i4", {9})}};
  const std::string path = directory / "x.npy";
  const std::string other = directory / "y.npy";
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {-1.0, -1e-300, inf, -inf, std::nan("")}) {
    CAPTURE(bad);
    const auto relative = [&] { (void)compare_files(path, other, {.rtol = bad}); };
    const auto absolute = [&] { (void)compare_files(path, other, {.atol = bad}); };
    CHECK(error_of(relative).kind() == ErrorKind::usage);
    CHECK(error_of(relative).field() == "rtol");
    CHECK(error_of(absolute).field() == "atol");
  }
  CHECK_FALSE(compare_files(path, other, {.rtol = -0.0, .atol = -0.0}).equal());
  const auto twice = [] { (void)compare_files("-", "-", {}, {.special_paths = true}); };
  CHECK(error_of(twice).kind() == ErrorKind::usage);
}

TEST_CASE("a refused NaN leaves memory unchanged") {
  std::vector<float> values(kCount, 9.0F);
  values[kCount - 2] = std::numeric_limits<float>::quiet_NaN();
  const Error error = error_of([&] { clip(values, {.max = 6, .nan = OnNan::error}); });
  CHECK(error.kind() == ErrorKind::input);
  CHECK(std::string(error.what()).find(std::to_string(kCount - 2)) != std::string::npos);
  CHECK(values.front() == 9.0F);
  clip(values, {.max = 6, .nan = 1.5});
  CHECK(values[kCount - 2] == 1.5F);
}

TEST_CASE("several threads may clip at once") {
  std::vector<std::vector<float>> all(4, scattered_floats(2'000'000));
  const std::vector<float> expected = clipped(all.front(), -1, 1);
  std::vector<std::thread> threads;
  threads.reserve(all.size());
  for (std::vector<float>& values : all)
    threads.emplace_back([&values] { clip(values, {.min = -1, .max = 1}); });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& values : all) CHECK(values == expected);
}

TEST_CASE("every size is clipped the same by threads that are awake") {
  const std::vector<float> values = scattered_floats(3'000'000);
  const std::vector<float> expected = clipped(values, -1, 1);
  const PreparedClip prepared({.min = -1, .max = 1}, {.dtype = DType::float32, .shape = {1}});
  std::vector<float> out(values.size());
  std::size_t wrong = 0;
  for (const unsigned threads : {0U, 3U, 7U})
    for (std::size_t count = 40'000; count < values.size(); count = count * 5 / 4 + 1)
      for (int again = 0; again < 2; ++again) {
        std::ranges::fill(out, 9.0F);
        prepared.clip(values.data(), out.data(), count, threads);
        wrong += std::equal(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count), expected.begin())
                     ? 0
                     : 1;
        wrong += count == out.size() || out[count] == 9.0F ? 0 : 1;
      }
  CHECK(wrong == 0);
}

TEST_CASE("a child process clips without the threads of its parent") {
  std::vector<float> values = scattered_floats(2'000'000);
  const std::vector<float> expected = clipped(values, -1, 1);
  in_a_process([&] {
    clip(values, {.min = -1, .max = 1});
    return values == expected;
  });
  clip(values, {.min = -1, .max = 1});
  CHECK(values == expected);
}

TEST_CASE("files are replaced as the options say") {
  const TemporaryDirectory directory{{"in.npy", float32_file({-1, 3, 9})}, {"out.npy", "kept"}};
  const std::string in = directory / "in.npy";
  const std::string out = directory / "out.npy";
  CHECK(error_of([&] { clip_file(in, out, {.max = 6}, {.overwrite = false}); }).kind() == ErrorKind::refused);
  CHECK(read_file(out) == "kept");
  clip_file(in, out, {.max = 6}, {.sync = true, .no_cache = true, .threads = 1});
  CHECK(read_file(out) == float32_file({-1, 3, 6}));
  needs_posix("to replace an open file");
  clip_file(out, out, {.min = 0});
  CHECK(read_file(out) == float32_file({0, 3, 6}));
  clip_in_place(out, {.min = 1});
  CHECK(read_file(out) == float32_file({1, 3, 6}));
  clip_in_place(out, {.min = 2}, {.direct = true});
  CHECK(read_file(out) == float32_file({2, 3, 6}));
  CHECK(read_file(in) == float32_file({-1, 3, 9}));
}

TEST_CASE("figures of one file are applied to another") {
  const TemporaryDirectory directory{{"in.npy", float32_file({1, 3, 8})}};
  const std::string in = directory / "in.npy";
  const std::string out = directory / "out.npy";
  const std::string fit = directory / "fit.npz";
  clip_file(in, out, {.max = "50%", .subtract = "min"}, {.fit = fit});
  CHECK(read_file(out) == float32_file({0, 2, 2}));
  clip_file(in, out, from_fit(fit));
  CHECK(read_file(out) == float32_file({0, 2, 2}));
  clip_file(in, out, from_fit(fit, {.max = 7}));
  CHECK(read_file(out) == float32_file({0, 2, 6}));
  for (const std::string& other : {in, out})
    CHECK(error_of([&] { clip_file(in, out, {.max = 6}, {.fit = other}); }).kind() == ErrorKind::usage);
  const auto refused = [&] { clip_in_place(in, {.max = 6}, {.overwrite = false, .fit = fit}); };
  CHECK(error_of(refused).kind() == ErrorKind::refused);
  CHECK(read_file(in) == float32_file({1, 3, 8}));
  needs_posix("to replace an open file");
  clip_in_place(in, {.max = "50%"}, {.fit = fit});
  CHECK(from_fit(fit).max->number == Number(3));
  CHECK_FALSE(from_fit(fit).subtract);
}

TEST_CASE("a refused change in place leaves the file unchanged") {
  const std::string file = float32_file({1, std::numeric_limits<float>::quiet_NaN()});
  const TemporaryDirectory directory{{"x.npy", file}};
  const std::string path = directory / "x.npy";
  for (const bool direct : {false, true}) {
    const auto refused = [&] { clip_in_place(path, {.max = 0, .nan = OnNan::error}, {.direct = direct}); };
    CHECK(error_of(refused).kind() == ErrorKind::input);
    CHECK(read_file(path) == file);
  }
}

TEST_CASE("a comparison lists the index of every mismatch, whatever the memory order") {
  const TemporaryDirectory directory;
  const std::string actual = directory / "a.npy";
  const std::string expected = directory / "e.npy";
  write_file(actual, npy_file("<f4", "False", "(2, 3)", bytes_of(std::vector<float>{0, 1, 2, 3, 4, 7})));
  write_file(expected, npy_file("<f4", "True", "(2, 3)", bytes_of(std::vector<float>{0, 3, 1, 4, 2, 5})));
  const Comparison different = compare_files(actual, expected);
  CHECK_FALSE(different.equal());
  REQUIRE(different.first.size() == 1);
  CHECK(different.first.front().index == std::vector<std::uint64_t>{1, 2});
  CHECK(from_bits<float>(different.first.front().actual) == 7);
  CHECK(different.largest == 2);
  CHECK(compare_files(actual, expected, {.atol = 2}).equal());
  write_file(expected, float32_file({1}));
  CHECK(compare_files(actual, expected).reason == "shape (2, 3), expected (1,)");
}

TEST_CASE("statistics leave NaN out and count infinities") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const TemporaryDirectory directory{{"x.npy", float32_file({1, 2, std::nanf(""), kInf, -kInf})}};
  const std::string path = directory / "x.npy";
  const Statistics result = statistics(path);
  CHECK(result.count == 5);
  CHECK(result.nan == 1);
  CHECK(result.positive_infinite == 1);
  CHECK(result.negative_infinite == 1);
  CHECK(result.mean == 1.5);
  CHECK(result.standard_deviation == 0.5);
  CHECK(from_bits<float>(result.median.value().bits) == 1.5);
  CHECK(from_bits<float>(result.max.value()) == kInf);
  CHECK(result.shape == std::vector<std::int64_t>{5});
}

namespace {

TEST_CASE("version() is the version of the CMake project") {
  const std::string project = "project(clipper VERSION " + std::string(version()) + " ";
  CHECK(read_file(source_path("CMakeLists.txt")).find(project) != std::string::npos);
}

}  // namespace

TEST_CASE("progress is told to the calling thread, at most ten times a second, and may end the work") {
  const TemporaryDirectory directory{{"in.npy", testing::float32_file({7, 8})}};
  const std::string pipe = directory / "pipe.npy";
  const std::string out = directory / "out.npy";
  make_fifo(pipe);
  std::vector<std::uint64_t> told;
  bool is_caller = true;
  const auto caller = std::this_thread::get_id();
  FileOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    told.push_back(done);
    is_caller = is_caller && std::this_thread::get_id() == caller && all == std::uint64_t{30} << 18;
  };
  for (const unsigned threads : {1U, 2U}) {
    told.clear();
    options.threads = threads;
    const auto begin = std::chrono::steady_clock::now();
    std::jthread writer([&] {
      const std::string tensor = testing::float32_file(std::vector<float>(30UL << 16, 7));
      const std::size_t header = tensor.size() - (30UL << 18);
      std::ofstream file(pipe, std::ios::binary);
      file.write(tensor.data(), static_cast<std::streamsize>(header));
      for (std::size_t at = header; at < tensor.size(); at += 1UL << 18) {
        file.write(tensor.data() + at, 1L << 18).flush();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    CHECK(clip_file(pipe, out, {.max = 6}, options).lowered == 30U << 16);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    CHECK(told.size() >= 3);
    CHECK(static_cast<double>(told.size()) <= 10 * time.count() + 1);
    CHECK(std::ranges::is_sorted(told));
    CHECK(told.back() == std::uint64_t{30} << 18);
    CHECK(is_caller);
  }
  options.progress = [](std::uint64_t, std::uint64_t) { throw std::runtime_error("enough"); };
  const std::string in = directory / "in.npy";
  std::filesystem::remove(out);
  CHECK_THROWS_WITH(clip_file(in, out, {.max = 6}, options), "enough");
  CHECK_THROWS_WITH(clip_in_place(in, {.max = 6}, options), "enough");
  CHECK(!std::filesystem::exists(out));
  CHECK(clip_in_place(in, {.max = 6}).lowered == 2);
}

}  // namespace clipper::testing
