#pragma once

#include "clip/jobs.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"

/// Where two names of one file would harm it. Each is Error{refused}.
namespace clipper {

/// IN is OUT. A file that is mounted at OUT cannot be replaced there by a new one in IN's directory.
void expect_one_place(const Job& job);

/// A shell's `clipper IN - >>IN` would write into the file that is read.
void expect_other_file(const InputFile& input, const OutputFile& output);

}  // namespace clipper
