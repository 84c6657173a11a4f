#include "compare/compare_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <string_view>

#include "command_line/choices.hpp"
#include "error.hpp"

namespace clipper {
namespace {

constexpr const char* kDescription =
    "Compares two .npy tensors, or those of two directories: every element a of ACTUAL must match its e in\n"
    "EXPECTED. Without a tolerance that is a = e, with one |a - e| <= A + R*|e|. dtype and shape must be\n"
    "the same; byte order, memory order and how the header is written need not be.";

constexpr const char* kFooter = R"(
Examples:
  clipper compare out.npy golden.npy                    prints nothing if they are the same
  clipper compare --atol 1e-6 --rtol 1e-5 out golden    two directories, paired by path
  clipper compare --ulp 2 --show 10 out.npy golden.npy  lists the first ten mismatches
  clipper --max 6 in.npy - | clipper compare - golden.npy

What matches:
  numbers    -0 and 0; floats by float64 arithmetic, integers exactly, R*|e| rounded down
  NaN        NaN, and with --nan differ nothing
  infinity   the same one, with any tolerance
  --ulp      also floats that are at most N steps apart, whatever the tolerance

Exit status:
  0          same
  1          different
  2 or more  trouble, as of clipper; each is a line on standard error
)";

struct Typed {
  std::string actual;
  std::string expected;
  std::string rtol;
  std::string atol;
  std::string ulp;
  std::string nan;
  std::string header;
  std::string max_mismatch;
  std::string show;
  std::string diff_out;
  std::string dtype;
  std::string trailing;
  std::string threads;
  bool bits = false;
  bool bytes = false;
  bool json = false;
  bool verbose = false;
  bool quiet = false;
};

void add_options(CLI::App& app, Typed& typed) {
  app.description(kDescription);
  app.footer(kFooter);
  app.add_option("ACTUAL", typed.actual, "A .npy file, or a directory; - is standard input")->type_name("");
  app.add_option("EXPECTED", typed.expected, "What it is to be, likewise")->type_name("");
  const auto add_value = [&](const char* name, std::string& text, const char* type, const char* help) {
    return app.add_option(name, text, help)->type_name(type);
  };
  CLI::Option* const rtol =
      add_value("--rtol", typed.rtol, "R", "Tolerance relative to EXPECTED (default 0)");
  CLI::Option* const atol = add_value("--atol", typed.atol, "A", "Absolute tolerance (default 0)");
  CLI::Option* const ulp = add_value("--ulp", typed.ulp, "N", "Floats also match within N ulp");
  CLI::Option* const nan =
      add_value("--nan", typed.nan, "WHAT", "NaN and NaN are equal (default), or they differ");
  suggest(*nan, {"equal", "differ"});
  CLI::Option* const header = add_value("--header", typed.header, "WHAT",
                                        "semantic (default), or strict: the headers' bytes must be equal");
  suggest(*header, {"semantic", "strict"});
  CLI::Option* const bits = app.add_flag("--bits", typed.bits, "Elements must have the same bits");
  CLI::Option* const bytes = app.add_flag("--bytes", typed.bytes, "The files must have the same bytes");
  CLI::Option* const diff_out =
      add_value("--diff-out", typed.diff_out, "FILE", "Write |a - e| of all elements to a .npy file");
  for (CLI::Option* const option : {rtol, atol, ulp, nan}) option->excludes(bits)->excludes(bytes);
  bytes->excludes(bits)->excludes(header)->excludes(diff_out);
  add_value("--max-mismatch", typed.max_mismatch, "N|P%",
            "Pass if at most N elements, or P percent of them, do not match");
  add_value("--show", typed.show, "N", "List the first N mismatches");
  CLI::Option* const dtype =
      add_value("--dtype", typed.dtype, "DTYPE", "The dtype; needed for bfloat16 that was saved as |V2");
  suggest(*dtype, dtype_names());
  add_trailing(app, typed.trailing).excludes(bytes);
  add_value("--threads", typed.threads, "N", "At most N threads (default: as many as may run)");
  app.add_flag("--json", typed.json, "As JSON: one object in a line for each pair");
  app.add_flag("-v,--verbose", typed.verbose, "Print a line for those that are the same, too");
  app.add_flag("-q,--quiet", typed.quiet, "Print nothing but errors")
      ->excludes(app.get_option("--json"))
      ->excludes(app.get_option("--verbose"));
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, message);
}

Number parse_tolerance(std::string_view flag, std::string_view text) {
  const std::optional<Number> number = parse_number(text);
  if (!number || number->kind != Number::Kind::finite || (number->negative && !number->digits.empty()) ||
      !std::isfinite(round_to<double>(*number)))
    refuse(fmt::format("{}: '{}' is not a finite number from 0", flag, text));
  return *number;
}

Allowance parse_allowance(std::string_view text) {
  constexpr std::string_view kFlag = "--max-mismatch";
  if (!text.ends_with('%')) return {parse_count(kFlag, text, 0, SIZE_MAX), std::nullopt};
  const std::optional<Percentage> percentage = Percentage::parse(text.substr(0, text.size() - 1));
  if (!percentage) refuse(fmt::format("{}: '{}' is not a percentage from 0% to 100%", kFlag, text));
  return {0, percentage};
}

void understand_rule(const CLI::App& app, const Typed& typed, CompareCommand& command) {
  if (typed.bits) command.compared = Compared::bits;
  if (typed.bytes) command.compared = Compared::bytes;
  command.rule.bits = typed.bits;
  const auto tolerance = [&](const char* flag, const std::string& text) {
    return app.count(flag) > 0 ? parse_tolerance(flag, text) : Number{};
  };
  command.rule.tolerance = {tolerance("--atol", typed.atol), tolerance("--rtol", typed.rtol)};
  if (app.count("--ulp") > 0) command.rule.ulps = parse_count("--ulp", typed.ulp, 0, SIZE_MAX);
  if (app.count("--nan") > 0) command.rule.nan_equal = !parse_choice("--nan", typed.nan, "equal", "differ");
  if (app.count("--header") > 0)
    command.strict_header = parse_choice("--header", typed.header, "semantic", "strict");
  if (app.count("--max-mismatch") > 0) command.allowance = parse_allowance(typed.max_mismatch);
}

CompareCommand understood(const CLI::App& app, const Typed& typed) {
  constexpr std::size_t kMaxShown = 1000;  // every thread keeps as many
  CompareCommand command;
  if (typed.actual.empty()) refuse("ACTUAL is missing (clipper compare --help says more)");
  if (typed.expected.empty()) refuse("EXPECTED is missing (clipper compare --help says more)");
  if (typed.actual == "-" && typed.expected == "-") refuse("standard input cannot be both files");
  command.actual = typed.actual;
  command.expected = typed.expected;
  understand_rule(app, typed, command);
  if (app.count("--show") > 0) command.shown = parse_count("--show", typed.show, 0, kMaxShown);
  command.rule.listed = std::max<std::size_t>(command.shown, 1);
  if (app.count("--diff-out") > 0) command.difference_file = typed.diff_out;
  if (command.difference_file == "") refuse("--diff-out: no file (an empty variable?)");
  if (app.count("--dtype") > 0) command.dtype = parse_dtype(typed.dtype);
  if (app.count("--trailing") > 0) command.ignore_trailing = parse_trailing(typed.trailing);
  if (app.count("--threads") > 0) command.engine.threads = parse_threads(typed.threads);
  command.json = typed.json;
  command.verbose = typed.verbose;
  command.quiet = typed.quiet;
  return command;
}

}  // namespace

bool Allowance::covers(const Comparison& comparison) const {
  return percentage ? !percentage->is_exceeded_by(comparison.mismatches, comparison.compared)
                    : comparison.mismatches <= count;
}

std::optional<CompareCommand> parse_compare_line(const Parse& parse) {
  CLI::App app("", "clipper compare");
  Typed typed;
  add_options(app, typed);
  if (!parse(app)) return std::nullopt;
  return understood(app, typed);
}

}  // namespace clipper
