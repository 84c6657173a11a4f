"""Clips a tensor on a Dask cluster: dask_clip.py SHARDS --min 0 --max 6 IN OUT"""

import subprocess
import sys

from dask.distributed import Client, LocalCluster


def clip(shard, shards, arguments):
    subprocess.run(["clipper", "--shard", f"{shard}/{shards}", *arguments], check=True)


if __name__ == "__main__":
    shards, arguments = int(sys.argv[1]), sys.argv[2:]
    with LocalCluster(n_workers=2) as cluster, Client(cluster) as client:
        client.gather(client.map(clip, range(shards), shards=shards, arguments=arguments, retries=3, pure=False))
    subprocess.run(["clipper", "--finalize", arguments[-1]], check=True)
