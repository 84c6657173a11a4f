#include "generate/generate_command.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "generate/completions.hpp"
#include "generate/manual.hpp"
#include "generate/option_reference.hpp"

namespace clipper {

int generate_file(const Parse& parse) {
  using Writer = std::string (*)(const std::vector<CommandText>&);
  const std::map<std::string, Writer> writers{
      {"man", &manual}, {"bash", &bash_completions}, {"zsh", &zsh_completions}, {"fish", &fish_completions}};
  CLI::App app("Prints a file for packages.", "clipper --generate");
  app.group("");
  std::string kind;
  app.add_option("KIND", kind, "man: the manual; or the completions of a shell")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember(writers));
  if (parse(app)) print(writers.at(kind)(command_texts()));
  return 0;
}

}  // namespace clipper
