#pragma once

#include <string_view>

/// The constant parts of the completions. fmt replaces names in braces, and turns two braces into one.
namespace clipper::completions_text {

inline constexpr std::string_view kBash =
    R"text(# Completions for clipper, written by clipper --generate bash.
_clipper_words() {{
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}}

# Offers directories, and files whose names match one of the patterns.
_clipper_files() {{
  local pattern
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen -d -- "$current"; for pattern; do compgen -f -X "!$pattern" -- "$current"; done)
}}

# Offers @ and a tensor. compopt -o filenames would quote the @.
_clipper_number() {{
  [[ $current == @* ]] || return
  mapfile -t COMPREPLY < <(compgen -f -X '!*.np[yz]' -- "${{current#@}}"; compgen -f -X '!*.safetensors' -- "${{current#@}}"; compgen -S / -d -- "${{current#@}}")
  [[ ${{COMPREPLY[*]}} != */ ]] || compopt -o nospace
  ((${{#COMPREPLY[@]}} == 0)) || mapfile -t COMPREPLY < <(printf '@%q\n' "${{COMPREPLY[@]}}")
}}

# Offers the members of the archive if FILE.npz: or FILE.safetensors: is typed. What is completed begins after the last : or = of the member.
# Keys are compared as text and printed by %q: compgen -W would execute $(...) in them.
_clipper_members() {{
  local line=${{COMP_LINE:0:COMP_POINT}} pattern='(^|[[:blank:]])(--[a-z-]+=)?@?(([^[:blank:]\\"'"'"'`$]|\\.)+\.(npz|safetensors)):(([^[:blank:]\\]|\\.)*)$'
  [[ $line =~ $pattern ]] || return
  local archive=${{BASH_REMATCH[3]//\\/}} typed=${{BASH_REMATCH[6]}} key
  local before=${{typed%"${{typed##*[:=]}}"}}
  archive=${{archive/#~\//$HOME/}}
  [[ -f $archive ]] || return
  while IFS= read -r key; do
    [[ $key != "${{typed//\\/}}"* ]] || {{ printf -v key %q "$key"; COMPREPLY+=("${{key#"$before"}}"); }}
  done < <(clipper --generate members -- "$archive" 2>/dev/null)
}}

_clipper() {{
  local IFS=$' \t\n' current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command='' ended='' word
  COMPREPLY=()
  _clipper_members && return
  # COMP_WORDBREAKS makes words of = and @. What is completed begins after =, but at @.
  if [[ $current == [=@] || $current == =@ ]]; then
    current=${{current#=}}
  elif [[ $previous == [=@] || $previous == =@ ]]; then
    current=${{previous#=}}$current
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  case ${{COMP_WORDS[1]}} in
    {commands}) ((COMP_CWORD > 1)) && command=${{COMP_WORDS[1]}} ;;
  esac
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $word == -- ]] && ended=yes
  done
  [[ $ended ]] || case $command,$previous in
{values}  esac
  if [[ ! $ended && $current == -* ]]; then
    case $command in
{options}    esac
    return
  fi
  case $command in
{positionals}  esac
  ((COMP_CWORD > 1)) || mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -W '{command_words}' -- "$current")
}}

complete -F _clipper clipper
)text";

/// What the functions for values that are tensors call.
inline constexpr std::string_view kZsh = R"text(
# Offers files of tensors, and the members of the archive if FILE.npz: or FILE.safetensors: is typed.
_clipper_tensors() {
  local suffix=npz
  [[ $PREFIX == *.npz:* ]] || suffix=safetensors
  if [[ $PREFIX != *.$suffix:* ]]; then
    _files -g "*.(npy|npz|safetensors)"
    return
  fi
  local archive=${(Q)${PREFIX%%.$suffix:*}}.$suffix
  archive=${archive/#\~\//$HOME/}
  compset -P 1 "*.$suffix:"
  local -a keys=(${(f)"$(clipper --generate members -- $archive 2>/dev/null)"})
  local -a expl
  _wanted members expl member compadd -a keys
}
)text";

inline constexpr std::string_view kFish =
    R"text(# Completions for clipper, written by clipper --generate fish.
function __clipper_command_is --argument-names expected
    set --local words (commandline --tokenize --cut-at-cursor --current-process)
    set --local command ''
    test (count $words) -gt 1; and contains -- $words[2] {commands}; and set command $words[2]
    test "$command" = "$expected"
end

# The part of an option's value, or of a word, that was typed.
function __clipper_value
    commandline --current-token | string replace --regex '^--[^=]*=' ''
end

# Offers files of tensors, and the members of the archive if FILE.npz: or FILE.safetensors: is typed.
function __clipper_tensors --argument-names typed
    if set --local parts (string unescape -- "$typed" | string match --regex '^(.*?\.(?:npz|safetensors)):')
        printf '%s\n' "$parts[2]:"(clipper --generate members -- (string replace --regex '^~/' "$HOME/" -- "$parts[2]") 2>/dev/null)
    else
        __fish_complete_suffix "$typed" .npz | string match --regex '^.*(?:\.np[yz]|\.safetensors|/)$'
    end
end

# Offers @ and a tensor.
function __clipper_number
    set --local typed (__clipper_value)
    string match --quiet '@*' -- "$typed"; and __clipper_tensors (string sub --start 2 -- "$typed") | string replace --regex '^' '@'
end

complete --command clipper --no-files
)text";

}  // namespace clipper::completions_text
