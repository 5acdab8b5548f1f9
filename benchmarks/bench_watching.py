"""Watching a stream: CPU against reading it, memory, false alarms, delay, and one number for a new kind of tree.

The stream is drawn with replacement from a pool of generated documents of four kinds, so it is what a test of drift
calls nothing.  ``arbora watch`` runs as a command, on one core.  --quick: a stream of 20,000 instead of 1,000,000.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from measure import finish, judge

import arbora as ab
from arbora.cli.feeding import from_files
from arbora.datasets.documents import make_documents

N, N_QUICK, POOL = 1_000_000, 20_000, 6_000
LEVEL = 1e-5
NEW_KIND = "invoice"


def pool_of(per_kind, seed):
    """Generated documents by kind."""
    forest = make_documents(per_kind, random_state=seed)
    kind = np.asarray(forest.target)
    return {one: forest.take(np.flatnonzero(kind == one)) for one in dict.fromkeys(kind.tolist())}


def lines_of(forest):
    """Trees as lines of JSON, as a stream has them: without names and classes."""
    return [json.dumps({key: tree[key] for key in ("label", "children") if key in tree}) for tree in forest]


def write_stream(path, lines, n, rng):
    """So many lines drawn with replacement."""
    with path.open("w") as out:
        for first in range(0, n, 100_000):
            at = rng.integers(len(lines), size=min(100_000, n - first))
            out.write("".join(lines[i] + "\n" for i in at))


def fitted(known):
    """A model of the kinds that are known."""
    return ab.PatternMixture(random_state=0, n_chains=1, n_iter=2).fit(ab.Forest.concat(known))


# ---- CPU and memory of the command ----------------------------------------------------------------------------------


def run_child(command):
    """CPU seconds of a command on one core, its memory in MB every half second, and what it wrote to stderr."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    core = {min(os.sched_getaffinity(0))}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=said, preexec_fn=lambda: os.sched_setaffinity(0, core)
        )
        sizes = []
        watching = threading.Thread(target=_sizes, args=(process, sizes))
        watching.start()
        code = process.wait()
        watching.join()
        said.seek(0)
        text = said.read().decode()
    if code:
        sys.exit(f"exit code {code} of {command}: {text}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, sizes, text


def _sizes(process, sizes):
    """Resident memory of a process while it runs."""
    page = os.sysconf("SC_PAGE_SIZE") / 2**20
    while process.poll() is None:
        try:
            sizes.append(int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * page)
        except (OSError, IndexError):
            break
        time.sleep(0.5)


def read_only(path):
    """Read a stream as the command does, and nothing else."""
    for _ in from_files([path], "jsonl", {"lines": "trees"}, {}, lambda: False):
        pass


def rate(n, quick):
    """CPU of `arbora watch --log` on a long stream of nothing, against reading it; memory; false alarms."""
    known = [forest for kind, forest in pool_of(POOL, 1).items() if kind != NEW_KIND]
    with tempfile.TemporaryDirectory() as folder:
        path, model, log = Path(folder, "stream.jsonl"), Path(folder, "model.arbora"), Path(folder, "log")
        fitted([forest.take(np.arange(100)) for forest in known]).save(model)
        write_stream(path, lines_of(ab.Forest.concat(known)), n, np.random.default_rng(2))
        empty = Path(folder, "short.jsonl")
        empty.write_text(path.open().readline())
        watch = [sys.executable, "-m", "arbora", "watch", str(model)]
        run_child([*watch, str(empty)])  # compiled before anything is timed
        start_read, _, _ = run_child([sys.executable, __file__, "--read", str(empty)])
        start, _, _ = run_child([*watch, str(empty)])
        reading, _, _ = run_child([sys.executable, __file__, "--read", str(path)])
        watching, sizes, said = run_child([*watch, str(path), "--log", str(log)])
        reading, watching = reading - start_read, watching - start
        each = 1e6 / n
        print(f"  {n:,} trees, us of CPU each: reading {each * reading:.0f}, arbora watch --log {each * watching:.0f}")
        print("  " + said.strip().replace("\n", "\n  "))
        print(f"  journal: {sum(one.stat().st_size for one in log.iterdir()) / n:.0f} bytes per tree")
        judge("watching with a log / reading", watching / reading, 8.0, at_least=False)
        if not quick:
            early, late = np.median(sizes[len(sizes) // 10 : len(sizes) // 5]), np.max(sizes[-len(sizes) // 10 :])
            print(f"  memory: {early:.0f} MB after a tenth of the stream, {late:.0f} MB at most in the last tenth")
            judge("memory, late / early", late / early, 1.1, at_least=False)
        alarms = int(said.split("new clusters, ")[1].split()[0])
        promised = LEVEL * n
        judge(f"false alarms, at most {promised:g} expected", alarms, promised + 3 * promised**0.5, at_least=False)


# ---- drift, and a new kind ------------------------------------------------------------------------------------------


def drift(n_streams):
    """Delay to a true change after 4,000 quiet trees, at the level of the command; 6,000 trees per stream."""
    known = [forest for kind, forest in pool_of(500, 3).items() if kind != NEW_KIND]
    model = fitted([forest.take(np.arange(100)) for forest in known])
    changes = {"shares .25 .25 .25 .25 become .10 .25 .25 .40": 0.03, "noise of documents .03 becomes .10": 0.1}
    noisy = [f for kind, f in _noisy().items() if kind != NEW_KIND]
    for what, noise in changes.items():
        delays, early, right = [], 0, 0
        for seed in range(n_streams):
            rng = np.random.default_rng(seed)
            first = [known[k].take(rng.integers(500, size=1)) for k in rng.integers(4, size=4000)]
            later = known if noise == 0.03 else noisy
            shares = (0.1, 0.25, 0.25, 0.4) if noise == 0.03 else (0.25,) * 4
            rest = [later[k].take(rng.integers(500, size=1)) for k in rng.choice(4, 2000, p=shares)]
            told = ab.Watcher(model, seed=seed).update(ab.Forest.concat([*first, *rest]))
            early += sum(alarm.tree < 4000 for alarm in told.alarms)
            found = [alarm for alarm in told.alarms if alarm.tree >= 4000]
            delays.append(found[0].tree - 4000 if found else 2000)
            right += bool(found) and found[0].what == ("weights" if noise == 0.03 else "fit")
        delay = f"delay {np.mean(delays):.0f} trees on average, {max(delays)} at most"
        print(f"  {what}: {delay}; named rightly {right} of {n_streams}; alarms before the change {early}")
        judge("mean delay", np.mean(delays), 400.0, at_least=False)
        judge("streams with an alarm before the change", early, 1.0, at_least=False)


def _noisy():
    forest = make_documents(500, noise=0.1, random_state=4)
    kind = np.asarray(forest.target)
    return {one: forest.take(np.flatnonzero(kind == one)) for one in dict.fromkeys(kind.tolist())}


def new_kind(n_streams):
    """A kind that the fit never had, 2 % of the stream from tree 1,000 on, with a restart in the middle."""
    pool = pool_of(500, 5)
    new, known = pool[NEW_KIND], [forest for kind, forest in pool.items() if kind != NEW_KIND]
    model = fitted([forest.take(np.arange(100)) for forest in known])
    n_births, one_id, strangers = [], 0, 0
    for seed in range(n_streams):
        rng = np.random.default_rng(seed)
        is_new = (rng.random(6000) < 0.02) & (np.arange(6000) >= 1000)
        trees = [(new if x else known[rng.integers(4)]).take(rng.integers(500, size=1)) for x in is_new]
        watcher = ab.Watcher(model, seed=seed)
        parts = [watcher.update(ab.Forest.concat(trees[:3000]))]
        with tempfile.TemporaryDirectory() as folder:
            watcher.save(Path(folder, "w"))
            watcher = ab.Watcher.load(Path(folder, "w"))
        parts.append(watcher.update(ab.Forest.concat(trees[3000:])))
        placed = np.concatenate([told.placed for told in parts])[50:]  # tree 0, 1, ... as it leaves the window
        mine = np.unique(placed[is_new[: len(placed)]])
        n_births.append(sum(len(told.births) for told in parts))
        one_id += len(mine) == 1 and mine[0] >= model.n_components_
        strangers += int(np.isin(placed[~is_new[: len(placed)]], mine[mine >= model.n_components_]).sum())
    print(f"  {n_streams} streams: births {n_births}; all trees of the new kind under one new number, before and after "
          f"the restart: {one_id}; other trees under it: {strangers}")  # fmt: skip
    judge("streams in which the new kind has one number", one_id, n_streams)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("rate", "drift", "kind"))
    parser.add_argument("--read", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read_only(options.read)
        return
    if options.only in (None, "drift"):
        print(drift.__doc__.splitlines()[0])
        drift(3 if options.quick else 20)
    if options.only in (None, "kind"):
        print(new_kind.__doc__.splitlines()[0])
        new_kind(3 if options.quick else 20)
    if options.only in (None, "rate"):
        print(rate.__doc__.splitlines()[0])
        rate(N_QUICK if options.quick else N, options.quick)
    finish()


if __name__ == "__main__":
    main()
