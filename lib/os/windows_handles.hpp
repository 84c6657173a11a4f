#pragma once

// NOMINMAX and WIN32_LEAN_AND_MEAN are set by CMake.
#include <windows.h>
// After it:
#include <shellapi.h>
#include <winternl.h>

#include <string>
#include <string_view>

#include "os/os.hpp"

namespace clipper::os {

/// UTF-8, and UTF-16. A lone surrogate becomes three bytes as if it were a character, and they become it
/// again.
[[nodiscard]] std::wstring wide(std::string_view text);
[[nodiscard]] std::string narrow(std::wstring_view text);

/// Sets errno for an error of Windows, by default the last one, and returns -1.
int fail(DWORD error = ::GetLastError()) noexcept;

/// INVALID_HANDLE_VALUE, with errno, if the descriptor is not open.
[[nodiscard]] HANDLE handle_of(int fd) noexcept;

/// fstat() of a handle.
[[nodiscard]] int status_of(HANDLE handle, Status& status) noexcept;

}  // namespace clipper::os
