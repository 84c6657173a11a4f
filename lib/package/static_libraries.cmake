# Debian has no static libraries of oneTBB and ISA-L, and no zlib for musl: they are built here from Debian's
# source archives.
include(FetchContent)
set(CLIPPER_SOURCES "" CACHE PATH
  "Directory with Debian's source archives of oneTBB, ISA-L and zlib; they are downloaded if it is empty")

set(archives ${CLIPPER_SOURCES})
if(NOT archives)
  execute_process(COMMAND apt-get indextargets --format "$(REPO_URI)" "Origin: Debian" "Codename: bookworm"
      "Component: main" "Created-By: Packages"
    OUTPUT_VARIABLE archives OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed OR NOT archives)
    message(FATAL_ERROR "CLIPPER_STATIC needs the package sources of Debian 12, or their archives in CLIPPER_SOURCES")
  endif()
  string(REGEX MATCH "^[^\n]*[^/\n]" archives "${archives}")
  string(APPEND archives /pool/main)
endif()

# unpack(NAME FOLDER FILE SHA256): sets NAME_SOURCE_DIR, NAME_BINARY_DIR and NAME_version. FOLDER is the archive's place at Debian.
macro(unpack name folder file sha256)
  set(url ${archives}/${folder}/${file})
  if(CLIPPER_SOURCES)
    set(url ${CLIPPER_SOURCES}/${file})
  endif()
  FetchContent_Declare(${name} URL ${url} URL_HASH SHA256=${sha256}
    SOURCE_SUBDIR none)  # none: do not add it yet
  FetchContent_MakeAvailable(${name})
  string(REGEX REPLACE ".*_([0-9.]+)[.].*" "\\1" ${name}_version ${file})
endmacro()
unpack(onetbb o/onetbb onetbb_2021.8.0.orig.tar.xz 7e9111b8bb59c8800bf6d0b06afe7b0891937443d2dae1ee1101c8e2ede6a7ef)
unpack(isal libi/libisal libisal_2.30.0.orig.tar.xz f363f1be3d657d5676cef5253ee2233e60116e2fa9c9de86881185bf81e0e4b8)
unpack(zlib z/zlib zlib_1.2.13.dfsg.orig.tar.bz2 71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1)

# Header-only libraries are Debian's, in a directory of links, because /usr/include also has the headers of Debian's C
# library. find_package(fmt) then reads an empty file and leaves the targets as they are.
if(CMAKE_CROSSCOMPILING)
  set(headers ${CMAKE_CURRENT_BINARY_DIR}/headers)
  file(MAKE_DIRECTORY ${headers})
  foreach(row IN ITEMS Catch2::Catch2,catch2 CLI11::CLI11,CLI fmt::fmt-header-only,fmt
      nlohmann_json::nlohmann_json,nlohmann spdlog::spdlog_header_only,spdlog)
    string(REGEX MATCH "((.+)::.+),(.+)" row ${row})
    file(CREATE_LINK /usr/include/${CMAKE_MATCH_3} ${headers}/${CMAKE_MATCH_3} SYMBOLIC)
    add_library(${CMAKE_MATCH_1} INTERFACE IMPORTED)
    target_include_directories(${CMAKE_MATCH_1} INTERFACE ${headers})
    file(WRITE ${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/${CMAKE_MATCH_2}Config.cmake)
  endforeach()
  file(CREATE_LINK /usr/include/xxhash.h ${headers}/xxhash.h SYMBOLIC)
  file(CREATE_LINK /usr/include/protozero ${headers}/protozero SYMBOLIC)
  set(CLIPPER_xxhash_INCLUDE ${headers})
  set(CLIPPER_protozero_INCLUDE ${headers})
endif()

enable_language(C)
set(CMAKE_C_FLAGS_RELEASE ${CMAKE_CXX_FLAGS_RELEASE})
set(position_independent -fPIE)
if(WIN32)
  set(position_independent)  # all code is
elseif(CLIPPER_PYTHON_MODULE)
  set(position_independent -fPIC)
endif()
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:${position_independent}>)
set(app_options -Os)  # a quarter smaller, and the start is as fast

# add_foreign(NAME TARGET OPTION...): adds a project's TARGET, with each option set to OFF. Nothing of it is installed.
function(add_foreign name target)
  set(CMAKE_POLICY_DEFAULT_CMP0063 NEW)  # accepted, so that CMake does not warn
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # option() must not replace the variables set here
  set(CMAKE_POLICY_VERSION_MINIMUM 3.5)  # CMake 4 refuses projects that ask for less
  set(CMAKE_MESSAGE_LOG_LEVEL ERROR)
  foreach(option IN ITEMS BUILD_SHARED_LIBS ${ARGN})
    set(${option} OFF)
  endforeach()
  add_subdirectory(${${name}_SOURCE_DIR} ${${name}_BINARY_DIR} EXCLUDE_FROM_ALL SYSTEM)
  target_compile_options(${target} PRIVATE -w)
endfunction()

# Weak symbols and the profiler's interface would make oneTBB call dlopen.
add_foreign(onetbb tbb TBB_TEST TBB_STRICT TBB_INSTALL TBB4PY_BUILD TBBMALLOC_BUILD TBB_ENABLE_IPO)
target_compile_definitions(tbb PRIVATE __TBB_WEAK_SYMBOLS_PRESENT=0)
target_compile_options(tbb PRIVATE -U__TBB_USE_ITT_NOTIFY)
if(WIN32)
  target_compile_definitions(tbb PRIVATE __TBB_DYNAMIC_LOAD_ENABLED=0)
  # Resources, of a shared library only.
  set_property(SOURCE ${onetbb_SOURCE_DIR}/src/tbb/tbb.rc TARGET_DIRECTORY tbb PROPERTY HEADER_FILE_ONLY ON)
endif()

# zlib's own build changes its sources.
file(GLOB zlib ${zlib_SOURCE_DIR}/*.c)
list(FILTER zlib EXCLUDE REGEX "/gz[^/]*$")  # reading and writing of .gz files
add_library(zlib STATIC ${zlib})
target_include_directories(zlib SYSTEM PUBLIC ${zlib_SOURCE_DIR})
if(WIN32)
  target_compile_definitions(zlib PUBLIC Z_HAVE_UNISTD_H)  # for lengths of 64 bits
else()
  target_compile_definitions(zlib PRIVATE HAVE_HIDDEN)
endif()
target_compile_options(zlib PRIVATE -w)

# ISA-L 2.30 inflates on little-endian machines only.
function(replace_in_isal file from to)
  file(READ ${isal_SOURCE_DIR}/${file} text)
  string(REPLACE "${from}" "${to}" text "${text}")
  file(CONFIGURE OUTPUT ${isal_SOURCE_DIR}/${file} CONTENT "${text}" @ONLY)
endfunction()
if(CMAKE_CXX_BYTE_ORDER STREQUAL BIG_ENDIAN)
  replace_in_isal(include/unaligned.h "#include \"string.h\"" [[
static inline void copy_reversed(void *to, const void *from, int size) {
	const uint8_t *byte = from;
	while (size-- > 0)
		((uint8_t *) to)[size] = *byte++;
}

static inline void store_low_bytes(uint8_t *to, uint64_t value, int size) {
	for (; size > 0; size--, value >>= 8)
		*to++ = value;
}]])
  replace_in_isal(include/unaligned.h "memcpy(" "copy_reversed(")
  replace_in_isal(igzip/igzip_inflate.c "memcpy(state->next_out, &state->read_in,"
    "store_low_bytes(state->next_out, state->read_in,")
  replace_in_isal(igzip/huff_codes.h "uint32_t code_and_extra:24;\n                        uint32_t length2:8;"
    "uint32_t length2:8;\n                        uint32_t code_and_extra:24;")
  replace_in_isal(igzip/huff_codes.h "uint16_t code;\n\t\t\tuint8_t extra_bit_count;\n\t\t\tuint8_t length;"
    "uint8_t length;\n\t\t\tuint8_t extra_bit_count;\n\t\t\tuint16_t code;")
endif()

# ISA-L's own build needs autoconf. igzip inflates with the assembler code; the rest is what its files refer to.
set(crc crc_base)
set(igzip adler32_base encode_df flatten_ll huff_codes hufftables_c igzip igzip_base igzip_icf_base igzip_icf_body
  igzip_inflate)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  enable_language(ASM_NASM)
  set(crc_asm crc16_t10dif_01 crc16_t10dif_02 crc16_t10dif_by16_10 crc16_t10dif_by4 crc16_t10dif_copy_by4
    crc16_t10dif_copy_by4_02 crc32_gzip_refl_by16_10 crc32_gzip_refl_by8 crc32_gzip_refl_by8_02 crc32_ieee_01
    crc32_ieee_02 crc32_ieee_by16_10 crc32_ieee_by4 crc32_iscsi_00 crc32_iscsi_01 crc32_iscsi_by16_10 crc_multibinary)
  set(igzip_asm adler32_avx2_4 adler32_sse encode_df_04 encode_df_06 igzip_body igzip_decode_block_stateless_01
    igzip_decode_block_stateless_04 igzip_deflate_hash igzip_finish igzip_gen_icf_map_lh1_04 igzip_gen_icf_map_lh1_06
    igzip_icf_body_h1_gr_bt igzip_icf_finish igzip_inflate_multibinary igzip_multibinary igzip_set_long_icf_fg_04
    igzip_set_long_icf_fg_06 igzip_update_histogram_01 igzip_update_histogram_04 proc_heap rfc1951_lookup)
else()
  list(APPEND crc crc_base_aliases)
  list(APPEND igzip igzip_base_aliases proc_heap_base)
endif()
foreach(folder IN ITEMS crc igzip)
  list(TRANSFORM ${folder} REPLACE ".+" ${isal_SOURCE_DIR}/${folder}/\\0.c)
  list(TRANSFORM ${folder}_asm REPLACE ".+" ${isal_SOURCE_DIR}/${folder}/\\0.asm)
endforeach()
add_library(isal STATIC ${crc} ${crc_asm} ${igzip} ${igzip_asm})
target_include_directories(isal SYSTEM PUBLIC ${isal_SOURCE_DIR}/include PRIVATE ${isal_SOURCE_DIR}/igzip)
target_compile_definitions(isal PRIVATE AS_FEATURE_LEVEL=10 HAVE_AS_KNOWS_AVX512 PIC)
target_compile_options(isal PRIVATE $<$<COMPILE_LANGUAGE:C>:-w>)
file(CONFIGURE OUTPUT isal/isa-l.h CONTENT "#include <crc.h>\n#include <igzip_lib.h>\n")
target_include_directories(isal PUBLIC ${CMAKE_CURRENT_BINARY_DIR}/isal)

set(npz_definitions CLIPPER_NPZ_IS_LINKED CLIPPER_LIBISAL="ISA-L" CLIPPER_LIBZ="zlib")
set(npz_libraries isal zlib)

# Stripped, because the whole file counts for RLIMIT_AS.
set(static_program_options -static-pie -s)
if(WIN32)
  set(static_program_options -static -s)
  link_libraries(advapi32 ntdll shell32)
endif()
if(NOT CMAKE_CROSSCOMPILING)  # zig refuses these, and links a program that is static, but not position-independent
  list(APPEND static_program_options LINKER:-z,noseparate-code LINKER:-z,pack-relative-relocs)
endif()
