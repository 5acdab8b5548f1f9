"""A store larger than one would read: what writing and fitting it cost in CPU time and resident memory.

``python benchmarks/large_store.py write STORE N`` draws N random trees of 25 nodes on average and writes them;
``python benchmarks/large_store.py fit STORE [--workers W] [--iterations I] [--memory MB]`` fits a mixture of eight
components, here or on W worker processes.  Each prints one line of JSON.
"""

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from arbora import ForestStore, HiddenTreeMixture, distributed
from arbora.datasets import make_random_trees

PART = 20_000  # trees drawn at a time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("write", "fit"))
    parser.add_argument("store", type=Path)
    parser.add_argument("n_trees", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--memory", type=int, default=1024, help="MB kept between passes, on each machine")
    asked = parser.parse_args()
    start, cpu = time.perf_counter(), time.process_time()
    told = write(asked.store, asked.n_trees) if asked.what == "write" else fit(asked)
    told |= {
        "wall_seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "peak_resident_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps({"what": asked.what, **told}))


def write(path: Path, n_trees: int) -> dict[str, Any]:
    draws = np.random.SeedSequence(0).spawn(-(-n_trees // PART))
    parts = (make_random_trees(PART, 8, 3, 45, min_nodes=5, random_state=np.random.default_rng(s)) for s in draws)
    store = ForestStore.write(parts, path)
    size = sum(file.stat().st_size for file in path.iterdir())
    return {"n_trees": store.n_trees, "n_nodes": store.n_nodes, "n_files": len(store.entries), "bytes": size}


def fit(asked: argparse.Namespace) -> dict[str, Any]:
    store = ForestStore(asked.store, memory=asked.memory * 2**20)
    model = HiddenTreeMixture(8, 4, max_iter=asked.iterations, tol=0, random_state=0, init="random")
    if not asked.workers:
        model.fit(store)
        return {"objective": model.history_[-1]}
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=asked.workers, **options) as cluster, Client(cluster) as client:
        client.run(_warm_up, str(asked.store))
        before = client.run(_cpu_seconds)
        begun = time.perf_counter()
        with distributed(client):
            model.fit(store)
        fit_seconds = time.perf_counter() - begun
        after = client.run(_cpu_seconds)
        busy = [round(after[worker][0] - before[worker][0], 1) for worker in before]
        peak = [after[worker][1] for worker in before]
    return {
        "objective": model.history_[-1],
        "workers": asked.workers,
        "fit_seconds": round(fit_seconds, 1),
        "worker_cpu_seconds": busy,
        "worker_peak_mb": peak,
    }


def _cpu_seconds() -> tuple[float, int]:
    return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _warm_up(path: str) -> None:
    """On a worker: compile, so that this is not measured."""
    some = ForestStore(path).part(0)[:200]
    HiddenTreeMixture(8, 4, max_iter=2, tol=0, random_state=0, init="random").fit(some)


if __name__ == "__main__":
    sys.exit(main())
