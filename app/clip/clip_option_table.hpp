#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace clipper {

/// What CLI11 fills. All values are text: it would read 010 as octal and nothing as 0.
struct Typed {
  std::vector<std::string> files;
  std::string output;
  std::string output_dir;
  std::string relative_to;
  std::string files_from;
  std::string files0_from;
  std::string fail_if_clipped;
  std::string shard;
  std::string verify;
  std::string min;
  std::string max;
  std::string scale;
  std::string bias;
  std::string nan;
  std::string profile;
  std::string min_above_max;
  std::string dtype;
  std::string trailing;
  std::string threads;
  std::string chunk_size;
  std::string simd;
  bool in_place = false;
  bool direct = false;
  bool sync = false;
  bool update_golden = false;
  bool no_clobber = false;
  bool keep_going = false;
  bool dry_run = false;
  bool split_output = false;
  bool finalize = false;
  bool json = false;
  bool progress = false;
  bool no_progress = false;
  bool verbose = false;
  bool quiet = false;
};

/// The command that clips, as its users type it: options, help, examples. `typed` outlives the App.
void add_options(CLI::App& app, Typed& typed);

}  // namespace clipper
