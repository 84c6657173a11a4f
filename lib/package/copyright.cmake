# Writes `copyright` for all packages: clipper's licence, what the binaries contain of other projects, and the licences of
# these, from the Debian packages and source archives that the build uses. scripts/sbom.py reads the table.
set(third_parties)
set(third_party_texts)
set(copyright_missing)

# contains(NAME VERSION LICENCE FILE...): FILEs hold the licence's text.
macro(contains name version licence)
  string(APPEND third_parties "${name} | ${version} | ${licence}\n")
  string(APPEND third_party_texts "\n\n==== ${name} ${version}\n\n")
  foreach(file IN ITEMS ${ARGN})
    file(READ ${file} text)
    string(APPEND third_party_texts "${text}")
  endforeach()
endmacro()

# debian_version(PACKAGE): sets version, or failed.
macro(debian_version package)
  execute_process(COMMAND dpkg-query --show --showformat=\${Version} ${package}
    OUTPUT_VARIABLE version ERROR_QUIET RESULT_VARIABLE failed)
  string(REGEX REPLACE "^[0-9]+:|[+.](ds|dfsg).*$|-[^-]*$" "" version "${version}")
endmacro()

# contains_debian(NAME LICENCE PACKAGE FILE...): FILEs are licences that the package's copyright file refers to.
macro(contains_debian name licence package)
  debian_version(${package})
  if(failed OR NOT EXISTS /usr/share/doc/${package}/copyright)
    list(APPEND copyright_missing ${package})
  else()
    contains(${name} ${version} ${licence} /usr/share/doc/${package}/copyright ${ARGN})
  endif()
endmacro()

set(common /usr/share/common-licenses)
contains_debian(fmt MIT libfmt-dev)
contains_debian(xxHash BSD-2-Clause libxxhash-dev)
if(has_pb)
  contains_debian(protozero "BSD-2-Clause AND Apache-2.0" libprotozero-dev)
endif()
if(CLIPPER_PROGRAM)
  contains_debian(CLI11 BSD-3-Clause libcli11-dev)
  contains_debian(spdlog MIT libspdlog-dev)
  contains_debian(nlohmann-json MIT nlohmann-json3-dev)
endif()
if(CLIPPER_STATIC)
  contains(oneTBB ${onetbb_version} Apache-2.0 ${onetbb_SOURCE_DIR}/LICENSE.txt)
  contains(ISA-L ${isal_version} BSD-3-Clause ${isal_SOURCE_DIR}/LICENSE)
  contains(zlib ${zlib_version} Zlib ${zlib_SOURCE_DIR}/LICENSE)
  if(ZIG)
    cmake_path(GET ZIG PARENT_PATH zig)
    if(WIN32)
      contains(mingw-w64 13 ZPL-2.1 ${zig}/lib/libc/mingw/COPYING)
    else()
      contains(musl 1.2.5 MIT ${zig}/lib/libc/musl/COPYRIGHT)
    endif()
    contains(libc++ ${CMAKE_CXX_COMPILER_VERSION} "Apache-2.0 WITH LLVM-exception" ${zig}/lib/libcxx/LICENSE.TXT)
    contains(zig 0.15.2 MIT ${zig}/LICENSE)
  else()
    string(REGEX MATCH "^[0-9]+" gcc ${CMAKE_CXX_COMPILER_VERSION})
    contains_debian(libstdc++ "GPL-3.0-or-later WITH GCC-exception-3.1" libstdc++-${gcc}-dev ${common}/GPL-3)
  endif()
  if(CLIPPER_PROGRAM AND NOT ZIG)
    contains_debian(glibc LGPL-2.1-or-later libc6-dev ${common}/LGPL-2.1)
  endif()
endif()
if(CLIPPER_PYTHON_MODULE)
  cmake_path(GET nanobind_DIR PARENT_PATH nanobind)
  file(GLOB text ${nanobind}-*.dist-info/licenses/LICENSE)
  string(REGEX REPLACE ".*/nanobind-([^/]+)[.]dist-info/.*" "\\1" version "${text}")
  contains(nanobind ${version} BSD-3-Clause ${text})
endif()

set(opened)  # by their names, when an archive needs them
foreach(row IN LISTS npz_opened)
  string(REPLACE "," ";" row "${row}")
  list(POP_FRONT row name licence soname package)
  debian_version(${package})
  string(APPEND opened "${name} | ${version} | ${licence} | ${soname}\n")
endforeach()
if(opened)
  string(CONCAT opened "\nopened for archives | version | licence | library\n" ${opened})
endif()

if(copyright_missing)
  message(STATUS "Without a copyright file, because these are not packages of Debian: ${copyright_missing}")
else()
  file(READ .github/LICENSE text)
  file(CONFIGURE OUTPUT copyright @ONLY CONTENT [[
@text@
This file belongs to clipper @PROJECT_VERSION@, whose binaries contain parts of other projects:

component | version | licence
@third_parties@@opened@
Their licences follow.@third_party_texts@]])
endif()
