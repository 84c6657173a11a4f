#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "formats/formats.hpp"

namespace clipper {

/// Reads a parameter from an .npy file; messages quote it as "@PATH". The only element of a file becomes a
/// number. Any other number of elements becomes an array: a small one is held in memory, a large one is read
/// while it is used. Error{usage} for an array in a stream; other errors are those of InputFile.
/// `how` says how files are laid out that do not say it: a raw file has its shape or, if the size does not
/// fit that, one axis with all elements. Elements of bool are those of uint8.
[[nodiscard]] Parameter read_parameter(const std::string& path, Reading how = {},
                                       npy::Types types = npy::Types::dtypes);

/// The file that read_parameter() has read the parameter from; "" for others.
[[nodiscard]] std::string parameter_path(const std::optional<Parameter>& given);

/// A parameter from elements in memory. They are not copied and must outlive the result.
[[nodiscard]] Parameter parameter_in_memory(const TensorLayout& layout, const std::byte* elements);

/// A parameter from elements that were calculated, in this machine's byte order; messages quote `text`.
/// `lost`: see ParameterArray::lost().
[[nodiscard]] Parameter parameter_found(std::string text, const TensorLayout& layout,
                                        std::vector<std::byte> elements, std::vector<std::uint8_t> lost = {});

}  // namespace clipper
