#include "cli/compare.hpp"

/// Inputs that are refused, and bytes after the array, which np.load ignores.
namespace clipper::testing {
namespace {

using namespace std::string_literals;

const std::string kArray = float32_file({-1, 2, 9});
const std::string kClipped = float32_file({0, 2, 6});

}  // namespace

TEST_CASE("files of other kinds are named with a command that helps") {
  const WorkingDirectory directory{{"x.npy", float32_file({-1, 2, 9})},
                                   {"clipped.npy", float32_file({0, 2, 6})}};
  check_done(directory.run_in_shell("gzip -c x.npy >x.npy.gz && tar -cf x.tar x.npy", {}));
  directory.write("x.npz", "PK\3\4" + std::string(26, '\0') + "x.npy" + directory.read("x.npy"));
  directory.write("x.pt", "PK\3\4" + std::string(26, '\0') + "archive/data.pkl and 1000 bytes");
  const std::string why = "not a .npy file but ";
  const auto gzip = [&](const std::string& file) {
    return why + "gzip data; decompress it first: zcat " + file + " | clipper ... - OUT\n";
  };
  const Words uses[] = {{"--min", "0", "x.npy.gz", "out.npy"},
                        {"--min", "0", "--in-place", "x.npy.gz"},
                        {"--min", "0", "x.npy", "--verify", "x.npy.gz"},
                        {"compare", "x.npy", "x.npy.gz"},
                        {"info", "x.npy.gz"}};
  for (const Words& use : uses)
    CHECK(directory.refused(use, 3, "").error == "clipper: x.npy.gz: " + gzip("x.npy.gz"));
  for (const Words& use :
       {Words{"--min", "0", "-", "out.npy"}, Words{"info", "-"}, Words{"compare", "x.npy", "-"}})
    CHECK(directory.refused(use, 3, "", directory.read("x.npy.gz")).error ==
          "clipper: standard input: " + gzip("FILE"));
  CHECK(directory.refused({"info", "x.npz"}, 3, "").error ==
        "clipper: x.npz: truncated: no end record of a zip archive\n");
  CHECK(directory.refused({"info", "x.pt"}, 3, "").error ==
        "clipper: x.pt: " + why +
            "a PyTorch file; convert it in Python: np.save('x.npy', torch.load('x.pt').numpy())\n");
  // The suggested commands, with names filled in.
  for (const std::string command : {"zcat x.npy.gz", "tar -xOf x.tar x.npy"}) {
    const Result result =
        directory.run_in_shell(command + " | \"$@\" - out.npy", {"--min", "0", "--max", "6"});
    CAPTURE(command, result.error);
    CHECK(result.exit_code == 0);
    CHECK(directory.read("out.npy") == directory.read("clipped.npy"));
  }
}

TEST_CASE("--trailing ignore reads files without the bytes after the array") {
  const WorkingDirectory directory{{"x.npy", kArray + "xyz"}};
  directory.done(clip({"--trailing", "ignore", "x.npy", "out.npy"}));
  CHECK(directory.read("out.npy") == kClipped);
  directory.done(clip({"--trailing=ignore", "--output-dir", "o", "x.npy"}));
  CHECK(directory.read("o/x.npy") == kClipped);
  directory.done(clip({"--trailing=ignore", "--shard", "0/1", "x.npy", "s.npy"}));
  directory.done({"--finalize", "s.npy"});
  CHECK(directory.read("s.npy") == kClipped);

  directory.write("golden.npy", kClipped + std::string(70'000, '\0'));
  directory.done(clip({"--trailing=ignore", "x.npy", "--verify", "golden.npy"}));
  check_same(directory, {"--trailing", "ignore", "out.npy", "golden.npy"});
  check_same(directory, {"--trailing", "ignore", "golden.npy", "-"}, kClipped + "x");
  const Result info = directory.run({"info", "--stats", "--trailing", "ignore", "x.npy"});
  check_done(info);
  CHECK(contains(info.output, "  data      12 bytes after"));
}

TEST_CASE("--trailing ignore reads a stream to its end") {
  const WorkingDirectory directory{{"x.npy", kArray}};
  const std::string rest(3'000'000, 'x');  // more than a pipe holds: a writer without reader gets EPIPE
  for (const char* const threads : {"1", "2"}) {
    const Words words = clip({"--trailing=ignore", "--threads", threads, "-", "-"});
    const Result result = directory.run(words, kArray + rest);
    check_done(result);
    CHECK(result.output == kClipped);
  }
  const Result piped =
      directory.run_in_shell("{ cat x.npy; head -c 3000000 /dev/zero && echo done >&2; } | \"$@\" >out.npy",
                             clip({"--trailing=ignore", "-", "-"}));
  CHECK(piped.error == "done\n");
  CHECK(directory.read("out.npy") == kClipped);
}

}  // namespace clipper::testing
