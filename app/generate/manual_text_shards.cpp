#include "generate/manual_text.hpp"

namespace clipper::manual_text {

const std::string_view kShards = R"text(
## Many processes, many machines

`clipper --shard K/N ... IN OUT` clips part K, counted from 0, of N parts of one tensor. When all parts are done,
`clipper --finalize OUT` puts OUT in place. clipper has no scheduler and no network code: any launcher can run it, on a file
system that all processes share.

Open MPI, and other MPI launchers with PMI:

    $ mpirun -np 64 clipper --shard auto --max 6 in.npy out.npy
    $ clipper --finalize out.npy

Slurm, in a batch script:

    $ srun -n 64 clipper --shard auto --min 0 --max 6 in.npy out.npy
    $ clipper --finalize out.npy

A Slurm array. N is written out so that failed tasks can be run again alone (--array=2,5):

    $ id=$(sbatch --parsable --array=0-63 --wrap \
        'clipper --shard $SLURM_ARRAY_TASK_ID/64 --max 6 in.npy out.npy')
    $ sbatch --dependency=afterok:$id --wrap 'clipper --finalize out.npy'

GNU parallel. The second line runs failed parts again:

    $ seq 0 63 | parallel --joblog log \
        clipper --shard {}/64 --min 0 --max 6 in.npy out.npy
    $ parallel --retry-failed --joblog log
    $ clipper --finalize out.npy

Dask (tests/engines/dask_clip.py of the source is a whole program):

    def clip(shard, shards, arguments):
        subprocess.run(["clipper", "--shard", f"{shard}/{shards}",
                        *arguments], check=True)
    arguments = ["--min", "0", "--max", "6", "in.npy", "out.npy"]
    client.gather(client.map(clip, range(64), shards=64, retries=3,
                             pure=False, arguments=arguments))
    subprocess.run(["clipper", "--finalize", "out.npy"], check=True)

Many files, divided by their sizes. All processes must see the same files and sizes; `--finalize` is not needed:

    $ mpirun -np 64 clipper --shard auto --min 0 --output-dir clipped \
        --files-from list

Parts as files of their own, for object stores (out.00002-of-00064.npy and so on, and out.json, which lists them);
`--finalize` is not needed:

    $ mpirun -np 64 clipper --shard auto --split-output --min 0 --max 6 \
        in.npy out.npy

## What shards may do

Shards may run in any order, at the same time, twice, on any machine, and be killed. A shard that runs again does its part
again. `--finalize` reads every byte that it publishes and compares it with the checksum that the shard took of what it
calculated. If a part is missing or damaged, it exits with 5, changes nothing and names these parts: run
them, then `--finalize` again. Run twice, or by two machines at once, it is right or refuses.

A run is what the arguments of the shards say: the operation, N, and the input, known by its size, its modification time
and samples of its bytes (copy it with `cp -p` if every machine has its own). Two runs with the same OUT do not touch each
other. `--finalize OUT` takes the run whose shards began last, which OUT.shards names. With the arguments of the shards it
takes exactly their run:

    $ clipper --shard 0/1 --min 0 --max 6 in.npy out.npy
    $ clipper --finalize --shard 0/1 --min 0 --max 6 in.npy out.npy

Until `--finalize` removes them, there are beside OUT: OUT.shards, which says what the run is; OUT.shard-K-of-N.F.done, the
record of each part; and the bytes, on ext4, XFS, btrfs and tmpfs in one file, OUT.shards.F, which becomes OUT, elsewhere
in OUT.shard-K-of-N.F, one for each part, which `--finalize` copies and which need as much room again. F is a fingerprint
of the run. Each file is on the disk before it gets its name. OUT.shards and the records must belong to you or to the
owner of their directory, and the umask of all users must let them read and write these files: it is easiest to run
all shards as one user. What another version of clipper has begun is refused (5).

`clipper --discard-shards OUT` removes what abandoned shards have left, of every run; `--dry-run` prints the names. It refuses
(5) while a shard or `--finalize` is running.

If IN changes between two shards, `--finalize` refuses (5) and says which shards saw another IN: run them again. Where machines
may share the file system, each shard waits a second after its last read to be sure of that, because a machine may show new
data with an old time.

A shard that goes on after `--finalize` never touches OUT. What it leaves blocks nothing, and the next run of the same kind
removes it. `--no-clobber` holds until the end: `--finalize` refuses if OUT exists.

## What shards need of the file system

A file that was written, synced and closed is complete for everybody who opens it by its name afterwards, and a rename within a
directory is atomic. Nothing else is relied on: no lock, link, inode or listing of another machine. Where machines share the
file system, names may be seen late: `--finalize` looks for missing parts for 5 seconds. GlusterFS shows the former OUT to
other machines for up to 3 seconds after exit status 0: give the result a new name, or wait on the reading machine until
stat(1) shows the inode that it shows where `--finalize` ran.

Shards gave the right output on ext4, XFS, btrfs, tmpfs, overlayfs, GlusterFS and MooseFS, but not on sshfs. On ext4, XFS,
btrfs and tmpfs `--finalize` writes no element a second time; elsewhere it writes all of them again.
)text";

}  // namespace clipper::manual_text
