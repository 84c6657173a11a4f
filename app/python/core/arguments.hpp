#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "python/core/array.hpp"

/// Python objects as the parameters of a Request.
namespace clipper::python {

/// The arguments of clip(), clip_file() and clip_in_place() that make the request. Borrowed.
struct RequestArguments {
  nb::handle min, max, scale, bias, profile, nan, min_above_max;
};

/// A request, and the arrays that it uses.
struct HeldRequest {
  Request request;
  std::vector<Array> arrays;
};

/// Error{usage}, TypeError, or the errors of from_file().
[[nodiscard]] HeldRequest request_of(const RequestArguments& arguments);

/// The words of the arguments; Error{usage} for others.
[[nodiscard]] const Profile* profile_of(nb::handle profile);
[[nodiscard]] std::optional<MinAboveMax> min_above_max_of(nb::handle word);
[[nodiscard]] std::optional<OnNan::Action> nan_word_of(nb::handle nan);
[[nodiscard]] std::optional<DType> dtype_of_argument(nb::handle dtype);

/// A number of threads, 0 or more. Error{usage} or TypeError.
[[nodiscard]] unsigned threads_of(nb::handle threads);

/// An exact number: int of any size, float, str, numpy's scalars. Error{usage} or TypeError that name
/// `field`.
[[nodiscard]] Given number_of_argument(std::string_view field, nb::handle number);

/// A str or os.PathLike.
[[nodiscard]] std::string path_of(nb::handle path);

/// The characters of a str, which must outlive the result.
[[nodiscard]] std::string_view characters_of(nb::handle text);

}  // namespace clipper::python
