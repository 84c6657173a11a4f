#include "element/dtype.hpp"

#include <type_traits>

#include "support/catch.hpp"

namespace clipper {

TEST_CASE("each dtype has its name, descriptor, kind and size") {
  using enum NumberKind;
  struct Row {
    DType dtype;
    std::string_view name;
    std::string_view descr;
    NumberKind kind;
    std::size_t size;
  };
  const std::array rows{
      Row{DType::int8, "int8", "i1", signed_integer, 1},
      Row{DType::int16, "int16", "i2", signed_integer, 2},
      Row{DType::int32, "int32", "i4", signed_integer, 4},
      Row{DType::int64, "int64", "i8", signed_integer, 8},
      Row{DType::uint8, "uint8", "u1", unsigned_integer, 1},
      Row{DType::uint16, "uint16", "u2", unsigned_integer, 2},
      Row{DType::uint32, "uint32", "u4", unsigned_integer, 4},
      Row{DType::uint64, "uint64", "u8", unsigned_integer, 8},
      Row{DType::float16, "float16", "f2", floating, 2},
      Row{DType::float32, "float32", "f4", floating, 4},
      Row{DType::float64, "float64", "f8", floating, 8},
      Row{DType::bfloat16, "bfloat16", "V2", floating, 2},
      Row{DType::float8_e4m3fn, "float8_e4m3fn", "V1", floating, 1},
      Row{DType::float8_e5m2, "float8_e5m2", "f1", floating, 1},
      Row{DType::float8_e4m3fnuz, "float8_e4m3fnuz", "V1", floating, 1},
      Row{DType::float8_e5m2fnuz, "float8_e5m2fnuz", "V1", floating, 1},
      Row{DType::float8_e4m3b11fnuz, "float8_e4m3b11fnuz", "V1", floating, 1},
      Row{DType::float8_e8m0fnu, "float8_e8m0fnu", "V1", floating, 1},
  };
  CHECK(rows.size() == kDTypes.size());
  for (const Row& row : rows) {
    CHECK(traits(row.dtype).dtype == row.dtype);
    CHECK(traits(row.dtype).name == row.name);
    CHECK(traits(row.dtype).descr == row.descr);
    CHECK(traits(row.dtype).kind == row.kind);
    CHECK(traits(row.dtype).size == row.size);
    CHECK(is_floating(row.dtype) == (row.kind == floating));
    const int sign = row.dtype == DType::float8_e8m0fnu ? 0 : 1;
    const int sign_and_more = traits(row.dtype).exponent_bits + traits(row.dtype).fraction_bits + sign;
    CHECK(sign_and_more == (row.kind == floating ? 8 * static_cast<int>(row.size) : 1));
    CHECK(dtype_named(row.name) == row.dtype);
    if (has_kernels(row.dtype)) CHECK(with_type(row.dtype, []<class T>() { return sizeof(T); }) == row.size);
  }
}

TEST_CASE("floats have the exponent and fraction bits of their C++ types and of their infinities") {
  CHECK(traits(DType::float32).fraction_bits == std::numeric_limits<float>::digits - 1);
  CHECK(traits(DType::float64).fraction_bits == std::numeric_limits<double>::digits - 1);
  CHECK(traits(DType::float16).fraction_bits == Float16::kFractionBits);
  CHECK(traits(DType::bfloat16).fraction_bits == BFloat16::kFractionBits);
  CHECK(Float16::kInfinity == 0x7c00);
  CHECK(BFloat16::kInfinity == 0x7f80);
}

TEST_CASE("only the whole name, as numpy writes it, names a dtype") {
  for (const std::string_view name :
       {"", "float", "int", "Float32", "float32 ", " float32", "float128", "<f4", "f4", "V2"}) {
    INFO(name);
    CHECK(dtype_named(name) == std::nullopt);
  }
}

TEST_CASE("a word of another program names a dtype, in any case of letters") {
  using enum DType;
  struct Row {
    DType dtype;
    std::string_view words;
  };
  for (const auto& [dtype, words] : std::initializer_list<Row>{
           {int8, "int8 Int8 i1 |i1 <i1 torch.int8 torch.char np.byte"},
           {int16, "INT16 i2 <i2 =i2 I16 short"},
           {int32, "i4 I32 intc torch.int np.int32"},
           {int64, "<i8 |i8 =i8 i64 torch.long LongLong"},
           {uint8, "u1 |u1 torch.byte numpy.uint8 UBYTE"},
           {uint16, "u2 U16 ushort"},
           {uint32, "u4 U32 uintc"},
           {uint64, "<u8 U64 tf.uint64"},
           {float16, "f2 <f2 half torch.half FLOAT16 F16 fp16 TensorProto.FLOAT16"},
           {float32, "f4 single torch.float F32 TensorProto.FLOAT onnx.TensorProto.FLOAT"},
           {float64, "<f8 double torch.double F64 DOUBLE"},
           {bfloat16, "bf16 BF16 torch.bfloat16 BFLOAT16 jnp.bfloat16"},
           {float8_e4m3fn, "F8_E4M3 FLOAT8E4M3FN torch.float8_e4m3fn"},
           {float8_e5m2, "F8_E5M2 FLOAT8E5M2 <f1 ml_dtypes.float8_e5m2"},
           {float8_e4m3fnuz, "F8_E4M3FNUZ FLOAT8E4M3FNUZ"},
           {float8_e5m2fnuz, "F8_E5M2FNUZ FLOAT8E5M2FNUZ"},
           {float8_e4m3b11fnuz, "FLOAT8_E4M3B11FNUZ"},
           {float8_e8m0fnu, "F8_E8M0 FLOAT8E8M0"}}) {
    for (std::size_t begin = 0; begin < words.size();) {
      const std::string_view word = words.substr(begin, words.find(' ', begin) - begin);
      INFO(word);
      CHECK(dtype_word(word).dtype == dtype);
      begin += word.size() + 1;
    }
  }
}

TEST_CASE("a mark says the byte order of elements of several bytes") {
  CHECK(dtype_word("<f4").dtype->order == ByteOrder::little);
  CHECK(dtype_word(">i8").dtype->order == ByteOrder::big);
  CHECK(dtype_word("=u2").dtype->order == kNativeOrder);
  for (const std::string_view word : {"|u1", ">u1", "float32", "f4"}) CHECK(!dtype_word(word).dtype->order);
}

TEST_CASE("a word that names different dtypes or none names no dtype") {
  for (const std::string_view word : {"i8", "I8", "u8", "U8", "f8", "F8", "float", "Float", "INT", "uint",
                                      "byte", "long", "ulong", "np.int"}) {
    INFO(word);
    CHECK(dtype_word(word).dtype == std::nullopt);
    CHECK(dtype_word(word).objection.find("is ") == 0);
  }
  CHECK(dtype_word("i8").objection == "is int64 in numpy and int8 elsewhere; write one of these");
  for (const std::string_view word :
       {"",     " ",         "<",      "|V1",         "<V2",      "|F4",         "<i3",  ">",
        ">x",   "f4 ",       "f2 f16", "torch.",      "torch",    "torch.np.i4", "f16x", "float128",
        "bool", "complex64", "float8", "float8_e4m3", "<float32", "np.torch.int"}) {
    INFO(word);
    CHECK(dtype_word(word).dtype == std::nullopt);
    CHECK(dtype_word(word).objection.empty());
  }
}

TEST_CASE("with_type() calls the function with the C++ type of the dtype") {
  const auto is = [](DType dtype, auto example) {
    return with_type(dtype, [&]<class T>() { return std::is_same_v<T, decltype(example)>; });
  };
  CHECK(is(DType::int8, std::int8_t{}));
  CHECK(is(DType::int16, std::int16_t{}));
  CHECK(is(DType::int32, std::int32_t{}));
  CHECK(is(DType::int64, std::int64_t{}));
  CHECK(is(DType::uint8, std::uint8_t{}));
  CHECK(is(DType::uint16, std::uint16_t{}));
  CHECK(is(DType::uint32, std::uint32_t{}));
  CHECK(is(DType::uint64, std::uint64_t{}));
  CHECK(is(DType::float16, Float16{}));
  CHECK(is(DType::float32, float{}));
  CHECK(is(DType::float64, double{}));
  CHECK(is(DType::bfloat16, BFloat16{}));
}

TEST_CASE("to_bits() does not extend signs, and from_bits() is its inverse") {
  CHECK(to_bits(std::int8_t{-1}) == 0xff);
  CHECK(to_bits(std::int16_t{-2}) == 0xfffe);
  CHECK(to_bits(std::int32_t{-1}) == 0xffffffff);
  CHECK(to_bits(std::int64_t{-1}) == ~0ull);
  CHECK(to_bits(std::uint64_t{1} << 63) == 1ull << 63);
  CHECK(to_bits(Float16{0xfc01}) == 0xfc01);
  CHECK(to_bits(BFloat16{0xff81}) == 0xff81);
  CHECK(to_bits(-0.0F) == 0x80000000);
  CHECK(to_bits(-0.0) == 1ull << 63);

  CHECK(from_bits<std::int8_t>(0x80) == -128);
  CHECK(from_bits<std::int32_t>(0xffffffff) == -1);
  CHECK(from_bits<std::uint16_t>(0xffff) == 65535);
  CHECK(from_bits<Float16>(0x7c01) == Float16{0x7c01});
  CHECK(from_bits<BFloat16>(0x3f80) == BFloat16{0x3f80});
  CHECK(from_bits<float>(0x3f800000) == 1.0F);
  CHECK(from_bits<double>(0x3ffull << 52) == 1.0);
}

TEST_CASE("a signalling NaN keeps its bits through to_bits() and from_bits()") {
  CHECK(to_bits(from_bits<float>(0x7f800001)) == 0x7f800001);
  CHECK(to_bits(from_bits<float>(0xffa00001)) == 0xffa00001);
  CHECK(to_bits(from_bits<double>(0xfff0000000000001)) == 0xfff0000000000001);
}

}  // namespace clipper
