#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "python/core/array.hpp"

/// Python objects as a Request. `field` is the name of the argument.
namespace clipper::python {

/// The name of the argument in a message.
[[nodiscard]] Message argument(std::string_view field);

/// Throws a TypeError: `field` must be what is expected, not an object of this type.
[[noreturn]] void refuse_type(std::string_view field, nb::handle object, std::string_view expected);

/// Throws Error{usage}: the word is none of these, nor what `others` adds to them. Names the one that was
/// meant.
[[noreturn]] void refuse_word(std::string_view field, std::string_view word,
                              std::span<const std::string_view> words, std::string_view others = "");

/// An exact number: int of any size, float, str, numpy's scalars; "@lo.npy" is read as a file of `files`.
/// Error{usage} or TypeError that name `field`.
[[nodiscard]] Given number_of_argument(std::string_view field, nb::handle number,
                                       const FileOptions& files = {});

/// Whether C++ code takes the parameter as it is: a number of Python or numpy, text, or an array of this
/// dtype, or of any without `dtype`.
[[nodiscard]] bool is_plain(nb::handle value, std::optional<DType> dtype = std::nullopt);

/// What clipper._parameters.plain() makes of a parameter that is none of these. `dtype` is numpy's, or None.
[[nodiscard]] nb::object plain(std::string_view field, nb::handle value, nb::handle dtype);

/// A str or os.PathLike.
[[nodiscard]] std::string path_of(nb::handle path);

/// The characters of a str, which must outlive the result.
[[nodiscard]] std::string_view characters_of(nb::handle text);

/// The arguments of clip(), clip_file() and clip_in_place() that make the request. Borrowed.
struct RequestArguments {
  nb::handle min = Py_None;
  nb::handle max = Py_None;
  nb::handle scale = Py_None;
  nb::handle bias = Py_None;
  nb::handle profile = Py_None;
  nb::handle nan = Py_None;
  nb::handle min_above_max = Py_None;
  nb::handle nodata = Py_None;
  nb::handle nodata_to = Py_None;
  nb::handle replace_below = Py_None;
  nb::handle replace_above = Py_None;
  nb::handle subtract = Py_None;
  nb::handle divide = Py_None;
  nb::handle stretch = Py_None;
  nb::handle per_axis = Py_None;
  nb::handle round = Py_None;
  nb::handle zero_point = Py_None;
  nb::handle to = Py_None;
  nb::handle saturate = Py_False;

  /// Whether one of the arguments that only profile native has is given.
  [[nodiscard]] bool act_after_clip() const {
    return !to.is_none() || !round.is_none() || !zero_point.is_none() || !replace_below.is_none() ||
           !replace_above.is_none() || !saturate.is(Py_False) || !subtract.is_none() || !divide.is_none() ||
           !stretch.is_none() || !nodata.is_none() || !nodata_to.is_none() || !per_axis.is_none();
  }

  /// Those that may be arrays which broadcast with x.
  [[nodiscard]] std::array<nb::handle, 6> factors_and_bounds() const {
    return {min, max, scale, bias, subtract, divide};
  }
};

/// An argument's name and its place.
struct RequestArgument {
  const char* name;
  nb::handle RequestArguments::*place;
};

/// All of them; clip() takes the first two by position, too.
inline constexpr std::array kRequestArguments{
    RequestArgument{"min", &RequestArguments::min},
    RequestArgument{"max", &RequestArguments::max},
    RequestArgument{"scale", &RequestArguments::scale},
    RequestArgument{"bias", &RequestArguments::bias},
    RequestArgument{"profile", &RequestArguments::profile},
    RequestArgument{"nan", &RequestArguments::nan},
    RequestArgument{"min_above_max", &RequestArguments::min_above_max},
    RequestArgument{"nodata", &RequestArguments::nodata},
    RequestArgument{"nodata_to", &RequestArguments::nodata_to},
    RequestArgument{"replace_below", &RequestArguments::replace_below},
    RequestArgument{"replace_above", &RequestArguments::replace_above},
    RequestArgument{"subtract", &RequestArguments::subtract},
    RequestArgument{"divide", &RequestArguments::divide},
    RequestArgument{"stretch", &RequestArguments::stretch},
    RequestArgument{"per_axis", &RequestArguments::per_axis},
    RequestArgument{"round", &RequestArguments::round},
    RequestArgument{"zero_point", &RequestArguments::zero_point},
    RequestArgument{"to", &RequestArguments::to},
    RequestArgument{"saturate", &RequestArguments::saturate}};

/// A request, the arrays that it uses, and how files as its parameters are read.
struct HeldRequest {
  Request request{};
  std::vector<Array> arrays{};
  FileOptions files{};
};

/// Error{usage}, TypeError, or the errors of from_file().
[[nodiscard]] HeldRequest request_of(const RequestArguments& arguments, FileOptions files = {});

/// The words of the arguments; Error{usage} for others.
[[nodiscard]] const Profile* profile_of(nb::handle profile);
[[nodiscard]] std::optional<MinAboveMax> min_above_max_of(nb::handle word);
[[nodiscard]] std::optional<OnNan::Action> nan_word_of(nb::handle nan);
[[nodiscard]] std::optional<DType> dtype_of_argument(nb::handle dtype);

/// The dtype that `to` names, which has this machine's byte order. Error{usage} or the TypeError of
/// np.dtype().
[[nodiscard]] std::optional<DType> to_of_argument(nb::handle to);

/// A number of threads, 0 or more. Error{usage} or TypeError.
[[nodiscard]] unsigned threads_of(nb::handle threads);

/// Issues a TruncationWarning if the profile cuts off the fraction of this bound of integers.
void warn_of_fraction(std::string_view field, nb::handle bound, nb::handle profile, DType dtype);

/// Issues a TruncationWarning for a bound that becomes an integer of a float dtype and is another number.
void warn_of_integer(std::string_view field, nb::handle bound, nb::handle profile, DType dtype);

}  // namespace clipper::python
