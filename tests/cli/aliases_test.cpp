#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "cli/numbered.hpp"
#include "support/mounts.hpp"

/// Files with several names: clipper overwrites no input, and never writes two results to the same file.
namespace clipper::testing::aliases_test {
namespace {

namespace fs = std::filesystem;

bool may_mount() {
  if (::geteuid() != 0) skip_unless_possible("mounting");
  return ::geteuid() == 0;
}

/// Mounts `real` a second time, as `mount`, for the calling process only. For Settings::prepare.
void mount_again(const char* real, const char* mount) {
  if (!has_own_mounts() || ::mount(real, mount, nullptr, MS_BIND, nullptr) != 0) ::_exit(125);
}
void mount_real() {
  mount_again("real", "mount");
}

/// Makes stat() fail for paths. For Settings::prepare.
void fail_stat() {
  constexpr auto kNumber = offsetof(seccomp_data, nr);
  constexpr auto kDirectory = offsetof(seccomp_data, args);
  constexpr auto kFlags = offsetof(seccomp_data, args) + 3 * sizeof(std::uint64_t);
  std::array<sock_filter, 8> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kDirectory),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(AT_FDCWD), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  sock_fprog program{filter.size(), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(125);
}

/// Contains a.npy, b.npy, and real/ with copies of both.
class Directory : public WorkingDirectory {
 public:
  Directory() {
    for (const char* name : {"real", "mount", "in"}) fs::create_directory(*this / name);
    for (const char* name : {"a.npy", "real/a.npy"}) write(name, input(1));
    for (const char* name : {"b.npy", "real/b.npy"}) write(name, input(2));
  }
};

}  // namespace

TEST_CASE("an output that is an input through a bind mount is refused") {
  if (!may_mount()) return;
  const Directory directory;
  const auto refused = [&](const Words& words, const char* why) {
    directory.refused(clip(words), 2, why, mount_real);
    CHECK(directory.read("real/a.npy") == input(1));
    CHECK(directory.read("real/b.npy") == input(2));
  };
  refused({"a.npy", "real/b.npy", "-o", "mount/b.npy"},
          "a.npy would be written to mount/b.npy, which is the input real/b.npy");
  fs::copy(directory / "a.npy", directory / "in/b.npy");
  refused({"in/b.npy", "real/b.npy", "-o", "{dir}/../mount/{stem}{ext}"}, "which is the input real/b.npy");
  refused({"in/b.npy", "real/b.npy", "--output-dir", "mount", "--relative-to", "in"},
          "not below the --relative-to directory in");
  fs::copy(directory / "a.npy", directory / "in/a.npy");
  fs::create_directory(directory / "real/in");
  directory.write("real/in/a.npy", input(3));
  refused({"real/in/a.npy", "in/a.npy", "--output-dir", "mount"},
          "in/a.npy would be written to mount/in/a.npy, which is the input real/in/a.npy");
  refused({"-i", "real/a.npy", "mount/a.npy"}, "real/a.npy and mount/a.npy are the same file");
}

TEST_CASE("two outputs that are one file through a bind mount are refused") {
  if (!may_mount()) return;
  const Directory directory;
  for (const char* name : {"real/new", "mount/new"}) fs::remove_all(directory / name);
  const auto refused = [&](const Words& words) {
    directory.refused(clip(words), 2, "would both be written to", mount_real);
  };
  fs::create_directories(directory / "in/mount");
  fs::create_directories(directory / "in/real");
  directory.write("in/mount/x.npy", input(1));
  directory.write("in/real/x.npy", input(2));
  const Words both{"in/mount/x.npy", "in/real/x.npy"};
  refused({"-o{dir}/../../mount/x.npy", both[0], both[1]});
  refused({"--output-dir=.", "--relative-to=in", both[0], both[1]});
  directory.write("real/x.npy", "old");
  refused({"--output-dir=.", "--relative-to=in", both[0], both[1]});
  fs::create_directories(directory / "in/mount/deep/er");
  fs::create_directories(directory / "in/real/deep/er");
  directory.write("in/mount/deep/er/y.npy", input(1));
  directory.write("in/real/deep/er/y.npy", input(2));
  refused({"--output-dir=.", "--relative-to=in", "in/mount/deep/er/y.npy", "in/real/deep/er/y.npy"});
}

TEST_CASE("IN and OUT that cannot be examined are not assumed to be different files") {
  const Directory directory;
  directory.refused(clip({"a.npy", "a.npy"}), 4, "a.npy: cannot be examined", fail_stat);
  directory.refused(clip({"a.npy", "b.npy", "--output-dir=."}), 4, "cannot be examined", fail_stat);
}

TEST_CASE("IN that is also mounted at OUT is not replaced") {
  if (!may_mount()) return;
  const WorkingDirectory directory{{"in.npy", input(1)}, {"out.npy", "below the mount"}};
  const Process::Settings mounted{directory.path(), [] { mount_again("in.npy", "out.npy"); }};
  for (const Words& names : {Words{"in.npy", "out.npy"}, Words{"out.npy", "in.npy"}})
    check_refused(run_clipper(clip(names), mounted), 5, "is mounted as " + names.back());
  CHECK(directory.read("in.npy") == input(1));
  CHECK(directory.read("out.npy") == "below the mount");
}

TEST_CASE("an output directory that is the input directory through a bind mount is refused") {
  if (!may_mount()) return;
  const Directory directory;
  directory.refused(clip({"-r", "--output-dir", "mount/out", "real"}), 2, "lies within the input directory",
                    mount_real);
}

}  // namespace clipper::testing::aliases_test
