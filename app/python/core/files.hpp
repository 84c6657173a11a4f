#pragma once

#include "python/core/numpy_api.hpp"

namespace clipper::python {

/// Adds the functions for files. Those of the package clipper give them names, defaults and documentation.
void add_file_functions(nanobind::module_& module);

}  // namespace clipper::python
