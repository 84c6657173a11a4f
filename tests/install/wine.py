#!/usr/bin/env python3
"""wine.py EMULATOR DIRECTORY: what the program for Windows promises, tried with DIRECTORY/clipper.exe, which EMULATOR starts.

DIRECTORY/hold.exe is the program of hold.c. Needs Python's own library only.
"""

import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
from clipper_files import header  # noqa: E402
DATA = ROOT / "data"
EMULATOR, DIRECTORY = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
COMMAND = [EMULATOR, str(DIRECTORY / "clipper.exe")]
IN = (DATA / "in.npy").read_bytes()
GOLDEN = (DATA / "golden.npy").read_bytes()


def npy(descr, count, elements):
    return header(descr, (count,)) + elements


class Windows(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)
        self.write("in.npy", IN)

    def write(self, name, content):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def read(self, name):
        return (self.directory / name).read_bytes()

    def names(self):
        return sorted(str(path.relative_to(self.directory)) for path in self.directory.rglob("*") if path.is_file())

    def run_clipper(self, *arguments, stdin=b""):
        return subprocess.run([*COMMAND, *arguments], cwd=self.directory, input=stdin, capture_output=True, check=False)

    def clip(self, *arguments, stdin=b""):
        done = self.run_clipper("--min", "0", "--max", "6", *arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def refused(self, status, word, *arguments):
        """The run fails, one line has the word, and no file changes or appears."""
        before = {name: self.read(name) for name in self.names()}
        done = self.run_clipper(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(word, done.stderr.decode())
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertEqual({name: self.read(name) for name in self.names()}, before)

    def test_new_file(self):
        self.clip("in.npy", "out.npy")
        self.assertEqual(self.read("out.npy"), GOLDEN)
        self.assertEqual(self.names(), ["in.npy", "out.npy"])

    def test_pipes_are_binary(self):
        self.assertEqual(self.clip("-", "-", stdin=IN), GOLDEN)
        newlines = npy("|u1", 4, b"\r\n\x1a\n")
        self.assertEqual(self.clip("--max", "26", "-", "-", stdin=newlines), newlines)

    def test_backslashes_and_unicode_names(self):
        self.write("a/\u00e4\u6f22\U0001f600 b.npy", IN)
        self.clip("a\\\u00e4\u6f22\U0001f600 b.npy", "a\\\u0416.npy")
        self.assertEqual(self.read("a/\u0416.npy"), GOLDEN)

    def test_long_path(self):
        name = "/".join(["d" * 100] * 5) + "/in.npy"
        self.write(name, IN)
        self.clip(name, name.replace("in.npy", "out.npy"))
        self.assertEqual(self.read(name.replace("in.npy", "out.npy")), GOLDEN)

    def test_directories(self):
        for name in ("t/a.npy", "t/b/c.npy", "t/b/d.txt"):
            self.write(name, IN)
        self.clip("--recursive", "--output-dir", "out", "t")
        self.assertEqual([name for name in self.names() if name.startswith("out")], ["out/a.npy", "out/b/c.npy"])
        self.assertEqual(self.read("out/b/c.npy"), GOLDEN)

    def test_archives(self):
        for name in ("savez", "savez_compressed"):
            done = self.run_clipper("--min", "1", "--max", "6", str(DATA / f"archives/{name}.npz"), "out.npz")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            expected = zipfile.ZipFile(DATA / f"archives/{name}.clipped.npz")
            with zipfile.ZipFile(self.directory / "out.npz") as out:
                self.assertEqual([(n, out.read(n)) for n in out.namelist()],
                                 [(n, expected.read(n)) for n in expected.namelist()])
            (self.directory / "out.npz").unlink()

    def test_safetensors(self):
        self.clip("--quiet", "--min", "1", str(DATA / "safetensors/go.safetensors"), "out.safetensors")  # it has integers, too
        self.assertEqual(self.read("out.safetensors"), (DATA / "safetensors/go.clipped.safetensors").read_bytes())

    def test_members(self):
        self.assertEqual(self.run_clipper("info", str(DATA / "archives/savez.npz")).returncode, 0)
        names = zipfile.ZipFile(DATA / "archives/savez.npz").namelist()
        self.clip(f"{DATA}/archives/savez.npz:{names[0].removesuffix('.npy')}", "member.npy")
        self.assertIn("member.npy", self.names())

    def test_reports(self):
        done = self.run_clipper("compare", "in.npy", str(DATA / "golden.npy"), "--report", "junit=r.xml", "--report", "csv=r.csv")
        self.assertEqual((done.returncode, done.stderr), (1, b""))
        self.assertEqual((self.read("r.xml")[:5], self.read("r.csv").count(b"\r")), (b"<?xml", 0))

    def test_names_that_differ_in_case(self):
        self.write("b/IN.npy", IN)
        self.refused(2, "would both be written", "--max", "6", "--flat", "--output-dir", "new", "in.npy", "b/IN.npy")

    def test_held_file(self):
        """Another program holds OUT, or IN, and shares it with nobody."""
        self.write("out.npy", b"old")
        for name, arguments in (("out.npy", ["in.npy", "out.npy"]), ("in.npy", ["in.npy", "new.npy"])):
            with subprocess.Popen([EMULATOR, DIRECTORY / "hold.exe", name], cwd=self.directory, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE) as holder:
                self.assertEqual(holder.stdout.readline().strip(), b"held")
                self.refused(4, "another program has it open", "--max", "6", *arguments)
                holder.stdin.close()
        self.clip("in.npy", "out.npy")
        self.assertEqual(self.read("out.npy"), GOLDEN)

    @unittest.skipIf(os.geteuid(), "only root mounts a small disk")
    def test_full_disk(self):
        disk = self.directory / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        self.write("large.npy", npy("|u1", 1 << 20, b"\0" * (1 << 20)))
        self.refused(4, "No space left on device", "--max", "6", "large.npy", "disk/out.npy")

    def test_control_c(self):
        """Typed into the terminal of a program that waits for the rest of its input."""
        controller, terminal = os.openpty()
        reader, writer = os.pipe()
        with subprocess.Popen([*COMMAND, "--max", "6", "-", "out.npy"], cwd=self.directory, stdin=reader, stdout=terminal,
                              stderr=terminal, start_new_session=True,
                              preexec_fn=lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)) as done:
            os.close(reader)
            os.write(writer, IN[:-1])
            while not any(name.startswith(".out") for name in self.names()):
                time.sleep(0.1)
            os.write(controller, b"\x03")
            self.assertNotEqual(done.wait(30), 0)
        for descriptor in (controller, terminal, writer):
            os.close(descriptor)
        self.assertEqual(self.names(), ["in.npy"])

    def test_looks(self):
        self.clip("in.npy", "--verify", str(DATA / "golden.npy"))
        done = self.run_clipper("--min", "1", "in.npy", "--verify", str(DATA / "golden.npy"))
        self.assertEqual((done.returncode, done.stdout[:4]), (1, b"FAIL"))
        self.assertEqual(self.run_clipper("compare", "in.npy", str(DATA / "golden.npy")).returncode, 1)
        self.assertEqual(json.loads(self.run_clipper("info", "--json", "in.npy").stdout)["shape"], [6])
        for arguments in (("show", "in.npy"), ("profiles",), ("info", "--stats", "in.npy"), ("--help",)):
            done = self.run_clipper(*arguments)
            self.assertEqual((done.returncode, done.stderr, b"\r" in done.stdout), (0, b"", False))

    def test_replaces_out(self):
        self.write("out.npy", b"old")
        self.clip("in.npy", "out.npy")
        self.assertEqual(self.read("out.npy"), GOLDEN)
        self.refused(5, "already exists", "--no-clobber", "--max", "6", "in.npy", "out.npy")

    def test_in_place(self):
        """wine cannot replace a file that is open, as the input is: nothing may be lost."""
        self.refused(5, "in.npy: cannot be replaced", "--max", "6", "--in-place", "in.npy")

    def test_refused_names(self):
        for name in ("NUL", "con.npy", "COM1", "a/lpt9.txt", "out.npy.", "out.npy ", "a<b.npy", "out.npy:stream"):
            self.write("a/x", b"")
            self.refused(4, "Windows forbids this name", "--max", "6", "in.npy", name)

    def test_refused_options(self):
        for option in (["--in-place", "--direct", "in.npy"], ["--no-cache", "in.npy", "o.npy"],
                       ["--shard", "0/2", "in.npy", "o.npy"]):
            self.refused(2, "is not available on Windows", "--max", "6", *option)

    def test_read_only_file(self):
        self.write("out.npy", b"old")
        os.chmod(self.directory / "out.npy", 0o444)
        self.refused(4, "cannot be replaced", "--max", "6", "in.npy", "out.npy")

    def test_own_access(self):
        """wine makes access control lists of modes: this one is not that of new files."""
        self.write("out.npy", b"old")
        os.chmod(self.directory / "out.npy", 0o600)
        self.refused(4, "cannot keep its access control list: Operation not supported", "--max", "6", "in.npy", "out.npy")
        os.chmod(self.directory / "in.npy", 0o600)
        self.refused(5, "cannot keep its access control list; write to another file", "--max", "6", "--in-place", "in.npy")

    def test_bad_input(self):
        self.refused(4, "No such file", "--max", "6", "none.npy", "out.npy")
        self.write("bad.npy", IN[:-1])
        self.refused(3, "24 data bytes expected", "--max", "6", "bad.npy", "out.npy")
        self.write("gzip.npy", b"\x1f\x8b\x08\x00")
        self.refused(3, f"zcat Z:{self.directory}/gzip.npy", "--max", "6", f"Z:{self.directory}\\gzip.npy".replace("/", "\\"), "out.npy")

    def test_closed_pipe(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([*COMMAND, "--max", "6", str(DATA / "in.npy"), "-"], stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        self.assertEqual(done.returncode, 4, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
