#include "files/cleanup_registry.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "error.hpp"
#include "files/descriptor.hpp"

namespace clipper {
namespace {

constexpr std::size_t kMaxAtOnce = 2048;  // 1,024 threads and two batches of 256 files in place

struct Slot {
  std::atomic<bool> taken = false;
  int directory = 0;                      ///< only valid with a name
  std::array<char, NAME_MAX + 1> name{};  ///< empty until the file exists
};
// All zeros: not in the program's file, no page touched at the start.
constinit std::array<Slot, kMaxAtOnce> slots;

std::atomic<int> in_use = 0;  ///< threads that use the table
std::atomic<bool> ending = false;

/// Marks the thread as using the table, and blocks its signals: a handler waits for all users, and must not
/// interrupt one.
class Use {
 public:
  Use() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    ++in_use;
    if (!ending) return;
    --in_use;
    for (;;) ::pause();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    --in_use;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_{};
};

/// Only during a Use.
void release(int registration) noexcept {
  Slot& slot = slots[static_cast<std::size_t>(registration)];
  slot.name[0] = '\0';
  slot.taken = false;
}

}  // namespace

int register_temporary(const Place& place, const std::function<bool()>& create) {
  const std::size_t size = std::strlen(place.name()) + 1;
  if (size > NAME_MAX + 1) throw_system_error(place.path(), "cannot be created", ENAMETOOLONG);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].taken.exchange(true)) continue;
    const Use use;
    bool created = false;
    try {
      created = create();
    } catch (...) {
      slots[i].taken = false;
      throw;
    }
    slots[i].directory = place.directory();
    if (created)
      std::memcpy(slots[i].name.data(), place.name(), size);
    else
      slots[i].taken = false;
    return created ? static_cast<int>(i) : -1;
  }
  throw Error(ErrorKind::io,
              fmt::format("too many unfinished outputs (max {}); use fewer threads", kMaxAtOnce));
}

void unregister_temporary(int registration) noexcept {
  const Use use;
  release(registration);
}

void without_cleanup(int registration, const std::function<bool()>& work) {
  const Use use;
  if (!work()) release(registration);
}

void remove_temporaries() noexcept {
  ending = true;
  while (in_use > 0) ::sched_yield();
  for (const Slot& slot : slots)
    if (slot.taken && slot.name[0] != '\0') ::unlinkat(slot.directory, slot.name.data(), 0);
}

}  // namespace clipper
