# A CMake toolchain file: zig compiles for the machine ZIG_MACHINE (its name by uname: aarch64, ppc64le, riscv64, s390x),
# with musl as C library. scripts/package installs zig.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${ZIG_MACHINE})
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZIG_MACHINE)

file(GLOB hints ${CMAKE_CURRENT_LIST_DIR}/../../build/venv/lib/python3*/site-packages/ziglang)
find_program(ZIG zig HINTS ${hints} REQUIRED)
string(REPLACE ppc64le powerpc64le target ${ZIG_MACHINE}-linux-musl)
set(ENV{CCACHE_DISABLE} 1)  # ccache does not know zig, which has a cache of its own
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_COMPILER_TARGET ${target})
  set(CMAKE_${language}_ARCHIVE_CREATE "${ZIG} ar qcDs <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "")
endforeach()
set(CMAKE_C_COMPILER ${ZIG} cc)
set(CMAKE_CXX_COMPILER ${ZIG} c++)

# musl declares fstat64(), which spdlog calls, only with this definition. zig instruments code that is not optimized.
set(CMAKE_CXX_FLAGS_INIT "-D_LARGEFILE64_SOURCE -fno-sanitize=undefined")
# A comparison of vectors gives a vector, as on other machines. Without the option clang warns that its default will change.
if(ZIG_MACHINE STREQUAL ppc64le)
  string(APPEND CMAKE_CXX_FLAGS_INIT " -faltivec-src-compat=gcc")
endif()
