#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace clipper {

/// How far the work is.
struct Extent {
  std::uint64_t bytes = 0;      ///< of finished elements
  std::uint64_t all_bytes = 0;  ///< 0: unknown
  std::size_t files = 0;        ///< finished
  std::size_t all_files = 1;
};

/// "[#########           ]  45 %  3 of 12 files  1.8 of 4.0 GiB   850 MiB/s    3 s left", without the files
/// if there is only one. Never longer than `columns`: the bar shrinks first, then whole facts are left out,
/// in this order: bar, rate, files, bytes, time left, percentage.
[[nodiscard]] std::string progress_text(const Extent& extent, double seconds, std::size_t columns);

/// The same facts as a line of a log: "clipper:  45 %  1.8 of 4.0 GiB   850 MiB/s    3 s left\n". If the
/// work has ended, the time it took takes the place of the time left: "in 5 s".
[[nodiscard]] std::string progress_line(const Extent& extent, double seconds, bool ended);

}  // namespace clipper
