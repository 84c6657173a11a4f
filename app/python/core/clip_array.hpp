#pragma once

#include "python/core/arguments.hpp"

namespace clipper::python {

/// clipper.clip() of Python.
[[nodiscard]] nb::object clip_array(nb::handle x, const RequestArguments& arguments, nb::handle out,
                                    nb::handle dtype, nb::handle threads);

}  // namespace clipper::python
