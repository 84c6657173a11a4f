#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "python/core/arguments.hpp"

namespace clipper::python {

/// Remembers the last requests whose parameters are int, float or arrays of one element, because checking and
/// converting them takes ten times as long as clipping a few elements. Used by one thread at a
/// time: the one that has the GIL.
class PlanCache {
 public:
  /// The prepared request for the arguments and tensors of this type and rank, which is prepared if it is not
  /// known; nothing if a parameter is none of these, or acts after the clip. A copy, because another thread
  /// may replace the entry as soon as it gets the GIL.
  [[nodiscard]] std::optional<PreparedClip> find(const RequestArguments& arguments, PyArrayObject* array,
                                                 const ArrayType& type);

 private:
  static constexpr std::array kRemembered{kMin, kMax, kScale, kBias, kNan};  ///< nan may also be a word

  struct KeyParameter {
    enum class Kind : std::uint8_t { none, integer, real, element };
    Kind kind = Kind::none;
    std::uint64_t bits = 0;
    friend bool operator==(const KeyParameter&, const KeyParameter&) = default;
  };

  struct Key {
    std::array<KeyParameter, kRemembered.size()> parameters;
    const Profile* profile = nullptr;
    ArrayType type{};
    std::uint8_t rank = 0;
    OnNan::Action nan = OnNan::by_profile;
    std::optional<MinAboveMax> min_above_max;
    friend bool operator==(const Key&, const Key&) = default;
  };

  struct Entry {
    Key key;
    std::optional<PreparedClip> prepared;
  };

  [[nodiscard]] static bool read(nb::handle number, const Key& key, KeyParameter& parameter);
  [[nodiscard]] static nb::object as_read(nb::handle number, const KeyParameter& parameter);
  [[nodiscard]] static std::size_t place_of(const Key& key);

  std::array<Entry, 256> entries_;
};

}  // namespace clipper::python
