# A CMake toolchain file: zig compiles for Windows on x86-64, with mingw-w64 as C library. scripts/package installs zig.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)

file(GLOB hints ${CMAKE_CURRENT_LIST_DIR}/../../build/venv/lib/python3*/site-packages/ziglang)
find_program(ZIG zig HINTS ${hints} REQUIRED)
set(ENV{CCACHE_DISABLE} 1)  # ccache does not know zig, which has a cache of its own
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_COMPILER_TARGET x86_64-windows-gnu)
  set(CMAKE_${language}_ARCHIVE_CREATE "${ZIG} ar qcDs <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "")
endforeach()
set(CMAKE_C_COMPILER ${ZIG} cc)
set(CMAKE_CXX_COMPILER ${ZIG} c++)
set(CMAKE_RC_COMPILER ${ZIG})  # CMake wants one; there are no resources

# zig turns every feature beyond those of the CPU off, and that with which functions for AVX-512 use 512 bits, too. It
# instruments code that is not optimized, and writes debug information, which has the paths of the sources.
set(CMAKE_C_FLAGS_INIT "-mcpu=x86_64+evex512 -fno-sanitize=undefined -g0 -D_FILE_OFFSET_BITS=64")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT} -DNOMINMAX -DWIN32_LEAN_AND_MEAN")
