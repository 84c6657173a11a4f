#include "temporaries.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

#include "descriptor.hpp"
#include "error.hpp"

namespace clipper {
namespace {

constexpr std::size_t kMostAtOnce = 1024;  // one for each thread of the most that the command line takes

struct Slot {
  std::atomic<bool> taken = false;
  std::atomic<bool> filled = false;
  std::array<char, PATH_MAX> path{};
};
constinit std::array<Slot, kMostAtOnce> slots;  // zeros of the loader: a constructor would touch every page

}  // namespace

int register_temporary(const std::string& path) {
  if (path.size() >= PATH_MAX) throw_system_error(path, "cannot be created", ENAMETOOLONG);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].taken.exchange(true)) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    slots[i].filled = true;
    return static_cast<int>(i);
  }
  throw Error(ErrorKind::io, "too many outputs at once");
}

void unregister_temporary(int registration) noexcept {
  Slot& slot = slots[static_cast<std::size_t>(registration)];
  slot.filled = false;
  slot.taken = false;
}

void remove_temporaries() noexcept {
  for (const Slot& slot : slots)
    if (slot.filled) ::unlink(slot.path.data());
}

}  // namespace clipper
