#include "command_line/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "command_line/shared_options.hpp"
#include "console/terminal.hpp"
#include "element/text.hpp"
#include "npy/dict.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

constexpr std::string_view kIsEmpty = "(is a shell variable empty?)";

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return text;
}

/// Names that people type for an option that is called otherwise, or for what no option does.
struct Meant {
  std::string_view typed;   ///< separated by spaces
  std::string_view option;  ///< the row is only about commands that have it
  std::string_view advice = {};
};

/// The first row about the command is the answer.
constexpr std::array kMeant{
    Meant{"--minimum --lo --low --lower --lower-bound --a-min", "--min"},
    Meant{"--maximum --hi --high --upper --upper-bound --a-max", "--max"},
    Meant{"--astype --as --cast --convert --out-dtype --output-dtype", "--to"},
    Meant{"--outdir --out-dir --output-directory --dest --destination", "--output-dir"},
    Meant{"--golden --expected --reference", "--verify"},
    Meant{"--no-color --no-colour", "--color", "did you mean --color=never?"},
    Meant{"--zp --zeropoint", "--zero-point"},
    Meant{"--floor --ceil --trunc --rounding", "--round"},
    Meant{"--jobs --workers --num-workers --cpus --parallel", "--threads"},
    Meant{"--axis --axes --dim --channel --per-channel", "--per-axis"},
    Meant{"--factor --multiply --mul", "--scale"},
    Meant{"--add --offset --shift", "--bias"},
    Meant{"--nan-to --fill-nan --nan-value", "--nan"},
    Meant{"--tol --eps --epsilon --delta", "--atol", "did you mean --atol or --rtol?"},
    Meant{"--nan", "--nan-differ"},
    Meant{"--nan-equal --equal-nan", "--nan-differ", "NaN matches NaN; --nan-differ changes that"},
    Meant{"--save-figures --save-params --save", "--fit"},
    Meant{"--figures --params --load", "--apply"},
    Meant{"--other", "--unclipped"},
    Meant{"--clip-norm --clip-grad-norm", "--max-norm"},
    Meant{"--overwrite --clobber", "--in-place",
          "outputs that exist are replaced without it; --in-place replaces inputs"},
    Meant{"--overwrite --clobber", "--update-golden"},
    Meant{"--resume --continue --restart", "--skip-existing", "--skip-existing goes on where a run stopped"},
    Meant{"--junit --junit-xml --junitxml", "--report", "--report junit=FILE writes it"},
    Meant{"--csv", "--report", "--report csv=FILE writes it"},
    Meant{"--hist --histogram", "--histogram-svg",
          "--stats prints a histogram, --histogram-svg writes a picture"},
    Meant{"--bins --hist --histogram", "--help", "clipper info --stats FILE prints a histogram"},
    Meant{"--summary --statistics", "--stats"},
    Meant{"--stats --statistics", "--help", "clipper info --stats FILE prints them"},
    Meant{"--summary", "--verbose", "-v prints one; clipper info --stats FILE describes the elements"},
    Meant{"--percentile --quantile", "--help", "clipper info --percentile P FILE prints it"},
    Meant{"--log --logfile", "--log-file"},
};

Words long_names(const CommandSpec& spec) {
  Words names;
  for (const Option* const option : spec.options) names.push_back(long_name(*option));
  return names;
}

/// The name of a long option that is typed with two dashes or, as many programs have it, with one.
std::string long_name_in(std::string_view word) {
  return (word.starts_with("--") ? "" : "-") + lower_case(std::string(word.substr(0, word.find('='))));
}

/// Whether a word with one dash is meant as a long option: of -output, all after -o would be the name of a
/// file.
bool is_long_with_one_dash(const CommandSpec& spec, std::string_view word) {
  constexpr std::size_t kLeast = 5;  // "--out", of "-out"
  const std::string name = long_name_in(word);
  const bool asks_for_help = word.starts_with(short_name(kHelp));
  if (!word.starts_with('-') || word.starts_with("--") || name.size() < kLeast || asks_for_help) return false;
  return std::ranges::any_of(long_names(spec), [&](auto option) { return option.starts_with(name); }) ||
         std::ranges::any_of(kMeant, [&](const Meant& row) {
           return has_word(row.typed, name) && option_named(spec, row.option) != nullptr;
         });
}

[[noreturn]] void refuse_option(const CommandSpec& spec, const CommandSpecs& others, std::string_view word) {
  const std::string_view typed = word.substr(0, word.find('='));
  const std::string lower = long_name_in(word);
  if (option_named(spec, lower) != nullptr)
    refuse(fmt::format("unknown option {}; did you mean {}?", typed, lower));
  for (const Meant& row : kMeant) {
    if (!has_word(row.typed, lower) || option_named(spec, row.option) == nullptr) continue;
    if (!row.advice.empty()) refuse(fmt::format("unknown option {}; {}", typed, row.advice));
    refuse(fmt::format("unknown option {}; did you mean {}?", typed, row.option));
  }
  for (const CommandSpec* const other : others)
    if (option_named(*other, lower) != nullptr)
      refuse(fmt::format("unknown option {}; it is an option of {}", typed, title_of(*other)));
  if (const auto meant = nearest_name(lower, long_names(spec)))
    refuse(fmt::format("unknown option {}; did you mean {}?", typed, *meant));
  refuse(fmt::format("unknown option {}; {} --help lists all options", typed, title_of(spec)));
}

/// Refuses a word that is none of the positional's words: "unknown command 'inof'" for COMMAND.
void check_word(const Option& positional, std::string_view text) {
  const std::vector<std::string_view> words = positional.words();
  if (std::ranges::find(words, text) != words.end()) return;
  refuse_unknown("unknown " + lower_case(std::string(positional.names)), text, words);
}

/// Keeps the first mistake of a kind.
void note(std::string& first, const std::string& mistake) {
  if (first.empty()) first = mistake;
}

bool has_empty(const std::vector<std::string>& texts) {
  return std::ranges::find(texts, "") != texts.end();
}

/// Refuses options whose rules do not allow them together. Who shares an option with a command that lacks
/// what it needs does not need it.
void check_rules(const CommandSpec& spec, std::span<const Option* const> given) {
  for (const Option* const option : given)
    for (const Option* const other : given)
      if (!option->works_with.empty() && option != other && !has_word(option->works_with, long_name(*other)))
        refuse_pair(*option, *other);
  for (const Option* const one : given)
    for (const Option* const other : given)
      if (const Exclusion* const why = exclusion(*other, *one)) refuse_pair(*one, *other, why->why);
  for (const Option* const option : given) {
    const std::string_view first = option->needs.substr(0, option->needs.find(' '));
    if (option_named(spec, first) != nullptr &&
        std::ranges::none_of(given, [&](auto* other) { return has_word(option->needs, long_name(*other)); }))
      refuse(fmt::format("{} needs {}", long_name(*option), first));
  }
}

/// Whether a word may name the option: CLI::App takes time for each option that it has.
bool may_be_named(const Option& option, std::span<const std::string> words) {
  const auto names_it = [&](const std::string& word) {
    if (word.starts_with("--")) return word.starts_with(long_name(option));
    const char letter = short_name(option)[1];
    return letter != '-' && word.starts_with('-') && word.find(letter) != word.npos;
  };
  return std::ranges::any_of(words, names_it);
}

/// "-q{-q},--quiet{--quiet}": CLI11 gives the text in braces as the value of a flag.
std::string names_of_flag(const Option& option) {
  std::string names;
  for (const std::string_view name : names_of(option))
    names += fmt::format("{}{}{{{}}}", names.empty() ? "" : ",", name, name);
  return names;
}

/// Whether the value of the word's only or, as in -vj, last option is the next word.
bool takes_next(const CommandSpec& spec, const std::string& word) {
  if (!word.starts_with('-') || word.starts_with("--")) {
    const Option* const option = option_named(spec, word);
    return option != nullptr && needs_value(*option);
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    const Option* const option = option_named(spec, std::string{'-', word[i]});
    if (option == nullptr) return false;
    if (needs_value(*option)) return i + 1 == word.size();
  }
  return false;
}

/// What is wrong with "--name=value" or "-n=value"; empty if nothing is.
std::string mistake_in(const CommandSpec& spec, const std::string& word) {
  const std::size_t end = std::min(word.find('='), word.size());
  const std::string name = word.substr(0, end);
  const Option* const option = end == word.size() ? nullptr : option_named(spec, name);
  if (option == nullptr) return "";
  const std::string value = word.substr(end + 1);
  if (option->type.empty()) return fmt::format("{} takes no value", name);
  if (value.empty()) return fmt::format("{} has no value {}", name, kIsEmpty);
  if (name.starts_with("--")) return "";
  return fmt::format("{0} takes its value without =; write {0} {1}", name,
                     npy::name_for_commands(value, option->type));
}

}  // namespace

const std::vector<std::string>* RawOptions::find(const Option& option) const {
  if (const auto typed = typed_.find(&option); typed != typed_.end()) return &typed->second;
  if (std::ranges::find(spec_->options, &option) == spec_->options.end() &&
      std::ranges::find(spec_->positionals, &option, &Positional::option) == spec_->positionals.end())
    throw std::out_of_range(std::string(option.names));
  return nullptr;
}

std::vector<const Option*> RawOptions::given() const {
  std::vector<const Option*> given;
  for (const Option* const option : spec_->options)
    if (typed_.contains(option)) given.push_back(option);
  return given;
}

const std::vector<std::string>& RawOptions::texts(const Option& option) const {
  static const std::vector<std::string> not_given;
  const std::vector<std::string>* const typed = find(option);
  return typed != nullptr ? *typed : not_given;
}

const std::string& RawOptions::text(const Option& option) const {
  static const std::string not_given;
  const std::vector<std::string>& all = texts(option);
  return all.empty() ? not_given : all.back();
}

CommandLine::CommandLine(const CommandSpec& spec, std::span<const char* const> words)
    : spec_(spec), typed_(spec) {
  const std::vector<std::string> all(words.begin() + 1, words.end());
  std::vector<std::string> whole;  // without mistakes
  auto word = all.begin();
  for (; word != all.end() && *word != "--"; ++word) {
    const auto next = word + 1;
    if (is_long_with_one_dash(spec, *word)) {
      note(unknown_, *word);
    } else if (const std::string mistake = mistake_in(spec, *word); !mistake.empty()) {
      note(incomplete_, mistake);
    } else if (!takes_next(spec, *word)) {
      const Option* const option = option_named(spec, *word);
      whole.push_back(option == nullptr || option->implied.empty()
                          ? *word
                          : fmt::format("{}={}", *word, option->implied));
    } else if (next == all.end()) {
      note(incomplete_, fmt::format("{} has no value", *word));
    } else if (next->starts_with("--")) {
      note(incomplete_, fmt::format("{} has no value; {} follows {}", *word, *next, kIsEmpty));
    } else {
      whole.insert(whole.end(), {*word, *next});
      word = next;
    }
  }
  take(std::move(whole));
  if (word != all.end())
    std::for_each(word + 1, all.end(), [this](const std::string& each) { take_positional(each); });
}

void CommandLine::take(std::vector<std::string> words) {
  CLI::App app;
  app.set_help_flag();
  app.allow_windows_style_options(false);
  app.allow_extras();
  std::map<const CLI::Option*, const Option*> options;
  for (const Option* const option : spec_.options) {
    if (!may_be_named(*option, words)) continue;
    CLI::Option* const added = option->type.empty() ? app.add_flag(names_of_flag(*option))
                                                    : app.add_option(std::string(option->names));
    options[added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)] = option;
  }
  std::ranges::reverse(words);
  app.parse(std::move(words));
  std::map<const CLI::Option*, std::size_t> taken;
  for (const CLI::Option* const added : app.parse_order())
    give(*options.at(added), added->results().at(taken[added]++));
  for (const std::string& word : app.remaining())
    if (word.starts_with('-') && word != "-")
      note(unknown_, word);
    else
      take_positional(word);
}

void CommandLine::give(const Option& option, const std::string& value) {
  for (const Option* const other : spec_.options)
    if (option.overrides == long_name(*other) || other->overrides == long_name(option)) typed_.remove(*other);
  if (&option == spec_.begins_stage) typed_.begin_stage();
  (spec_.is_of_stage(option) ? typed_.stage() : typed_).add(option, value);
}

void CommandLine::take_positional(const std::string& word) {
  if (positionals_ == spec_.positionals.size()) {
    if (!surplus_) surplus_ = word;
    return;
  }
  const auto& [positional, arity] = spec_.positionals[positionals_];
  typed_.add(*positional, word);
  if (arity != Arity::many) ++positionals_;
}

bool CommandLine::has(std::string_view name) const {
  const Option* const option = option_named(spec_, name);
  return option != nullptr && typed_.has(*option);
}

void CommandLine::check(const CommandSpecs& others) const {
  if (!incomplete_.empty()) refuse(incomplete_);
  std::vector<RawOptions> stages = typed_.then();
  stages.insert(stages.begin(), typed_);
  for (const RawOptions& stage : stages)
    for (const Option* const option : stage.given())
      if (has_empty(stage.texts(*option)))
        refuse(fmt::format("{} has no value {}", long_name(*option), kIsEmpty));
  if (!unknown_.empty()) refuse_option(spec_, others, unknown_);
  for (const auto& [positional, arity] : spec_.positionals) {
    const bool is_given = typed_.has(*positional);
    if (has_empty(typed_.texts(*positional)))
      refuse(fmt::format("{} is an empty name {}", positional->names, kIsEmpty));
    if (!is_given && arity == Arity::required)
      refuse_missing(typed_, positional->names, fmt::format("see {} --help", title_of(spec_)));
    if (is_given && positional->words != nullptr) check_word(*positional, typed_.text(*positional));
  }
  if (surplus_)
    refuse(fmt::format("unexpected argument '{}'; usage: {}", *surplus_, usages_of(spec_).front()));
  std::vector<const Option*> run = typed_.given();
  check_rules(spec_, run);
  std::erase_if(run, [&](const Option* option) { return spec_.is_of_stage(*option); });
  for (std::size_t i = 0; i < typed_.then().size(); ++i) {
    std::vector<const Option*> given = typed_.then()[i].given();
    given.insert(given.end(), run.begin(), run.end());
    with_path(fmt::format("stage {}", i + 2), [&] { check_rules(spec_, given); });
  }
}

void refuse_missing(const RawOptions& raw, std::string_view name, std::string_view otherwise) {
  os::Status status{};
  for (const Option* const option : raw.given())
    if (const std::string& text = raw.text(*option);
        option->value <= Value::number && option->type != "GLOB" && !parse_number(text) &&
        os::stat(text.c_str(), &status) == 0 && S_ISREG(status.st_mode))
      refuse(fmt::format("{} is missing: {} takes {} as its value", name, long_name(*option), text));
  refuse(fmt::format("{} is missing; {}", name, otherwise));
}

std::size_t help_columns() {
  constexpr std::size_t kMinColumns = 40;
  constexpr std::size_t kMaxColumns = 100;  // longer lines are hard to read
  return std::clamp(terminal_columns(STDOUT_FILENO), kMinColumns, kMaxColumns);
}

std::optional<RawOptions> parse(const CommandLine& line, const CommandSpecs& commands) {
  if (line.has("--help")) {
    const bool is_short = line.typed().text(kHelp) == short_name(kHelp);
    print((is_short ? short_help_of : help_of)(line.spec(), commands, help_columns()));
    return std::nullopt;
  }
  if (line.has("--version")) {
    print(version_text());
    return std::nullopt;
  }
  line.check(commands);
  return line.typed();
}

void fail_to_print(ErrorKind kind) {
  throw Unprintable(kind, fmt::format("standard output: cannot be written: {}", os::error_text(errno)));
}

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) fail_to_print();
}

void print_result(const std::string& text) {
  if (!print_above_progress(stdout, {text})) fail_to_print();
}

}  // namespace clipper
