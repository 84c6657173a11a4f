#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/command_spec.hpp"
#include "error.hpp"

/// Parses the words of a command line, and prints to standard output.
namespace clipper {

/// What was typed, with all values as text: of a flag its name, -h or --help. All functions throw
/// std::out_of_range for an option that the command does not have, whether it was typed or not: the first
/// test of a command finds this mistake.
class RawOptions {
 public:
  explicit RawOptions(const CommandSpec& spec) : spec_(&spec) {}

  [[nodiscard]] bool has(const Option& option) const { return find(option) != nullptr; }

  /// The options that were typed, in the order of the spec.
  [[nodiscard]] std::vector<const Option*> given() const;

  /// The last value, and all values; empty if the option was not given.
  [[nodiscard]] const std::string& text(const Option& option) const;
  [[nodiscard]] const std::vector<std::string>& texts(const Option& option) const;

  /// Nothing if the option was not given.
  [[nodiscard]] std::optional<std::string> value(const Option& option) const {
    return has(option) ? std::optional(text(option)) : std::nullopt;
  }

  void add(const Option& option, const std::string& text) { typed_[&option].push_back(text); }
  void remove(const Option& option) { typed_.erase(&option); }

  /// What was typed for each later stage: see CommandSpec::is_of_stage. All else is of the first stage, or of
  /// the run.
  [[nodiscard]] const std::vector<RawOptions>& then() const noexcept { return then_; }
  [[nodiscard]] RawOptions& stage() noexcept { return then_.empty() ? *this : then_.back(); }
  void begin_stage() { then_.emplace_back(*spec_); }

 private:
  [[nodiscard]] const std::vector<std::string>* find(const Option& option) const;

  const CommandSpec* spec_;
  std::map<const Option*, std::vector<std::string>> typed_;
  std::vector<RawOptions> then_;
};

/// The words that follow the name of a command, as options and positional arguments, into which CLI11 takes
/// them apart. A mistake does not end this: typed() then has what can be understood.
class CommandLine {
 public:
  /// words[0] is the command's own name. If an option is repeated, or if two options override each other, the
  /// last counts.
  CommandLine(const CommandSpec& spec, std::span<const char* const> words);

  [[nodiscard]] const CommandSpec& spec() const noexcept { return spec_; }

  /// Whether the command has an option of this name, such as "--json", and it was typed.
  [[nodiscard]] bool has(std::string_view name) const;

  /// What was typed, also if check() throws.
  [[nodiscard]] const RawOptions& typed() const noexcept { return typed_; }

  /// Throws Error{usage} for the first mistake, such as an unknown option or an empty value.
  /// An option that the command lacks may be one of `others`.
  void check(const CommandSpecs& others = {}) const;

 private:
  /// Takes words of which every option has its value.
  void take(std::vector<std::string> words);

  void give(const Option& option, const std::string& value);
  void take_positional(const std::string& word);

  const CommandSpec& spec_;
  RawOptions typed_;
  std::size_t positionals_ = 0;         ///< how many have all their words
  std::string incomplete_;              ///< what is wrong with the first option without its value
  std::string unknown_;                 ///< the first word that begins with a dash and is no option
  std::optional<std::string> surplus_;  ///< the first positional argument that the command does not take
};

/// Returns what was typed. Returns nothing if that asked for the version, or for the help with a list of
/// `commands` (no list if empty), which it printed. Throws the error of check().
[[nodiscard]] std::optional<RawOptions> parse(const CommandLine& line, const CommandSpecs& commands = {});

/// What is wrong if no word is left for a positional argument: that `otherwise`, or that the value of an
/// option names a file, as in `clipper compare --rtol a.npy b.npy`.
[[noreturn]] void refuse_missing(const RawOptions& raw, std::string_view name, std::string_view otherwise);

[[nodiscard]] std::size_t help_columns();  ///< as wide as the terminal, but not too wide to read

/// Standard output cannot be written: an Error{io} that is not about a file, so that no other file is tried.
class Unprintable : public Error {
 public:
  using Error::Error;
};

/// Throws Unprintable with the reason in errno.
[[noreturn]] void fail_to_print(ErrorKind kind = ErrorKind::io);

/// Prints to standard output. Throws Unprintable if the text cannot be written.
void print(const std::string& text);

/// Prints to standard output in place of the progress line. Throws Unprintable if the text cannot be written.
void print_result(const std::string& text);

}  // namespace clipper
