# A CMake toolchain file: zig compiles for aarch64, with musl as C library. scripts/package installs zig.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

file(GLOB hints ${CMAKE_CURRENT_LIST_DIR}/../../build/venv/lib/python3*/site-packages/ziglang)
find_program(ZIG zig HINTS ${hints} REQUIRED)
set(CMAKE_C_COMPILER ${ZIG} cc)
set(CMAKE_CXX_COMPILER ${ZIG} c++)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-musl)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-musl)
set(ENV{CCACHE_DISABLE} 1)  # ccache does not know zig, which has a cache of its own
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "${ZIG} ar qcDs <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "")
endforeach()

# musl declares fstat64(), which spdlog calls, only with this definition. zig instruments code that is not optimized.
set(CMAKE_CXX_FLAGS_INIT "-D_LARGEFILE64_SOURCE -fno-sanitize=undefined")
