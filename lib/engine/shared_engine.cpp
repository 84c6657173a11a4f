#include "engine/shared_engine.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <limits>
#include <mutex>

#include "parallel/pool.hpp"

namespace clipper {
namespace {

/// Bytes that one thread reads and writes before other threads have started, and from its own second-level
/// cache: measured with two threads, see app/python/core/README.md.
constexpr std::size_t kSmall = 4UL << 20;

std::unique_ptr<Engine> start_engine(std::size_t size, unsigned threads) {
  Engine::Options options;
  options.threads = threads;
  auto engine = std::make_unique<Engine>(options);
  engine->prepare(size);
  return engine;
}

/// Starting an engine with threads takes as long as clipping several MiB.
class SharedEngine {
 public:
  /// Null in a child of the process that has started the engine.
  static std::shared_ptr<Engine> get(unsigned threads) {
    static auto* const shared = new SharedEngine;  // never destroyed: other threads may use it at the exit
    const std::lock_guard lock(shared->mutex_);
    if (shared->process_ != 0 && shared->process_ != ::getpid()) return nullptr;
    if (!shared->engine_ || shared->threads_ != threads) {
      shared->engine_ = start_engine(std::numeric_limits<std::size_t>::max(), threads);
      shared->process_ = ::getpid();
      shared->threads_ = threads;
    }
    return shared->engine_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<Engine> engine_;
  unsigned threads_ = 0;
  pid_t process_ = 0;
};

}  // namespace

bool is_worth_threads(std::size_t size, unsigned threads) noexcept {
  return threads != 1 && size > kSmall;
}

std::shared_ptr<Engine> engine_for(std::size_t size, unsigned threads) {
  if (threads == 0 && Pool::surrounding_threads() != 0) return start_engine(size, threads);
  std::shared_ptr<Engine> engine;
  if (is_worth_threads(size, threads)) engine = SharedEngine::get(threads);
  return engine ? engine : start_engine(size, 1);
}

}  // namespace clipper
