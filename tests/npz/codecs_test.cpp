#include "npz/archive.hpp"
#include "npz/read_zip.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"
#include "support/refusal.hpp"

using namespace clipper;
using namespace std::string_literals;
using npz::Member;

namespace {

/// Bytes that deflate to about half.
std::string sample(std::size_t size) {
  std::mt19937 random(7);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random() % 16);
  return bytes;
}

std::string deflated(const std::vector<std::string>& pieces) {
  std::string stream;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (const std::byte b : npz::deflate_piece(testing::bytes(pieces[i]), i + 1 == pieces.size()))
      stream += static_cast<char>(b);
  return stream;
}

Member member_of(std::string_view stream, std::string_view contents) {
  Member member;
  member.method = npz::Method::deflated;
  member.contents = {npz::crc32(testing::bytes(contents)), contents.size(), stream.size()};
  return member;
}

/// Inflates bytes of `file`, and never more than the member says.
std::string inflated(std::string_view file, const Member& member) {
  std::string result;
  npz::inflate(zip::reader_of(file), member.data, member.contents, [&](std::span<const std::byte> bytes) {
    result.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    CHECK(result.size() <= member.contents.size);
  });
  return result;
}

/// The message for a stream that does not have these contents.
std::string refused(std::string_view stream, std::string_view contents) {
  return refusal(ErrorKind::input, [&] { inflated(stream, member_of(stream, contents)); });
}

}  // namespace

TEST_CASE("CRC-32 is that of zip") {
  CHECK(npz::crc32({}) == 0);
  CHECK(npz::crc32(testing::bytes("123456789")) == 0xcbf43926);
  CHECK(npz::crc32(testing::bytes("6789"), npz::crc32(testing::bytes("12345"))) == 0xcbf43926);
}

TEST_CASE("The CRC-32 of pieces is that of the whole") {
  const std::string whole = sample(100'000);
  for (const std::size_t cut : {0U, 1U, 77U, 65536U, 99'999U, 100'000U}) {
    CAPTURE(cut);
    const std::string_view first = std::string_view(whole).substr(0, cut);
    const std::string_view second = std::string_view(whole).substr(cut);
    CHECK(npz::crc32_of_both(npz::crc32(testing::bytes(first)), npz::crc32(testing::bytes(second)),
                             second.size()) == npz::crc32(testing::bytes(whole)));
  }
  // 8 EiB of zeros: the order of x modulo the polynomial divides 2^32 - 1, bits.
  CHECK(npz::crc32_of_both(0xcbf43926, 0, 0xffffffff) == 0xcbf43926);
}

TEST_CASE("Pieces that are deflated alone are one stream") {
  for (const std::size_t size : {0U, 1U, 100U, 65536U, 1'000'000U})
    for (const std::size_t count : {1U, 2U, 5U}) {
      CAPTURE(size, count);
      const std::vector<std::string> pieces(count, sample(size));
      std::string contents;
      for (const std::string& piece : pieces) contents += piece;
      const std::string stream = deflated(pieces);
      CHECK(inflated(stream, member_of(stream, contents)) == contents);
    }
}

TEST_CASE("Deflate makes data smaller, and bytes that cannot become smaller little larger") {
  CHECK(deflated({sample(1'000'000)}).size() < 600'000);
  std::string random = sample(1'000'000);
  std::mt19937 engine(1);
  for (char& c : random) c = static_cast<char>(engine());
  CHECK(deflated({random, random}).size() < 2'001'000);
}

TEST_CASE("The deflated members of other programs are inflated") {
  for (const std::string name : {"savez_compressed", "debian-savez_compressed", "ndarray_compressed", "zip-6",
                                 "zip-streamed", "streamed_compressed"}) {
    const std::string bytes = testing::read_file(testing::source_path("data/archives/" + name + ".npz"));
    for (const Member& member : zip::read(bytes).members) {
      CAPTURE(name, member.name);
      if (member.method != npz::Method::deflated) continue;
      const std::string contents = inflated(bytes, member);
      CHECK(contents.size() == member.contents.size);
      CHECK((contents.starts_with("\x93NUMPY") == member.is_npy()));
    }
  }
}

TEST_CASE("Only the member's bytes are read") {
  const std::string contents = sample(200'000);
  const std::string stream = deflated({contents});
  Member member = member_of(stream, contents);
  member.data = 3;
  CHECK(inflated("abc" + stream + "more", member) == contents);
}

TEST_CASE("A stream that ends elsewhere than the archive says is refused") {
  for (const std::size_t size : {1U, 1000U, 300'000U}) {
    CAPTURE(size);
    const std::string contents = sample(size);
    const std::string stream = deflated({contents});
    for (std::size_t cut = 1; cut < std::min<std::size_t>(stream.size(), 12); ++cut) {
      CAPTURE(cut);
      CHECK(refused(stream.substr(0, stream.size() - cut), contents) == "its deflated data is truncated");
      CHECK(refused(stream + std::string(cut, '\0'), contents) == "there are bytes after its deflated data");
    }
    CHECK(refused(stream + std::string(100'000, 'x'), contents) == "there are bytes after its deflated data");
    CHECK(refused(stream + stream, contents) == "there are bytes after its deflated data");
  }
  CHECK(refused("", "x") == "its deflated data is truncated");
  CHECK(refused("", "") == "its deflated data is truncated");
}

TEST_CASE("Contents of another size are refused") {
  const std::string contents = sample(300'000);
  const std::string stream = deflated({contents});
  CHECK(refused(stream, contents.substr(1)) == "it has more bytes than its header says");
  CHECK(refused(stream, "") == "it has more bytes than its header says");
  CHECK(refused(stream, contents.substr(0, 262'144)) == "it has more bytes than its header says");
  CHECK(refused(stream, contents + "x") == "it has less bytes than its header says");
}

TEST_CASE("A bomb is inflated only as far as the archive says") {
  std::string stream;
  const std::string zeros(std::size_t{1} << 20U, '\0');
  const std::string piece = deflated({zeros, ""});
  for (int i = 0; i < 1000; ++i) stream += piece.substr(0, piece.size() - 2);
  stream += deflated({""});
  std::size_t reads = 0;
  const npz::ReadAt read = [&](std::span<std::byte> to, std::uint64_t at) {
    reads += to.size();
    return zip::reader_of(stream)(to, at);
  };
  const Member member = member_of(stream, zeros);
  std::size_t written = 0;
  CHECK(refusal(ErrorKind::input, [&] {
          npz::inflate(read, member.data, member.contents,
                       [&](std::span<const std::byte> bytes) { written += bytes.size(); });
        }) == "it has more bytes than its header says");
  CHECK(written <= zeros.size());
  CHECK(reads < 100'000);
}

TEST_CASE("Contents with another CRC-32 are refused") {
  const std::string stream = deflated({"123456789"});
  Member member = member_of(stream, "123456789");
  ++member.contents.crc;
  CHECK(refusal(ErrorKind::input, [&] { inflated(stream, member); }) ==
        "its CRC-32 is cbf43926 instead of cbf43927");
}

TEST_CASE("Bytes that are no deflate stream are refused") {
  const std::string damaged = "its deflated data is damaged";
  CHECK(refused("\7", "x") == damaged);                        // a block of an unknown type
  CHECK(refused("\1\5\0\0\0hello"s, "hello") == damaged);      // a stored block with two lengths
  CHECK(refused("\x4b\x04\x42\x00"s, "aaaa") == damaged);      // a distance before the begin
  CHECK(refused("x\x9c"s + deflated({"x"}), "x") == damaged);  // zlib's header
}

TEST_CASE("A changed bit never passes") {
  const std::string contents = sample(2000);
  const std::string stream = deflated({contents});
  for (std::size_t bit = 0; bit < stream.size() * 8; ++bit) {
    std::string changed = stream;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    CAPTURE(bit);
    std::string result = contents;
    try {
      result = inflated(changed, member_of(stream, contents));  // padding bits may change
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
    }
    CHECK(result == contents);
  }
}

TEST_CASE("Errors of reading and writing pass") {
  const std::string contents = sample(1000);
  const std::string stream = deflated({contents});
  const Member member = member_of(stream, contents);
  const npz::ReadAt fails = [](std::span<std::byte>, std::uint64_t) -> std::size_t {
    throw Error(ErrorKind::io, "a.npz: cannot be read");
  };
  CHECK_THROWS_WITH(npz::inflate(fails, member.data, member.contents, [](std::span<const std::byte>) {}),
                    "a.npz: cannot be read");
  CHECK_THROWS_WITH(npz::inflate(zip::reader_of(stream), member.data, member.contents,
                                 [](std::span<const std::byte>) { throw Error(ErrorKind::io, "full"); }),
                    "full");
  CHECK_THROWS_WITH(inflated(stream.substr(0, 5), member), "truncated while it was read");
}

TEST_CASE("Threads may use all functions at once") {
  const std::string contents = sample(300'000);
  std::vector<std::string> streams(4);
  std::vector<std::jthread> threads;
  for (std::string& stream : streams)
    threads.emplace_back([&] {
      stream = deflated({contents, contents});
      if (inflated(stream, member_of(stream, contents + contents)) != contents + contents) stream.clear();
    });
  threads.clear();
  for (const std::string& stream : streams) CHECK(stream == deflated({contents, contents}));
}
