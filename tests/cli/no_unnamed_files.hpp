#pragma once

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

/// System calls fail as on file systems that lack a feature. For Settings::prepare.
namespace clipper::testing {

/// Makes the system call `number` fail with `error`, or kill the process if that is 0, if its argument
/// `argument` has one of `bits`, or always if `bits` is 0.
inline void be_without(int number, unsigned argument, unsigned bits, int error) {
  const unsigned action =
      error == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | static_cast<unsigned>(error);
  const auto test = static_cast<unsigned short>(BPF_JMP | BPF_K | (bits == 0 ? BPF_JA : BPF_JSET));
  const auto offset = static_cast<unsigned>(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
  std::array<sock_filter, 6> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset),
      BPF_JUMP(test, bits, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{filter.size(), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(125);
}

/// Makes open() with O_TMPFILE fail.
inline void be_without_unnamed_files() {
  be_without(SYS_openat, 2, O_TMPFILE & ~O_DIRECTORY, EOPNOTSUPP);
}

/// Makes renameat2() with flags (RENAME_NOREPLACE, RENAME_EXCHANGE) fail.
inline void be_without_rename_flags() {
  be_without(SYS_renameat2, 4, ~0U, EINVAL);
}

}  // namespace clipper::testing
