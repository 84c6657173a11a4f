#pragma once

#include <string_view>
#include <vector>

#include "python/core/array.hpp"
#include "python/core/given.hpp"

/// The arguments of a call as a Request.
namespace clipper::python {

/// The arguments of clip(), clip_file() and clip_in_place() that make the request. Borrowed.
struct RequestArguments {
  nb::handle min = Py_None;
  nb::handle max = Py_None;
  nb::handle scale = Py_None;
  nb::handle bias = Py_None;
  nb::handle profile = Py_None;
  nb::handle nan = Py_None;
  nb::handle min_above_max = Py_None;
  nb::handle replace_below = Py_None;
  nb::handle replace_above = Py_None;
  nb::handle round = Py_None;
  nb::handle zero_point = Py_None;
  nb::handle to = Py_None;
  nb::handle saturate = Py_False;

  /// Whether one of the arguments that act after the clip is given.
  [[nodiscard]] bool act_after_clip() const {
    return !to.is_none() || !round.is_none() || !zero_point.is_none() || !replace_below.is_none() ||
           !replace_above.is_none() || !saturate.is(Py_False);
  }
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
