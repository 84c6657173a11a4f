#include "console/array_json.hpp"

namespace clipper {

Json array_json(const ArrayParameter& parameter) {
  return {{"file", parameter.text.substr(1)}, {"shape", parameter.array->header().shape}};
}

}  // namespace clipper
