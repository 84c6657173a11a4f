#include "cli/clipper.hpp"
#include "cli/manual_table.hpp"
#include "element/element.hpp"
#include "support/archives.hpp"
#include "support/tensors.hpp"

/// --to, --round, --zero-point, --saturate, --replace-below, --replace-above, and --scale 1/S.
namespace clipper::testing {
namespace {

const std::string kFloats = file_of("float32", "-300 -1.5 0.5 1.5 254.5 300");
const std::string kBytes = file_of("uint8", "0 0 0 2 254 255");

}  // namespace

TEST_CASE("the manual's examples of casts are what clipper does") {
  const std::vector<Words> rows = manual_rows(".SS Other dtypes");
  CHECK(rows.size() >= 13);
  for (const Words& row : rows) {
    CAPTURE(row);
    REQUIRE(row.size() == 4);
    const Words options = words_of(row[2]);
    const auto to = std::ranges::find(options, "--to");
    const WorkingDirectory directory{{"in.npy", file_of(row[0], row[1])}};
    directory.done(joined(options, {"in.npy", "out.npy"}));
    CHECK(directory.read("out.npy") == file_of(to == options.end() ? row[0] : *(to + 1), row[3]));
  }
}

TEST_CASE("bounds and replacements move no result away from the exact number, rounded once") {
  struct Row {
    std::string from;
    std::string elements;
    std::string options;
    std::string to;
    std::string results;
  };
  const Row row = GENERATE(values<Row>({
      {"int64", "9007199254740993", "--bias 0 --max 1e38 --to int64", "int64", "9007199254740993"},
      {"int64", "9007199254740993", "--bias 0 --max 1e40 --to int64", "int64", "9007199254740993"},
      {"int64", "9007199254740993", "--bias 0 --min 0.5 --to int64", "int64", "9007199254740993"},
      {"int64", "9007199254740993", "--bias 0 --min -0.5 --round trunc", "int64", "9007199254740993"},
      {"uint64", "18446744073709551615", "--scale 1 --min 2.5 --to uint64", "uint64", "18446744073709551615"},
      {"int64", "9007199254740993 0", "--bias 0 --min 0.5 --replace-below 7 --round floor", "int64",
       "9007199254740993 7"},
      {"int64", "-1 0 1 2 3", "--bias 0 --min 0.25 --max 2.5 --to float64", "float64", "0.25 0.25 1 2 2.5"},
      {"int64", "0 1 2 3", "--scale 1 --min 0.6 --max 2.5 --round half-away", "int64", "1 1 2 3"},
      {"int64", "0 1", "--bias 0 --min 0.2 --max 0.8 --to float32", "float32", "0.2 0.8"},
      {"int64", "0 1 2", "--bias 0 --min 1.5 --max 0.5 --min-above-max min --to float16", "float16",
       "1.5 1.5 1.5"},
      {"int64", "1 5", "--bias 0 --max -inf --to float16 --saturate", "float16", "-65504 -65504"},
      {"float16", "nan 1", "--nan 2049 --to int32", "int32", "2049 1"},
      {"float16", "nan 1", "--nan 16777217 --to int64 --zero-point 1", "int64", "16777218 2"},
      {"float16", "nan 1", "--nan 70000 --to float32", "float32", "70000 1"},
      {"float32", "nan 1", "--nan 0.1 --to float64", "float64", "0.1 1"},
      {"float32", "nan 1", "--nan 16777217 --scale 2 --to float64", "float64", "16777217 2"},
      {"float32", "nan 1", "--nan 0.50000000001 --round half-even", "float32", "1 1"},
      {"float32", "1 5", "--max -inf --to float16 --saturate", "float16", "-65504 -65504"},
      {"float32", "1 5", "--min 3 --replace-below inf --to float16 --saturate", "float16", "65504 5"},
      {"float32", "1 5", "--min 3 --replace-below inf --to float16", "float16", "inf 5"},
      {"int8", "-128 100", "--bias 128 --min 222 --nan min --to uint16", "uint16", "222 228"},
  }));
  CAPTURE(row.from, row.elements, row.options);
  const WorkingDirectory directory{{"in.npy", file_of(row.from, row.elements)}};
  directory.done(joined(words_of(row.options), {"in.npy", "out.npy"}));
  CHECK(directory.read("out.npy") == file_of(row.to, row.results));
}

TEST_CASE("arrays are bounds of exact integers, in long rows, beside numbers, and where min exceeds max") {
  const std::vector<std::int64_t> zeros(400, 0);
  const WorkingDirectory directory{
      {"in.npy", npy_file("<i8", "False", "(2, 200)", bytes_of(zeros))},
      {"lo.npy", npy_file("<i8", "False", "(2, 1)", bytes_of<std::int64_t>({5, 1LL << 40}))},
      {"one.npy", file_of("int64", "1 8")},
      {"array.npy", file_of("int64", "5 5")}};
  directory.done({"--bias", "0", "--min", "@lo.npy", "--to", "float64", "in.npy", "out.npy"});
  std::vector<double> wanted(400, 5);
  std::fill(wanted.begin() + 200, wanted.end(), 0x1p40);
  CHECK(directory.read("out.npy") == npy_file("<f8", "False", "(2, 200)", bytes_of(wanted)));

  Words words{"--bias", "0", "--to", "int32", "--min", "@array.npy", "--max", "2.5", "one.npy", "out.npy"};
  check_refused(directory.run(words), 2, "--min @array.npy (5) exceeds --max 2.5 at [0]");
  directory.done(joined({"--min-above-max", "min"}, words));
  CHECK(directory.read("out.npy") == file_of("int32", "5 5"));
  directory.done(joined({"--min-above-max", "max"}, words));
  CHECK(directory.read("out.npy") == file_of("int32", "2 2"));
  check_refused(directory.run({"--bias", "0", "--max", "nan", "--to", "int8", "one.npy", "out.npy"}), 2,
                "--max nan: NaN cannot be a bound");
}

TEST_CASE("an array beyond the other dtype is refused as a number is, also where min may exceed max") {
  const WorkingDirectory directory{{"in.npy", file_of("float32", "1 5")},
                                   {"hi.npy", file_of("float32", "7 1e30")},
                                   {"lo.npy", file_of("float32", "7 -1e30")},
                                   {"ok.npy", file_of("float32", "7 9")}};
  for (const std::string which : {"min", "max"}) {
    const Words words{"--min-above-max", which, "--to", "int32"};
    check_refused(directory.run(joined(words, {"--min", "@hi.npy", "--max", "5", "in.npy", "out.npy"})), 2,
                  "--min @hi.npy (1e+30) at [1] is beyond the range of int32");
    check_refused(directory.run(joined(words, {"--min", "6", "--max", "@lo.npy", "in.npy", "out.npy"})), 2,
                  "--max @lo.npy (-1e+30) at [1] is beyond the range of int32");
    directory.done(joined(words, {"--min", "@ok.npy", "--max", "5", "in.npy", "out.npy"}));
    CHECK(directory.read("out.npy") == file_of("int32", which == "min" ? "7 9" : "5 5"));
  }
}

TEST_CASE("every way to run writes the other dtype") {
  const WorkingDirectory directory{{"in.npy", kFloats}, {"copy.npy", kFloats}};
  const Words cast{"--to", "uint8"};
  CHECK(directory.run(joined(cast, {"-", "-"}), kFloats).output == kBytes);
  directory.done(joined(cast, {"-i", "copy.npy"}));
  CHECK(directory.read("copy.npy") == kBytes);
  directory.done(joined(cast, {"--output-dir", "out", "in.npy"}));
  CHECK(directory.read("out/in.npy") == kBytes);
  for (const std::string shard : {"0/2", "1/2"}) {
    directory.done(joined(cast, {"--shard", shard, "in.npy", "joined.npy"}));
    directory.done(joined(cast, {"--shard", shard, "--split-output", "in.npy", "slab.npy"}));
  }
  directory.done({"--finalize", "joined.npy"});
  CHECK(directory.read("joined.npy") == kBytes);
  CHECK(directory.read("slab.00000-of-00002.npy") == file_of("uint8", "0 0 0"));
  CHECK(directory.read("slab.00001-of-00002.npy") == file_of("uint8", "2 254 255"));
  directory.done(joined(cast, {"in.npy", "--verify", "joined.npy"}));
  CHECK(directory.run(joined(cast, {"copy.npy", "--verify", "joined.npy"})).exit_code == 0);
  CHECK(directory.run({"--min", "1", "--to", "uint8", "in.npy", "--verify", "joined.npy"}).exit_code == 1);
  CHECK(directory.run({"--to", "int8", "in.npy", "--verify", "joined.npy"})
            .output.find("dtype int8, expected uint8") != std::string::npos);
}

TEST_CASE("each clipped member of an archive gets the other dtype") {
  const std::string archive = npz_file({{"a.npy", kFloats}, {"b.npy", file_of("int64", "-1 7 256")}});
  const WorkingDirectory directory{{"in.npz", archive}};
  const Words both{"--only", "float", "--only", "int", "--to", "uint8"};
  directory.done(joined(both, {"in.npz", "out.npz"}));
  directory.done(joined(both, {"--in-place", "in.npz"}));
  for (const std::string name : {"in.npz", "out.npz"}) {
    CHECK(directory.run({"--max", "255", name + ":a", "-"}).output == kBytes);
    CHECK(directory.run({"--max", "255", name + ":b", "-"}).output == file_of("uint8", "0 7 255"));
  }
}

TEST_CASE("reports say both dtypes and how many elements were raised, lowered and replaced") {
  const WorkingDirectory directory{{"in.npy", kFloats}};
  const Result json =
      directory.run({"--min", "-1", "--replace-below", "9", "--to", "uint8", "--json", "in.npy", "out.npy"});
  CHECK(contains(json.output, R"("dtype":"float32","to":"uint8",)"));
  CHECK(contains(json.output, R"("raised":2,"lowered":1,"replaced":2,)"));
  const Result text =
      directory.run({"--min", "-1", "--replace-below", "9", "--to", "uint8", "-v", "in.npy", "out.npy"});
  CHECK(contains(text.error, "below min becomes 9, rounded half-even, to uint8"));
  CHECK(contains(text.error,
                 "float32 to uint8, clipped 50 % (33.3 % raised, 16.7 % lowered, 33.3 % replaced)"));
  check_refused(directory.run({"--to", "uint8", "--fail-if-clipped", "40%", "in.npy", "new.npy"}), 1,
                "50 % would be clipped");
}

TEST_CASE("a tensor without elements gets the other dtype in place") {
  const WorkingDirectory directory{{"in.npy", npy_file("<f4", "False", "(0,)", "")}};
  directory.done({"--to", "uint8", "--in-place", "in.npy"});
  CHECK(directory.read("in.npy") == npy_file("|u1", "False", "(0,)", ""));
}

TEST_CASE("byte order and memory order are those of the input; one byte gives little-endian") {
  const WorkingDirectory directory{
      {"big.npy", npy_file(">f4", "True", "(2, 1)", {"\x3f\x80\0\0\x40\0\0\0", 8})},
      {"bytes.npy", npy_file("|u1", "False", "(2,)", "\1\2")}};
  directory.done({"--to", "int16", "big.npy", "out.npy"});
  CHECK(directory.read("out.npy") == npy_file(">i2", "False", "(2, 1)", {"\0\1\0\2", 4}));
  directory.done({"--to", "int16", "bytes.npy", "out.npy"});
  CHECK(directory.read("out.npy") == npy_file("<i2", "False", "(2,)", {"\1\0\2\0", 4}));
}

TEST_CASE("a number of float64 stays what it is beside a NaN whose result overwrites it") {
  const auto nan = from_bits<double>(~std::uint64_t{0});
  const WorkingDirectory directory{{"in.npy", npy_file("<f8", "False", "(2,)", bytes_of<double>({2, nan}))}};
  check_done(directory.run({"--to", "float32", "in.npy", "out.npy"}));
  const std::string expected = bytes_of<std::uint32_t>({0x40000000, 0xffffffff});
  CHECK(directory.read("out.npy") == npy_file("<f4", "False", "(2,)", expected));
}

TEST_CASE("a dtype may have the name of another program") {
  const WorkingDirectory directory{{"in.npy", float32_file({1, 2})}};
  directory.done({"--to", "float64", "in.npy", "expected.npy"});
  for (const std::string word : {"<f8", "double", "torch.double", "F64"}) {
    CAPTURE(word);
    directory.done({"--to", word, "in.npy", "out.npy"});
    CHECK(directory.read("out.npy") == directory.read("expected.npy"));
    directory.done({"compare", "--dtype", word, "out.npy", "expected.npy"});
  }
}

TEST_CASE("what a cast cannot do is refused in one line, and nothing is written") {
  struct Row {
    Words options;
    int exit_code;
    std::string word;
  };
  const Row row = GENERATE(values<Row>({
      {{"--to", "complex64"}, 2, "--to: unknown value 'complex64'"},
      {{"--to", "out.npy"}, 2, "OUT comes last"},
      {{"--to", "I8"}, 2, "--to: 'I8' is int64 in numpy and int8 elsewhere"},
      {{"--to", ">f4"}, 2, "--to: '>f4' has a byte order"},
      {{"--dtype", "float"}, 2, "--dtype: 'float' is float64 in numpy and float32 elsewhere"},
      {{"--to", "u1", "--nan", "keep"}, 2, "--nan keep and --to uint8"},
      {{"--to", "uint8", "--in-place", "--direct"}, 2, "--direct and --to cannot be used together"},
      {{"--round", "up"}, 2, "--round: unknown value 'up'"},
      {{"--to", "uint8", "--nan", "keep"}, 2, "--nan keep and --to uint8"},
      {{"--to", "uint8"}, 3, "in.npy: NaN at [1] (element 1) cannot become uint8"},
      {{"--to", "uint8", "--nan", "300"}, 2, "--nan 300 is beyond the range of uint8"},
      {{"--to", "uint8", "--nan", "0", "--min", "300"}, 2, "--min 300 exceeds the uint8 maximum (255)"},
      {{"--to", "uint8", "--nan", "0", "--zero-point", "5", "--min", "253"},
       2,
       "--min 253 plus zero point 5 exceeds the uint8 maximum (255)"},
      {{"--to", "uint8", "--nan", "0", "--max", "-1"}, 2, "--max -1 is below the uint8 minimum (0)"},
      {{"--to", "float16", "--min", "70000"}, 2, "--min 70000 exceeds the float16 maximum (65504)"},
      {{"--min", "0", "--replace-below", "0.1"}, 2, "--replace-below 0.1 is not a float32 number"},
      {{"--min", "0", "--replace-below", "1.5", "--to", "int8"}, 2, "--replace-below 1.5 is not an integer"},
      {{"--min", "0", "--replace-below", "1.5", "--to", "int8", "--zero-point", "-3"},
       2,
       "--replace-below 1.5 plus zero point -3 is not an integer"},
      {{"--replace-below", "0"}, 2, "--replace-below requires --min"},
      {{"--min", "0", "--replace-above", "0"}, 2, "--replace-above requires --max"},
      {{"--zero-point", "3", "--to", "float16"}, 2, "--zero-point 3 requires an integer dtype as --to"},
      {{"--zero-point", "300", "--to", "uint8"}, 2, "--zero-point 300 is not an integer from 0 to 255"},
      {{"--saturate", "--max", "1"}, 2, "--saturate requires --to"},
      {{"--scale", "1/0"}, 2, "--scale 1/0: the divisor must not be 0"},
      {{"--profile", "onnx", "--to", "uint8"}, 2, "--to is not supported by ONNX Clip-13"},
      {{"--profile", "directml", "--scale", "1/2", "--min", "0", "--max", "1"},
       2,
       "only profile native divides"},
  }));
  const std::string file = file_of("float32", "1 nan 3");
  const WorkingDirectory directory{{"in.npy", file}};
  const bool in_place = row.options.back() == "--direct";
  const Words files = in_place ? Words{"in.npy"} : Words{"in.npy", "out.npy"};
  CAPTURE(row.options);
  check_refused(directory.run(joined(row.options, files)), row.exit_code, row.word);
  CHECK(directory.entries() == Words{"in.npy"});
  CHECK(directory.read("in.npy") == file);
}

TEST_CASE("a fraction as scale or bias of integers is announced, unless the result keeps or rounds it") {
  const WorkingDirectory directory{{"in.npy", file_of("uint8", "0 100 255")}};
  const auto warning = [&](const Words& options) {
    return directory.run(joined(options, {"in.npy", "out.npy"})).error;
  };
  CHECK(warning({"--scale", "0.017", "--bias", "-2.1"}) ==
        "clipper: warning: results are truncated to uint8; --to float32 keeps fractions, --round rounds\n");
  for (const Words& options :
       {Words{"--scale", "2", "--bias", "-3"}, Words{"--scale", "0.5", "--to", "float32"},
        Words{"--scale", "0.5", "--round", "floor"}, Words{"--scale", "0.5", "-q"}})
    CHECK(warning(options).empty());
}

}  // namespace clipper::testing
