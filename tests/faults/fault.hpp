#pragma once

// Makes the N-th libc call of the program fail. The environment says which call and how:
//
//   CLIPPER_FAULT=N:WHAT:once|ever   call N, counted from main(), fails; "ever": later calls, too
//     nNUMBER   fails with this errno; "ever": all later calls of the same name
//     eNUMBER   fails with this errno; "ever": all later calls, but every other one for EINTR (for retries)
//     dNUMBER   reads or writes only 1/NUMBER of the bytes, but at least one
//     sNUMBER   raises this signal before the call
//     aNUMBER   raises this signal after the call
//     m0        allocation N fails, counted from the start of the process
//   CLIPPER_FAULT_REPORT=FD          write "fired NAME" to FD; without a fault, "NAME KINDS" for each call
//   CLIPPER_FAULT_NAMED=1            open() does not support O_TMPFILE
//   CLIPPER_FAULT_FLAGLESS=1         renameat2() and pwritev2() do not support flags
//   CLIPPER_FAULT_REMOTE=1           fstatfs() reports a FUSE file system
//   CLIPPER_FAULT_COARSE=1           files have times in whole seconds
//   CLIPPER_FAULT_STALE=INODE:TIME   the file has this modification time until the program has slept for a
//   second

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <type_traits>

// The faults that a call can meet, as a bit set. Every call can also fail with EIO and meet a signal.
constexpr unsigned kPlain = 0;
constexpr unsigned kMovesBytes = 1;
constexpr unsigned kInterruptible = 2;
constexpr unsigned kTakesSpace = 4;
constexpr unsigned kCloses = 8;         ///< closes its descriptor even if it fails
constexpr unsigned kReturnsErrno = 16;  ///< returns the errno instead of setting it

struct Fault {
  unsigned at = 0;  ///< 0: no fault
  char what = 0;
  int number = 0;
  bool ever = false;
  int report = -1;
  bool named = false;
  bool flagless = false;
  bool remote = false;
  bool coarse = false;
  unsigned long stale = 0;  ///< inode
  long stale_since = 0;     ///< seconds

  Fault() {
    if (const char* text = std::getenv("CLIPPER_FAULT_REPORT")) report = std::atoi(text);
    named = std::getenv("CLIPPER_FAULT_NAMED") != nullptr;
    flagless = std::getenv("CLIPPER_FAULT_FLAGLESS") != nullptr;
    remote = std::getenv("CLIPPER_FAULT_REMOTE") != nullptr;
    coarse = std::getenv("CLIPPER_FAULT_COARSE") != nullptr;
    char* rest = nullptr;
    if (const char* file = std::getenv("CLIPPER_FAULT_STALE")) {
      stale = std::strtoul(file, &rest, 10);
      stale_since = std::strtol(rest + 1, nullptr, 10);
    }
    const char* const text = std::getenv("CLIPPER_FAULT");
    if (text == nullptr) return;
    at = static_cast<unsigned>(std::strtoul(text, &rest, 10));
    what = rest[1];
    number = static_cast<int>(std::strtol(rest + 2, &rest, 10));
    ever = rest == std::string_view(":ever");
  }

  [[nodiscard]] bool interrupts() const { return what == 'e' && number == EINTR; }

  [[nodiscard]] bool can_happen_to(unsigned kinds) const {
    if (what == 'd') return (kinds & kMovesBytes) != 0;
    if (interrupts()) return (kinds & kInterruptible) != 0;
    return what != 'e' || number != ENOSPC || (kinds & kTakesSpace) != 0;
  }
};

/// The fault in the environment. First used before main(), when there is only one thread.
inline const Fault& fault() {
  static const Fault given;
  return given;
}

/// Writes a line to CLIPPER_FAULT_REPORT. Does not use write(), which the shim counts.
inline void report(const char* format, const char* name, unsigned kinds) {
  if (fault().report < 0) return;
  const int error = errno;
  std::array<char, 64> line{};
  const int size = std::snprintf(line.data(), line.size(), format, name, kinds);
  syscall(SYS_write, fault().report, line.data(), size);
  errno = error;
}

/// True after main() has begun. Earlier calls are not counted.
inline std::atomic<bool> in_main = false;

/// Whether `name` is the name of call N. `first`: this is call N.
inline bool is_named_so(const char* name, bool first) {
  static std::atomic<const char*> chosen = nullptr;
  if (first) chosen = name;
  const char* const so = chosen;
  return so != nullptr && std::string_view(so) == name;
}

/// Counts a call. Returns whether it meets the fault.
inline bool is_hit(const char* name, unsigned kinds) {
  static std::atomic<unsigned> calls = 0;
  static std::atomic<bool> interrupted = false;
  if (!in_main || fault().what == 'm') return false;
  const unsigned n = ++calls;
  if (fault().at == 0) report("%s %u\n", name, kinds);
  if (fault().at == 0 || n < fault().at || (n > fault().at && !fault().ever)) return false;
  if (!fault().can_happen_to(kinds)) return false;
  if (fault().what == 'n' && !is_named_so(name, n == fault().at)) return false;
  if (fault().ever && fault().interrupts() && interrupted.exchange(!interrupted)) return false;
  report("fired %s\n", name, 0);
  return true;
}

inline std::atomic<unsigned> allocations = 0;

/// Counts an allocation. Returns whether it fails.
inline bool is_refused() {
  const unsigned n = ++allocations;
  if (fault().what != 'm' || n < fault().at || (n > fault().at && !fault().ever)) return false;
  report("fired %s\n", "malloc", 0);
  errno = ENOMEM;
  return true;
}

/// The part of a number of bytes that a short read or write transfers.
struct Part {
  std::size_t divisor = 1;

  std::size_t operator()(std::size_t bytes) const {
    return bytes == 0 ? 0 : std::max<std::size_t>(1, bytes / divisor);
  }
};

/// Makes a call, or lets it meet the fault. `call` takes a Part.
template <class Call>
auto counted(const char* name, unsigned kinds, Call call) -> decltype(call(Part())) {
  using Result = decltype(call(Part()));
  if (!is_hit(name, kinds)) return call(Part());
  const int number = fault().number;
  if (fault().what == 'd') return call(Part{static_cast<std::size_t>(number)});
  if (fault().what == 's') std::raise(number);
  if (fault().what == 'e' || fault().what == 'n') {
    if (kinds & kCloses) call(Part());
    if constexpr (std::is_pointer_v<Result>) {
      errno = number;
      return nullptr;
    } else {
      if (kinds & kReturnsErrno) return static_cast<Result>(number);
      errno = number;
      return static_cast<Result>(-1);
    }
  }
  const Result result = call(Part());
  if (fault().what == 'a') std::raise(number);
  return result;
}
