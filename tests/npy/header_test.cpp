#include "npy/header.hpp"

#include "npy/other.hpp"
#include "support/refusal.hpp"

using namespace clipper;
using namespace std::string_literals;

namespace {

using Shape = std::vector<std::int64_t>;

constexpr auto kLittle = ByteOrder::little;
constexpr auto kBig = ByteOrder::big;

std::string file(std::string_view text, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), '\0'};
  for (std::size_t i = 0; i < (version == 1 ? 2U : 4U); ++i)
    bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return bytes.append(text);
}

std::span<const std::byte> view_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// The header as text, or the error message.
std::string read(std::string_view bytes, std::optional<DType> dtype = std::nullopt) {
  try {
    const npy::Header header = npy::parse(view_of(bytes), dtype);
    return fmt::format("{}{} {} {} {}", header.order == kLittle ? '<' : '>', traits(header.dtype).name,
                       header.fortran_order ? 'F' : 'C', shape_text(header.shape), header.count);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
}

std::string with_descr(std::string_view descr) {
  return file(fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': (3,), }}\n", descr));
}

std::string with_order(std::string_view order) {
  return file(fmt::format("{{'descr': '<f4', 'fortran_order': {}, 'shape': (3,), }}\n", order));
}

std::string with_shape(std::string_view shape, int version = 1) {
  return file(fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}\n", shape), version);
}

/// `count` times "1, " between parentheses.
std::string ones(std::size_t count) {
  std::string text = "(";
  for (std::size_t i = 0; i < count; ++i) text += "1, ";
  return text + ")";
}

npy::Header header_of(DType dtype, ByteOrder order, bool fortran_order, Shape shape) {
  npy::Header header;
  header.dtype = dtype;
  header.order = order;
  header.fortran_order = fortran_order;
  header.shape = std::move(shape);
  return header;
}

/// Valid files of every kind of syntax, for the tests that damage them.
std::vector<std::string> valid_files() {
  return {
      with_shape("(3, 4)"),
      with_shape("(2L, 3L)"),
      with_shape("(np.int64(2), 3)", 2),
      with_shape("(0, 9)", 3),
      with_descr("\"|u1\""),
      with_order("True"),
      file("{'shape': (), 'fortran_order': False, 'descr': '>i8'}"),
      npy::format(header_of(DType::bfloat16, kBig, true, {5, 6, 7})),
      npy::format(header_of(DType::int64, kLittle, false, Shape(kMaxRank, 1))),
  };
}

}  // namespace

TEST_CASE("A written header is padded to a multiple of 64 bytes, with room for a dimension to grow") {
  using SizeAndBlanks = std::pair<std::size_t, std::size_t>;
  const auto written = [](bool fortran_order, const Shape& shape) {
    const std::string bytes = npy::format(header_of(DType::float32, kLittle, fortran_order, shape));
    return SizeAndBlanks(bytes.size(), bytes.size() - bytes.find('}') - 2);
  };
  CHECK(written(false, Shape(15, 1)) == SizeAndBlanks(192, 20 + 63));
  CHECK(written(false, Shape(36, 1)) == SizeAndBlanks(256, 20 + 64));
  CHECK(written(false, Shape(57, 1)) == SizeAndBlanks(256, 20 + 1));
  // In Fortran order the last dimension grows.
  CHECK(written(true, {2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1000}) == SizeAndBlanks(128, 20));
  CHECK(written(true, {1000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}) == SizeAndBlanks(192, 84));
}

TEST_CASE("A header text of more than 65,535 bytes gets version 2.0") {
  // Sizes from numpy's header writer; its arrays cannot have such ranks.
  const std::string last = npy::format(header_of(DType::float32, kLittle, false, Shape(21817, 1)));
  CHECK(last.size() == 65536);
  CHECK(last.substr(6, 4) == "\1\0\xf6\xff"s);
  const std::string first = npy::format(header_of(DType::float32, kLittle, false, Shape(21818, 1)));
  CHECK(first.size() == 65600);
  CHECK(first.substr(6, 6) == "\2\0\x34\0\1\0"s);
}

TEST_CASE("parse() reads what format() writes") {
  for (const DTypeTraits& dtype : kDTypes)
    for (const ByteOrder order : {kLittle, kBig})
      for (const bool fortran_order : {false, true}) {
        const std::string bytes = npy::format(header_of(dtype.dtype, order, fortran_order, {3, 4}));
        const npy::Header header =
            npy::parse(view_of(bytes), dtype.only_if_named ? std::optional(dtype.dtype) : std::nullopt);
        CAPTURE(bytes);
        CHECK(header.dtype == dtype.dtype);
        CHECK(header.order == (dtype.size == 1 ? kNativeOrder : order));
        CHECK(header.fortran_order == fortran_order);
        CHECK(header.shape == Shape{3, 4});
        CHECK(header.count == 12);
        CHECK(header.data_size() == 12 * dtype.size);
        CHECK(header.data_offset == bytes.size());
        CHECK(npy::format(header) == bytes);
      }
}

TEST_CASE("Every valid spelling of a header is read") {
  const std::string n = kNativeOrder == kLittle ? "<" : ">";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {with_shape("(3, 4)"), "<float32 C (3, 4) 12"},
      {with_shape("(3, 4)", 2), "<float32 C (3, 4) 12"},
      {with_shape("(3, 4)", 3), "<float32 C (3, 4) 12"},
      {with_order("True"), "<float32 F (3,) 3"},
      // Dimensions
      {with_shape("()"), "<float32 C () 1"},
      {with_shape("(7,)"), "<float32 C (7,) 7"},
      {with_shape("(0,)"), "<float32 C (0,) 0"},
      {with_shape("(0, 3)"), "<float32 C (0, 3) 0"},
      {with_shape("(3,4,)"), "<float32 C (3, 4) 12"},
      {with_shape("(2L, 3L)"), "<float32 C (2, 3) 6"},
      {with_shape("(2L, 3L)", 2), "<float32 C (2, 3) 6"},
      {with_shape("(np.int64(2), 3)"), "<float32 C (2, 3) 6"},
      {with_shape("(np.uint8( 2 ),)"), "<float32 C (2,) 2"},
      {with_shape(ones(64)), fmt::format("<float32 C {} 1", shape_text(Shape(64, 1)))},
      {with_shape("(2305843009213693951,)"), "<float32 C (2305843009213693951,) 2305843009213693951"},
      {with_shape("(0, 2305843009213693951)"), "<float32 C (0, 2305843009213693951) 0"},
      // Syntax
      {file("{'shape': (3,), 'descr': '<f4', 'fortran_order': False}"), "<float32 C (3,) 3"},
      {file("{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (3,)}"), "<float32 C (3,) 3"},
      {file("{'descr':'<f4','fortran_order':True,'shape':(3,)}"), "<float32 F (3,) 3"},
      {file(" {\t'descr' : '<f4'\r\n,'fortran_order' :False , 'shape' : ( 3 , ) , } \n\n"),
       "<float32 C (3,) 3"},
      // Descriptors
      {with_descr("'f4'"), n + "float32 C (3,) 3"},
      {with_descr("'=f4'"), n + "float32 C (3,) 3"},
      {with_descr("'|f4'"), n + "float32 C (3,) 3"},
      {with_descr("'>f4'"), ">float32 C (3,) 3"},
      {with_descr("'float32'"), n + "float32 C (3,) 3"},
      {with_descr("'bfloat16'"), n + "bfloat16 C (3,) 3"},
      {with_descr("'<u1'"), n + "uint8 C (3,) 3"},
      {with_descr("'>i1'"), n + "int8 C (3,) 3"},
      {with_descr("'<V2'"), "<bfloat16 C (3,) 3"},
      {with_descr("'>V2'"), ">bfloat16 C (3,) 3"},
  };
  for (const auto& [bytes, expected] : rows) {
    CAPTURE(bytes);
    CHECK(read(bytes) == expected);
  }
}

TEST_CASE("White space and comments are read where Python reads them") {
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  const std::string is_read = "<float32 C (3,) 3";
  for (const std::string end : {"", "\n", "   ", "\r", "\r\n", "\f", "\f\n", " \t\f \n", "#c", "# c\n",
                                "\n#}", "\r  \n", "\n  # c", "\n\n"})
    for (const int version : {1, 2, 3}) {
      CAPTURE(end, version);
      CHECK(read(file(dict + end, version)) == is_read);
    }
  for (const std::string start : {" ", "\t ", "\n", "\r\n", " \n\n"})
    CHECK(read(file(start + dict, 3)) == is_read);
  CHECK(read(file("{# {\n'descr'\f:\r'<f4'#'\r\n,'fortran_order':False,'shape':(#)\n3\f,),}")) == is_read);
}

TEST_CASE("White space that Python treats as indentation is refused, as by numpy") {
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  const auto refused_at = [](std::size_t at) {
    return fmt::format("malformed header at byte {}: an indented line after the '}}'", at);
  };
  // numpy reads headers that Python 2 may have written a second time, with other rules.
  CHECK(read(file(dict + "\n ", 1)) == "<float32 C (3,) 3");
  CHECK(read(file(dict + "\r\n\t", 2)) == "<float32 C (3,) 3");
  CHECK(read(file(dict + "\n ", 3)) == refused_at(12 + dict.size() + 1));
  CHECK(read(file(dict + "\n\f", 3)) == refused_at(12 + dict.size() + 1));
  CHECK(read(file(dict + "\r ", 1)) == refused_at(10 + dict.size() + 1));
  CHECK(read(file(dict + "\n\r\t", 1)) == refused_at(10 + dict.size() + 2));
  CHECK(read(file(dict + "\r\f ", 2)) == refused_at(12 + dict.size() + 1));
  CHECK(read(file("\n " + dict)) == "malformed header at byte 11: expected '{', found ' '");
  CHECK(read(file("\f" + dict)) == R"(malformed header at byte 10: expected '{', found '\x0c')");
}

TEST_CASE("The bytes before the header text must be valid") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "not a .npy file: it is empty"},
      {"\x93NUM", "truncated header (needs 10 bytes, has 4)"},
      {"\x93NUMPY\1\0\x76"s, "truncated header (needs 10 bytes, has 9)"},
      {"\x93NUMPY\2\0\x76"s, "truncated header (needs 10 bytes, has 9)"},
      {"\x93NUMPY\2\0\x76\0\0"s, "truncated header (needs 12 bytes, has 11)"},
      {"\x93NUMPY\1\0\x76\0{"s, "truncated header (needs 128 bytes, has 11)"},
      {"\x93NUMPX\1\0\x76\0"s, R"(not a .npy file: it begins with '\x93NUMPX')"},
      {"\x93NUMPY\x9\0\x76\0"s, "format version 9.0 is not supported (1.0, 2.0 and 3.0 are)"},
      {"\x93NUMPY\1\1\x76\0"s, "format version 1.1 is not supported (1.0, 2.0 and 3.0 are)"},
      {"\x93NUMPY\0\0\x76\0"s, "format version 0.0 is not supported (1.0, 2.0 and 3.0 are)"},
      {"\x93NUMPY\4\0\x76\0\0\0"s, "format version 4.0 is not supported (1.0, 2.0 and 3.0 are)"},
      // libnpy allocates 4 GiB for these 12 bytes.
      {"\x93NUMPY\2\0\xf0\xff\xff\xff"s, "a header of 4294967280 bytes exceeds the limit of 65536"},
      {"\x93NUMPY\2\0\1\0\1\0"s, "a header of 65537 bytes exceeds the limit of 65536"},
      {"\x93NUMPY\2\0\0\0\1\0"s, "truncated header (needs 65548 bytes, has 12)"},
  };
  for (const auto& [bytes, message] : rows) {
    CAPTURE(bytes);
    CHECK(read(bytes) == message);
  }
}

TEST_CASE("A file that --direct left unfinished is refused to avoid data loss") {
  for (const int major : {1, 2, 3}) {
    npy::Start start{};
    std::ranges::copy(std::as_bytes(std::span(npy::kMagic)), start.begin());
    start[npy::kVersionAt] = static_cast<std::byte>(major);
    const npy::Start unfinished = npy::unfinished_start(start, 0xFEDC'BA98'7654'3210);
    CHECK(npy::is_unfinished(unfinished));
    CHECK(npy::finished_start(unfinished) == start);
    CHECK(refusal(ErrorKind::refused, [&] { return npy::data_offset(unfinished); }) ==
          "left unfinished by a direct change; run the same change again to finish it");
  }
}

TEST_CASE("A malformed header is refused with what is wrong and where") {
  struct Row {
    std::string bytes;
    std::size_t at;
    std::string message;
  };
  const std::string dimension = "expected a dimension (a decimal number, 0 or more), found ";
  const std::vector<Row> rows = {
      {file(""), 10, "expected '{', found the end of the header"},
      {file("", 2), 12, "expected '{', found the end of the header"},
      {file("[1]"), 10, "expected '{', found '['"},
      {file("{,}"), 11, "expected a quoted key, found ','"},
      {file("{'descr"), 11, "unterminated string"},
      {file("{'descr'"), 18, "expected ':', found the end of the header"},
      {file("{'x': 1}"), 11, "unknown or repeated key 'x'"},
      {file("{'descr': '<f4', 'descr': '<f4'}"), 27, "unknown or repeated key 'descr'"},
      {file("{'shape': (), 'shape': ()}"), 24, "unknown or repeated key 'shape'"},
      {file("{'fortran_order': True, 'fortran_order': True}"), 34, "unknown or repeated key 'fortran_order'"},
      {file("{'descr': '<f4' 'shape': ()}"), 26, "expected ',' or '}', found ''shape''"},
      {file("{'shape': ()} x"), 24, "expected nothing after the '}', found 'x'"},
      {file("{'shape': ()}\0"s), 23, R"(expected nothing after the '}', found '\x00')"},
      {file("{'shape': ()}\v"), 23, R"(expected nothing after the '}', found '\x0b')"},
      {file("{'shape': ()}#\0"s), 24, R"(expected a comment in ASCII, found '\x00')"},
      {file("{'shape': ()}# \xe9"), 25, R"(expected a comment in ASCII, found '\xe9')"},
      {with_shape("(2L, 3)", 3), 64, "expected ',', found 'L'"},
      {file("{u'shape': ()}"), 11, "expected a quoted key, found 'u'shape''"},
      {file(R"({'sh\x61pe': ()})"), 11, R"(unknown or repeated key 'sh\x5cx61pe')"},
      {file("{'\xc3\xa9\x1b[31m\n': ()}"), 11, R"(unknown or repeated key '\xc3\xa9\x1b[31m\x0a')"},
      {with_order("1"), 44, "expected True or False, found '1'"},
      {with_order("true"), 44, "expected True or False, found 'true'"},
      {with_order("Truer"), 48, "expected ',' or '}', found 'r'"},
      {with_descr("4"), 20, "expected a quoted dtype, found '4'"},
      {with_shape("(x,)"), 61, dimension + "'x'"},  // uncaught exception of std::stoi in StableHLO
      {with_shape("(-1,)"), 61, dimension + "'-1'"},
      {with_shape("(+1,)"), 61, dimension + "'+1'"},
      {with_shape("(010,)"), 61, dimension + "'010'"},
      {with_shape("(True,)"), 61, dimension + "'True'"},
      {with_shape("((2,),)"), 61, dimension + "'('"},
      {with_shape("(,)"), 61, dimension + "','"},
      {with_shape("(2,,)"), 63, dimension + "','"},
      {with_shape("(2, 0x10)"), 65, "expected ',' or ')', found 'x10'"},
      {with_shape("(2, 1_0)"), 65, "expected ',' or ')', found '_0'"},
      {with_shape("(2, 1.0)"), 65, "expected ',' or ')', found '.0'"},
      {with_shape("(2, 3l)"), 65, "expected ',' or ')', found 'l'"},
      {with_shape("(2, 3 4)"), 66, "expected ',' or ')', found '4'"},
      {with_shape("(2)"), 62, "expected ',', found ')'"},
      {with_shape("[2]"), 60, "expected '(', found '['"},
      {with_shape("2"), 60, "expected '(', found '2'"},
      {with_shape("(np.float64(2),)"), 64, "expected an integer dtype, found 'float64'"},
      {file("{'shape': (np.int64"), 29, "expected '(', found the end of the header"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.bytes);
    CHECK(read(row.bytes) == fmt::format("malformed header at byte {}: {}", row.at, row.message));
  }
  CHECK(read(file("{'fortran_order': False, 'shape': ()}")) == "the header has no 'descr'");
  CHECK(read(file("{'descr': '<f4', 'shape': ()}")) == "the header has no 'fortran_order'");
  CHECK(read(file("{'descr': '<f4', 'fortran_order': False}")) == "the header has no 'shape'");
  CHECK(read(with_shape(ones(65))) == "more than 64 dimensions");
}

TEST_CASE("A shape of more than 2^63 - 1 bytes is refused, even if its product wraps to a small number") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"(2305843009213693952,)", "shape too large: (2305843009213693952,) of float32"},
      {"(4294967296, 4294967296)", "shape too large: (4294967296, 4294967296) of float32"},
      {"(4611686018427387904, 4)", "shape too large: (4611686018427387904, 4) of float32"},
      // numpy leaves zeros out of its product.
      {"(0, 9223372036854775807)", "shape too large: (0, 9223372036854775807) of float32"},
      {"(4294967296, 4294967296, 0)", "shape too large: (4294967296, 4294967296, 0) of float32"},
      {"(0, 9223372036854775808)",
       "malformed header at byte 64: shape too large: dimension 9223372036854775808"},
      {"(18446744073709551616,)",
       "malformed header at byte 61: shape too large: dimension 18446744073709551616"},
      {"(1180591620717411303424,)",
       "malformed header at byte 61: shape too large: dimension 1180591620717411303424"},
  };
  for (const auto& [shape, message] : rows) CHECK(read(with_shape(shape)) == message);
  // cnpy truncates dimensions to 32 bits.
  CHECK(read(with_shape("(4294967299,)")) == "<float32 C (4294967299,) 4294967299");
}

TEST_CASE("A dtype that is not one of the twelve is refused by its name") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"'|O'",
       "dtype '|O' (Python objects) is not supported; convert it in Python: np.save('x.npy', "
       "x.astype('f8'))"},
      {"'|b1'",
       "dtype '|b1' (bool) is not supported; convert it in Python: np.save('x.npy', x.astype('u1'))"},
      {"'?'", "dtype '?' (bool) is not supported; convert it in Python: np.save('x.npy', x.astype('u1'))"},
      {"'<c8'",
       "dtype '<c8' (complex numbers) is not supported; convert it in Python: np.save('x.npy', x.real)"},
      {"'|S3'", "dtype '|S3' (byte strings) is not supported; clipper clips numbers"},
      {"'<U3'", "dtype '<U3' (strings) is not supported; clipper clips numbers"},
      {"'<M8[ns]'",
       "dtype '<M8[ns]' (dates, datetime64) is not supported; convert it in Python: np.save('x.npy', "
       "x.view('i8'))"},
      {"'<m8[ns]'",
       "dtype '<m8[ns]' (durations, timedelta64) is not supported; convert it in Python: np.save('x.npy', "
       "x.view('i8'))"},
      {"'|V4'",
       "dtype '|V4' (raw bytes) is not supported; convert it in Python: np.save('x.npy', x.view(DTYPE))"},
      {"'<f16'",
       "dtype '<f16' (long double, float128) is not supported; convert it in Python: np.save('x.npy', "
       "x.astype('f8'))"},
      {"'>f16'",
       "dtype '>f16' (long double, float128) is not supported; convert it in Python: np.save('x.npy', "
       "x.astype('f8'))"},
      {"'<f12'",
       "dtype '<f12' (long double, float96) is not supported; convert it in Python: np.save('x.npy', "
       "x.astype('f8'))"},
      {"'<float32'", "dtype '<float32' is not supported"},
      {"'f4,f4'", "dtype 'f4,f4' is not supported"},
      {"'<<f4'", "dtype '<<f4' is not supported"},
      {"'<f04'", "dtype '<f04' is not supported"},
      {"''", "dtype '' is not supported"},
      {"'<'", "dtype '<' is not supported"},
      {"'\xff\x1b'", R"(dtype '\xff\x1b' is not supported)"},
      {"'" + std::string(48, '~') + "'", "dtype '" + std::string(48, '~') + "' is not supported"},
      {"'" + std::string(49, 'x') + "'", "dtype '" + std::string(48, 'x') + "...' is not supported"},
      {"[('a', '<f4')]",
       "structured dtype [('a', '<f4')] is not supported; save one field: np.save('x.npy', x['FIELD'])"},
      {"('<f4', (2,))",
       "a sub-array dtype is not supported: ('<f4', (2,)), 'fortran_order': False, 'shape': ..."},
  };
  for (const auto& [descr, message] : rows) CHECK(read(with_descr(descr)) == message);
}

TEST_CASE("The user's dtype makes |V2 bfloat16, and must agree with every other descriptor") {
  for (const std::string descr : {"'|V2'", "'V2'", "'=V2'"}) {
    CHECK(read(with_descr(descr)) ==
          fmt::format("dtype {} may be bfloat16; if it is, add dtype=bfloat16", descr));
    const npy::Header header = npy::parse(view_of(with_descr(descr)), std::optional(DType::bfloat16));
    CHECK(header.dtype == DType::bfloat16);
    CHECK(header.order == kNativeOrder);
    CHECK(npy::format(header).substr(10, 15) == "{'descr': '|V2'");
  }
  CHECK(read(with_descr("'<V2'"), DType::bfloat16) == "<bfloat16 C (3,) 3");
  CHECK(read(with_descr("'>f8'"), DType::float64) == ">float64 C (3,) 3");
  CHECK(read(with_descr("'>f8'"), DType::float32) ==
        "the file's dtype is '>f8' (float64), but the request says float32");
  CHECK(read(with_descr("'<f2'"), DType::bfloat16) ==
        "the file's dtype is '<f2' (float16), but the request says bfloat16");
  CHECK(read(with_descr("'|V2'"), DType::float16) ==
        "the file's dtype is '|V2' (bfloat16), but the request says float16");
  CHECK(
      read(with_descr("'|O'"), DType::bfloat16) ==
      "dtype '|O' (Python objects) is not supported; convert it in Python: np.save('x.npy', x.astype('f8'))");
}

TEST_CASE(
    "The user's dtype reads raw bytes and, in a file that the user names, integers, and they are kept") {
  const auto written = [](const std::string& descr, DType dtype, bool takes_integers) -> std::string {
    npy::GivenDType given(dtype);
    given.takes_integers = takes_integers;
    try {
      const npy::Header header = npy::parse(view_of(with_descr(fmt::format("'{}'", descr))), given);
      CHECK(header.dtype == dtype);
      const std::string text = npy::format(header);
      return text.substr(text.find(": '") + 3, 3) +
             (traits(dtype).size == 1 || header.order == kLittle ? "" : " big");
    } catch (const Error&) {
      return "refused";
    }
  };
  for (const DTypeTraits& row : kDTypes) {
    CAPTURE(row.name);
    const bool is_float8 = row.size == 1 && row.kind == NumberKind::floating;
    const bool is_half = row.size == 2 && is_foreign(row.dtype);
    for (const std::string descr : {"|V1", "<V1", ">V1"})
      CHECK(written(descr, row.dtype, false) == (is_float8 ? descr : "refused"));
    for (const std::string descr : {"<f1", ">f1"})
      CHECK(written(descr, row.dtype, true) == (row.dtype == DType::float8_e5m2 ? descr : "refused"));
    for (const std::string descr : {"|u1", "|i1"}) {
      const bool is_own = row.descr == descr.substr(1);
      CHECK(written(descr, row.dtype, true) == (is_float8 || is_own ? descr : "refused"));
      CHECK(written(descr, row.dtype, false) == (is_own ? descr : "refused"));
    }
    for (const std::string descr : {"<u2", ">u2", "<i2", ">i2"}) {
      const bool is_own = row.descr == descr.substr(1);
      const std::string same = descr + (descr[0] == '>' ? " big" : "");
      CHECK(written(descr, row.dtype, true) == (is_half || is_own ? same : "refused"));
      CHECK(written(descr, row.dtype, false) == (is_own ? same : "refused"));
    }
    CHECK(written("<f2", row.dtype, true) == (row.dtype == DType::float16 ? "<f2" : "refused"));
  }
}

TEST_CASE("The first bytes give the position of the data") {
  const std::string bytes = npy::format(header_of(DType::float32, kLittle, false, {3}));
  CHECK(npy::data_offset(view_of(bytes).first(npy::kPreambleSize)) == 128);
  CHECK(npy::data_offset(view_of("\x93NUMPY\2\0\0\0\1\0"s)) == npy::kPreambleSize + npy::kMaxHeaderSize);
  CHECK(npy::data_offset(view_of("\x93NUMPY\1\0\0\0"s)) == 10);

  // The alignment of older numpy versions, and bytes after the header.
  const std::string older = file("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }            \n");
  CHECK(npy::parse(view_of(older + "data")).data_offset == 80);

  std::string longest = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  longest.resize(npy::kMaxHeaderSize, ' ');
  CHECK(read(file(longest, 2)) == "<float32 C (3,) 3");
}

TEST_CASE("A truncated header is refused") {
  for (const std::string& bytes : valid_files()) {
    REQUIRE_NOTHROW(npy::parse(view_of(bytes)));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::vector<char> exact(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK_THROWS_AS(npy::parse(std::as_bytes(std::span(exact))), Error);
    }
  }
}

TEST_CASE("A header with a damaged byte is read, or refused in one line") {
  for (const std::string& bytes : valid_files())
    for (std::size_t at = 0; at < bytes.size(); ++at)
      for (std::size_t value = at % kStep; value < 256; value += kStep) {
        std::vector<char> damaged(bytes.begin(), bytes.end());
        damaged[at] = static_cast<char>(value);
        std::optional<npy::Header> header;
        try {
          header = npy::parse(std::as_bytes(std::span(damaged)));
        } catch (const Error& error) {
          const std::string_view message = error.what();
          if (message.empty() || message.size() > 300) FAIL(message);
          for (const char c : message)
            if (c < ' ' || c > '~') FAIL(message);
        }
        if (!header) continue;
        const npy::Header again = npy::parse(view_of(npy::format(*header)));
        if (again.dtype != header->dtype || again.order != header->order || again.shape != header->shape)
          FAIL(bytes);
      }
  SUCCEED();
}

TEST_CASE("index_of() respects the memory order") {
  const npy::Header c_order = header_of(DType::float32, kLittle, false, {2, 3, 4});
  CHECK(index_text(c_order, 0) == "[0, 0, 0]");
  CHECK(index_text(c_order, 1) == "[0, 0, 1]");
  CHECK(index_text(c_order, 17) == "[1, 1, 1]");
  CHECK(index_text(c_order, 23) == "[1, 2, 3]");
  // cnpy and marian read Fortran data as C.
  const npy::Header fortran_order = header_of(DType::float32, kLittle, true, {2, 3, 4});
  CHECK(index_text(fortran_order, 1) == "[1, 0, 0]");
  CHECK(index_text(fortran_order, 17) == "[1, 2, 2]");
  CHECK(index_text(fortran_order, 23) == "[1, 2, 3]");
  CHECK(index_text(header_of(DType::float32, kLittle, false, {}), 0) == "[]");
  CHECK(index_text(header_of(DType::int8, kLittle, false, {4, 1LL << 40}), 3LL << 40) == "[3, 0]");
}
