#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "element/number.hpp"
#include "error.hpp"
#include "fuzz/require.hpp"
#include "npy/header.hpp"

/// The input is the start of a file. npy::parse ignores bytes after the header, so the last byte can stand
/// for --dtype: 0x80 is int8, and 0x92 is int8 of a file that the user names.
///
/// Bytes -> npy::parse. A refusal is one printable line that blames the input. If accepted: the data
/// offset is inside the input, the count is the product of the shape, and parsing what npy::format writes
/// gives the same header. A dtype that the user gives is never refused for raw bytes if it is a float8
/// libFuzzer tries headers: -max_len=256 -dict=npy.dict
/// torture: 300000 | 10000000 | 1000000000
namespace clipper::fuzz {
namespace {

using Bytes = std::span<const std::byte>;

constexpr const char* kRawBytes[] = {"V1", "|V1", "<V1", ">V1", "=V1"};

npy::GivenDType said_dtype(Bytes input) {
  npy::GivenDType given;
  if (input.empty() || std::to_integer<int>(input.back()) < 0x80) return given;
  const std::size_t said = std::to_integer<std::size_t>(input.back()) - 0x80;
  given.dtype = static_cast<DType>(said % kDTypes.size());
  given.takes_integers = said / kDTypes.size() % 2 != 0;
  return given;
}

void check_count(const npy::Header& header) {
  require(header.shape.size() <= kMaxRank, "there are at most 64 dimensions");
  UInt128 bytes = traits(header.dtype).size;
  bool empty = false;
  for (const std::int64_t dimension : header.shape) {
    require(dimension >= 0, "no dimension is negative");
    empty |= dimension == 0;
    bytes *= static_cast<UInt128>(std::max<std::int64_t>(dimension, 1));
    require(bytes <= std::numeric_limits<std::int64_t>::max(), "the size in bytes fits int64");
  }
  require(header.data_size() == (empty ? 0 : bytes), "the count is the product of the shape");
  if (header.count > 0)
    require(!index_text(header, header.count - 1).empty(), "the last element has an index");
}

bool has_one_order(const npy::Header& header) {
  return header.count == 0 || std::ranges::count_if(header.shape, [](std::int64_t n) { return n > 1; }) < 2;
}

void check_same(const npy::Header& a, const npy::Header& b) {
  require(a.dtype == b.dtype && a.order == b.order && a.stored_as == b.stored_as, "the dtype stays the same");
  require(a.shape == b.shape && a.count == b.count, "the shape stays the same");
  require(a.fortran_order == b.fortran_order || has_one_order(a), "the memory order stays the same");
}

void check_accepted(Bytes input, const npy::Header& header, const npy::GivenDType& said) {
  require(header.data_offset <= input.size(), "the header ends inside the file");
  require(npy::data_offset(input.first(npy::kPreambleSize)) == header.data_offset,
          "the first 12 bytes give the same data offset");
  check_same(npy::parse(input.first(header.data_offset), said), header);
  check_count(header);

  const std::string written = npy::format(header);
  const npy::Header read = npy::parse(std::as_bytes(std::span(written)), said);
  check_same(header, read);
  require(read.data_offset == written.size() && written.size() % 64 == 0,
          "the data offset is a multiple of 64");
  require(npy::format(read) == written, "parsing and formatting again gives the same header");
}

void check_refused(const Error& error, const npy::GivenDType& said) {
  const std::string message = error.what();
  const bool plain = std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; });
  require(plain && !message.empty() && message.size() < 400, "the message is one printable line", message);
  const bool blames_raw_bytes = std::ranges::any_of(kRawBytes, [&](const char* descr) {
    return message.starts_with("dtype '" + std::string(descr) + "' (");
  });
  require(!said.dtype || has_kernels(*said.dtype) || !blames_raw_bytes, "raw bytes can be any float8",
          message);
  require(error.kind() == ErrorKind::input || error.kind() == ErrorKind::refused,
          "the error blames the input", message);
}

}  // namespace
}  // namespace clipper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace clipper;
  const auto input = std::as_bytes(std::span(data, size));
  const npy::GivenDType said = fuzz::said_dtype(input);
  std::optional<npy::Header> header;
  try {
    header = npy::parse(input, said);
  } catch (const Error& error) {
    fuzz::check_refused(error, said);
  }
  if (header) fuzz::check_accepted(input, *header, said);
  return 0;
}
