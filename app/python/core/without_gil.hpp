#pragma once

#include <cxxabi.h>
#include <unistd.h>

#include <exception>
#include <optional>
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

}  // namespace clipper::python
