#include <fmt/ranges.h>

#include <set>

#include "cli/clipper.hpp"
#include "command_line/command_spec.hpp"
#include "contract/profile.hpp"
#include "element/dtype.hpp"
#include "error.hpp"
#include "support/archives.hpp"

/// The manual as readers see it, compared with the program, and what else --generate prints.
namespace clipper::testing::manual_test {
namespace {

constexpr std::size_t kColumns = 80;

std::string page(std::string_view name) {
  const Result result = run_clipper({"--generate", std::string(name)});
  check_done(result);
  return result.output;
}

/// All pages.
std::string manual_source() {
  std::string text;
  for (const std::string_view name : page_names()) text += page(name);
  return text;
}

/// Reverts escaped_for_troff() and removes changes of font.
std::string plain(std::string text) {
  const std::vector<std::pair<std::string, std::string>> escapes{
      {R"(\fB)", ""},   {R"(\fI)", ""},    {R"(\fR)", ""},   {R"(\&)", ""},
      {R"(\-)", "-"},   {R"(\(aq)", "'"},  {R"(\(ga)", "`"}, {R"(\(ha)", "^"},
      {R"(\(ti)", "~"}, {R"(\(dq)", "\""}, {R"(\e)", "\\"}};
  for (const auto& [escape, character] : escapes) text = replaced(text, escape, character);
  return text;
}

/// The text below the section's heading.
std::string section(const std::string& title, const std::string& source = manual_source()) {
  const std::string heading = "\n.SH " + title + "\n";
  const std::size_t begin = source.find(heading);
  CAPTURE(title);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = source.find("\n.SH ", begin + 1);
  return plain(source.substr(begin + heading.size(), end - begin - heading.size() + 1));
}

bool has_word(const std::string& text, std::string_view word) {
  const auto ends = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_'; };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || ends(text[at - 1])) && (end == text.size() || ends(text[end]))) return true;
  }
  return false;
}

/// A command of an example and its output, in which "..." stands for any text.
struct Session {
  std::string command;
  std::string output;
};

/// The examples of the manual whose lines begin with "$ ", each with its sessions.
std::vector<std::vector<Session>> examples() {
  std::vector<std::vector<Session>> examples;
  bool inside = false;
  bool in_command = false;
  for (const std::string& source : lines_of(manual_source())) {
    if (source == ".nf" || source == ".fi") {
      inside = source == ".nf";
      if (inside) examples.emplace_back();
      in_command = false;
      continue;
    }
    if (!inside) continue;
    const std::string line = plain(source);
    std::vector<Session>& sessions = examples.back();
    if (line.starts_with("$ ")) {
      sessions.push_back({line.substr(2) + "\n", ""});
      // A compound command continues to the end of the example.
      in_command = line.ends_with("\\") || line.ends_with("; do");
    } else if (in_command) {
      sessions.back().command += line + "\n";
      in_command = line.ends_with("\\") || sessions.back().command.find("; do\n") != std::string::npos;
    } else if (!sessions.empty()) {
      sessions.back().output += line + "\n";
    }
  }
  std::erase_if(examples, [](const auto& sessions) { return sessions.empty(); });
  return examples;
}

/// Scripts in place of programs that the examples call and that not every machine has: a launcher starts all
/// its processes at the same time.
const std::vector<std::pair<std::string, std::string>> kPrograms{
    {"producer", "exec cat in.npy"},
    {"consumer", "exec cat >consumed.npy"},
    {"zstd", R"(exec cat ${2:+"$2"})"},
    {"mpirun", R"(
n=$2; shift 2
for i in $(seq 0 $((n - 1))); do OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=$n "$@" || echo failed & done
wait)"},
    {"srun", R"(
n=$2; shift 2
for i in $(seq 0 $((n - 1))); do SLURM_PROCID=$i SLURM_NTASKS=$n "$@" || echo failed & done
wait)"},
    {"sbatch", R"(
last=0
for word; do case $word in --array=0-*) last=${word#--array=0-}; echo 7;; esac; done
for i in $(seq 0 $last); do SLURM_ARRAY_TASK_ID=$i sh -c "$word" || echo failed >&2 & done
wait)"},
    {"parallel", R"(
case $1 in
  -0) shift; exec xargs -0 -I '{}' "$@";;
  --retry-failed) exit;;
  *) shift 2; exec xargs -P 8 -I '{}' "$@";;
esac)"},
};

/// A directory with the files and programs that the examples name.
class Example {
 public:
  Example() {
    const std::string tensor = read_file(source_path("data/in.npy"));
    for (const char* directory : {"bin", "in/train", "golden", "out"})
      std::filesystem::create_directories(directory_ / directory);
    for (const char* name :
         {"in.npy", "x.npy", "a.npy", "b.npy", "in/train/a.npy", "in/train/b.npy", "x.npy.zst"})
      write_file(directory_ / name, tensor);
    const std::string weights = float32_file({-3.5F, 0, 0.25F, 5.5F, 7, 1});  // bounds: no NaN
    write_file(directory_ / "w.npz", npz_file({{"a.npy", weights},
                                               {"b.npy", weights},
                                               {"mask.npy", npy_file("|b1", "False", "(4,)", "1010")}}));
    const std::string mask = npy_file("|b1", "False", "(4,)", "1010");
    const std::string texts = npy_file("|S2", "False", "(2,)", "abcd");
    for (const auto& [name, content] :
         {std::pair("x", &tensor), std::pair("mask", &mask), std::pair("texts", &texts)})
      directory_.write(fmt::format("mixed/{}.npz", name), npz_file({{"a.npy", *content}}));
    std::string header =
        R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"ids":{"dtype":"I64","shape":[1],)"
        R"("data_offsets":[8,16]}})";
    header.resize(112, ' ');
    directory_.write("model.safetensors", zip::little(header.size(), 8) + header + "elements of 16 b");
    directory_.write("model/tiny.safetensors", directory_.read("model.safetensors"));
    directory_.write("model/tiny.safetensors.index.json",
                     R"({"weight_map":{"w":"tiny.safetensors","ids":"tiny.safetensors"}})");
    const std::string floats(24, '\0');
    directory_.write("in.raw", floats);
    directory_.write("big.raw", floats + "elements");
    for (const char* name : {"input_0.pb", "output_0.pb"})
      directory_.write(name, std::string("\x08\x06\x10\x01\x4a\x18") + floats);
    const Result clipped = run_clipper(clip({directory_ / "in.npy", directory_ / "golden.npy"}));
    check_done(clipped);
    for (const char* name : {"out.npy", "golden/a.npy", "golden/b.npy", "out/a.npy", "out/b.npy"})
      std::filesystem::copy_file(directory_ / "golden.npy", directory_ / name);
    for (const char* name : {"out.npz", "golden.npz"})
      write_file(directory_ / name,
                 npz_file({NpzMember{"weights.npy", read_file(directory_ / "golden.npy")}}));
    for (const std::string side : {"lo", "hi"})
      std::filesystem::copy_file(source_path("data/bounds/float32-" + side + ".npy"),
                                 directory_ / (side + ".npy"));
    const std::pair<const char*, const char*> readme[] = {
        {"lo", "lows"}, {"hi", "highs"}, {"scale", "scale"}, {"bias", "bias"}, {"images", "images"}};
    for (const auto& [from, to] : readme)
      std::filesystem::copy_file(source_path(fmt::format("data/{}.npy", from)),
                                 directory_ / fmt::format("{}.npy", to));
    write_file(directory_ / "list", "in/train/a.npy\nin/train/b.npy\n");
    for (const auto& [name, script] : kPrograms) write_program(name, script);
    write_program("clipper", "exec '" + std::filesystem::absolute(clipper_binary()).string() + "' \"$@\"");
    run("tar -cf tensors.tar x.npy in/train/a.npy");
  }

  Result run(const std::string& script) {
    const std::string path = "PATH=" + (directory_ / "bin") + ":$PATH; exec 2>&1\n";
    return Process({"sh", "-c", path + script}, {directory_.path()}).finish();
  }

 private:
  void write_program(const std::string& name, const std::string& script) {
    const std::string path = directory_ / ("bin/" + name);
    write_file(path, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  WorkingDirectory directory_;
};

/// Whether the text matches the pattern, in which "..." stands for any text.
bool fits(const std::string& text, const std::string& pattern) {
  std::string glob = replaced(replaced(pattern, "  ...", "..."), " ...", "...");
  for (const std::string special : {"\\", "*", "?", "["}) glob = replaced(glob, special, "\\" + special);
  return os::fnmatch(replaced(glob, "...", "*").c_str(), text.c_str(), 0) == 0;
}

/// Files that are clipped at the same time report in any order.
std::string in_order(const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  std::ranges::sort(lines);
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

/// The exit status of the session's command: not 0 for examples about an error.
int expected_status(const Session& session) {
  if (session.command.find("--nan error") != std::string::npos) return 3;
  return session.command.find("--fail-if-clipped") != std::string::npos ? 1 : 0;
}

/// The long options that the help of public commands shows, without their hyphens.
std::set<std::string_view> shown_options() {
  std::set<std::string_view> names;
  for (const CommandSpec* const command : command_specs())
    for (const Option* const option : command->options)
      if (command->is_public && option->group != kHidden) names.insert(long_name(*option).substr(2));
  return names;
}

}  // namespace

TEST_CASE("man, groff and mandoc read each page without a warning, and no line is cut at 80 columns") {
  for (const std::string_view name : page_names()) {
    CAPTURE(name);
    WorkingDirectory directory;
    const std::string path = directory / std::string(name);
    write_file(path, page(name));
    if (has_program("man")) {
      const Result formatted =
          Process({"man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path}).finish();
      CHECK(formatted.exit_code == 0);
      CHECK(formatted.error.empty());
      const Result shown =
          Process({"sh", "-c", "LC_ALL=C MAN_KEEP_FORMATTING= MANWIDTH=80 man -l \"$1\" | cat", "sh", path})
              .finish();
      CHECK(shown.exit_code == 0);
      const std::vector<std::string> lines = lines_of(shown.output);
      CHECK(lines.size() <= 960);
      for (const std::string& line : lines) {
        CAPTURE(line);
        CHECK(line.size() <= kColumns);
      }
    }
    if (has_program("mandoc")) {
      const Result linted = Process({"mandoc", "-Tlint", "-Wwarning", path}).finish();
      CHECK(linted.output == "");
    }
  }
}

TEST_CASE(
    "the manual has its sections in the usual order, and each page names the others' sections with the "
    "page") {
  const std::string text = page("clipper.1");
  std::vector<std::string> titles;
  for (const std::string& line : lines_of(text))
    if (line.starts_with(".SH ")) titles.push_back(line.substr(4));
  CHECK(titles == std::vector<std::string>{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS",
                                           "EXIT STATUS", "ENVIRONMENT", "EXAMPLES", "SEE ALSO"});
  const std::string plain_text = plain(text);
  for (const std::string reference :
       {"DTYPES AND BOUNDS in clipper-bounds(7)", "See PROFILES in clipper-profiles(1)",
        "See SCALE AND BIAS in clipper-bounds(7)", "FILES AND SAFETY in clipper-files(7)",
        "See JSON OUTPUT in clipper-json(5)", "See SELECTION in clipper-reading(7)"})
    CHECK(contains(plain_text, reference));
  for (const std::string_view name : page_names()) {
    const std::string other = std::string(name.substr(0, name.size() - 2));
    if (name != "clipper.1") CHECK(contains(plain_text, fmt::format("\n{}({})", other, name.back())));
  }
}

TEST_CASE("the commands for what other programs do run") {
  std::size_t count = 0;
  for (const std::string& line : lines_of(section("FROM OTHER PROGRAMS"))) {
    const std::size_t compares = line.find("clipper compare");
    const std::size_t options = line.find("  --");
    if (compares == std::string::npos && options == std::string::npos) continue;
    CAPTURE(line);
    const Result result = Example().run(compares != std::string::npos
                                            ? line.substr(compares)
                                            : "clipper" + line.substr(options + 1) + " in.npy out.npy");
    CHECK(result.exit_code == 0);
    ++count;
  }
  CHECK(count == 9);
}

TEST_CASE("the synopsis has every form of every command") {
  const std::vector<std::string> lines = lines_of(section("SYNOPSIS", page("clipper.1")));
  for (const CommandSpec* const command : command_specs()) {
    if (!command->is_public) continue;
    CHECK(!command->forms.empty());
    for (const std::string_view form : command->forms)
      CHECK(std::ranges::count(lines, fmt::format("{} {}", title_of(*command), form)) == 1);
  }
}

TEST_CASE("the manual explains every option in more detail than --help") {
  for (const CommandSpec* const command : command_specs()) {
    if (!command->is_public) continue;
    std::vector<const Option*> options(command->options.begin(), command->options.end());
    for (const Positional& positional : command->positionals) options.push_back(positional.option);
    for (const Option* const option : options) {
      CAPTURE(command->name, option->names);
      CHECK(option->details.size() > option->help.size());
      CHECK_FALSE(contains(option->details, option->help));
      CHECK(std::ranges::count(option->details, '`') % 2 == 0);
    }
  }
}

TEST_CASE("the manual has every dtype, profile and exit status") {
  const std::string dtypes = section("DTYPES AND BOUNDS");
  for (const DTypeTraits& row : kDTypes) CHECK(has_word(dtypes, row.name));
  const std::string rules = section("PROFILES");
  for (const Profile& profile : profiles()) {
    CHECK(has_word(rules, profile.name));
    CHECK(has_word(rules, profile.system));
  }
  const std::string statuses = section("EXIT STATUS");
  for (int status = 0; status <= static_cast<int>(ErrorKind::not_durable); ++status)
    CHECK(contains(statuses, fmt::format(".TP\n{}\n", status)));
  CHECK(contains(statuses, ".TP\n128 + n\n"));
}

TEST_CASE("every example of the manual runs and prints what the manual shows") {
  std::size_t count = 0;
  for (const std::vector<Session>& sessions : examples()) {
    Example example;
    for (const Session& session : sessions) {
      const Result result = example.run(session.command);
      CAPTURE(session.command, session.output, result.output);
      CHECK(result.exit_code == expected_status(session));
      const bool in_any_order = session.command.find("--dry-run") != std::string::npos;
      if (in_any_order)
        CHECK(fits(in_order(result.output), in_order(session.output)));
      else
        CHECK(fits(result.output, session.output));
      ++count;
    }
  }
  CHECK(count > 40);
}

TEST_CASE("the manual and the completions have all options, profiles and dtypes") {
  std::string completed;
  for (const std::string_view name : command_names())
    completed += run_clipper({"__complete", fmt::format("clipper {} --", name)}).output;
  for (const std::string option : {"--", "--profile ", "--to "})
    completed += run_clipper({"__complete", fmt::format("clipper {}", option)}).output;
  for (const std::string& text : {replaced(manual_source(), "\\-", "-"), completed}) {
    CAPTURE(text);
    for (const std::string_view name : shown_options()) CHECK(contains(text, name));
    for (const Profile& profile : profiles()) CHECK(contains(text, profile.name));
    for (const DTypeTraits& row : kDTypes) CHECK(contains(text, row.name));
  }
}

TEST_CASE("the manual names the argument whose words it lists") {
  const std::string text = run_clipper({"--generate", "clipper.1"}).output;
  CHECK(contains(text, "TOPIC is one of compare, info, show, profiles, completion, help, bounds, data"));
}

TEST_CASE("--generate refuses unknown kinds and other options") {
  check_refused(run_clipper({"--generate"}), 2, "KIND");
  check_refused(run_clipper({"completion", "tcsh"}), 2,
                "unknown shell 'tcsh'; expected one of: bash, zsh, fish");
  check_refused(run_clipper({"completion"}), 2, "SHELL is missing; see clipper completion --help");
  check_refused(run_clipper({"--generate", "tcsh"}), 2, "unknown kind 'tcsh'");
  check_refused(run_clipper({"--min", "0", "--generate", "clipper.1"}), 2, "--generate");
  check_refused(run_in_shell("\"$@\" >/dev/full", {"--generate", "clipper.1"}), 4, "standard output: ");
}

}  // namespace clipper::testing::manual_test
