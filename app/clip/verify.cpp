#include "clip/verify.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "clip/clip_command.hpp"
#include "clip/clip_report.hpp"
#include "command_line/command_line.hpp"
#include "compare/compare_files.hpp"
#include "compare/compare_report.hpp"
#include "console/color.hpp"
#include "console/error_line.hpp"
#include "console/progress.hpp"
#include "console/terminal.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/place.hpp"
#include "flows/archive_rules.hpp"
#include "flows/file_clip.hpp"

namespace clipper {
namespace {

InputFile open(const Command& command, const Verify& to, const std::string& path) {
  if (to.updates && path == "-")
    throw Error(ErrorKind::usage, "--update-golden: standard input cannot be IN or GOLDEN; use files");
  InputFile file = to.updates ? InputFile::open_regular(path) : InputFile::open(path);
  expect_tensor(file, {"verify", "--verify"});
  if (command.settings.ignore_trailing) file.ignore_trailing();
  return file;
}

void expect_file_to_update(const std::string& golden) {
  if (member_path(golden))
    throw Error(ErrorKind::usage,
                fmt::format("--update-golden: {} is a member of an archive; use a .npy file", golden));
}

bool is_missing(const std::string& path) {
  return path != "-" && !member_path(path) && !Place::of(path).status();
}

void compare_with_golden(const Command& command, const Verify& to, PairReport& report) {
  if (to.updates) expect_file_to_update(to.golden);
  InputFile input = open(command, to, report.actual);
  Engine engine(command.engine);
  const Plan plan = read_plan(engine, command.settings, input);
  report.notes = notes_on(plan);
  if (to.updates && is_missing(report.expected)) {
    report.reason = fmt::format("{} is missing", report.expected);
  } else {
    InputFile golden = open(command, to, report.expected);
    report.layout = read_header(golden, command.settings.dtype).layout();
    report.reason = difference_as_whole(plan.output, report.layout);
    if (report.reason.empty()) {
      const Progress progress(command.progress, [&] { return Extent{engine.done(), plan.input_size()}; });
      report.comparison = verify_result(engine, plan, input, {golden, report.layout});
    }
  }
  if (!report.reason.empty() || report.comparison.mismatches != 0) report.result = PairResult::different;
}

void write_golden(const Command& command, const std::string& path) {
  if (is_same_file(command.inputs.front(), path))
    throw Error(ErrorKind::usage, fmt::format("--update-golden: {} and IN are the same file", path));
  const bool exists = !is_missing(path);
  Command writing = command;
  writing.json = false;
  writing.settings.counting = command.verbose;
  static_cast<void>(clip_files(writing, way_to(ToFile{path})));  // 0: without --keep-going, it throws
  if (!command.quiet)
    std::fputs(
        fmt::format("clipper: {}: {}\n", escape_for_terminal(path), exists ? "updated" : "created").c_str(),
        stderr);
}

}  // namespace

int verify(const Command& command, const Verify& to) {
  PairReport report;
  report.actual = command.inputs.front();
  report.expected = to.golden;
  report.compared = Compared::bits;
  try {
    compare_with_golden(command, to, report);
    if (report.status() != 0 && to.updates) {
      write_golden(command, to.golden);  // prints the notes, too
      report.result = PairResult::updated;
    } else if (!command.quiet) {
      for (const std::string& line : report.notes) std::fputs(warning_line(line).c_str(), stderr);
    }
  } catch (...) {
    if (!command.json) throw;
    report.failed = explained(std::current_exception());
    report.result = PairResult::failed;
    print(as_json(report));
    throw Reported(*report.failed);
  }
  if (command.json)
    print(as_json(report));
  else if (!command.quiet && (command.verbose || report.status() != 0))
    print(as_text(report, 0, paint_for(STDOUT_FILENO)));
  return report.status();
}

}  // namespace clipper
