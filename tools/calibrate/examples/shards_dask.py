#!/usr/bin/env python3
"""Calibrates in N shards on a Dask cluster, and joins them.

    shards_dask.py [--scheduler ADDRESS] N OUT MODEL --data DIR [OPTION]...

Without a scheduler two workers of this machine do it. All workers see the same files. OUT has the
bytes that one process writes; a shard that a lost worker began goes on from its journal.
QTX names the program.
"""
import argparse
import os
import shutil
import subprocess

from distributed import Client, LocalCluster

QTX = os.environ.get("QTX", "qtx")


def shard(index, count, out, options):
    """Calibrates one shard; a worker runs it."""
    part = f"{out}.shards/{index}"
    command = [QTX, "calibrate", *options, "--threads", "1", "--shard", f"{index}/{count}",
               "--resume", f"{part}.journal", "-o", f"{part}.onnx"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"shard {index}/{count}: {done.stderr.strip()}")
    return f"{part}.onnx"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scheduler", help="address of a Dask scheduler")
    parser.add_argument("count", type=int, metavar="N")
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("options", nargs=argparse.REMAINDER, metavar="MODEL --data DIR ...")
    arguments = parser.parse_args()
    out = os.path.abspath(arguments.out)
    os.makedirs(f"{out}.shards", exist_ok=True)
    cluster = arguments.scheduler or LocalCluster(n_workers=2, threads_per_worker=1,
                                                  dashboard_address=None)
    with Client(cluster) as client:
        indices = range(1, arguments.count + 1)
        parts = client.gather(client.map(shard, indices, count=arguments.count, out=out,
                                         options=arguments.options, pure=False))
    subprocess.run([QTX, "calibrate", "--merge", "-o", out, *parts], check=True)
    shutil.rmtree(f"{out}.shards")


if __name__ == "__main__":
    main()
