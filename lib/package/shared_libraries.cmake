find_package(TBB REQUIRED)
include(CheckLinkerFlag)

# get_soname(FILE VARIABLE): sets VARIABLE to the SONAME of the shared library FILE, or to nothing.
function(get_soname file variable)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${file} OUTPUT_VARIABLE headers ERROR_QUIET)
  string(REGEX MATCH "SONAME +([^ \n]+)" soname "${headers}")
  set(${variable} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

# To load libstdc++, libgcc_s and libtbb takes as long as half of cp. So the program has the C++ runtime inside, and loads
# oneTBB when it needs threads: loaded_tbb.cpp, which knows the functions of one version on 64-bit systems.
if(CLIPPER_PROGRAM AND TBB_VERSION VERSION_EQUAL 2021.8 AND CMAKE_SIZEOF_VOID_P EQUAL 8
    AND NOT CLIPPER_SANITIZE AND NOT CLIPPER_FUZZ)
  check_linker_flag(CXX -static-libstdc++ CLIPPER_HAS_STATIC_LIBSTDCXX)
  check_linker_flag(CXX LINKER:--export-dynamic-symbol=main CLIPPER_EXPORTS_SYMBOLS)
  get_target_property(tbb_configuration TBB::tbb IMPORTED_CONFIGURATIONS)
  list(GET tbb_configuration 0 tbb_configuration)
  get_target_property(tbb_file TBB::tbb IMPORTED_LOCATION_${tbb_configuration})
  get_soname(${tbb_file} tbb_soname)
endif()
if(CLIPPER_HAS_STATIC_LIBSTDCXX AND CLIPPER_EXPORTS_SYMBOLS AND tbb_soname)
  set(program_sources lib/package/loaded_tbb.cpp)
  set_source_files_properties(lib/package/loaded_tbb.cpp PROPERTIES
    COMPILE_DEFINITIONS CLIPPER_LIBTBB="${tbb_soname}"
    COMPILE_OPTIONS "-fvisibility=hidden;-fno-exceptions;-fno-asynchronous-unwind-tables;-fno-unwind-tables")
  set(program_options -static-libstdc++ -static-libgcc LINKER:--as-needed LINKER:--gc-sections)  # as needed: not libtbb
  # The thread-local data of a library that the program loads is allocated at its first use. Without memory this would
  # end the process without cleaning up, so the libstdc++ that comes with oneTBB gets the program's data.
  foreach(symbol IN ITEMS __cxa_get_globals __cxa_get_globals_fast __once_proxy _ZSt11__once_call _ZSt15__once_callable)
    list(APPEND program_options LINKER:--export-dynamic-symbol=${symbol} LINKER:--undefined=${symbol})
  endforeach()
  set(loaded_sonames ${tbb_soname})
endif()

# The libraries of lib/npz. Only their headers are compiled in: the program loads the libraries, by their SONAMEs, when it
# opens an archive. find_package(libzip) is not used: Debian's libzip-dev has a config file that fails without the
# programs zipcmp, zipmerge and ziptool, which are in other packages.
foreach(row IN ITEMS zip,zip.h isal,isa-l.h z,zlib.h)
  string(REGEX MATCH "(.+),(.+)" row ${row})
  set(name ${CMAKE_MATCH_1})
  find_path(CLIPPER_${name}_INCLUDE ${CMAKE_MATCH_2})
  find_library(CLIPPER_${name}_LIBRARY ${name})
  mark_as_advanced(CLIPPER_${name}_INCLUDE CLIPPER_${name}_LIBRARY)
  set(soname)
  if(CLIPPER_${name}_INCLUDE AND CLIPPER_${name}_LIBRARY)
    get_soname(${CLIPPER_${name}_LIBRARY} soname)
  endif()
  if(soname)
    string(TOUPPER ${name} upper)
    list(APPEND npz_definitions CLIPPER_LIB${upper}="${soname}")
    list(APPEND npz_includes ${CLIPPER_${name}_INCLUDE})
    list(APPEND loaded_sonames ${soname})
  else()
    list(APPEND npz_missing lib${name})
  endif()
endforeach()
set(npz_libraries ${CMAKE_DL_LIBS})
set(npz_other_way linked_library)
