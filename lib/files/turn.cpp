#include "files/turn.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <memory>

#include "files/place.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

/// Turns of threads that create names in a directory. A child process needs others: a thread that only its
/// parent has may have taken these.
struct Creators {
  /// A call is short: a second thread that spins goes on sooner than one that is woken up.
  struct Two : Turn {
    Two() : Turn(2) {}
  };

  const pid_t process = os::getpid();
  std::array<Two, 16> turns;  // several directories may share one
};

}  // namespace

Turn& creating(const std::string& path) {
  static std::atomic<Creators*> current = nullptr;
  Creators* now = current;
  if (now == nullptr || now->process != os::getpid()) {
    auto own = std::make_unique<Creators>();
    if (current.compare_exchange_strong(now, own.get())) now = own.release();
  }
  return now->turns[std::hash<std::string>()(directory_of(path)) % now->turns.size()];
}

}  // namespace clipper
