#include "clip/one_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "error.hpp"
#include "files/place.hpp"

namespace clipper {

void expect_one_place(const Job& job) {
  const Place in = Place::resolved(job.input);
  const auto status = in.status();
  if (status && status->st_nlink == 1 && !in.is_same_place(Place::resolved(*job.output)))
    refuse(job.input, fmt::format("is {}, too, by a mount, and would be replaced under one of the names only",
                                  *job.output));
}

void expect_other_file(const InputFile& input, const OutputFile& output) {
  struct stat status {};
  if (::fstat(output.descriptor().get(), &status) != 0)
    throw_system_error(output.path(), "cannot be examined");
  if (S_ISREG(status.st_mode) && id_of(status) == id_of(input.status()))
    refuse(input.path(), fmt::format("is {}, too", output.path()));
}

}  // namespace clipper
