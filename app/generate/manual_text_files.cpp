#include "generate/manual_text.hpp"

namespace clipper::manual_text {

const std::string_view kFiles = R"text(
## Guarantees

* Without `--in-place`, clipper changes an existing file only by replacing it as a whole, when the new one is complete.
* With `--in-place`, the file is at every instant, and after every failure, kill or power cut, entirely the old one or
entirely the new one. A file that another program puts under its name meanwhile stays there.
* With `--in-place --direct`, a file whose change was interrupted is refused by readers, never wrong. The same command
finishes it exactly, or refuses (5) if any byte of the file is not as the journal has it.
* Exit status 0 means done. With any other status one line says why (only a signal prints nothing), and nothing
half-written is left under any of your names.

## New files

An existing output is replaced, as by cp(1), unless `--no-clobber` is given. The new file is complete before it gets its
name. It keeps the mode and the access control list of the file that it replaces. Where there was no file, it gets the
permission bits of IN that the umask allows, as by cp(1), or, if IN is a pipe, those of any new file. This holds for all
outputs; while shards run, whoever may read IN may also write their files, as far as the umask allows. OUT stays in the directory in which
the work began, even if that directory is renamed meanwhile. FIFOs and character devices as OUT are written directly;
block devices are refused. If OUT is IN, the file is replaced as with `--in-place`.

/dev/stdin, /dev/stdout and /dev/fd/N stand for the name of the file that is open there. If that file was removed, or
another file has its name in this mount namespace, OUT is written directly, as by cp(1), and `--in-place` is refused (5).

An input that another program writes to while clipper reads it ends with 4, and there is no output. To be sure, clipper waits
before it reads a file that was changed within one tick of its file system's clock: a few milliseconds, or up to two seconds
on file systems that count in seconds (MooseFS, ext4 with inodes of 128 bytes).

`--no-clobber` refuses to replace a file, also one that appears while clipper works. It is refused on file
systems that have neither hard links nor exclusive renames.

## In place

`--in-place` writes a second file beside the first one, waits until it is on the disk, and then exchanges the names of the
two. It keeps owner, mode, access control list and user. attributes, follows symbolic links, and locks the file
against other clippers.

After the exchange clipper looks at the file that it is about to remove. If this file has been written to, linked or given
other attributes meanwhile (4), or is another file than the one that was read (5), both files get their names
back. If another program has renamed a further file to the name by then, the newest file has the name, and the message says
which hidden name the other one has. Until all this is decided, other clippers find the new file locked. Where names cannot be exchanged, the last look comes right before the rename.

clipper refuses (5) a file with several hard links, which would come apart; a file that it could not give the same owner,
in a user namespace also a file whose owner or group may have no ID there (65534, nobody);
a file without room for a second one beside it; and a file in an append-only directory. A file in which nothing would
change is left alone.

## In place, directly

`--in-place --direct` changes the elements in the file itself. Hard links stay connected, and instead of a second file
there is a journal of 16 MiB beside the file, .NAME.clipper-journal. clipper reads the file once more before the first
change, to see whether anything changes at all.

While clipper works, and after an interruption, the version byte of the file is 204. numpy.load then says "we only support
format version (1,0), (2,0), and (3,0), not (204, 0)", and clipper says what to do: give the same command again. A reader
that does not check the version (cnpy) is not stopped.

clipper refuses (5) to go on, and says why, with another command than the interrupted one, with a file that has changed
since, and with a journal that belongs to another file, to another user or to another version of clipper. If another
program has written to the unfinished file, it stays unreadable: restore it from a copy.

## Power cuts and crashes

`--in-place` has the result on the disk before it replaces the file. In all other cases, as with cp(1), a power cut soon
after clipper's end may cost the output; `--sync` waits for the disk. Shards always do. Exit status 6 means that the result
is in place but the disk did not confirm it.

Every signal that ends the process, SIGPIPE included, first removes unfinished files; the exit status is 128 + the signal's
number. Only SIGKILL, a power cut or a fault of memory at that moment can leave a temporary file, .NAME.clipper-...: while
an existing file is replaced, and longer on file systems without unnamed files (O_TMPFILE). It can be removed. Look at
it before: after a kill in the middle of an exchange of names it may be a file that another program had just renamed.

## Memory

Whatever `--threads` and `--chunk-size` say, clipper holds at most 16 MiB of elements (32 with `--direct`), about 6 MiB for
the program and about 40 KiB for each thread. Arrays as bounds, scale and bias take up to 16 MiB more. If there is not enough
memory it uses fewer threads; if there is not enough for one thread, it exits with 4.

## What is not covered

* Programs that write through a mapping (numpy.memmap): they leave no trace that clipper could look for.
* A write after clipper's last look at a file: the bytes go with the file that is replaced.
* A write that has begun before clipper's first look at a file and ends after it.
* With `--direct`, a write at the same instant as one of clipper's own, and one in the same tick into a part that is clipped.
* Where renames have no flags (bindfs and other FUSE file systems), a file that takes the name after the last look.
* With `--recursive`, a directory that is replaced by a symbolic link before its files are read: the link is followed.
`--in-place` refuses (5) files that are no longer below the input directory.
* Two mounts that the system does not know to be of one directory, such as two bindfs mounts: their locks do not meet.

`--in-place` is refused (5) on sshfs, which loses updates. `--direct` is refused there and on GlusterFS, which shows updates
late.

clipper is tested on ext4, XFS, btrfs, tmpfs, overlayfs, bindfs, NTFS (lowntfs-3g), exFAT (exfat-fuse), GlusterFS, MooseFS and
sshfs; not on NFS, SMB or Lustre.
)text";

const std::string_view kManyFiles = R"text(
## Many files

With `--in-place`, `--output-dir` or `--output` any number of inputs can be given: as arguments, as directories
(`--recursive`) or as a list (`--files-from`, `--files0-from`). Files are clipped at the same time, large ones by several threads.

Before the first output exists, clipper reads all headers and checks all names. It refuses (2) two inputs with the same
output, and an output that is an input, a bound, scale or bias (@lo.npy), or the list. Files are known by device and inode:
neither links nor mounts nor names that differ only in case hide that two are one. An output that did not exist when the names
were checked does not replace anything (5).

    $ find in -name '*.npy' | clipper --min 0 --max 6 --keep-going \
        --output-dir out --files-from -
    $ find in -name '*.npy' -print0 | clipper --max 6 -i --files0-from -
    $ clipper --min 0 -o '{dir}/{stem}.clip{ext}' --dry-run in/train/*.npy
    clipper: in/train/a.npy: would be written to in/train/a.clip.npy
    clipper: in/train/b.npy: would be written to in/train/b.clip.npy

Below `--output-dir`, a file keeps its path as given, without a leading slash; if the only argument is a directory, its path
below that directory; with `--relative-to` DIR, its path from DIR; with `--flat`, its name.

    $ clipper --min 0 --output-dir new in/train/a.npy # new/in/train/a.npy
    $ clipper --min 0 --output-dir new -r in          # new/train/a.npy
    $ clipper --min 0 --output-dir new -r in b.npy    # new/in/train/a.npy
    $ clipper --min 0 --output-dir new --relative-to in in/train/a.npy
    $ clipper --min 0 --output-dir new --flat in/train/a.npy # new/a.npy

The output of a file does not depend on the other files, so xargs(1) or a scheduler may divide the list:

    $ find in -name '*.npy' -print0 | \
        xargs -0 -n 3 -P 4 clipper --min 0 --output-dir new

A path with .. is refused (2) without `--relative-to` or `--flat`, and so is a file outside of DIR. If several runs share a list
of directories, give `--relative-to`: a run with one directory leaves out its name. Missing directories are created.

An empty list, and a directory without a .npy or .npz file, is an error (3) unless `--allow-empty` is given.

The first failure ends the work; outputs that are complete stay. With `--keep-going` the other files are done, too, and the
exit status is the highest of all. There is no atomicity across files: each is entirely old or entirely new by itself.

With `--in-place`, clipper writes up to 256 files to the disk together before it gives each its name, which takes less
time than waiting for the disk once per file and is as safe. This works on ext4, XFS, btrfs and tmpfs; elsewhere every
file waits by itself.

## Pipelines

    $ zstd -dc x.npy.zst | clipper --min 0 --max 6 - - | zstd >y.npy.zst
    $ tar -xOf tensors.tar x.npy | clipper --min 0 --max 6 - x.npy
    $ tar -xf tensors.tar \
        --to-command='clipper --max 6 - "out/$TAR_FILENAME"'
    $ find . -name '*.npy' -print0 | xargs -0 -n 99 -P 4 clipper --max 6 -i
    $ find . -name '*.npy' -print0 | parallel -0 clipper --max 6 -i {}
    $ find in -name '*.npy' -print0 | xargs -0 -n 100 -P 4 \
        clipper --min 0 --max 6 --output-dir out

numpy.load cannot read from a pipe; clipper can. A tensor from a pipe is clipped while it arrives. If it ends too early, the
exit status is 3 and no OUT is created; on standard output the reader gets an incomplete tensor.
)text";

}  // namespace clipper::manual_text
