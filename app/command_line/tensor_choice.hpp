#pragma once

#include <optional>
#include <vector>

#include "element/type_choice.hpp"
#include "files/container.hpp"
#include "files/input_file.hpp"
#include "files/name_choice.hpp"

namespace clipper {

/// The tensors of files and archives that --member, --exclude-member and --only choose, for commands that
/// only read. A clip has Selection.
struct TensorChoice {
  NameChoice members;
  std::optional<TypeChoice> only;

  [[nodiscard]] bool takes_all() const;

  /// For each member whether it is chosen. A member that cannot be read is, so that its error is reported.
  [[nodiscard]] std::vector<bool> of(const Container& archive, const npy::GivenDType& dtype) const;

  /// Whether a file of one tensor is chosen. `is_named`: by its name on the command line.
  [[nodiscard]] bool has(InputFile& input, const npy::GivenDType& dtype, bool is_named) const;
};

}  // namespace clipper
