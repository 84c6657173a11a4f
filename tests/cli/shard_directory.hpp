#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "cli/clipper.hpp"

namespace clipper::testing {

/// SIGALRM ends a process that hangs, which fails the test.
inline constexpr unsigned kHang = 60;  // seconds

/// Contains in.npy, which is large enough for three shards (2.5 MiB), and no output.
class ShardDirectory : public WorkingDirectory {
 public:
  ShardDirectory() { write("in.npy", float32_file(scattered_floats(655'363))); }

  [[nodiscard]] Result shard(
      int index, int count = 3, const Words& more = {}, const std::function<void()>& prepare = [] {}) const {
    Words words{"--shard", fmt::format("{}/{}", index, count), "--max", "6", "in.npy", "out.npy"};
    words.insert(words.begin(), more.begin(), more.end());
    return run(words, prepare);
  }

  [[nodiscard]] Result finalize(
      const Words& more = {}, const std::function<void()>& prepare = [] {}) const {
    Words words{"--finalize", "out.npy"};
    words.insert(words.begin(), more.begin(), more.end());
    return run(words, prepare);
  }

  [[nodiscard]] std::string run_file() const { return *this / "out.npy.shards"; }

  [[nodiscard]] std::string only(const std::function<bool(const std::string&)>& is_wanted) const {
    std::vector<std::string> names = entries();
    std::erase_if(names, [&](const std::string& name) { return !is_wanted(name); });
    REQUIRE(names.size() == 1);
    return *this / names.front();
  }
  [[nodiscard]] std::string common() const {
    return only([](const std::string& name) { return name.starts_with("out.npy.shards."); });
  }
  [[nodiscard]] std::string record(int index) const {
    const std::string begin = fmt::format("out.npy.shard-{}-of-", index);
    return only([&](const std::string& name) { return name.starts_with(begin) && name.ends_with(".done"); });
  }

  /// Checks that the output equals the output of one process, and that no other files are left.
  void check_result() const {
    CHECK(entries() == std::vector<std::string>{"in.npy", "out.npy"});
    check_done(run({"--max", "6", "in.npy", "expected.npy"}, [] {}));
    CHECK((read("out.npy") == read("expected.npy")));  // not printed: 2.5 MiB
  }

 private:
  [[nodiscard]] Result run(const Words& words, const std::function<void()>& prepare) const {
    return run_clipper(words, {path(), [&] {
                                 ::alarm(kHang);
                                 prepare();
                               }});
  }
};

/// A system call and the error that fail() makes it return.
struct Failing {
  unsigned call;
  unsigned error;  ///< 0: the process is killed
};
/// Makes the calls fail from now on. For Settings::prepare.
inline void fail(const std::vector<Failing>& calls) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const Failing& each : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, each.call, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K,
                              each.error == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | each.error));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(125);
}

}  // namespace clipper::testing
