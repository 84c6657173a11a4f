#pragma once

#include <cstddef>
#include <memory>

#include "engine/engine.hpp"

namespace clipper {

/// Whether several threads read or write `size` bytes of memory in less time than one.
[[nodiscard]] bool is_worth_threads(std::size_t size, unsigned threads) noexcept;

/// An engine that reads or writes `size` bytes of memory, with at most `threads` threads; 0: those of the
/// arena of oneTBB that the caller is in, or available_threads(). Outside of an arena the engine with threads
/// is that of all large tensors of this process. A child process gets one without: oneTBB's threads stay in
/// the parent.
[[nodiscard]] std::shared_ptr<Engine> engine_for(std::size_t size, unsigned threads);

}  // namespace clipper
