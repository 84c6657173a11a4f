"""Types into real shells, on a terminal, and compares what their completions make of it.

python3 tests/install/completions.py PREFIX: clipper is installed below PREFIX. Every option that --help shows is
tried, and every positional argument, by what it takes: VALUES and WORDS.
"""

import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import termios
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

LIMIT = 60  # seconds, after which a shell hangs
PROMPT = "ready> "
SOURCED = "zsh that sources them"

# What is typed and what that becomes, by what --help calls the value. An option with another value is a fault.
TENSOR = [("tens\t", "tensor.npy"), ("directory/in\t", "directory/inner.npy"), ("with\\ sp\t", "with space.npy"),
          ("arch\t", "archive.npz"), ("archive.npz:wei\t", "archive.npz:weights"), ("mod\t", "model.safetensors"),
          ("model.safetensors:emb\t", "model.safetensors:embed"), ("set\t", "set.safetensors.index.json"),
          ("set.safetensors.index.json:emb\t", "set.safetensors.index.json:embed"),
          ("vari\t", "variant.safetensors.index.fp16.json"),
          ("variant.safetensors.index.fp16.json:emb\t", "variant.safetensors.index.fp16.json:embed")]
NUMBER = [(f"@{typed}", f"@{word}") for typed, word in [*TENSOR, ("dir\tin\t", "directory/inner.npy")]]
NUMBER.append(("tens\t", "tens"))
DIRECTORY = [("dir\tnew", "directory/new"), ("directory/sub\tnew", "directory/subdirectory/new")]
VALUES = {
    **dict.fromkeys(["ACTUAL", "EXPECTED", "GOLDEN", "FILE"], TENSOR),
    **dict.fromkeys(["DIR", "TEMPLATE"], DIRECTORY),
    "LIST": [("tex\t", "text"), ("directory/inner.t\t", "directory/inner.txt")],
    **dict.fromkeys(["FILE.npz", "FILE.svg", "LOG"], [("tex\t", "text")]),
    **dict.fromkeys(["@FILE.npy", "D", "S", "X"], NUMBER),
    **dict.fromkeys(["A", "A:B", "C", "DB", "E", "EXPRESSION", "GLOB", "INDEX", "K", "NAME|GLOB", "[GLOB=]A", "[GLOB=]N", "[GLOB=]N|P%", "[GLOB=]R", "LO:HI", "N", "N|P%", "NAME", "P%", "PERCENTS", "R", "V", "W", "Z", "DTYPE[:SHAPE][@OFFSET]"], [("tens\t", "tens")]),
}

# The same for options and arguments that take fixed words.
WORDS = {
    ("help", "TOPIC"): ("inf\t", "info"),
    ("completion", "SHELL"): ("fi\t", "fish"),
    ("", "--profile"): ("directml-1\t", "directml-1.0"),
    ("", "--nan"): ("ke\t", "keep"),
    ("", "--min-above-max"): ("e\t", "error"),
    **{(command, "--only"): ("da\t", "date") for command in ("", "compare", "info", "show")},
    ("", "--unclipped"): ("dr\t", "drop"),
    ("", "--norm"): ("in\t", "inf"),
    ("", "--round"): ("half-e\t", "half-even"),
    ("", "--to"): ("bf\t", "bfloat16"),
    ("", "--shard"): ("a\t", "auto"),
    **{(command, "--report"): ("gi\t", "github") for command in ("", "compare")},
    ("compare", "--nan"): ("d\t", "differ"),
    **{(command, "--tolerance"): ("to\t", "torch") for command in ("", "compare")},
    ("compare", "--header"): ("st\t", "strict"),
    **{(command, "--dtype"): ("bf\t", "bfloat16") for command in ("", "compare", "info", "show", "profiles")},
    **{(command, "--format"): ("p\t", "pb") for command in ("", "compare", "info", "show")},
    **{(command, "--log-level"): ("deb\t", "debug") for command in ("", "compare")},
    ("info", "--table"): ("cs\t", "csv"),
    ("", "--golden-dtype"): ("bf\t", "bfloat16"),
    **{(command, "--trailing"): ("ig\t", "ignore") for command in ("", "compare", "info", "show")},
    **{(command, "--color"): ("ne\t", "never") for command in ("", "compare", "info")},
}

# What is typed after "clipper ", and the words that the program then gets.
COMPLETED = [
    ("--simd base\t", ["--simd", "baseline"]),
    ("--min 0 --in-pl\tx.npy", ["--min", "0", "--in-place", "x.npy"]),
    ("-- tens\t", ["--", "tensor.npy"]),
    ("--output-dir dir\tnew", ["--output-dir", "directory/new"]),
    ("prof\t", ["profiles"]),
    ("hel\t", ["help"]),
    ("help prof\t", ["help", "profiles"]),
    ("profiles --js\t", ["profiles", "--json"]),
    ("--max 6 prof\t", ["--max", "6", "prof"]),
    ("profiles tens\t", ["profiles", "tensor.npy"]),
    ("--max 6 -- --prof\t", ["--max", "6", "--", "--prof"]),
    ("--chunk\t", ["--chunk"]),
    ("info directory/other\\ ar\t", ["info", "directory/other archive.npz"]),
    ("info directory/other\\ archive.npz:in\t", ["info", "directory/other archive.npz:inner"]),
    ("info archive.npz:a\t", ["info", "archive.npz:a key"]),
    ("info archive.npz:ru\t", ["info", "archive.npz:run; $(touch ran) `touch ran`"]),
    ("info archive.npz:quo\t", ["info", "archive.npz:quote'\"*"]),
    ("info archive.npz:layer:1:\t", ["info", "archive.npz:layer:1:bias"]),
    ("info archive.npz:layer/\t", ["info", "archive.npz:layer/kernel"]),
    ("info archive.npz --member layer/\t", ["info", "archive.npz", "--member", "layer/kernel"]),
    ("info archive.npz:zz\tx", ["info", "archive.npz:zzx"]),
    ("info tensor.npy:wei\tx", ["info", "tensor.npy:weix"]),
]
KEYS = ["weights", "a key", "run; $(touch ran) `touch ran`", "quote'\"*", "layer:1:bias", "layer/kernel"]

# The same, but for zsh, which offers other files where none fits.
STRICT = [
    ("--output-dir tens\t", ["--output-dir", "tens"]),
    ("tex\t", ["tex"]),
]

# What is typed, and what is on the screen then.
SHOWN = {
    "bash": [("--s\t\t", ["--scale", "--sync"]), ("--dtype \t\t", ["uint8", "bfloat16"])],
    "zsh": [("--s\t", ["--scale", "Multiply by X before the clip", "Flush output to disk"])],
    "fish": [("--s\t", ["--scale", "Multiply by X before the clip", "Flush output to disk"])],
}


def prepare(directory: Path, prefix: Path) -> None:
    """The files to complete, and instead of clipper what notes its words. Completions call the real clipper."""
    (directory / "work" / "directory" / "subdirectory").mkdir(parents=True)
    for name in ("tensor.npy", "tensor.txt", "text", "with space.npy", "directory/inner.npy", "directory/inner.txt"):
        (directory / "work" / name).touch()
    for name, keys in {"archive.npz": KEYS, "directory/other archive.npz": ["inner"]}.items():
        with zipfile.ZipFile(directory / "work" / name, "w") as archive:
            for key in keys:
                archive.writestr(f"{key}.npy", "")
    header = json.dumps({"embed": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}).encode()
    (directory / "work" / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    for name in ("set.safetensors.index.json", "variant.safetensors.index.fp16.json"):
        (directory / "work" / name).write_text(json.dumps({"weight_map": {"embed": "model.safetensors"}}))
    stub = directory / "bin" / "clipper"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\n[ "$1" != __complete ] || exec {shlex.quote(str(prefix))}/bin/clipper "$@"\n'
                    'printf "%s\\n" "$@" END >"$NOTE.part" && mv "$NOTE.part" "$NOTE"\n')
    stub.chmod(0o755)
    home = directory / "home"
    (home / ".config" / "fish").mkdir(parents=True)
    (home / ".config" / "fish" / "config.fish").write_text(
        f"set fish_greeting\nset fish_autosuggestion_enabled 0\nfunction fish_prompt; echo -n '{PROMPT}'; end\n")


def command(shell: str, prefix: Path, directory: Path) -> list[str]:
    """The shell, without anybody's settings, and with the completions where packages have them."""
    share = prefix / "share"
    if shell == "bash":
        (directory / "bashrc").write_text(f"PS1='{PROMPT}'\n. {share}/bash-completion/completions/clipper\n")
        return ["bash", "--noprofile", "--rcfile", str(directory / "bashrc"), "-i"]
    if shell in ("zsh", SOURCED):
        loaded = f"source <(cat {share}/zsh/*/_clipper)\n" if shell == SOURCED else ""
        (directory / "home" / ".zshrc").write_text(
            f"PS1='{PROMPT}'\nunsetopt prompt_sp\n" + ("" if loaded else f"fpath=({share}/zsh/*(N) $fpath)\n")
            + f"autoload -U compinit && compinit -u -D\n{loaded}unset zle_bracketed_paste\n")
        return ["zsh", "-i"]
    return ["fish", "--interactive"]


class Shell:
    """An interactive shell in directory/work, at its prompt."""

    def __init__(self, name: str, prefix: Path, directory: Path):
        self.note = directory / "note"
        self.screen = b""
        words = command(name, prefix, directory)
        home = str(directory / "home")
        environment = {"HOME": home, "ZDOTDIR": home, "TERM": "xterm", "LANG": "C.UTF-8", "NOTE": str(self.note),
                       "PATH": f"{directory / 'bin'}:{os.environ['PATH']}", "XDG_DATA_DIRS": f"{prefix / 'share'}:/usr/share"}
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(directory / "work")
            os.execvpe(words[0], words, environment)
        termios.tcsetwinsize(self.terminal, (50, 120))
        self.wait_for(PROMPT)

    def text(self) -> str:
        return re.sub(r"\x1b(\[[0-9;?>=]*[a-zA-Z]|[()][A-B0-9]|[=>])", "", self.screen.decode(errors="replace"))

    def wait_for(self, text: str, is_there: Callable[[], bool] | None = None) -> None:
        """Until the text is on the screen."""
        end = time.monotonic() + LIMIT
        while not (is_there() if is_there else text in self.text()):
            if time.monotonic() > end:
                raise TimeoutError(f"no {text!r} in {LIMIT} s; on the screen: {self.text()!r}")
            if select.select([self.terminal], [], [], 0.02)[0]:
                self.screen += os.read(self.terminal, 1 << 16)

    def type(self, text: str) -> None:
        self.screen = b""
        os.write(self.terminal, text.encode())

    def words_of(self, typed: str) -> list[str]:
        """What the program gets."""
        self.note.unlink(missing_ok=True)
        self.type(f"clipper {typed}\r")
        self.wait_for("END", self.note.exists)
        self.wait_for(PROMPT)
        return self.note.read_text().splitlines()[:-1]

    def end(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


def help_of(prefix: Path, command: str) -> str:
    words = [prefix / "bin" / "clipper", *command.split(), "--help"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def commands(prefix: Path) -> list[str]:
    """Those that --help lists, and first the one without a name."""
    section = help_of(prefix, "").split("\nCommands:\n")[1].split("\n\n")[0]
    return ["", *re.findall(r"^  (\S+)", section, re.MULTILINE)]


def rows(prefix: Path, command: str) -> list[tuple[list[str], str]]:
    """The names and the value of all that --help shows: (["-o", "--output"], "TEMPLATE"), (["FILE"], "")."""
    text = help_of(prefix, command).split("\nExamples:\n")[0]
    shown = re.findall(r"^  (?:(-\w), |    )?(--[\w-]+|[A-Z]+)(?:\[=[A-Z]+\])?(?: ([A-Z[@][A-Za-z|/%.:=@[\]]*))?(?=  |$)", text, re.MULTILINE)
    return [([name for name in names if name], value) for *names, value in shown]


def unique_beginning(name: str, names: list[str]) -> str | None:
    """The shortest by which every shell can tell the name from the others: zsh compares part by part."""
    def fits(beginning: str, other: str) -> bool:
        typed, parts = beginning.split("-"), other.split("-")
        return len(typed) <= len(parts) and all(part.startswith(t) for t, part in zip(typed, parts, strict=False))

    beginnings = (name[:size] for size in range(3, len(name)))
    return next((b for b in beginnings if sum(fits(b, other) for other in names) == 1), None)


def values_of(command: str, name: str, value: str) -> list[tuple[str, str]]:
    if (command, name) in WORDS:
        return [WORDS[command, name]]
    if value not in VALUES:
        raise LookupError(f"clipper {command}: {name} {value}: add to VALUES or WORDS what shells shall offer for it")
    return VALUES[value]


def completed_of(prefix: Path, command: str) -> list[tuple[str, list[str]]]:
    """All that --help shows of a command: what is typed and the words that the program gets."""
    shown = rows(prefix, command)
    long_names = [names[-1] for names, _ in shown if names[-1].startswith("-")]
    before = command.split()
    cases = []
    for names, value in shown:
        *short, name = names
        if not name.startswith("-"):
            place = [] if name != "EXPECTED" else ["tensor.npy"]
            for typed, word in values_of(command, name, name):
                cases.append(([*place, typed], [*place, word]))
            continue
        beginning = unique_beginning(name, long_names)
        if beginning:
            cases.append(([beginning + "\t", "1"], [name, "1"]))
        for typed, word in values_of(command, name, value) if value else []:
            cases += [([option, typed], [option, word]) for option in [*short, name]]
            cases.append(([f"{name}={typed}"], [f"{name}={word}"]))
    return [(" ".join(before + typed), before + words) for typed, words in cases]


def check(name: str, prefix: Path, directory: Path, completed: list[tuple[str, list[str]]]) -> list[str]:
    """What is wrong."""
    wrong = []
    shell = Shell(name, prefix, directory)
    for typed, expected in completed + ([] if name in ("zsh", SOURCED) else STRICT):
        words = shell.words_of(typed)
        if words != expected:
            wrong.append(f"{name}: {typed!r} becomes {words}, not {expected}")
    shell.end()
    for typed, texts in SHOWN.get(name, []):
        shell = Shell(name, prefix, directory)
        shell.type(f"clipper {typed}")
        try:
            for text in texts:
                shell.wait_for(text)
        except TimeoutError as error:
            wrong.append(f"{name}: {typed!r}: {error}")
        shell.end()
    return wrong


def main() -> int:
    prefix = Path(sys.argv[1]).resolve()
    completed = [case for command in commands(prefix) for case in completed_of(prefix, command)] + COMPLETED
    wrong = []
    # fish still writes its history when it has been killed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        prepare(Path(name), prefix)
        for shell in [*SHOWN, SOURCED]:
            wrong += check(shell, prefix, Path(name), completed[::20] if shell == SOURCED else completed)
            if (Path(name) / "work" / "ran").exists():
                wrong.append(f"{shell}: a key of an archive was executed")
    print("\n".join(wrong) if wrong else f"{len(completed)} completions each in {', '.join(SHOWN)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
