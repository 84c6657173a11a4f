#pragma once

#include "console/json.hpp"
#include "contract/broadcast.hpp"

namespace clipper {

/// The object `array` of data/clipper.schema.json: {"file": "lo.npy", "shape": [3, 1, 1]}.
[[nodiscard]] Json array_json(const ArrayParameter& parameter);

}  // namespace clipper
