#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "shards/shard.hpp"

/// Where the results of a command go: the command line makes one of these, and run_clip() visits it.
namespace clipper {

/// The only input's result is a file; "-" is standard output.
struct ToFile {
  std::string path;
};

/// Each input keeps its path from a directory: see write_below().
struct IntoDirectory {
  std::string path;
  std::optional<std::string> relative_to;
};

/// Outputs are named as by write_named().
struct ByTemplate {
  std::string text;
};

/// Every input is replaced by its result.
struct InPlace {};

/// Every input's elements are overwritten, without a second file.
struct Direct {};

/// The only input's result is one process's part of a file, which waits for Finalize.
struct PartOf {
  std::string path;
  Shard shard;
};

/// The only input's result is a slab, a file beside `path`.
struct SlabOf {
  std::string path;
  Shard shard;
};

/// The only input's result is compared with a file, which is written if it is different and `updates`.
struct Verify {
  std::string golden;
  bool updates = false;
};

/// What shards have written becomes the file; of as many shards as OUT.shards says if `shards` is 0.
struct Finalize {
  std::string path;
  std::uint64_t shards = 0;
};

using Destination =
    std::variant<ToFile, IntoDirectory, ByTemplate, InPlace, Direct, PartOf, SlabOf, Verify, Finalize>;

}  // namespace clipper
