#pragma once

#include <cstddef>

namespace clipper {

/// The threads that this process may keep busy: the CPUs of its affinity mask, less where a control group's
/// quota (version 1 or 2, of the process's own group or one above) allows less. At least 1.
[[nodiscard]] unsigned available_threads();

/// How many threads can have four files open each with half of the descriptors that the process may have: at
/// least 1.
[[nodiscard]] unsigned threads_with_files();

/// How many of `wanted` threads, the calling one included, the system lets this process have at once: at
/// least 1. They are really started, with stacks of `stack_size` bytes, and ended again: oneTBB ends the
/// process when it cannot start a thread.
[[nodiscard]] unsigned startable_threads(unsigned wanted, std::size_t stack_size);

}  // namespace clipper
