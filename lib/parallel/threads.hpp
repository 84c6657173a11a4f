#pragma once

#include <cstddef>

namespace clipper {

/// The number of threads that this process may keep busy: the CPUs of its affinity mask, or less if a cgroup
/// CPU quota (version 1 or 2, of its own group or a parent) allows less. At least 1.
[[nodiscard]] unsigned available_threads();

/// The bytes that a thread should handle at a time: half of its L2 cache, which also has room for what is
/// read and written meanwhile; at least 256 KiB, where system calls cost little, and at most 512 KiB, where
/// larger ones gain nothing.
[[nodiscard]] std::size_t cached_chunk();

/// The number of threads that can each have four files open with half of the descriptors that the process may
/// have. At least 1.
[[nodiscard]] unsigned threads_with_files();

/// How many of `wanted` threads, including the calling one, the system lets this process run at once. At
/// least 1. Starts and ends that many threads with stacks of `stack_size` bytes to find out, because oneTBB
/// ends the process when it cannot start a thread.
[[nodiscard]] unsigned startable_threads(unsigned wanted, std::size_t stack_size);

}  // namespace clipper
