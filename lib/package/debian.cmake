# cpack makes the Debian packages. dpkg-shlibdeps finds the libraries that program and library depend on.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The clipper maintainers <maintainers@clipper.invalid>")
set(CPACK_COMPONENTS_ALL program development)
if(TARGET clipper_shared)
  list(APPEND CPACK_COMPONENTS_ALL library)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
cmake_host_system_information(RESULT debian QUERY DISTRIB_VERSION_ID)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~debian${debian})  # packages for several releases have different names
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
list(JOIN npz_packages ", " CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS ${CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS})
list(PREPEND npz_packages libtbb-dev)
if(TARGET clipper_shared)
  list(PREPEND npz_packages "libclipper-npy0.1 (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
endif()
list(JOIN npz_packages ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME clipper-npy)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "Elements below min become min, elements above max become max; all others
keep their exact bits. The result is byte for byte that of numpy, DirectML,
ONNX Clip or OpenVINO Clamp.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libclipper-npy-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "The static library, the headers for C++ and C, and files for CMake and pkg-config.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libclipper-npy0.1)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # what packages of programs that use the library depend on
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY >=)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
  "The shared library: programs in C, C++ and other languages clip, compare and\ndescribe tensors with it.")
include(CPack)
