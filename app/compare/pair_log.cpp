#include "compare/pair_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "command_line/command_line.hpp"
#include "console/error_line.hpp"
#include "error.hpp"

namespace clipper {

PairLog::PairLog(const PairOutput& output, std::string name, Progress& progress)
    : output_(output),
      progress_(progress),
      paint_(paint_for(STDOUT_FILENO)),
      reports_(output.reports, std::move(name), progress) {}

void PairLog::attempt(PairReport& report, const std::function<Outcome()>& work) {
  try {
    if (work() == Outcome::in_members) return;
  } catch (const Unprintable&) {  // of a member
    throw;
  } catch (...) {
    report.failed = explained(std::current_exception());
    report.result = PairResult::failed;
    progress_.print(stderr, line_of(*report.failed));
  }
  ++counts_.at(static_cast<std::size_t>(report.result));
  status_ = std::max(status_, report.status());
  reports_.add(report);
  if (output_.json)
    print(as_json(report));
  else if (!output_.quiet && !report.failed && (output_.verbose || report.status() != 0))
    print(as_text(report, output_.shown, paint_));
}

int PairLog::end(bool several) {
  if (several && output_.json)
    print(as_json(counts_, status_));
  else if (several && !output_.quiet)
    print(as_text(counts_));
  try {
    reports_.end(counts_);
  } catch (const Error& error) {
    if (!has_written()) throw;
    throw Error(ErrorKind::not_durable, error.message());
  }
  return status_;
}

bool PairLog::has_written() const {
  return counts_.at(static_cast<std::size_t>(PairResult::created)) +
             counts_.at(static_cast<std::size_t>(PairResult::updated)) !=
         0;
}

/// A caller that takes Error{io} for "nothing was done" would do the next step with the old golden files.
void PairLog::print(const std::string& text) {
  if (!progress_.print(stdout, text)) fail_to_print(has_written() ? ErrorKind::not_durable : ErrorKind::io);
}

}  // namespace clipper
