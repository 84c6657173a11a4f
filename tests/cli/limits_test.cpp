#include <sys/resource.h>

#include "cli/numbered.hpp"
#include "support/archives.hpp"
#include "support/fork.hpp"

namespace clipper::testing::limits_test {
namespace {

const std::vector<float> kElements = scattered_floats(400'000);
const std::string kInput = float32_file(kElements);
const std::string kOutput = float32_file(clipped(kElements, 0, 6));

/// Sets a resource limit. For Settings::prepare.
template <class Resource>
std::function<void()> limit(Resource resource, rlim_t value) {
  return [=] {
    const rlimit both{value, value};
    if (::setrlimit(resource, &both) != 0) ::_exit(125);
  };
}

/// Contains in.npy and an older out.npy.
class Directory : public WorkingDirectory {
 public:
  Directory() {
    write("in.npy", kInput);
    write("out.npy", "old");
  }
};

/// An archive of 65,536 members, all of which are this tensor.
std::string many_members(const std::string& tensor) {
  std::vector<NpzMember> members;
  for (int i = 0; i < 65'536; ++i) members.push_back({std::to_string(i) + ".npy", tensor, i % 2 == 1});
  return npz_file(members);
}

}  // namespace

TEST_CASE("whatever file descriptor is missing, --direct calls a file unreadable only if it is") {
  for (rlim_t most = 4; most <= 12; ++most) {
    CAPTURE(most);
    const Directory directory;
    const Result result = directory.run(clip({"-i", "--direct", "in.npy"}), limit(RLIMIT_NOFILE, most));
    const std::string now = directory.read("in.npy");
    CHECK(result.signal == 0);
    CHECK((now == kOutput) == (result.exit_code == 0 || result.exit_code == 6));
    CHECK(contains(result.error, "unreadable") == (now[6] == '\xCC'));
    if (result.exit_code != 0) check_refused(result, result.exit_code, "in.npy");
    check_done(directory.run(clip({"-i", "--direct", "in.npy"})));
    CHECK((directory.read("in.npy") == kOutput));
    CHECK(directory.entries() == Words{"in.npy", "out.npy"});
  }
}

TEST_CASE("a stack that is too small is one line, not a fault") {
  const Directory directory;
  for (const rlim_t kib : {32U, 64U, 255U}) {  // with less, glibc 2.41's loader may fail before main()
    directory.refused(clip({"in.npy", "out.npy"}), 4, "the stack is too small",
                      limit(RLIMIT_STACK, kib << 10));
    directory.refused({"info", "in.npy"}, 4, "the stack is too small", limit(RLIMIT_STACK, kib << 10));
  }
  check_done(directory.run(clip({"-i", "in.npy"}), limit(RLIMIT_STACK, 256U << 10)));
}

TEST_CASE("too little memory for the buffers is an I/O error, and nothing changes") {
  const Directory directory;
  directory.write("in.npy", npy_file("<f4", "False", "(5000000,)", ""));
  std::filesystem::resize_file(directory / "in.npy", 128 + 20'000'000);
  directory.refused(clip({"--threads", "1", "--chunk-size", "16777216", "in.npy", "out.npy"}), 4,
                    "cannot allocate", limit(RLIMIT_DATA, 8U << 20));
}

TEST_CASE("buffers are bounded for any number of threads and any chunk size") {
  const Directory directory;
  directory.write("in.npy", npy_file("<f4", "False", "(25000000,)", ""));
  std::filesystem::resize_file(directory / "in.npy", 128 + 100'000'000);
  // 64 MiB hold the program, 16 MiB of buffers and 24 stacks of 512 KiB.
  directory.done({"--min", "1", "--threads", "24", "--chunk-size", "16777216", "in.npy", "out.npy"},
                 limit(RLIMIT_DATA, 64U << 20));
}

TEST_CASE("clipper uses fewer threads if memory is short") {
  const Directory directory;
  directory.write("same.npy", kInput);
  constexpr rlim_t kEnoughForOne = 8U << 20;
  for (rlim_t size = kEnoughForOne; size < 24U << 20; size += 256U << 10) {
    CAPTURE(size);
    for (const Words& words : {Words{"info", "--stats", "in.npy", "same.npy"}, Words{"compare", ".", "."},
                               Words{"--min", "0", "--max", "6", "-i", "in.npy", "same.npy"}}) {
      Words all = words;
      all.insert(all.end(), {"--threads", "8"});
      directory.write("in.npy", kInput);
      directory.write("same.npy", kInput);
      std::filesystem::remove(directory / "out.npy");
      const Result result = directory.run(all, limit(RLIMIT_DATA, size));
      check_done(result);
    }
  }
}

TEST_CASE("clipper works if it cannot create threads") {
  const Directory directory;
  std::filesystem::copy_file(clipper_binary(), directory / "clipper");
  REQUIRE(::chmod(directory.path().c_str(), 0777) == 0);
  const auto alone = [] {
    limit(RLIMIT_NPROC, 1)();
    // Root is exempt from the limit, and user nobody may have other processes.
    become(40'000 + static_cast<uid_t>(::getpid()) % 20'000);
  };
  for (const Words& ends : {Words{"in.npy", "new.npy"}, Words{"in.npy", "-"}}) {
    const Result result =
        Process(joined({directory / "clipper", "--min", "0", "--max", "6", "--threads", "4"}, ends),
                {directory.path(), alone})
            .finish();
    check_done(result);
    CHECK(((ends[1] == "-" ? result.output : directory.read("new.npy")) == kOutput));
  }
}

TEST_CASE("an input that shrinks while it is read is an I/O error") {
  for (const char* threads : {"1", "3"}) {
    const Directory directory;
    Process process(clipper_words(clip({"--threads", threads, "--chunk-size", "4096", "in.npy", "-"})),
                    {directory.path()});
    process.wait_for_output_or_end();  // clipper has read the header, and waits for a reader
    std::filesystem::resize_file(directory / "in.npy", 1'000'000);
    check_refused(process.finish(), 4, "in.npy: changed while it was read");
  }
}

TEST_CASE("an input that is overwritten while it is read is an I/O error") {
  const Directory directory;
  Process process(clipper_words(clip({"--chunk-size", "4096", "in.npy", "-"})), {directory.path()});
  process.wait_for_output_or_end();
  std::fstream(directory / "in.npy", std::ios::in | std::ios::out | std::ios::binary).write("\x93", 1);
  check_refused(process.finish(), 4, "in.npy: changed while it was read");
}

TEST_CASE("an input that is overwritten and gets its old time back, or is renamed, is an I/O error") {
  for (const char* what : {"overwritten", "renamed", "chmod"}) {
    CAPTURE(what);
    const Directory directory;
    const std::string input = directory / "in.npy";
    const auto time = std::filesystem::last_write_time(input);
    Process process(clipper_words(clip({"--chunk-size", "4096", "in.npy", "-"})), {directory.path()});
    process.wait_for_output_or_end();
    if (what == std::string("renamed")) {
      std::filesystem::rename(input, directory / "other.npy");
    } else if (what == std::string("chmod")) {
      std::filesystem::permissions(input, std::filesystem::perms::owner_read);
    } else {
      std::fstream(input, std::ios::in | std::ios::out | std::ios::binary).write("\x93", 1);
      std::filesystem::last_write_time(input, time);
    }
    check_refused(process.finish(), 4,
                  "in.npy: was written to, or its attributes changed, while it was read");
  }
}

TEST_CASE("65,536 members of an archive are clipped, pooled, compared and verified within 64 MiB") {
  const WorkingDirectory directory{{"a.npz", many_members(float32_file({1}))}};
  const std::string other = many_members(float32_file({2}));
  for (const Words& words :
       {Words{"--max", "50%", "a.npz", "o.npz"}, Words{"--max", "50%", "--pooled", "a.npz", "o.npz"},
        Words{"compare", "--update-golden", "a.npz", "g.npz"},
        Words{"--max", "6", "a.npz", "--verify", "g.npz", "--update-golden"}}) {
    directory.write("g.npz", other);
    const Result result =
        Process(clipper_words(words), {directory.path(), limit(RLIMIT_DATA, 64U << 20U)}).finish();
    CAPTURE(words, result.error);
    CHECK(result.exit_code == 0);
  }
}

TEST_CASE("info lists 65,536 members of an archive within 64 MiB") {
  const WorkingDirectory directory{{"a.npz", many_members(float32_file({1}))}};
  for (const Words& words : {Words{"info", "a.npz"}, Words{"info", "--json", "a.npz"}}) {
    const Result result =
        Process(clipper_words(words), {directory.path(), limit(RLIMIT_DATA, 64U << 20U)}).finish();
    check_done(result);
    CHECK(lines_of(result.output).size() >= 65'536);
  }
}

TEST_CASE("more files than one commit holds are all clipped in place") {
  const WorkingDirectory directory;
  for (const char* threads : {"1", "4"}) {
    Words words = clip({"-i", "--threads", threads});
    for (int i = 0; i < 700; ++i) {
      words.push_back(fmt::format("{}.npy", i));
      directory.write(words.back(), input(i));
    }
    const ino_t before = status_of(directory / "0.npy").st_ino;
    directory.done(words, limit(RLIMIT_NOFILE, 200));
    for (int i = 0; i < 700; ++i) CHECK(directory.read(fmt::format("{}.npy", i)) == output(i));
    CHECK(status_of(directory / "0.npy").st_ino != before);
    CHECK(directory.entries().size() == 700);
  }
}

}  // namespace clipper::testing::limits_test
