#include <sys/mman.h>

#include "cli/clipper.hpp"
#include "cli/no_unnamed_files.hpp"
#include "files/descriptor.hpp"
#include "support/archives.hpp"

/// --no-cache, on the file system of the temporary directory.
namespace clipper::testing::no_cache_test {
namespace {

constexpr unsigned kDontCache = 0x80;          // RWF_DONTCACHE
constexpr std::size_t kElements = 12'000'000;  // more than one window of drop_pages(), and a large rest
constexpr std::size_t kSlack = kElements;      // bytes: a quarter; reading ahead may still be under way
const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

Descriptor opened(const std::string& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(fd.get() >= 0);
  return fd;
}

/// The bytes of the file that are in the page cache.
std::size_t cached(const std::string& path) {
  const Descriptor fd = opened(path);
  struct stat status {};
  REQUIRE(::fstat(fd.get(), &status) == 0);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  REQUIRE(memory != MAP_FAILED);
  std::vector<unsigned char> pages((size + kPage - 1) / kPage);
  CHECK(::mincore(memory, size, pages.data()) == 0);
  ::munmap(memory, size);
  return kPage * static_cast<std::size_t>(
                     std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; }));
}

void write_out(const std::string& path) {
  REQUIRE(::fsync(opened(path).get()) == 0);
}

void make_cold(const std::string& path) {
  write_out(path);
  REQUIRE(::posix_fadvise(opened(path).get(), 0, 0, POSIX_FADV_DONTNEED) == 0);
}

std::string tensor(float first) {
  std::vector<float> elements(kElements, 3);
  elements.front() = first;
  elements.back() = 9;
  return float32_file(elements);
}

const std::string& input() {
  static const std::string file = tensor(-1);
  return file;
}

/// The input clipped to 0 and 6.
const std::string& result() {
  static const std::string file = [] {
    std::vector<float> elements(kElements, 3);
    elements.front() = 0;
    elements.back() = 6;
    return float32_file(elements);
  }();
  return file;
}

class Directory : public WorkingDirectory {
 public:
  Directory() {
    write("in.npy", input());
    make_cold(*this / "in.npy");
  }

  /// False on a file system whose files are nowhere but in the page cache.
  [[nodiscard]] bool has_disk() const {
    const bool has = cached(*this / "in.npy") == 0;
    if (!has) WARN("no test: " << path() << " is on a file system without a disk");
    return has;
  }
};

Words uncached(const Words& words) {
  return joined(words, {"--no-cache"});
}

/// As on a kernel or a file system without RWF_DONTCACHE.
void be_without_uncached_writes() {
  be_without(SYS_pwritev2, 5, kDontCache, EOPNOTSUPP);
}

}  // namespace

TEST_CASE("--no-cache leaves nothing of inputs and outputs in the page cache, and gives the same bytes") {
  struct Way {
    Words words;
    Words files;
    bool is_result = true;  ///< the last file
  };
  const std::vector<Way> ways{
      {clip({"in.npy", "out.npy"}), {"in.npy", "out.npy"}},
      {clip({"--in-place", "in.npy"}), {"in.npy"}},
      {clip({"--in-place", "--direct", "in.npy"}), {"in.npy"}},
      {clip({"--output-dir", "made", "in.npy"}), {"in.npy", "made/in.npy"}},
      {clip({"--shard", "0/1", "--split-output", "in.npy", "out.npy"}), {"in.npy", "out.00000-of-00001.npy"}},
      {clip({"--shard", "0/1", "in.npy", "out.npy", "--threads", "1"}), {"in.npy"}, false},
  };
  for (const Way& way : ways) {
    const Directory directory;
    if (!directory.has_disk()) return;
    CAPTURE(way.words);
    directory.done(uncached(way.words));
    for (const std::string& name : way.files) {
      CAPTURE(name);
      write_out(directory / name);
      CHECK(cached(directory / name) < kSlack);
    }
    if (way.is_result) CHECK((directory.read(way.files.back()) == result()));
  }
}

TEST_CASE("without --no-cache the input and the output are in the page cache") {
  const Directory directory;
  if (!directory.has_disk()) return;
  directory.done(clip({"in.npy", "out.npy"}));
  // The kernel may have taken a few pages back, which was seen under load.
  for (const char* name : {"in.npy", "out.npy"}) CHECK(cached(directory / name) > input().size() - kSlack);
}

TEST_CASE("--no-cache leaves nothing of files that are only read in the page cache") {
  const Directory directory;
  if (!directory.has_disk()) return;
  directory.write("golden.npy", result());
  make_cold(directory / "golden.npy");
  const std::vector<Words> ways{{"info", "--stats", "in.npy"},
                                {"compare", "in.npy", "in.npy"},
                                clip({"in.npy", "--verify", "golden.npy"})};
  for (const Words& words : ways) {
    CAPTURE(words);
    CHECK(directory.run(uncached(words)).exit_code == 0);
    for (const char* name : {"in.npy", "golden.npy"}) CHECK(cached(directory / name) < kSlack);
  }
}

TEST_CASE("--no-cache leaves nothing of archives and their members in the page cache") {
  const Directory directory;
  if (!directory.has_disk()) return;
  const std::string archive = npz_file({{"w.npy", input()}, {"few.npy", float32_file({9})}});
  directory.write("in.npz", archive);
  const std::vector<std::pair<Words, std::string>> ways{{{"in.npz", "out.npz"}, "out.npz"},
                                                        {{"in.npz:w", "w.npy"}, "w.npy"},
                                                        {{"--in-place", "in.npz"}, "in.npz"}};
  for (const auto& [words, made] : ways) {
    make_cold(directory / "in.npz");
    CAPTURE(words);
    directory.done(uncached(clip(words)));
    write_out(directory / made);
    CHECK(cached(directory / "in.npz") < kSlack);
    CHECK(cached(directory / made) < kSlack);
  }
  CHECK((directory.read("w.npy") == result()));
  CHECK((directory.read("out.npz") == directory.read("in.npz")));
}

TEST_CASE("where RWF_DONTCACHE is refused, --no-cache waits for the disk and drops what it has written") {
  for (const Words& words :
       {clip({"in.npy", "out.npy"}), clip({"-", "out.npy"}), clip({"--in-place", "out.npy"})}) {
    const Directory directory;
    if (!directory.has_disk()) return;
    directory.write("out.npy", input());
    make_cold(directory / "out.npy");
    directory.done(uncached(words), be_without_uncached_writes, words[4] == "-" ? input() : "");
    CHECK(cached(directory / "out.npy") < kSlack);  // without fsync()
    CHECK((directory.read("out.npy") == result()));
  }
}

TEST_CASE("--no-cache works where system calls are refused") {
  for (const int call : {SYS_pwritev2, SYS_sync_file_range, SYS_fadvise64, 451}) {
    CAPTURE(call);
    const WorkingDirectory directory{{"in.npy", float32_file(std::vector<float>(100'000, 7))}};
    directory.done(uncached(clip({"in.npy", "out.npy"})), [=] {
      if (call == SYS_sync_file_range) be_without_uncached_writes();
      be_without(call, 0, 0, EPERM);
    });
    CHECK((directory.read("out.npy") == float32_file(std::vector<float>(100'000, 6))));
  }
}

TEST_CASE("an error that is reported while --no-cache waits for the disk is not lost") {
  const WorkingDirectory directory{{"in.npy", float32_file(std::vector<float>(100'000, 7))}};
  directory.refused(uncached(clip({"in.npy", "out.npy"})), 4,
                    "out.npy: cannot be written: Input/output error", [] {
                      be_without_uncached_writes();
                      be_without(SYS_sync_file_range, 0, 0, EIO);
                    });
}

TEST_CASE("--no-cache leaves an input in the page cache that was there") {
  const Directory directory;
  if (!directory.has_disk()) return;
  CHECK((directory.read("in.npy") == input()));
  directory.done(uncached(clip({"in.npy", "out.npy"})));
  CHECK(cached(directory / "in.npy") >= input().size());
}

}  // namespace clipper::testing::no_cache_test
