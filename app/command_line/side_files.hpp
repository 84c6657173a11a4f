#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/shared_options.hpp"
#include "contract/profile.hpp"
#include "formats/formats.hpp"

/// What a run reads, and what it writes besides its results.
namespace clipper {

/// The files that a run reads besides its inputs: those of options, masks, and those behind all of them, see
/// files_behind(), each once.
class FilesRead {
 public:
  FilesRead(const Request& request, const Reading& reading, std::vector<ReadFile> of_options);

  void add_behind(const std::string& input) { add_behind(reading_, input, input); }
  void add_masks(const std::string& input);  ///< if each input has its own

  [[nodiscard]] const std::vector<ReadFile>& all() const noexcept { return files_; }

 private:
  void add_behind(const Reading& how, const std::string& reader, const std::string& path);

  const Request& request_;
  const Reading& reading_;
  std::vector<ReadFile> files_;
  std::set<std::string> behind_;
};

struct SideFile {
  std::string_view option;
  std::string path;
};

/// The files that options such as --report ask for, and that of --log-file, which is open already: a refusal
/// that is about it takes it back first, because it would be written there.
class SideFiles {
 public:
  /// Error{usage} if two are one file.
  explicit SideFiles(const std::vector<SideFile>& files);

  [[nodiscard]] bool empty() const noexcept { return files_.empty(); }

  /// Error{usage} if one of them is this file, of FILE:MEMBER the archive. `role` says what the run does with
  /// it: "read by --min".
  void expect_other_than(const std::string& path, std::string_view role) const;
  void expect_other_than(const std::vector<ReadFile>& files) const;

 private:
  std::vector<SideFile> files_;  ///< a pipe or a device keeps what it has: none is here
};

}  // namespace clipper
