# clipper::clipper is libclipper.so if that is installed, and libclipper.a if not, or with set(clipper_USE_STATIC_LIBS ON).
include(CMakeFindDependencyMacro)
find_dependency(TBB)  # of the static library
include(${CMAKE_CURRENT_LIST_DIR}/clipper-targets.cmake)
if(NOT TARGET clipper::clipper)
  if(TARGET clipper::shared AND NOT clipper_USE_STATIC_LIBS)
    add_library(clipper::clipper ALIAS clipper::shared)
  else()
    add_library(clipper::clipper ALIAS clipper::static)
  endif()
endif()
