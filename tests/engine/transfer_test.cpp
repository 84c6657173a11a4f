#include "engine/transfer.hpp"

#include <set>

#include "files/descriptor.hpp"
#include "formats/formats.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

constexpr std::size_t kTransferred = 4096;

/// A tensor that is clipped to [0, 6], chunk by chunk.
class Files {
 public:
  Files(const std::vector<float>& elements, std::size_t header_size)
      : header_(header_size, 'h'),
        input_((write_file(directory_ / "in.npy", float32_file(elements)),
                InputFile::open(directory_ / "in.npy"))) {
    plan_.input = read_header(input_, std::nullopt);
    plan_.operation.dtype = plan_.input.dtype;
    plan_.operation.lo = to_bits(0.0F);
    plan_.operation.hi = to_bits(6.0F);
  }

  Plan& plan() { return plan_; }

  /// Clips and writes the chunks in this order. Checks and returns the sum of the written bytes.
  std::string run(std::vector<std::uint64_t> order, const Chunks& chunks, Transfer& transfer) {
    OutputFile output = OutputFile::create(directory_ / "out.npy", OutputFile::Existing::replace,
                                           OutputFile::Durability::none);
    std::uint64_t sum = 0;
    const auto add = [&](std::uint64_t at, std::span<const std::byte> shown) {
      sum += placed_sum(shown, at);
    };
    const auto header = std::as_bytes(std::span(header_));
    for (const std::uint64_t chunk : order) {
      std::vector<std::byte> memory(transfer.size(chunk) + 1);
      CHECK(transfer.size(chunk) == chunks[chunk].count * sizeof(float));
      transfer.read(chunk, memory.data());
      static_cast<void>(transfer.clip(chunk, memory.data(), Counting::on));
      transfer.write(chunk, memory.data(), output, header);
      transfer.show_written(chunk, memory.data(), header, add);
    }
    output.commit();
    std::string written = read_file(directory_ / "out.npy");
    if (header_.size() % sizeof(float) ==
        0)  // true for every header that clipper writes: no element crosses a page boundary
      CHECK(sum == placed_sum(std::as_bytes(std::span(written)), 0));
    return written;
  }

  [[nodiscard]] Chunks chunks() const {
    return {plan_.input.count, sizeof(float), kTransferred, header_.size()};
  }
  [[nodiscard]] InputFile& input() { return input_; }
  [[nodiscard]] const std::string& header() const { return header_; }

 private:
  TemporaryDirectory directory_;
  std::string header_;
  InputFile input_;
  Plan plan_;
};

}  // namespace

TEST_CASE("chunks cover all elements once, and all but the first begin at a page of the output") {
  std::mt19937_64 random{1};
  for (const std::size_t chunk_size : {4096U, 12'288U, 262'144U})
    for (const std::size_t size : {1U, 2U, 4U, 8U})
      for (int i = 0; i < 500; ++i) {
        const std::uint64_t count = random() % (i % 2 == 0 ? 200'000 : 3 * chunk_size / size);
        const std::size_t offset = random() % (2 * chunk_size);
        CAPTURE(chunk_size, size, count, offset);
        const Chunks chunks(count, size, chunk_size, offset);
        std::uint64_t next = 0;
        for (std::uint64_t k = 0; k < chunks.size(); ++k) {
          const auto [begin, length] = chunks[k];
          REQUIRE(begin == next);
          REQUIRE(length > 0);
          REQUIRE(length * size <= chunk_size);
          // An element that crosses a page boundary belongs to the later chunk.
          const std::size_t beyond = (offset + begin * size) % chunk_size;
          REQUIRE((k == 0 || beyond == 0 || chunk_size - beyond < size));
          next += length;
        }
        REQUIRE(next == count);
      }
}

TEST_CASE("chunks in any order give the file, and their sums add up to its sum") {
  std::mt19937 random{2};
  for (const std::size_t count : {0U, 1U, 900U, 1024U, 5000U, 50'000U})
    for (const std::size_t header : {1U, 128U, 4095U, 4096U, 4097U, 9000U}) {
      const std::vector<float> elements = scattered_floats(count);
      Files files(elements, header);
      const Chunks chunks = files.chunks();
      Transfer transfer(files.plan(), files.input(), chunks, {simd_levels().back()});
      std::vector<std::uint64_t> order(chunks.size());
      for (std::uint64_t i = 0; i < order.size(); ++i) order[i] = i;
      std::ranges::shuffle(order, random);
      CAPTURE(count, header, order.size());
      const std::string expected = order.empty() ? "" : files.header() + bytes_of(clipped(elements, 0, 6));
      CHECK((files.run(order, chunks, transfer) == expected));
      const auto count_if = [&](auto is) {
        return static_cast<std::uint64_t>(std::count_if(elements.begin(), elements.end(), is));
      };
      CHECK(transfer.counts().raised == count_if([](float x) { return x < 0; }));
      CHECK(transfer.counts().lowered == count_if([](float x) { return x > 6; }));
    }
}

TEST_CASE("the blocks that change are found, unless they are more than 1 in 32") {
  constexpr std::size_t kLarge = 64 * ChangedBlocks::kSize;
  std::mt19937 random{3};
  for (const std::size_t changes : {0U, 1U, 5U, 9U, 300U}) {
    std::vector<float> elements(5 * kLarge / sizeof(float) - 700, 3);
    for (std::size_t i = 0; i < changes; ++i) elements[random() % elements.size()] = 7;
    Files files(elements, 128);
    const std::uint64_t begin = files.input().data_begin();
    const Chunks chunks(elements.size(), sizeof(float), kLarge, begin);
    Transfer transfer(files.plan(), files.input(), chunks, {simd_levels().back()});
    for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
      const auto [first, count] = chunks[chunk];
      std::vector<std::byte> memory(transfer.size(chunk));
      transfer.read(chunk, memory.data());
      ChangedBlocks changed;
      static_cast<void>(transfer.clip(chunk, memory.data(), Counting::off, &changed));
      CAPTURE(changes, chunk);
      const auto* const result = reinterpret_cast<const float*>(memory.data());
      CHECK(std::all_of(result, result + count, [](float x) { return x == 3 || x == 6; }));
      std::set<std::uint64_t> expected;
      for (std::size_t i = 0; i < count; ++i)
        if (elements[first + i] == 7)
          expected.insert((begin + (first + i) * sizeof(float)) / ChangedBlocks::kSize);
      CHECK(changed.are_few == (expected.size() <= memory.size() / ChangedBlocks::kSize / 32));
      if (!changed.are_few) continue;
      std::set<std::uint64_t> found;
      for (const std::span block : changed.blocks) {
        const auto at =
            begin + first * sizeof(float) + static_cast<std::size_t>(block.data() - memory.data());
        found.insert(at / ChangedBlocks::kSize);
        CHECK((at + block.size() - 1) / ChangedBlocks::kSize == at / ChangedBlocks::kSize);
      }
      CHECK(found == expected);
    }
  }
}

TEST_CASE(
    "a chunk in memory is not 1 to 63 bytes above its source, nor below its destination, modulo a page") {
  const auto is_slow = [](std::uint64_t above) { return above % 4096 >= 1 && above % 4096 <= 63; };
  const std::vector<float> elements = scattered_floats(5000);
  Files files(elements, 128);
  for (std::uint64_t header_end = 0; header_end < 8192; ++header_end) {
    const Chunks chunks(elements.size(), sizeof(float), kTransferred, header_end);
    const Transfer transfer(files.plan(), files.input(), chunks, {simd_levels().back()});
    for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
      const std::uint64_t begin = chunks[chunk].begin * sizeof(float);
      const std::size_t shift = transfer.shift(chunk, header_end);
      if (shift > Transfer::kMaxShift || shift % 64 != 0 ||
          is_slow(shift - files.input().data_begin() - begin) || is_slow(header_end + begin - shift))
        FAIL(header_end << " " << chunk << " " << shift);
    }
  }
}

TEST_CASE("a NaN is refused in its chunk and all later ones, with its index in the whole tensor") {
  std::vector<float> elements(5000, 1);
  elements[1500] = elements[4000] = std::numeric_limits<float>::quiet_NaN();
  Files files(elements, 128);
  files.plan().refuse_nan = true;
  const Chunks chunks = files.chunks();
  Transfer transfer(files.plan(), files.input(), chunks, {simd_levels().back()});
  CHECK_NOTHROW(transfer.expect_valid());
  static_cast<void>(files.run({4, 3, 2, 0, 1}, chunks, transfer));
  for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    CAPTURE(chunk);
    CHECK(transfer.is_refused(chunk) == (chunk >= 1));
    CHECK(transfer.comes_after_refusal(chunk) == (chunk > 1));
  }
  CHECK(
      refusal(ErrorKind::input, [&] { transfer.expect_valid(); }).ends_with("NaN at [1500] (element 1500)"));
}

}  // namespace clipper::testing
