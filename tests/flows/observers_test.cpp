#include <mutex>

#include "engine/engine.hpp"
#include "flows/file_clip.hpp"
#include "formats/formats.hpp"
#include "support/files.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

/// Pieces of a file by their offset.
class Pieces {
 public:
  [[nodiscard]] ByteObserver observer() {
    return [this](std::uint64_t offset, std::span<const std::byte> bytes) {
      const std::lock_guard lock(mutex_);
      const std::string piece(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      is_repeated_ |= !pieces_.emplace(offset, piece).second;
    };
  }

  /// The bytes from the first piece on. Checks that there are no gaps.
  [[nodiscard]] std::string joined() const {
    std::string bytes;
    CHECK_FALSE(is_repeated_);
    for (const auto& [offset, piece] : pieces_) {
      CHECK(offset == pieces_.begin()->first + bytes.size());
      bytes += piece;
    }
    return bytes;
  }

  [[nodiscard]] const std::map<std::uint64_t, std::string>& pieces() const { return pieces_; }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::string> pieces_;
  bool is_repeated_ = false;
};

}  // namespace

TEST_CASE("All elements are seen as they were read, and all bytes as they are in the output") {
  for (const std::size_t count : {0U, 5U, 50'000U})
    for (const unsigned threads : {1U, 3U}) {
      CAPTURE(count, threads);
      const std::vector<float> elements = scattered_floats(count);
      const TemporaryDirectory directory{{"in.npy", float32_file(elements)}};
      InputFile input = InputFile::open(directory / "in.npy");
      const Plan plan = make_plan({.min = 0, .max = 6}, read_header(input, std::nullopt));
      Engine engine({.threads = threads, .chunk_size = 4096});
      OutputFile output =
          OutputFile::create(directory / "out", OutputFile::Existing::replace, OutputFile::Durability::none);
      Pieces read;
      Pieces written;
      const std::string header = npy::format(plan.output);
      engine.run(plan, input, output, bytes(header), Counting::off, {read.observer(), written.observer()});
      output.commit();
      CHECK((read.joined() == bytes_of(elements)));
      CHECK((written.joined() == directory.read("out")));
    }
}

TEST_CASE("Behind other members of an archive, too, chunks begin at pages of the file") {
  constexpr std::size_t kChunk = 4096;
  const TemporaryDirectory directory{{"in.npy", float32_file(scattered_floats(20'000))}};
  InputFile input = InputFile::open(directory / "in.npy");
  const Plan plan = make_plan({.min = 0}, read_header(input, std::nullopt));
  Engine engine({.threads = 2, .chunk_size = kChunk});
  for (const std::uint64_t base : {0U, 178U, 4095U, 5000U}) {
    OutputFile output =
        OutputFile::create(directory / "out", OutputFile::Existing::replace, OutputFile::Durability::none);
    output.set_base(base);
    Pieces written;
    const std::string header = npy::format(plan.output);
    engine.run(plan, input, output, bytes(header), Counting::off, {{}, written.observer()});
    std::size_t chunks = 0;
    for (const auto& [offset, piece] : written.pieces()) {
      const std::uint64_t before_page = (kChunk - (base + offset) % kChunk) % kChunk;
      if (before_page < sizeof(float)) ++chunks;
    }
    CAPTURE(base);
    CHECK(chunks + 3 >= written.pieces().size());  // the first chunk is seen with the header, in two pieces
  }
}

TEST_CASE("The CRC-32 of pieces that many threads add in any order is that of all bytes") {
  std::mt19937 random{5};
  const std::string text = bytes_of(scattered_floats(10'000));
  const std::span all = bytes(text);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, all.size()}) {
    std::vector<std::pair<std::size_t, std::size_t>> pieces;
    for (std::size_t begin = 0; begin < size;) {
      const std::size_t length = std::min<std::size_t>(size - begin, random() % 700);  // some are empty
      pieces.emplace_back(begin, length);
      begin += length;
    }
    std::ranges::shuffle(pieces, random);
    PlacedCrc crc(size);
    {
      std::vector<std::jthread> threads;
      for (std::size_t first = 0; first < 4; ++first)
        threads.emplace_back([&, first] {
          for (std::size_t i = first; i < pieces.size(); i += 4)
            crc.add(pieces[i].first, all.subspan(pieces[i].first, pieces[i].second));
        });
    }
    CAPTURE(size, pieces.size());
    CHECK(crc.value() == npz::crc32(all.first(size)));
  }
}

}  // namespace clipper::testing
