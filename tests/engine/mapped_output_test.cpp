#include <unistd.h>

#include <atomic>

#include "engine/engine.hpp"
#include "engine/transfer.hpp"
#include "formats/formats.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

constexpr std::size_t kBlock = MappedBlock::kSize;
constexpr std::size_t kMapped = 32 * kBlock;  // from so many bytes on, threads map the output

OutputFile new_file(const TemporaryDirectory& directory) {
  return OutputFile::create(directory / "out.npy", OutputFile::Existing::replace,
                            OutputFile::Durability::none);
}

bool can_map(const TemporaryDirectory& directory) {
  OutputFile file = new_file(directory);
  const bool can = file.reserve(kBlock) && MappedBlock(file).map(0) != nullptr && MappedBlock::is_fast();
  if (!can) WARN("no test: " << directory.path() << " has no reserved space that is mapped in huge pages");
  return can;
}

struct Mapping {
  std::string descr;
  std::optional<DType> to;
  std::size_t size;    ///< of the output's elements
  std::size_t header;  ///< of the output

  [[nodiscard]] std::size_t in_size() const { return static_cast<std::size_t>(descr[2] - '0'); }
  [[nodiscard]] std::size_t out_size() const { return to ? traits(*to).size : in_size(); }
};

Plan plan_of(const Mapping& one, InputFile& input) {
  Request request;
  request.max = 100;
  request.to = one.to;
  return make_plan(request, read_header(input, std::nullopt));
}

std::string input_for(const Mapping& one) {
  const std::size_t count = one.size / one.out_size();
  std::string elements(count * one.in_size(), '\0');
  std::uint32_t state = 7;
  for (char& byte : elements) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 25);
  return npy_file(one.descr, "False", fmt::format("({},)", count), elements);
}

/// Runs the engine with these threads. Returns how many bytes were in a mapping of their block.
std::size_t run(const TemporaryDirectory& directory, const Mapping& one, unsigned threads,
                const ByteObserver& read = {}) {
  InputFile input = InputFile::open(directory / "in.npy");
  const Plan plan = plan_of(one, input);
  OutputFile output = new_file(directory);
  const std::string header(one.header, 'h');
  std::atomic<std::size_t> mapped = 0;
  const ByteObserver written = [&](std::uint64_t offset, std::span<const std::byte> bytes) {
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kBlock == offset % kBlock) mapped += bytes.size();
  };
  Engine engine({.threads = threads, .mapping_cpus = 1});
  engine.run(plan, input, output, bytes(header), Counting::off, {read, written});
  output.commit();
  return mapped;
}

}  // namespace

TEST_CASE("Threads that map a new file write the bytes of one thread") {
  const std::vector<Mapping> cases{
      {"<i4", {}, kMapped + kBlock - 128, 128},  // ends with a block
      {"<i4", {}, kMapped + kBlock - 124, 128}, {">i2", {}, kMapped, 64},
      {"<f4", {}, kMapped, kBlock - 64},        {"<u1", DType::float32, kMapped, 128},
      {"<i4", DType::uint8, kMapped, 128},
  };
  for (const Mapping& one : cases) {
    CAPTURE(one.descr, one.out_size(), one.size, one.header);
    const TemporaryDirectory directory{{"in.npy", input_for(one)}};
    if (!can_map(directory)) return;
    CHECK(run(directory, one, 1) < kMapped / 2);
    const std::string expected = directory.read("out.npy");
    CHECK(::unlink((directory / "out.npy").c_str()) == 0);
    CHECK(run(directory, one, 4) >= kMapped - 2 * kBlock);
    CHECK((directory.read("out.npy") == expected));
    run(directory, one, 4);  // over a file: not mapped
    CHECK((directory.read("out.npy") == expected));
  }
}

TEST_CASE("Pages of a mapped file that the file system loses are an error of the output") {
  const Mapping one{"<f4", {}, kMapped, 128};
  const TemporaryDirectory directory{{"in.npy", input_for(one)}};
  if (!can_map(directory)) return;
  InputFile input = InputFile::open(directory / "in.npy");
  const Plan plan = plan_of(one, input);
  OutputFile output = new_file(directory);
  // The other threads wait: what they write would give the file its size back.
  std::atomic<std::thread::id> loser;
  std::atomic<bool> is_over = false;
  const ByteObserver lose = [&](std::uint64_t offset, std::span<const std::byte> /*bytes*/) {
    std::thread::id nobody;
    if (offset < kMapped / 2 || loser == std::this_thread::get_id()) return;
    if (!loser.compare_exchange_strong(nobody, std::this_thread::get_id())) return is_over.wait(false);
    CHECK(::ftruncate(output.descriptor().get(), 0) == 0);
  };
  const ByteObserver end = [&](std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) {
    if (loser != std::this_thread::get_id()) return;
    is_over = true;
    is_over.notify_all();
  };
  Engine engine({.threads = 4, .mapping_cpus = 1});
  const std::string header(one.header, 'h');
  const auto work = [&] { engine.run(plan, input, output, bytes(header), Counting::off, {lose, end}); };
  CHECK(refusal(ErrorKind::io, work) == (directory / "out.npy") + ": cannot be written: Input/output error");
}

TEST_CASE("A block that the file does not have cannot be mapped") {
  const TemporaryDirectory directory;
  const OutputFile file = new_file(directory);
  CHECK(MappedBlock(file).map(0) == nullptr);
}

}  // namespace clipper::testing
