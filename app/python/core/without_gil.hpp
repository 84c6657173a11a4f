#pragma once

#include <cxxabi.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "python/core/numpy_api.hpp"

namespace clipper::python {

/// Takes the GIL again. While Python ends, versions before 3.14 end the threads that want the GIL by
/// unwinding their stacks; the thread waits for the end instead, because the destructors of its frames need
/// the GIL.
inline void take_gil(PyThreadState* thread) {
  try {
    PyEval_RestoreThread(thread);
  } catch (abi::__forced_unwind&) {
    for (;;) ::pause();
  }
}

/// Calls work() while other Python threads run. `work` must not use Python.
template <class Work>
auto without_gil(Work work) {
  PyThreadState* const thread = PyEval_SaveThread();
  std::exception_ptr failure;
  std::optional<decltype(work())> result;
  try {
    result.emplace(work());
  } catch (...) {
    failure = std::current_exception();
  }
  take_gil(thread);
  if (failure) std::rethrow_exception(failure);
  return *std::move(result);
}

/// The same for long work in a thread of its own, while this thread looks for signals. If a signal raises an
/// exception, such as KeyboardInterrupt, `stop` becomes true, and the exception is thrown as soon as work()
/// has ended.
template <class Work>
auto interruptible(std::atomic<bool>& stop, Work work) {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  std::optional<std::thread> thread;
  try {
    thread.emplace(std::ref(task));
  } catch (const std::system_error&) {  // no thread can be started
    without_gil([&] {
      task();
      return true;
    });
    return result.get();
  }
  bool raised = false;
  const auto wait = [&] {
    constexpr std::chrono::milliseconds kBetweenLooks{50};
    if (!raised) return result.wait_for(kBetweenLooks) == std::future_status::ready;
    result.wait();
    return true;
  };
  while (!without_gil(wait)) stop = raised = PyErr_CheckSignals() < 0;
  thread->join();
  if (raised) throw nanobind::python_error();
  return result.get();
}

}  // namespace clipper::python
