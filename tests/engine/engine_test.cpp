#include "engine/engine.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>

#include "formats/formats.hpp"
#include "parallel/pool.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

constexpr std::size_t kChunk = 4096;

struct Case {
  std::string descr;
  std::size_t count;
  std::size_t in_header;   ///< min offset of the elements in the input
  std::size_t out_header;  ///< min offset of the elements in the output
};

/// An integer tensor of `count` unsorted elements.
std::string input_of(const Case& one) {
  const auto size = static_cast<std::size_t>(one.descr[2] - '0');
  std::string elements(one.count * size, '\0');
  std::uint32_t state = 7;
  for (char& byte : elements) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  const std::string shape = fmt::format("({},)", one.count);
  std::string header = npy_file(one.descr, "False", shape, "", 1);
  return npy_file(one.descr, "False", shape, elements, std::max(header.size(), one.in_header));
}

/// The bytes before the elements of an output; the engine accepts any.
std::string header_of(const Case& one) {
  return std::string(one.out_header, 'h');
}

Request clip_request() {
  Request request;
  request.min = 17;
  request.max = 100;
  return request;
}

/// Runs the engine from file to file.
std::string file_to_file(const TemporaryDirectory& directory, const std::string& header,
                         const Engine::Options& options) {
  InputFile input = InputFile::open(directory / "in.npy");
  const Plan plan = make_plan(clip_request(), read_header(input, std::nullopt));
  Engine engine(options);
  engine.prepare(plan.input.data_size());
  OutputFile output =
      OutputFile::create(directory / "out.npy", OutputFile::Existing::replace, OutputFile::Durability::none);
  engine.run(plan, input, output, std::as_bytes(std::span(header)));
  output.commit();
  return directory.read("out.npy");
}

/// Runs the engine from FIFO to FIFO.
std::string stream_to_stream(const TemporaryDirectory& directory, const std::string& header,
                             const Engine::Options& options) {
  std::string result;
  const std::string file = directory.read("in.npy");
  std::thread feed([&] { std::ofstream(directory / "from", std::ios::binary) << file; });
  std::thread drain([&] {
    std::ifstream fifo(directory / "to", std::ios::binary);
    result.assign(std::istreambuf_iterator<char>(fifo), {});
  });
  {
    InputFile input = InputFile::open(directory / "from");
    const Plan plan = make_plan(clip_request(), read_header(input, std::nullopt));
    Engine engine(options);
    engine.prepare(plan.input.data_size());
    OutputFile output =
        OutputFile::create(directory / "to", OutputFile::Existing::replace, OutputFile::Durability::none);
    engine.run(plan, input, output, std::as_bytes(std::span(header)));
    output.commit();
  }
  feed.join();
  drain.join();
  return result;
}

/// The same elements clipped by one thread in one chunk.
std::string in_one_chunk(const TemporaryDirectory& directory, const std::string& header) {
  return file_to_file(directory, header, {.threads = 1, .chunk_size = 1 << 20, .level = SimdLevel::baseline});
}

void check(const Case& one) {
  const TemporaryDirectory directory{{"in.npy", input_of(one)}};
  make_fifo(directory / "from");
  make_fifo(directory / "to");
  const std::string header = header_of(one);
  const std::string expected = in_one_chunk(directory, header);
  for (const unsigned threads : {1U, 2U, 5U}) {
    CAPTURE(one.descr, one.count, one.in_header, one.out_header, threads);
    const Engine::Options options{.threads = threads, .chunk_size = kChunk};
    CHECK((file_to_file(directory, header, options) == expected));
    CHECK((stream_to_stream(directory, header, options) == expected));
  }
}

/// The engine keeps the first of two exceptions. The other one is destroyed as soon as it is caught: by then
/// the engine knows of the first one.
class SecondFailure : public Error {
 public:
  explicit SecondFailure(std::atomic<bool>& known) : Error(ErrorKind::io, "no"), known_(known) {}
  SecondFailure(const SecondFailure&) = delete;
  SecondFailure& operator=(const SecondFailure&) = delete;
  ~SecondFailure() override { known_ = true; }

 private:
  std::atomic<bool>& known_;
};

}  // namespace

TEST_CASE("one chunk is clipped like its single elements") {
  const std::vector<std::int16_t> elements{-3, 16, 17, 18, 99, 100, 101, 32767};
  const TemporaryDirectory directory{{"in.npy", tensor_of("<i2", elements)}};
  CHECK(in_one_chunk(directory, "header") ==
        "header" + bytes_of(std::vector<std::int16_t>{17, 17, 17, 18, 99, 100, 100, 100}));
}

TEST_CASE("where parts may be shared, the output has the same bytes, whether or not the file system can") {
  for (const std::size_t changes : {0U, 1U, 20U, 200'000U}) {
    std::vector<std::int16_t> elements(600'000, 50);
    for (std::size_t i = 0; i < changes; ++i) elements[i * 7919 % elements.size()] = 101;
    const TemporaryDirectory directory{{"in.npy", tensor_of("<i2", elements)}};
    InputFile input = InputFile::open(directory / "in.npy");
    std::vector<std::byte> header;
    const Plan plan = make_plan(clip_request(), read_header(input, std::nullopt, &header));
    OutputFile output = OutputFile::create(directory / "out.npy", OutputFile::Existing::replace,
                                           OutputFile::Durability::on_disk);
    Engine engine({.threads = 2, .chunk_size = 64 * kChunk});
    const ElementCounts counts = engine.run(plan, input, output, header, Counting::on, {}, Sharing::parts);
    output.commit();
    CHECK(counts.lowered == changes);
    std::ranges::replace(elements, std::int16_t{101}, std::int16_t{100});
    CHECK((directory.read("out.npy") == tensor_of("<i2", elements)));
  }
}

TEST_CASE("a tensor that ends near a chunk boundary is clipped as in one chunk") {
  for (const std::string descr : {"|u1", "<u2", "<i4", "<i8"}) {
    const auto each = kChunk / static_cast<std::size_t>(descr[2] - '0');
    for (const std::size_t chunks : {0U, 1U, 2U, 3U}) {
      for (const int more : {-2, -1, 0, 1}) {
        if (chunks == 0 && more < 0) continue;
        const std::size_t count = chunks * each + static_cast<std::size_t>(more);
        check({descr, count, 128, 128});
      }
    }
  }
}

TEST_CASE("a tensor that ends near the first chunk boundary after the header is clipped as in one chunk") {
  for (const std::string descr : {"|u1", "<u2", "<i4", "<i8"}) {
    const auto size = static_cast<std::size_t>(descr[2] - '0');
    for (const std::size_t header : {1U, 83U, 128U, 4095U, 4096U, 4097U, 5000U}) {
      const std::size_t first = (kChunk - header % kChunk) / size;
      for (const int more : {-1, 0, 1}) {
        if (first == 0 && more < 0) continue;
        check({descr, first + static_cast<std::size_t>(more), 128, header});
        check({descr, first + 2 * kChunk / size + static_cast<std::size_t>(more), 83, header});
      }
    }
  }
}

TEST_CASE("input elements at odd offsets are clipped as in one chunk") {
  for (const std::string descr : {"|u1", ">u2", ">i4", ">i8"})
    for (const std::size_t header : {61U, 63U, 67U, 101U, 4093U}) check({descr, 3000, header, header});
}

TEST_CASE("a stream of the wrong length is an error, and its output is not committed") {
  const TemporaryDirectory directory;
  const std::string file = npy_file("|u1", "False", "(20000,)", std::string(20'000, 'x'));
  make_fifo(directory / "from");
  const auto run = [&](const std::string& bytes, unsigned threads) {
    std::thread feed([&] { std::ofstream(directory / "from", std::ios::binary) << bytes; });
    std::string message = refusal(ErrorKind::input, [&] {
      InputFile input = InputFile::open(directory / "from");
      const Plan plan = make_plan(clip_request(), read_header(input, std::nullopt));
      Engine engine({.threads = threads, .chunk_size = kChunk});
      engine.prepare(plan.input.data_size());
      OutputFile output = OutputFile::create(directory / "out.npy", OutputFile::Existing::replace,
                                             OutputFile::Durability::none);
      engine.run(plan, input, output, {});
    });
    feed.join();
    CHECK(directory.entries() == std::vector<std::string>{"from"});
    return message;
  };
  for (const unsigned threads : {1U, 4U}) {
    CHECK(run(file.substr(0, file.size() - 1), threads) ==
          directory / "from: truncated: ends before its last element");
    CHECK(run(file + "x", threads).starts_with(directory / "from: unexpected bytes after the array"));
  }
}

TEST_CASE("a small tensor starts no threads, a large one starts the requested number") {
  const auto threads = [](std::uint64_t size, const Engine::Options& options) {
    Engine engine(options);
    engine.prepare(size);
    return engine.threads();
  };
  CHECK(threads(0, {.threads = 8}) == 1);
  CHECK(threads(4000, {.threads = 8}) == 1);
  CHECK(threads(4'000'000, {.threads = 8}) == 8);
  CHECK(threads(4'000'000, {.threads = 1}) == 1);
}

TEST_CASE("a limit of the threads counts if the options name no number") {
  for (const unsigned given : {0U, 3U}) {
    Engine engine({.threads = given});
    engine.limit_threads(1);
    engine.prepare(100'000'000);
    CHECK(engine.threads() == std::max(given, 1U));
  }
}

TEST_CASE("a tensor starts at most one thread for each chunk, a later and larger one as many as requested") {
  Engine engine({.threads = 8, .chunk_size = kChunk});
  engine.prepare(3 * kChunk);
  CHECK(engine.threads() == 3);
  engine.prepare(2 * kChunk);
  CHECK(engine.threads() == 3);
  engine.prepare(4 * kChunk);
  CHECK(engine.threads() == 8);
  Engine deflating({.threads = 8, .chunk_size = kChunk});
  deflating.prepare(2 * kChunk, Engine::Cost::high);
  CHECK(deflating.threads() == 8);
}

TEST_CASE("up to 4 MiB that are not deflated start no threads, unless the number of threads is given") {
  constexpr std::uint64_t kLimit = 4UL << 20;
  const bool one_cpu = available_threads() == 1;
  const auto starts_threads = [](const Engine& engine) { return engine.threads() > 1; };
  Engine engine({});
  engine.prepare(kLimit);
  CHECK_FALSE(starts_threads(engine));
  engine.prepare(kLimit - 1, Engine::Cost::high);
  CHECK(starts_threads(engine) != one_cpu);
  Engine larger({});
  larger.prepare(kLimit + 1);
  CHECK(starts_threads(larger) != one_cpu);
}

TEST_CASE("in an arena of the caller's an engine has its threads, unless the number is given") {
  const auto threads = [](unsigned given) {
    Engine engine({.threads = given});
    engine.prepare(100'000'000);
    return engine.threads();
  };
  const tbb::global_control host(tbb::global_control::max_allowed_parallelism, 5);
  tbb::task_arena(5).execute([&] {
    CHECK(threads(0) == 5);
    CHECK(threads(3) == 3);
  });
  tbb::task_arena(1).execute([&] { CHECK(threads(0) == 1); });
}

TEST_CASE("many tensors, at once or in turn, are clipped as if each were alone") {
  const TemporaryDirectory directory;
  const std::string header = "header";
  std::vector<std::string> expected;
  constexpr std::size_t kTensors = 60;
  for (std::size_t i = 0; i < kTensors; ++i) {
    directory.write("in.npy", input_of({"<i4", i * i * 7, 128, 128}));
    expected.push_back(in_one_chunk(directory, header));
    std::filesystem::rename(directory / "in.npy", directory / fmt::format("in{}.npy", i));
  }
  for (const unsigned threads : {1U, 2U, 7U}) {
    Engine engine({.threads = threads, .chunk_size = kChunk});
    for (int round = 0; round < 2; ++round) {
      engine.for_each(kTensors, [&](std::size_t i) {
        InputFile input = InputFile::open(directory / fmt::format("in{}.npy", i));
        const Plan plan = make_plan(clip_request(), read_header(input, std::nullopt));
        engine.prepare(plan.input.data_size());
        OutputFile output = OutputFile::create(directory / fmt::format("out{}.npy", i),
                                               OutputFile::Existing::replace, OutputFile::Durability::none);
        engine.run(plan, input, output, std::as_bytes(std::span(header)));
        output.commit();
      });
      for (std::size_t i = 0; i < kTensors; ++i) {
        CAPTURE(threads, round, i);
        CHECK((directory.read(fmt::format("out{}.npy", i)) == expected[i]));
        std::filesystem::remove(directory / fmt::format("out{}.npy", i));
      }
    }
  }
}

TEST_CASE("a single thread begins no tensor after a failure") {
  Engine engine({.threads = 1});
  std::size_t begun = 0;
  CHECK(refusal(ErrorKind::io, [&] {
          engine.for_each(100'000, [&](std::size_t i) {
            ++begun;
            if (i == 7) throw Error(ErrorKind::io, "no");
          });
        }) == "no");
  CHECK(begun == 8);
}

TEST_CASE("threads begin no tensors after a failure, except those being begun") {
  for (const unsigned threads : {2U, 3U}) {
    CAPTURE(threads);
    std::atomic<bool> known = false;
    std::atomic<unsigned> begun = 0;
    std::atomic<unsigned> late = 0;
    Engine engine({.threads = threads});
    CHECK(refusal(ErrorKind::io, [&] {
            engine.for_each(100'000, [&](std::size_t) {
              if (known) {
                ++late;
              } else if (++begun <= 2) {  // the first two fail at the same time
                while (begun < 2) std::this_thread::yield();
                throw SecondFailure(known);
              }
              while (!known) std::this_thread::yield();
            });
          }) == "no");
    CHECK(late <= threads - 2);
  }
}

TEST_CASE("counts are the same for every thread count and chunk size") {
  const TemporaryDirectory directory{{"in.npy", input_of({"|u1", 50'000, 128, 128})}};
  const std::string elements = directory.read("in.npy").substr(128);
  const auto count = [&](auto matches) {
    return std::count_if(elements.begin(), elements.end(),
                         [&](char c) { return matches(static_cast<unsigned char>(c)); });
  };
  for (const auto& [threads, chunk_size] :
       {std::pair{1U, kChunk}, {2U, kChunk}, {5U, kChunk}, {2U, 3 * kChunk}, {1U, std::size_t{1} << 20}}) {
    CAPTURE(threads, chunk_size);
    InputFile input = InputFile::open(directory / "in.npy");
    const Plan plan = make_plan(clip_request(), read_header(input, std::nullopt));
    Engine engine({.threads = threads, .chunk_size = chunk_size});
    engine.prepare(plan.input.data_size());
    OutputFile output = OutputFile::create(directory / "out.npy", OutputFile::Existing::replace,
                                           OutputFile::Durability::none);
    const ElementCounts counts = engine.run(plan, input, output, {}, Counting::on);
    CHECK(counts.raised == static_cast<std::uint64_t>(count([](int c) { return c < 17; })));
    CHECK(counts.lowered == static_cast<std::uint64_t>(count([](int c) { return c > 100; })));
    CHECK(counts.nan == 0);
    CHECK(counts.changed);
  }
}

TEST_CASE("a scan finds the only element that would change, wherever it is") {
  const TemporaryDirectory directory;
  constexpr std::size_t kCount = 50'000;
  const auto scan = [&](const std::string& elements, unsigned threads) {
    directory.write("in.npy", npy_file("|u1", "False", fmt::format("({},)", kCount), elements));
    InputFile input = InputFile::open(directory / "in.npy");
    const Plan plan = make_plan(clip_request(), read_header(input, std::nullopt));
    Engine engine({.threads = threads, .chunk_size = kChunk});
    engine.prepare(plan.input.data_size());
    return engine.scan(plan, input);
  };
  std::string elements(kCount, char{50});
  for (const unsigned threads : {1U, 2U, 5U}) {
    CHECK_FALSE(scan(elements, threads).changed);
    for (const std::size_t position :
         {std::size_t{0}, std::size_t{4095}, std::size_t{4096}, kCount / 2, kCount - 1}) {
      CAPTURE(threads, position);
      elements[position] = 101;
      CHECK(scan(elements, threads).changed);
      elements[position] = 50;
    }
  }
}

}  // namespace clipper::testing
