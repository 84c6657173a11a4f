#pragma once

#include <nanobind/nanobind.h>

namespace clipper::python {

/// Adds the functions for files, and those that compare and describe arrays. The functions of the package
/// clipper, whose arguments by name are the last one, give them names, defaults and documentation.
void add_file_functions(nanobind::module_& module);

}  // namespace clipper::python
