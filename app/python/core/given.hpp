#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "python/core/array.hpp"

/// Python objects as numbers, arrays and files of a Request. `field` is the name of the argument.
namespace clipper::python {

/// The name of the argument in a message.
[[nodiscard]] Message argument(std::string_view field);

/// Throws a TypeError: `field` must be what is expected, not an object of this type.
[[noreturn]] void refuse_type(std::string_view field, nb::handle object, std::string_view expected);

/// Throws Error{usage}: the word is none of these, nor what `others` adds to them. Names the one that was
/// meant.
[[noreturn]] void refuse_word(std::string_view field, std::string_view word,
                              std::span<const std::string_view> words, std::string_view others = "");

/// A parameter, or nothing for None. An array is held in `arrays`. Error{usage}, TypeError, or the errors of
/// from_file().
[[nodiscard]] std::optional<Given> given_of(std::string_view field, nb::handle object,
                                            std::vector<Array>& arrays);

/// A scale is also clipper.reciprocal(s), or text: "1/0.05", "1/@s.npy".
[[nodiscard]] std::optional<Given> scale_of(nb::handle object, std::vector<Array>& arrays);

/// An exact number: int of any size, float, str, numpy's scalars. Error{usage} or TypeError that name
/// `field`.
[[nodiscard]] Given number_of_argument(std::string_view field, nb::handle number);

/// Whether C++ code takes the parameter as it is: a number of Python or numpy, text, or an array of this
/// dtype, or of any without `dtype`.
[[nodiscard]] bool is_plain(nb::handle value, std::optional<DType> dtype = std::nullopt);

/// What clipper._parameters.plain() makes of a parameter that is none of these. `dtype` is numpy's, or None.
[[nodiscard]] nb::object plain(std::string_view field, nb::handle value, nb::handle dtype);

/// A str or os.PathLike.
[[nodiscard]] std::string path_of(nb::handle path);

/// The characters of a str, which must outlive the result.
[[nodiscard]] std::string_view characters_of(nb::handle text);

}  // namespace clipper::python
