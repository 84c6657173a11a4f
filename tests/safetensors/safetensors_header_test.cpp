#include "element/tensor_layout.hpp"
#include "safetensors/header.hpp"
#include "support/refusal.hpp"

/// Headers of safetensors files. tests/fuzz/safetensors_vs_library.py compares with the library.
namespace clipper {
namespace {

using namespace std::string_literals;
using safetensors::Header;
using safetensors::Tensor;

/// The names, types, shapes and places of the tensors, or the error message.
std::string read(std::string_view text, std::uint64_t data_size) {
  try {
    std::string result;
    for (const Tensor& tensor : safetensors::parse(text, data_size).tensors)
      result += fmt::format("{} {} {} {}-{}; ", tensor.name, tensor.type->name, shape_text(tensor.shape),
                            tensor.begin, tensor.end);
    return result;
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
}

/// A header of one tensor `w` with these fields.
std::string with(std::string_view fields) {
  return fmt::format(R"({{"w":{{{}}}}})", fields);
}

std::uint64_t size_of(std::string_view start, std::uint64_t size) {
  return safetensors::header_size(std::as_bytes(std::span(start)), size);
}

}  // namespace

TEST_CASE("tensors are read in the order of their elements") {
  CHECK(read(R"({"b":{"dtype":"F32","shape":[2,1],"data_offsets":[3,11]},
                 "__metadata__":{"k":"v"},
                 "a":{"shape":[3],"data_offsets":[0,3],"dtype":"BOOL"},
                 "c":{"dtype":"I64","shape":[0,5],"data_offsets":[3,3]},
                 "d":{"dtype":"F8_E4M3","shape":[],"data_offsets":[11,12]}}  )",
             12) == "a BOOL (3,) 0-3; c I64 (0, 5) 3-3; b F32 (2, 1) 3-11; d F8_E4M3 () 11-12; ");
  CHECK(read("{}", 0).empty());
  CHECK(read(R"({"__metadata__":{}})", 0).empty());
  CHECK(read(R"({"F4":{"dtype":"F4","shape":[3,2],"data_offsets":[0,3]}})", 3) == "F4 F4 (3, 2) 0-3; ");
}

TEST_CASE("what the library refuses is refused, and what programs could read differently") {
  const std::string no_object = "the header is not an object of tensors, with texts as __metadata__";
  const std::string size = "tensor 'w': bytes 0 to 8 are not ";
  const std::string malformed = "tensor 'w': malformed ";
  constexpr auto kWhole = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  const std::tuple<std::string, std::uint64_t, std::string> rows[] = {
      {"", 0, "the header does not begin with {"},
      {" {}", 0, "the header does not begin with {"},
      {"\xef\xbb\xbf{}", 0, "the header does not begin with {"},
      {"[]", 0, "the header does not begin with {"},
      {"{", 0, "the header is not JSON in UTF-8, at byte 10"},
      {"{}x", 0, "the header is not JSON in UTF-8, at byte 11"},
      {"{}\0"s, 0, "the header is not JSON in UTF-8, at byte 11"},
      {"{\"\xff\":{}}", 0, "the header is not JSON in UTF-8, at byte 11"},
      {R"({"\ud800":{}})", 0, "the header is not JSON in UTF-8, at byte 17"},
      {"{/**/}", 0, "the header is not JSON in UTF-8, at byte 10"},
      {R"({"w":1})", 0, no_object},
      {R"({"w":[]})", 0, no_object},
      {R"({"w":null})", 0, no_object},
      {R"({"__metadata__":null})", 0, no_object},
      {R"({"__metadata__":{"a":1}})", 0, no_object},
      {R"({"__metadata__":{"a":{}}})", 0, no_object},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "two fields '__metadata__'"},
      {R"({"__metadata__":{"a":"1","a":"1"}})", 0, "two texts 'a' in __metadata__"},
      {with(kWhole), 7, "8 bytes of elements expected, the file has 7"},
      {with(kWhole), 9,
       "1 byte after the last tensor; no reader of safetensors ignores them, and neither does clipper"},
      {fmt::format(R"({{"w":{{{0}}},"w":{{{0}}}}})", kWhole), 8, "two tensors are named 'w'"},
      {fmt::format(R"({{"w":{{{0}}},"v":{{{0}}}}})", kWhole), 8,
       "tensor 'v': its elements begin at byte 0 of the data, not after 8: a gap or two tensors in one "
       "place"},
      {fmt::format(R"({{"a\u0007":{{{0}}}}})", kWhole), 8,
       "member 'a\\x07': its name has control characters"},
      {fmt::format(R"({{"":{{{0}}}}})", kWhole), 8, "member '': a member has no name"},
      {with(R"("dtype":"F32","shape":[2])"), 8, "tensor 'w': dtype, shape or data_offsets is missing"},
      {with(""), 0, "tensor 'w': dtype, shape or data_offsets is missing"},
      {with(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])"), 8, "tensor 'w': unknown dtype 'F31'"},
      {with(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1)"), 8, "tensor 'w': unknown field 'x'"},
      {with(R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])"), 8,
       "tensor 'w': two fields 'dtype'"},
      {with(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), 8, size + "(3,) of F32"},
      {with(R"("dtype":"F32","shape":[],"data_offsets":[0,8])"), 8, size + "() of F32"},
      {with(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), 8,
       "tensor 'w': bytes 8 to 0 are not (2,) of F32"},
      {with(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])"), 1,
       "tensor 'w': bytes 0 to 1 are not (3,) of F4"},
      {with(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])"), 12,
       "tensor 'w': its elements begin at byte 4 of the data, not after 0: a gap or two tensors in one "
       "place"},
      {with(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])"), 8,
       "tensor 'w': shape too large: (4294967296, 4294967296)"},
      {with(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), 8, malformed + "shape"},
      {with(R"("dtype":"F32","shape":[-0],"data_offsets":[0,0])"), 0, malformed + "shape"},
      {with(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), 8, malformed + "shape"},
      {with(R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])"), 8, malformed + "shape"},
      {with(R"("dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,8])"), 8, malformed + "shape"},
      {with(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), 8, malformed + "shape"},
      {with(R"("dtype":"F32","shape":"2","data_offsets":[0,8])"), 8, malformed + "shape"},
      {with(R"("dtype":[],"shape":[2],"data_offsets":[0,8])"), 8, malformed + "dtype"},
      {with(R"("dtype":{},"shape":[2],"data_offsets":[0,8])"), 8, malformed + "dtype"},
      {with(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), 8,
       "tensor 'w': data_offsets are not two numbers"},
      {with(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])"), 8,
       "tensor 'w': data_offsets are not two numbers"},
  };
  for (const auto& [text, data_size, message] : rows) {
    CAPTURE(text);
    CHECK(read(text, data_size) == message);
  }
  CHECK(read("{\"w\":" + std::string(100'000, '['), 0) == no_object);
}

TEST_CASE("the header's length is checked before the header is read") {
  CHECK(size_of("\2\0\0\0\0\0\0\0"s, 10) == 2);
  CHECK(size_of("\0\xe1\xf5\5\0\0\0\0"s, 200'000'000) == safetensors::kMaxHeaderSize);
  CHECK_THROWS_WITH(size_of("\1\xe1\xf5\5\0\0\0\0"s, 200'000'000),
                    "a header of 100000001 bytes exceeds the limit of 100000000");
  CHECK_THROWS_WITH(size_of("\3\0\0\0\0\0\0\0"s, 10), "truncated: the header has 3 bytes, the file has 10");
  CHECK_THROWS_WITH(size_of("\3\0\0\0\0\0\0"s, 7), "truncated: a safetensors file has at least 8 bytes");
}

TEST_CASE("a header is written as the library writes it") {
  const auto tensor = [](const std::string& name, DType dtype, const std::vector<std::int64_t>& shape,
                         std::uint64_t begin, std::uint64_t end) {
    return Tensor{name, safetensors::type_of(dtype), shape, begin, end};
  };
  Header header;
  header.tensors = {tensor("b", DType::uint8, {2}, 4, 6), tensor("w", DType::float32, {2, 3}, 6, 30),
                    tensor("a\"\n\u00e9", DType::float32, {}, 0, 4),
                    tensor("z", DType::uint64, {0, 3}, 4, 4)};
  header.metadata.emplace().emplace_back("k\x01", "v\\");
  safetensors::arrange(header.tensors);
  const std::string text =
      R"({"__metadata__":{"k\u0001":"v\\"},"z":{"dtype":"U64","shape":[0,3],"data_offsets":[0,0]},)"
      "\"a\\\"\\n\u00e9\":"
      R"({"dtype":"F32","shape":[],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},)"
      R"("b":{"dtype":"U8","shape":[2],"data_offsets":[28,30]}})";
  const std::string written = safetensors::format(header);
  CHECK(written.substr(8, text.size()) == text);
  CHECK(written.size() % 8 == 0);
  CHECK(size_of(written, written.size()) == written.size() - 8);
  CHECK(read(std::string_view(written).substr(8), 30) ==
        "member 'a\"\\x0a\\xc3\\xa9': its name has control characters");  // as the library writes it, but not
                                                                          // readable here
  CHECK(safetensors::format({}).substr(8) == "{}      ");
  CHECK(safetensors::format({{}, safetensors::Metadata{}}).substr(8) == "{\"__metadata__\":{}}     ");
}

TEST_CASE("an index keeps all text that is not changed") {
  const std::string start =
      "\xef\xbb\xbf { \"big\": 18446744073709551616, \"big\": [1.10, {\"a]\":\"}\\\"\"}],\n";
  const std::string metadata = R"("metadata": {"total_size": 1}, "metadata" : {"by":"x","total_size":)";
  const std::string map = "}, \"weight_map\":{\t\"a\" : \"1\", \"b\\u0041\":\"1\"\n,\"c\":\"2\" }}";
  const std::string index = start + metadata + "46" + map;
  CHECK(safetensors::changed_index(index, {}, 46) == index);
  CHECK(safetensors::changed_index(index, {}, 7) == start + metadata + "7" + map);
  const auto without = [&](const std::vector<std::string>& dropped) {
    const std::string changed = safetensors::changed_index(index, dropped, 46);
    REQUIRE(changed.starts_with(start + metadata + "46}, \"weight_map\":{\t"));
    REQUIRE(changed.ends_with(" }}"));
    const std::size_t begin = start.size() + metadata.size() + 20;
    return changed.substr(begin, changed.size() - begin - 3);
  };
  CHECK(without({"a"}) == R"("b\u0041":"1")"
                          "\n,\"c\":\"2\"");
  CHECK(without({"bA"}) == "\"a\" : \"1\"\n,\"c\":\"2\"");
  CHECK(without({"c", "bA"}) == "\"a\" : \"1\"");
  CHECK(without({"a", "bA", "c"}).empty());
}

TEST_CASE("a name in an index is one with or without the components .") {
  const auto file = [](const std::string& name) {
    return safetensors::parse_index(R"({"weight_map":{"w":")" + name + "\"}}").at("w");
  };
  CHECK(file("./1") == "1");
  CHECK(file("././a/./1") == "a/1");
  CHECK(file("/1") == "/1");
  CHECK(file("a//1") == "a//1");
  CHECK(file(".a/..") == ".a/..");
  CHECK(file(".").empty());
}

TEST_CASE("a file is recognised by a length below 2^32 and a brace") {
  const auto can_be = [](std::string_view start) {
    return safetensors::can_be_safetensors(std::as_bytes(std::span(start)));
  };
  CHECK(can_be("\2\0\0\0\0\0\0\0{}"s));
  CHECK(can_be("\xff\xff\xff\xff\0\0\0\0{\""s));
  CHECK_FALSE(can_be("\2\0\0\0\1\0\0\0{}"s));
  CHECK_FALSE(can_be("\2\0\0\0\0\0\0\0"s));
  CHECK_FALSE(can_be("\2\0"s));
  CHECK_FALSE(can_be(""));
  CHECK_FALSE(can_be("\x93NUMPY\1\0v\0"s));
}

}  // namespace clipper
