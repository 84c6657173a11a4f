#include "formats/formats.hpp"

#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
TEST_CASE("a FIFO is a stream, and its header may arrive in pieces") {
  const TemporaryDirectory directory;
  make_fifo(directory / "fifo");
  const std::string bytes = float32_file({1, 2});
  std::thread feed([&] {
    std::ofstream fifo(directory / "fifo", std::ios::binary);
    for (const char byte : bytes) fifo << byte << std::flush;
  });
  InputFile file = InputFile::open(directory / "fifo");
  CHECK_FALSE(file.is_regular());
  const npy::Header header = read_header(file, std::nullopt);
  CHECK(header.count == 2);
  std::array<std::byte, 8> elements{};
  file.read_exactly(elements);
  CHECK(text_of(elements) == bytes.substr(128));
  file.expect_end();
  feed.join();
}

TEST_CASE("read_header() returns the header byte for byte and stops before the elements") {
  const std::string header_text = npy_file("<f4", "False", "(1,)", "", 16);
  const TemporaryDirectory directory{{"file", header_text + "abcd"}};
  InputFile file = InputFile::open(directory / "file");
  std::vector<std::byte> bytes;
  const npy::Header header = read_header(file, std::nullopt, &bytes);
  CHECK(header.data_offset == header_text.size());
  CHECK(text_of(bytes) == header_text);
  std::array<std::byte, 4> element{};
  file.read_exactly(element);
  CHECK(text_of(element) == "abcd");
}

TEST_CASE("a file must have the size that follows from its header") {
  const TemporaryDirectory directory;
  const auto message = [&](const std::string& bytes) {
    directory.write("file", bytes);
    return refusal(ErrorKind::input, [&] {
      InputFile file = InputFile::open(directory / "file");
      std::ignore = read_header(file, std::nullopt);
    });
  };
  const std::string file = float32_file({1, 2});
  CHECK(message(file.substr(0, file.size() - 3)) ==
        directory / "file: 8 data bytes expected for float32 (2,), the file has 5");
  CHECK(message(file + "xyz") == directory / "file: 3 bytes after the array");
  CHECK(message(file + "x") == directory / "file: 1 byte after the array");
  CHECK(message(file.substr(0, 20)).starts_with(directory / "file: truncated header"));
  CHECK(message("hello world!").starts_with(directory / "file: not a .npy file but text"));
}

TEST_CASE("bytes after the array can be ignored") {
  const std::string bytes = float32_file({1, 2});
  const TemporaryDirectory directory{{"file", bytes + "xyz"}};
  InputFile file = InputFile::open(directory / "file");
  file.ignore_trailing();
  CHECK(read_header(file, std::nullopt).count == 2);
  std::array<std::byte, 8> elements{};
  file.read_exactly(elements);
  CHECK(text_of(elements) == bytes.substr(128));
  CHECK_NOTHROW(file.expect_end());

  InputFile to_change = InputFile::open_to_change(directory / "file");
  to_change.ignore_trailing();
  CHECK(refusal(ErrorKind::refused, [&] { return read_header(to_change, std::nullopt); }) ==
        directory /
            "file: refused to avoid data loss: in place, the 3 bytes after the array would be lost; write to "
            "another file");
}

}  // namespace clipper::testing
