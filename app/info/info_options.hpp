#pragma once

#include <optional>
#include <string>
#include <vector>

#include "console/progress.hpp"
#include "contract/plan.hpp"
#include "element/dtype.hpp"
#include "engine/engine.hpp"

namespace clipper {

class RawOptions;
struct CommandSpec;

/// `clipper info` as it was typed, understood but not yet compared with any file.
struct InfoCommand {
  std::vector<std::string> inputs;
  bool statistics = false;
  bool json = false;
  Request bounds;
  std::optional<DType> dtype;
  bool ignore_trailing = false;
  Engine::Options engine;
  Progress::When progress = Progress::When::never;  ///< only elements take time
};

extern const CommandSpec kInfoSpec;

/// The command that was typed. Throws Error{usage}.
[[nodiscard]] InfoCommand validate_info(const RawOptions& raw);

}  // namespace clipper
