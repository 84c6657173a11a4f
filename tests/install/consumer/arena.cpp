#include <oneapi/tbb/task_arena.h>

#include <clipper/clipper.hpp>
#include <filesystem>
#include <iterator>
#include <vector>

/// Clips in an arena of one thread. Exits with 0 if that has started no other thread.
int main() {
  std::vector<float> values(8'000'000, 7.F);
  tbb::task_arena arena(1);
  arena.execute([&] { clipper::clip(values, {.max = 6}); });
  const auto threads = std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  return threads == 1 && values.front() == 6.F && values.back() == 6.F ? 0 : 1;
}
