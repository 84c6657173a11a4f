#pragma once

/// Catch2, version 2 or 3, and the standard headers that many tests use. All of it is precompiled once.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace clipper {

/// The step of a test through all of its cases. Sanitizers, which look for other faults, need fewer of them.
#ifdef CLIPPER_INSTRUMENTED
inline constexpr std::size_t kStep = 7;
#else
inline constexpr std::size_t kStep = 1;
#endif

}  // namespace clipper
