#include "console/array_json.hpp"

namespace clipper {

Json array_json(const ArrayParameter& parameter) {
  Json json = Json::object();
  json.add_name("file", std::string_view(parameter.text).substr(1));
  json.add("shape", parameter.array->layout().shape);
  return json;
}

}  // namespace clipper
