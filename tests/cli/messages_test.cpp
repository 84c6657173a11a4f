#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "cli/clipper.hpp"
#include "simd/levels.hpp"
#include "support/archives.hpp"
#include "support/lines.hpp"

/// Answers to mistakes, and warnings about bounds that the dtype cannot hold.
namespace clipper::testing {
namespace {

const std::string kInput = float32_file({9});
const std::string kOutput = float32_file({6});

bool contains(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

using Json = nlohmann::json;

constexpr const char* kNote = "--min 1.5 becomes 1 for int32";
const std::string kWarning = std::string("clipper: warning: ") + kNote + "\n";

std::string int32_file(const std::vector<std::int32_t>& elements) {
  return npy_file("<i4", "False", fmt::format("({},)", elements.size()), bytes_of(elements));
}

/// Standard error of a run that must succeed.
std::string said(const WorkingDirectory& directory, const Words& words) {
  const Result result = directory.run(words);
  CAPTURE(words, result.error);
  CHECK(result.exit_code == 0);
  return result.error;
}

}  // namespace

TEST_CASE("files whose names contain any bytes are clipped") {
  for (const std::string name :
       {"new\nline.npy", "-leading", "--min", "--min=", "-", "\xff\xfe.npy", "gr\u00f6\u00dfe", "a b'\"$\\*",
        "@at", "profiles", "[a]", "[a,b]", "\x1b[31m"}) {
    CAPTURE(name);
    const WorkingDirectory directory{{name, kInput}};
    check_done(run_clipper({"--max", "6", "--", "./" + name, "./out"}, {directory.path()}));
    CHECK(directory.read("out") == kOutput);
    check_done(run_clipper({"--max", "6", "./out", "./" + name}, {directory.path()}));
    CHECK(directory.read(name) == kOutput);
    if (name == "-") continue;
    directory.write(name, kInput);
    check_done(run_clipper({"--max", "6", "-i", "--", name}, {directory.path()}));
    CHECK(directory.read(name) == kOutput);
  }
}

TEST_CASE("a message is one printable line for any file name") {
  const auto message = [](const std::string& name) {
    const WorkingDirectory directory;
    return directory.refused({"--min=0", "--", "./" + name, "out.npy"}, 4, "clipper: ./").error;
  };
  CHECK(contains(message("new\nline"), "./new\\x0aline: "));
  CHECK(contains(message("\x1b[31m\x7f\t"), "./\\x1b[31m\\x7f\\x09: "));
  needs_posix("names that are not UTF-8");
  CHECK(contains(message("bad\xff\xc3"), "./bad\\xff\\xc3: "));
  CHECK(contains(message("control\xc2\x9b"
                         "31m"),
                 "./control\\xc2\\x9b31m: "));
  CHECK(contains(message("gr\u00f6\u00dfe"), "./gr\u00f6\u00dfe: "));
}

/// A mistake and the answer to it, of which "..." stands for the rest.
constexpr std::string_view kCommonMistakes =
    R"(in.npy o.npy => nothing to do without --min, --max, --scale, --bias, --subtract, --divide, --stretch, --nan, --nodata-to, ...
--min 0 => IN is missing; to read standard input and write standard output, use - -
--min 0 in.npy => OUT is missing; - is standard output, and --in-place replaces IN
--min 0 in.npy b.npy c.npy => too many files (expected IN OUT); for several inputs use --output-dir, ...
--min 0 in.npy nodir/ => nodir/: is a directory by its name, and does not exist; to write results into ...
--mim 0 in.npy o.npy => unknown option --mim; did you mean --min?
-min 0 in.npy o.npy => unknown option -min; did you mean --min?
--MIN 0 in.npy o.npy => unknown option --MIN; did you mean --min?
--in_place --min 0 in.npy => unknown option --in_place; did you mean --in-place?
--min 0,6 in.npy o.npy => --min: '0,6' is not a number
--min 1,5 in.npy o.npy => --min: '1,5' is not a number
--min nan in.npy o.npy => in.npy: --min nan: NaN cannot be a bound
--min 6 --max 0 in.npy o.npy => in.npy: --min 6 exceeds --max 0; to allow this, add --min-above-max max ...
--min lo.npy in.npy o.npy => --min: 'lo.npy' is not a number; to read the number from a file, write @lo.npy
--min 101% in.npy o.npy => --min 101%: a percentile is a number from 0% to 100%
--percentile 1,99 in.npy o.npy => unknown option --percentile; clipper --help lists all options
--fail-if-clipped 0.05 --min 0 in.npy o.npy => --fail-if-clipped: '0.05' has no percent sign; write ...
--fail-if-clipped 10 --min 0 in.npy o.npy => --fail-if-clipped: '10' has no percent sign; write 10%
--nan none --min 0 in.npy o.npy => --nan: 'none' is not keep, error, min, max or a number
--profile torch --min 0 in.npy o.npy => --profile: unknown value 'torch'; did you mean 'pytorch'?
--min 0 --recursive . => --recursive needs --output-dir, --output or --in-place
--min 0 -o=o.npy in.npy => -o takes its value without =; write -o o.npy
--min 0 -j 0 in.npy o.npy => --threads: '0' is not a whole number from 1 to 1024
--min 0 -i in.npy in.npy => in.npy is an input twice
--min 0 --output-dir out -i in.npy => --in-place and --output-dir cannot be used together
--shard 4/4 --min 0 in.npy o.npy => --shard: shard index 4 out of range (0 to 3)
clip --min 0 in.npy o.npy => unknown command 'clip'; to clip, type no command: clipper --min 0 IN OUT
diff in.npy b.npy => unknown command 'diff'; did you mean 'compare'?
info => FILE is missing; see clipper info --help
info --histogram-svg in.npy b.npy => --histogram-svg: 'in.npy' does not end in .svg
info --percentile 1:99 in.npy => --percentile: '1:99' is not a percentage from 0 to 100
compare in.npy => EXPECTED is missing; see clipper compare --help
compare in.npy b.npy c.npy => unexpected argument 'c.npy'; usage: clipper compare [OPTIONS] ACTUAL EXPECTED
completion => SHELL is missing; see clipper completion --help
completion tcsh => unknown shell 'tcsh'; expected one of: bash, zsh, fish
comapre in.npy b.npy => unknown command 'comapre'; did you mean 'compare'?
cmp in.npy b.npy => unknown command 'cmp'; did you mean 'compare'?
ls in.npy => unknown command 'ls'; did you mean 'info'?
version => unknown command 'version'; did you mean '--version'?
finalize o.npy => unknown command 'finalize'; did you mean '--finalize'?
--min 0 -j in.npy o.npy => --threads: 'in.npy' is not a whole number from 1 to 1024)";

TEST_CASE("the commonest mistakes are answered with what to type") {
  const WorkingDirectory directory{{"in.npy", kInput}, {"b.npy", kInput}, {"c.npy", kInput}};
  for (const std::string& row : lines_of(std::string(kCommonMistakes))) {
    const std::size_t arrow = row.find(" => ");
    std::istringstream typed(row.substr(0, arrow));
    const Words words{std::istream_iterator<std::string>(typed), {}};
    const std::string answer = "clipper: " + row.substr(arrow + 4);
    const std::string error = directory.refused(words, 2, "").error;
    CAPTURE(row);
    if (answer.ends_with(" ..."))
      CHECK(error.starts_with(answer.substr(0, answer.size() - 3)));
    else
      CHECK(error == answer + "\n");
  }
}

/// What a new user types, and the whole answer.
struct Mistake {
  Words words;
  int status;
  std::string answer;
};

TEST_CASE("a mistake is answered with what to type, and with the names of the user's files") {
  const WorkingDirectory directory{{"in.npy", kInput},
                                   {"b.npy", kInput},
                                   {"data.csv", "1,2\n"},
                                   {"my data.csv", "1,2\n"},
                                   {"text.npy", npy_file("<U1", "False", "(1,)", "a\0\0\0")},
                                   {"bytes.npy", npy_file("|S2", "False", "(1,)", "ab")},
                                   {"objects.npy", npy_file("|O", "False", "(1,)", "\x80\4]\x94.")},
                                   {"nan.npy", npy_file("<f2", "False", "(1,)", std::string("\0\x7e", 2))},
                                   {"page.safetensors", "<html>not found</html>"},
                                   {"more.safetensors", std::string("\2\0\0\0\0\0\0\0{}more", 14)},
                                   {"a.npz", npz_file({{"w.npy", kInput}, {"x.npy", kInput}})},
                                   {"my a.npz", npz_file({{"w.npy", kInput}, {"x.npy", kInput}})}};
  for (const char* name : {"dir", "my dir"}) std::filesystem::create_directory(directory / name);
  const std::string is_directory = "dir: is a directory; to write results into it, use --output-dir dir";
  const std::string no_member = "a.npz: no member 'nope'; it has w, x";
  const std::vector<Mistake> mistakes{
      {{"--min", "0", "in.npy", "dir"}, 2, is_directory},
      {{"--min", "0", "in.npy", "b.npy", "dir"}, 2, is_directory},
      {{"--min", "0", "-r", "dir", "dir"}, 2, is_directory},
      {{"--min", "0", "--shard", "0/2", "in.npy", "dir"}, 2, is_directory},
      {{"--min", "0", "in.npy", "none/"},
       2,
       "none/: is a directory by its name, and does not exist; to write results into it, use --output-dir "
       "none/"},
      {{"--min", "0", "objects.npy", "o.npy"},
       3,
       "objects.npy: dtype '|O' (Python objects) is not supported; convert it in Python: np.save('x.npy', "
       "np.load('objects.npy', allow_pickle=True).astype('f8'))"},
      {{"--to", "int16", "nan.npy", "o.npy"},
       3,
       "nan.npy: NaN at [0] (element 0) cannot become int16; to replace NaN, add --nan 0"},
      {{"--min", "0", "page.safetensors", "o.npy"}, 3, "page.safetensors: not a safetensors file but text"},
      {{"--min", "0", "--trailing", "ignore", "more.safetensors", "o.safetensors"},
       3,
       "more.safetensors: 4 bytes after the last tensor; no reader of safetensors ignores them, and neither "
       "does "
       "clipper"},
      {{"--min", "0", "in.npy", "my dir"},
       2,
       "my dir: is a directory; to write results into it, use --output-dir DIR"},
      {{"--min", "0", "--member", "nope", "a.npz", "o.npz"}, 2, no_member},
      {{"--min", "0", "a.npz:nope", "o.npy"}, 2, no_member},
      {{"--min", "@a.npz:nope", "in.npy", "o.npy"}, 2, "--min @" + no_member},
      {{"--min", "0", "in.npy", "--verify", "a.npz:nope"}, 2, no_member},
      {{"info", "a.npz:nope"}, 2, no_member},
      {{"compare", "in.npy", "a.npz:nope"}, 2, no_member},
      {{"--min", "0", "-i", "a.npz:w"},
       2,
       "a.npz:w: is a member of an archive; use --in-place a.npz --member w"},
      {{"--min", "0", "-i", "my a.npz:w"},
       2,
       "my a.npz:w: is a member of an archive; use --in-place FILE --member w"},
      {{"--min", "0", "text.npy", "o.npy"},
       3,
       "text.npy: dtype '<U1' (strings) is not supported; clipper clips numbers"},
      {{"--min", "0", "bytes.npy", "o.npy"},
       3,
       "bytes.npy: dtype '|S2' (byte strings) is not supported; clipper clips numbers"},
      {{"--min", "0", "data.csv", "o.npy"},
       3,
       "data.csv: not a .npy file but text (CSV?); convert it in Python: "
       "np.save('x.npy', np.loadtxt('data.csv', delimiter=','))"},
      {{"--min", "0", "my data.csv", "o.npy"},
       3,
       "my data.csv: not a .npy file but text (CSV?); convert it in Python: "
       "np.save('x.npy', np.loadtxt('FILE', delimiter=','))"},
      {{"-o={dir}/my {name}", "--min", "0", "in.npy"}, 2, "-o takes its value without =; write -o TEMPLATE"},
  };
  for (const auto& [words, status, answer] : mistakes) {
    const Result result = directory.refused(words, status, "");
    CHECK(result.error == "clipper: " + answer + "\n");
  }
}

TEST_CASE("a word that is a file is no command") {
  const WorkingDirectory directory{{"diff", kInput}};
  directory.done({"diff", "out.npy", "--max", "6"});
  CHECK(directory.read("out.npy") == kOutput);
}

TEST_CASE("a file that another program has locked is refused, whoever has locked it") {
  const WorkingDirectory directory{{"in.npy", kInput}};
  check_refused(directory.run_in_shell("flock in.npy \"$@\"", {"--max", "6", "-i", "in.npy"}), 5,
                "in.npy: is locked by another program, perhaps another clipper\n");
  CHECK(directory.read("in.npy") == kInput);
}

TEST_CASE("arguments are escaped in messages") {
  check_refused(run_clipper({"--min", "1\n2", "a", "b"}), 2, "1\\x0a2");
  check_refused(run_clipper({"--unknown\nword", "a", "b"}), 2, "--unknown\\x0aword");
  for (const char32_t code : {U'\u202A', U'\u202E', U'\u2066', U'\u2069'}) {
    const std::string name = {'a', '\xe2', static_cast<char>(0x80 | (code >> 6 & 0x3f)),
                              static_cast<char>(0x80 | (code & 0x3f))};
    check_refused(run_clipper({"--min", "1", name + "b.npy", "c"}), 4,
                  fmt::format("a\\xe2\\x{:02x}\\x{:02x}b.npy: ", static_cast<unsigned char>(name[2]),
                              static_cast<unsigned char>(name[3])));
  }
  check_refused(run_clipper({"--min", "1", "a\u2065\u2029\u202f\u206a.npy", "c"}), 4,
                "a\u2065\\xe2\\x80\\xa9\u202f\u206a.npy: ");
}

TEST_CASE("commands in messages do not have a name that is escaped") {
  const std::string objects = npy_file("|O", "False", "(1,)", "\x80\4]\x94.");
  const WorkingDirectory directory;
  for (const auto& [name, shown] : {std::pair("a\u202eb.npy", "FILE"),
                                    {"a\xff.npy", "FILE"},
                                    {"\u00e9.npy", "\u00e9.npy"},
                                    {"x:/y.npy", "x:/y.npy"},
                                    {"xy:/z.npy", "FILE"}}) {
    directory.write(name, objects);
    directory.refused({"--min", "0", name, "o.npy"}, 3, fmt::format("np.load('{}'", shown));
  }
}

TEST_CASE("--help and --version print their text and do nothing else") {
  const WorkingDirectory directory{{"in.npy", kInput}};
  for (const Words& words : {Words{"--help"}, Words{"-h"}, Words{"--version"}, Words{"-V"}, Words{"help"},
                             Words{"--help", "in.npy", "out.npy"}, Words{"--help", "--mim", "0"}}) {
    CAPTURE(words);
    const Result result = directory.run(words);
    check_done(result);
    CHECK_FALSE(result.output.empty());
    CHECK(result.output.back() == '\n');
    CHECK(directory.entries() == Words{"in.npy"});
    check_refused(directory.run_in_shell("\"$@\" >/dev/full", words), 4,
                  "standard output: cannot be written: No space left on device");
  }
  const std::string version = run_clipper({"--version"}).output;
  CHECK(std::regex_match(version, std::regex("clipper [0-9]+\\.[0-9]+\\.[0-9]+\n"
                                             "SIMD level: .+ \\(this CPU has baseline.*\\)\n"
                                             "oneTBB: [0-9.]+ \\(interface [0-9]+\\)\n"
                                             "build: .+\n")));
  CHECK(contains(version, "SIMD level: " + std::string(to_string(simd_levels().back()))));
  CHECK(run_clipper({"-V"}).output == version);
}

TEST_CASE("the help lists public options and examples") {
  const std::string help = run_clipper({"--help"}).output;
  for (const char* word : {"--min ",
                           "--max ",
                           "--scale ",
                           "--bias ",
                           "--nan ",
                           "--min-above-max ",
                           "--dtype ",
                           "--profile ",
                           "-i, --in-place ",
                           "-n, --no-clobber ",
                           "-j, --threads N ",
                           "-q, --quiet ",
                           "-v, --verbose ",
                           "-h, --help ",
                           "-V, --version ",
                           "IN ",
                           "OUT",
                           "      --output-dir DIR ",
                           "Examples:",
                           "clipper --min 0 --max 6 in.npy out.npy",
                           "Exit status:"}) {
    CAPTURE(word);
    CHECK(contains(help, word));
  }
  CHECK_FALSE(contains(help, "--simd"));
  CHECK_FALSE(contains(help, "--chunk-size"));
}

TEST_CASE("--verbose prints the settings to standard error") {
  const WorkingDirectory directory{{"in.npy", float32_file(scattered_floats(10'000))}};
  const Words arguments{"-v",        "--min", "0.1",          "--max", "6e0",    "--simd", "baseline",
                        "--threads", "2",     "--chunk-size", "4096",  "in.npy", "-"};
  const Result result = directory.run(arguments);
  CHECK(result.exit_code == 0);
  CHECK(result.output.size() == 128 + 40'000);
  for (const char* word :
       {"in.npy", "float32", "(10000,)", "min 0.1", "max 6", "baseline", "2 threads", "4 KiB"}) {
    CAPTURE(word, result.error);
    CHECK(contains(result.error, word));
  }
  for (std::size_t at = 0; at < result.error.size(); at = result.error.find('\n', at) + 1)
    CHECK(result.error.compare(at, 9, "clipper: ") == 0);
}

TEST_CASE("--verbose prints bounds as converted to the dtype") {
  const WorkingDirectory directory{{"in.npy", npy_file("|i1", "False", "(3,)", "abc")}};
  const Result result = directory.run({"-v", "--min", "-300", "--max", "2.9", "in.npy", "out.npy"});
  CHECK(result.exit_code == 0);
  CHECK(contains(result.error, "min -128, max 2"));
  CHECK(contains(result.error, std::string(to_string(simd_levels().back()))));
}

TEST_CASE("--verbose prints how much was clipped") {
  const WorkingDirectory directory;
  std::vector<float> elements(1000, 1);
  for (std::size_t i = 0; i < 81; ++i) elements[i] = -1;
  for (std::size_t i = 100; i < 143; ++i) elements[i] = 7;
  for (std::size_t i = 200; i < 203; ++i) elements[i] = std::numeric_limits<float>::quiet_NaN();
  directory.write("in.npy", float32_file(elements));
  const Words bounds{"-v", "--min", "0", "--max", "6"};
  const auto run = [&](Words arguments) {
    arguments.insert(arguments.begin(), bounds.begin(), bounds.end());
    const Result result = directory.run(arguments);
    CHECK(result.exit_code == 0);
    return result.error;
  };
  const std::string counts = "in.npy: clipped 12.4 % (8.1 % raised, 4.3 % lowered), 3 NaN kept\n";
  CHECK(contains(run({"in.npy", "out.npy"}), counts));
  CHECK(contains(run({"--nan", "0.5", "in.npy", "out.npy"}), "4.3 % lowered), 3 NaN became 0.5\n"));
  needs_posix("to replace an open file");
  CHECK(contains(run({"-i", "in.npy"}), counts));
  CHECK(contains(run({"-i", "in.npy"}),
                 "clipped 0 % (0 % raised, 0 % lowered), 3 NaN kept; nothing changes, not rewritten"));
}

TEST_CASE("--verbose prints a name with a newline on one line") {
  const WorkingDirectory directory{{"new\nline", kInput}};
  const Result result = directory.run({"-v", "--min", "0", "new\nline", "out.npy"});
  CHECK(result.exit_code == 0);
  CHECK(contains(result.error, "new\\x0aline"));
}

TEST_CASE("--quiet prints errors only") {
  const WorkingDirectory directory{{"in.npy", kInput}};
  directory.done({"-q", "--min", "0", "in.npy", "out.npy"});
  check_refused(directory.run({"-q", "--min", "0", "missing.npy", "out.npy"}), 4, "missing.npy");
}

TEST_CASE("a bound whose fraction is cut off is warned about in one line") {
  const WorkingDirectory directory{{"x.npy", int32_file({0, 1, 2, 9})}};
  CHECK(said(directory, {"--min", "1.5", "x.npy", "out.npy"}) == kWarning);
  CHECK(directory.read("out.npy") == int32_file({1, 1, 2, 9}));
  CHECK(said(directory, {"--min", "1.5", "--dry-run", "-k", "--json", "x.npy", "out.npy"}) == kWarning);
  CHECK(said(directory, {"-q", "--min", "1.5", "x.npy", "out.npy"}).empty());
  CHECK(said(directory, {"--min", "-2.5", "--max", "-1.5", "x.npy", "out.npy"}) ==
        "clipper: warning: --max -1.5 becomes -1 for int32\n");
  CHECK(said(directory, {"--min", "-1.5", "--max", "6.5", "x.npy", "out.npy"}).empty());
  CHECK(said(directory, {"--profile=openvino", "--min", "1.5", "--max", "6.5", "x.npy", "out.npy"}).empty());
  directory.write("x.npy", float32_file({0, 1, 2, 9}));
  CHECK(said(directory, {"--min", "0.1", "x.npy", "out.npy"}).empty());
}

TEST_CASE("a changed bound is warned about once for all files of a dtype") {
  const WorkingDirectory directory;
  for (const char* const name : {"a.npy", "b.npy", "c.npy", "d.npy"})
    directory.write(name, int32_file({0, 1, 2, 9}));
  directory.write("u.npy", npy_file("|u1", "False", "(1,)", "\1"));
  CHECK(said(directory, {"--min", "1.5", "--output-dir", "o", "a.npy", "b.npy", "c.npy", "d.npy"}) ==
        kWarning);
  const std::string both =
      said(directory, {"--min", "1.5", "-i", "a.npy", "u.npy", "b.npy", "c.npy", "d.npy"});
  CHECK(contains(both, kWarning));
  CHECK(contains(both, "--min 1.5 becomes 1 for uint8"));
  CHECK(std::count(both.begin(), both.end(), '\n') == 2);
}

TEST_CASE("--json contains the warnings about bounds") {
  const WorkingDirectory directory{{"x.npy", int32_file({0, 1, 2, 9})},
                                   {"golden.npy", int32_file({1, 1, 2, 9})}};
  const auto notes = [&](Words words) {
    words.insert(words.begin(), {"--json", "-q"});
    const Json json = Json::parse(directory.run(words).output);
    return json.contains("notes") ? json["notes"] : Json();
  };
  const Json expected = Json::array({kNote});
  CHECK(notes({"--min", "1.5", "x.npy", "out.npy"}) == expected);
  CHECK(notes({"--min", "1.5", "--fail-if-clipped", "0", "x.npy", "out.npy"}) == expected);
  CHECK(notes({"--min", "1", "x.npy", "out.npy"}).is_null());
  CHECK(notes({"--min", "1.5", "x.npy", "--verify", "golden.npy"}) == expected);
  CHECK(notes({"--min", "1", "x.npy", "--verify", "golden.npy"}).is_null());
}

TEST_CASE("--verify warns once about a changed bound") {
  const WorkingDirectory directory{{"x.npy", int32_file({0, 1, 2, 9})},
                                   {"golden.npy", int32_file({1, 1, 2, 9})}};
  CHECK(said(directory, {"--min", "1.5", "x.npy", "--verify", "golden.npy"}) == kWarning);
  CHECK(said(directory, {"-q", "--min", "1.5", "x.npy", "--verify", "golden.npy"}).empty());
  CHECK(said(directory, {"--min", "1.5", "x.npy", "--verify", "golden.npy", "--update-golden"}) == kWarning);
  CHECK(said(directory, {"--min", "1.5", "x.npy", "--verify", "new.npy", "--update-golden"}) ==
        kWarning + "clipper: new.npy: created\n");
  const Result different = directory.run({"--min", "2.5", "x.npy", "--verify", "golden.npy"});
  CHECK(different.exit_code == 1);
  CHECK(different.error == "clipper: warning: --min 2.5 becomes 2 for int32\n");
}

}  // namespace clipper::testing
