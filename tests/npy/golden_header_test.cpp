#include "error.hpp"
#include "npy/header.hpp"
#include "support/tsv.hpp"

namespace clipper {
namespace {

/// A row of headers/headers.tsv: what np.save writes for an array.
struct Saved {
  npy::Header array;  ///< with the `fortran_order` of the array, not of the header
  std::string bytes;
};

/// The bytes of a header as text for a message.
std::string escape_for_terminal(const std::string& bytes) {
  std::string text;
  for (const char c : bytes)
    text +=
        c >= ' ' && c <= '~' ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text;
}

DType golden_dtype_of(std::string_view descr) {
  for (const DTypeTraits& row : tsv::kGoldenDTypes)
    if (row.descr == descr.substr(1)) return row.dtype;
  FAIL(descr);
  return {};
}

std::vector<Saved> read_saved() {
  std::vector<Saved> all;
  for (const auto& row : tsv::read("headers/headers.tsv")) {
    npy::Header array;
    array.dtype = golden_dtype_of(row[0]);
    const bool ordered = row[0][0] != '|';
    array.order = !ordered ? kNativeOrder : row[0][0] == '<' ? ByteOrder::little : ByteOrder::big;
    if (!ordered && array.dtype == DType::bfloat16) array.stored_as = "|V2";
    array.fortran_order = row[1] == "True";
    array.shape = tsv::shape(row[2]);
    all.push_back({array, tsv::from_hex(row[3])});
  }
  return all;
}

/// The number of elements if dimensions of 0 were 1; not exact.
double extent(const npy::Header& header) {
  double product = 1;
  for (const std::int64_t dimension : header.shape)
    if (dimension != 0) product *= static_cast<double>(dimension);
  return product;
}

bool is_empty(const npy::Header& header) {
  for (const std::int64_t dimension : header.shape)
    if (dimension == 0) return true;
  return false;
}

/// Whether the array is larger than any machine's memory: numpy can write such a header, but not read it.
bool is_too_large(const npy::Header& header) {
  return extent(header) * static_cast<double>(traits(header.dtype).size) >= 0x1p63;
}

}  // namespace

TEST_CASE("format() gives the bytes that np.save writes") {
  for (const Saved& saved : read_saved()) {
    INFO(escape_for_terminal(saved.bytes));
    CHECK(escape_for_terminal(npy::format(saved.array)) == escape_for_terminal(saved.bytes));
  }
}

TEST_CASE("headers that np.save wrote are read") {
  for (const Saved& saved : read_saved()) {
    const npy::Header& array = saved.array;
    const auto bytes = std::as_bytes(std::span(saved.bytes));
    const std::optional<DType> said = array.stored_as.empty() ? std::nullopt : std::optional(array.dtype);
    INFO(escape_for_terminal(saved.bytes));
    if (is_too_large(array)) {
      CHECK_THROWS_AS(npy::parse(bytes, said), Error);
      continue;
    }
    const npy::Header header = npy::parse(bytes, said);
    CHECK(header.dtype == array.dtype);
    CHECK(header.order == array.order);
    CHECK(header.stored_as == array.stored_as);
    CHECK(header.fortran_order == (saved.bytes.find("True") != std::string::npos));
    CHECK(header.shape == array.shape);
    CHECK(header.count == (is_empty(array) ? 0 : static_cast<std::uint64_t>(extent(array))));
    CHECK(header.data_offset == saved.bytes.size());
    CHECK(npy::data_offset(bytes.first(npy::kPreambleSize)) == saved.bytes.size());
    CHECK(escape_for_terminal(npy::format(header)) == escape_for_terminal(saved.bytes));
  }
}

TEST_CASE("the golden headers cover every descriptor, both memory orders and extreme shapes") {
  std::vector<std::string> descriptors;
  std::size_t largest_rank = 0;
  std::size_t fortran = 0;
  std::size_t wide = 0;  // longer than the usual 128 bytes
  for (const Saved& saved : read_saved()) {
    const std::string_view text = std::string_view(saved.bytes).substr(21, 3);
    if (descriptors.empty() || descriptors.back() != text) descriptors.emplace_back(text);
    largest_rank = std::max(largest_rank, saved.array.shape.size());
    fortran += saved.bytes.find("True") != std::string::npos ? 1U : 0U;
    wide += saved.bytes.size() > 128 ? 1U : 0U;
  }
  for (const DTypeTraits& dtype : tsv::kGoldenDTypes)
    for (const char order : std::string_view(dtype.size == 1 ? "|" : dtype.descr == "V2" ? "<|" : "<>")) {
      INFO(order << dtype.descr);
      CHECK(std::find(descriptors.begin(), descriptors.end(), order + std::string(dtype.descr)) !=
            descriptors.end());
    }
  CHECK(largest_rank == kMaxRank);
  CHECK(fortran > 10);
  CHECK(wide > 10);
}

}  // namespace clipper
