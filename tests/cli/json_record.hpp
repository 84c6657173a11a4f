#pragma once

#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace clipper::testing {

/// Appends what a command with --json printed to the file $CLIPPER_JSON-HASH, which json_output.py validates.
/// ctest sets CLIPPER_JSON for each file of tests. HASH distinguishes builds that are tested at the same
/// time. The first record of a process replaces the records of an earlier run.
inline void record_json(const std::vector<std::string>& words, const Result& result) {
  const char* const prefix = std::getenv("CLIPPER_JSON");
  if (prefix == nullptr || result.signal != 0) return;
  if (std::find(words.begin(), words.end(), "--json") == words.end()) return;
  static std::ofstream file = [&] {
    std::filesystem::create_directories(std::filesystem::path(prefix).parent_path());
    return std::ofstream(prefix + ("-" + std::to_string(std::hash<std::string>()(words.front()))));
  }();
  const bool is_tensor = result.output.starts_with('\x93');
  const nlohmann::json record{
      {"words", words}, {"output", is_tensor ? "" : result.output}, {"error", result.error}};
  file << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  REQUIRE(file.good());
}

}  // namespace clipper::testing
