#pragma once

#include "python/core/arguments.hpp"

namespace clipper::python {

/// clipper.clip() of Python.
[[nodiscard]] nb::object clip_array(nb::handle x, nb::handle min, nb::handle max, nb::handle scale,
                                    nb::handle bias, nb::handle profile, nb::handle nan,
                                    nb::handle min_above_max, nb::handle out, nb::handle dtype,
                                    nb::handle threads);

}  // namespace clipper::python
