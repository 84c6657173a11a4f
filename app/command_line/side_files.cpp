#include "command_line/side_files.hpp"

#include <fmt/format.h>

#include <utility>

#include "command_line/input_names.hpp"
#include "console/diagnostics.hpp"
#include "files/place.hpp"
#include "formats/container.hpp"
#include "os/os.hpp"

namespace clipper {

FilesRead::FilesRead(const Request& request, const Reading& reading, std::vector<ReadFile> of_options)
    : request_(request), reading_(reading), files_(std::move(of_options)) {
  Reading of_option = reading;
  of_option.raw_if_needed = true;
  for (const ReadFile& file : std::vector(files_)) add_behind(of_option, file.reader, file.path);
}

void FilesRead::add_behind(const Reading& how, const std::string& reader, const std::string& path) {
  for (std::string& behind : files_behind(how, path))
    if (behind_.insert(behind).second) files_.push_back({reader, std::move(behind)});
}

void FilesRead::add_masks(const std::string& input) {
  for_each_stage(request_, [&](const Request& stage) {
    if (is_mask_of_each(stage.mask)) files_.push_back({"--mask", mask_of(*stage.mask, input)});
  });
}

SideFiles::SideFiles(const std::vector<SideFile>& files) {
  const auto add = [&](const SideFile& file) {
    os::Status status{};
    if (os::stat(file.path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return;
    expect_other_than(file.path, fmt::format("written by {}", file.option));
    files_.push_back(file);
  };
  if (!log_path().empty()) add({long_name(kLogFile), log_path()});
  for (const SideFile& file : files) add(file);
}

void SideFiles::expect_other_than(const std::string& path, std::string_view role) const {
  if (files_.empty()) return;
  const std::optional<MemberPath> member = member_path(path);
  const std::string& other = member ? member->archive : path;
  for (const SideFile& file : files_) {
    if (file.path != other && !is_same_target(file.path, other)) continue;
    if (file.option == long_name(kLogFile)) take_log_back();
    refuse(fmt::format("{}: is also {}", file.path, role));
  }
}

void SideFiles::expect_other_than(const std::vector<ReadFile>& files) const {
  for (const ReadFile& file : files) expect_other_than(file.path, "read by " + file.reader);
}

}  // namespace clipper
