#!/usr/bin/env python3
"""wine.py COMMAND...: what the program for Windows promises, tried with COMMAND, which starts it, such as wine clipper.exe.

Needs Python's own library only.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "data"
COMMAND = [str(pathlib.Path(word).resolve()) if "/" in word else word for word in sys.argv[1:]]
IN = (DATA / "in.npy").read_bytes()
GOLDEN = (DATA / "golden.npy").read_bytes()


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
        newlines = b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }".ljust(117) + b"\n"
        self.assertEqual(self.clip("--max", "26", "-", "-", stdin=newlines + b"\r\n\x1a\n"), newlines + b"\r\n\x1a\n")

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

    def test_looks(self):
        self.assertEqual(self.clip("in.npy", "--verify", str(DATA / "golden.npy"))[:4], b"PASS")
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

    def test_bad_input(self):
        self.refused(4, "No such file", "--max", "6", "none.npy", "out.npy")
        self.write("bad.npy", IN[:-1])
        self.refused(3, "truncated", "--max", "6", "bad.npy", "out.npy")

    def test_closed_pipe(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([*COMMAND, "--max", "6", str(DATA / "in.npy"), "-"], stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        self.assertEqual(done.returncode, 4, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
