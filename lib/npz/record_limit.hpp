#pragma once

#include <cstddef>
#include <string_view>

#include "npz/extra_fields.hpp"
#include "npz/refuse.hpp"

namespace clipper::npz {

/// Limits the memory for the local headers, or for the list of members. 400,000 members of np.savez with
/// names of 25 characters fit.
class RecordLimit {
 public:
  /// Error{input} if all records together are too long, or have too many extra fields, for each
  /// of which some programs allocate memory.
  void add(std::string_view record, std::string_view extras) {
    bytes_ += record.size();
    fields_ += count_extra_fields(extras);
    if (bytes_ > kMaxBytes || fields_ > kMaxFields) refuse("the headers of the members are too long");
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20U;
  static constexpr std::size_t kMaxFields = std::size_t{1} << 20U;

  std::size_t bytes_ = 0;
  std::size_t fields_ = 0;
};

}  // namespace clipper::npz
