"""A store larger than one would read: what writing and fitting it cost in CPU time and resident memory.

``python benchmarks/large_store.py write STORE N`` draws N random trees of 25 nodes on average and writes them;
``python benchmarks/large_store.py fit STORE [--workers W] [--iterations I] [--memory MB]`` fits a mixture of eight
components, here or on W worker processes.  With ``--documents``, ``write`` draws document trees of five kinds, and
``fit`` is of a `PatternMixture` that learns the number of groups.  Each prints one line of JSON.  bench_workers.py does
the same on a smaller store, several times.
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

from arbora import Forest, ForestStore, HiddenTreeMixture, PatternMixture, distributed
from arbora.datasets import make_documents, make_random_trees

PART = 20_000  # trees drawn at a time
N_FILES = 24
KINDS = 5  # of documents
COPIES = 5  # of one document; labels are replaced in each
REPLACED = 0.05  # of the labels, at random


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("write", "fit"))
    parser.add_argument("store", type=Path)
    parser.add_argument("n_trees", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--memory", type=int, default=1024, help="MB kept between passes, on each machine")
    parser.add_argument("--documents", action="store_true", help="documents of five kinds, and patterns")
    asked = parser.parse_args()
    start, cpu = time.perf_counter(), time.process_time()
    if asked.what == "write":
        told = write(asked.store, asked.n_trees, asked.documents)
    elif asked.documents:
        told = fit_patterns(asked.store, asked.memory)
    else:
        told = fit(asked.store, asked.workers, asked.iterations, asked.memory)[1]
    told |= {
        "wall_seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "peak_resident_mb": _peak_mb(),
    }
    print(json.dumps({"what": asked.what, **told}))


def write(path: Path, n_trees: int, documents: bool = False) -> dict[str, Any]:
    """Draw trees and write them, in about as many files for any number of them."""
    draws = map(np.random.default_rng, np.random.SeedSequence(0).spawn(-(-n_trees // PART)))
    if documents:
        parts = (_documents(rng) for rng in draws)
    else:
        parts = (make_random_trees(PART, 8, 3, 45, min_nodes=5, random_state=rng) for rng in draws)
    store = ForestStore.write(parts, path, shard_nodes=min(2**20, max(2**14, 25 * n_trees // N_FILES)))
    size = sum(file.stat().st_size for file in path.iterdir())
    return {"n_trees": store.n_trees, "n_nodes": store.n_nodes, "n_files": len(store.entries), "bytes": size}


def _documents(rng: np.random.Generator) -> Forest:
    """Documents drawn anew, each several times with other labels replaced."""
    drawn = make_documents(PART // COPIES // KINDS, noise=REPLACED, random_state=rng)
    labels = np.tile(drawn.label, COPIES)
    replaced = rng.random(len(labels)) < REPLACED
    labels[replaced] = rng.integers(drawn.n_labels, size=int(replaced.sum()))
    many = Forest.concat([drawn] * COPIES)
    words = np.array(drawn.vocabulary)[labels]
    return Forest.from_parents(many.parent, words, target=many.target)


def fit_patterns(path: Path, memory_mb: int) -> dict[str, Any]:
    """Groups of patterns found, and their agreement with the kinds of documents."""
    from sklearn.metrics import adjusted_rand_score

    store = ForestStore(path, memory=memory_mb * 2**20)
    model = PatternMixture(random_state=0).fit(store)
    kinds = np.concatenate([np.asarray(part.target) for part in store.parts()])
    return {"groups": model.n_components_, "adjusted_rand_index": round(adjusted_rand_score(kinds, model.labels_), 3)}


def fit(path: Path, n_workers: int, n_iterations: int, memory_mb: int) -> tuple[HiddenTreeMixture, dict[str, Any]]:
    """The fitted mixture, and what the fit took here and on the workers, whose start is not counted."""
    store = ForestStore(path, memory=memory_mb * 2**20)
    model = HiddenTreeMixture(8, 4, max_iter=n_iterations, tol=0, random_state=0, init="random")
    if not n_workers:
        model.fit(store)
        return model, {"objective": model.history_[-1]}
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=n_workers, **options) as cluster, Client(cluster) as client:
        client.run(_warm_up, str(path))
        before = client.run(_usage)
        begun, here = time.perf_counter(), time.process_time()
        with distributed(client):
            model.fit(store)
        seconds, here = time.perf_counter() - begun, time.process_time() - here
        after = client.run(_usage)
    change = [after[worker] - before[worker] for worker in before]
    return model, {
        "objective": model.history_[-1],
        "workers": n_workers,
        "fit_seconds": round(seconds, 2),
        "client_cpu_seconds": round(here, 2),
        "worker_cpu_seconds": [round(float(x[0]), 2) for x in change],
        "page_faults": [int(x[1]) for x in change],
        "sent_bytes": [int(x[2]) for x in change],
        "worker_peak_mb": [int(after[worker][3]) for worker in before],
    }


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _usage(dask_worker: Any) -> Any:
    """On a worker: CPU seconds, page faults, bytes sent to other workers and the client so far, and peak memory."""
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    return np.array([time.process_time(), faults, dask_worker.transfer_outgoing_bytes_total, _peak_mb()])


def _warm_up(path: str) -> None:
    """On a worker: compile, so that this is not measured."""
    some = ForestStore(path).part(0)[:200]
    HiddenTreeMixture(8, 4, max_iter=2, tol=0, random_state=0, init="random").fit(some)


if __name__ == "__main__":
    sys.exit(main())
