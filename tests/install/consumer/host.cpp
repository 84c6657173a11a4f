#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <pthread.h>

#include <clipper/clipper.hpp>
#include <cstddef>
#include <future>
#include <iostream>
#include <thread>
#include <vector>

using Control = tbb::global_control;

namespace {

bool is_right = true;

void expect(bool condition, const char* what) {
  if (!condition) std::cerr << what << '\n';
  is_right = is_right && condition;
}

/// The stack of a thread that takes the host's tasks.
std::size_t stack_of_worker(tbb::task_arena& arena) {
  std::promise<std::size_t> found;
  arena.enqueue([&] {
    pthread_attr_t attributes;
    std::size_t size = 0;
    ::pthread_getattr_np(::pthread_self(), &attributes);
    ::pthread_attr_getstacksize(&attributes, &size);
    ::pthread_attr_destroy(&attributes);
    found.set_value(size);
  });
  return found.get_future().get();
}

}  // namespace

/// A program that uses oneTBB itself. Exits with 0 if clipper leaves oneTBB's settings and threads as the
/// program has chosen them.
int main() {
  constexpr std::size_t kThreads = 16;
  const std::size_t stack = Control::active_value(Control::thread_stack_size);
  const Control parallelism(Control::max_allowed_parallelism, kThreads);
  std::vector<float> values(8'000'000, 7.F);

  clipper::clip(values, {.max = 5}, 2);
  clipper::clip(values, {.max = 4}, kThreads);
  clipper::clip(values, {.max = 3});
  tbb::task_arena arena(4);
  arena.execute([&] { clipper::clip(values, {.max = 2}); });
  std::thread([&] { arena.execute([&] { clipper::clip(values, {.max = 1}); }); }).join();
  expect(values == std::vector<float>(values.size(), 1.F), "clip() has clipped to another bound");
  expect(Control::active_value(Control::max_allowed_parallelism) == kThreads,
         "clip() has changed the number of threads");
  expect(Control::active_value(Control::thread_stack_size) == stack,
         "clip() has changed the stack of threads");
  expect(stack_of_worker(arena) >= stack, "a thread has the stack that clip() needs, not the host's");
  return is_right ? 0 : 1;
}
