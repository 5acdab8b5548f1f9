"""CPU time of the same work by two source trees of Arbora, run by turns: what a change of the code costs.

    python benchmarks/compare_trees.py BEFORE AFTER [--rounds 3] [--only em]
Each tree runs the pieces of its own bench_em.py, bench_chains.py and bench_reading.py in a process of its own, once per
round.  The least time of all rounds counts.  `arbora cluster` on INEX 2005 is timed whole, with a report.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PIECES = {
    "em": """
import bench_em as bench
from arbora.datasets import load_inex2005
forest = load_inex2005("train")
found = {f"EM, INEX 2005, {s} states, {k} components": bench.iteration_seconds(forest, s, k, repeat=5)
         for s, k in ((2, 6), (4, 11), (8, 22))}
""",
    "chains": """
import numpy as np
import bench_chains as bench
from measure import cpu_seconds
forest = bench.make_chains(bench.N, bench.LENGTH, bench.N_SYMBOLS, random_state=0)
run = bench.arbora(forest, *bench.begin(np.random.default_rng(1)))
run(5)
found = {"EM on chains, 5 steps": cpu_seconds(lambda: run(5), 5)}
""",
    "reading": """
import glob, os, random, tempfile
import numpy as np
import bench_reading as bench
from pathlib import Path
files = sorted(glob.glob(os.environ["ARBORA_DATA"] + "/inex2005/*.elastic.tree"))
found = {"read_elastic, INEX 2005": bench.cpu_seconds(lambda: bench.read_elastic(files, progress=False), rounds=3)[0]}
rng = random.Random(0)
with tempfile.TemporaryDirectory() as folder:
    paths = [os.path.join(folder, f"{x:05d}.xml") for x in range(100)]
    for path in paths:
        Path(path).write_text(bench.document(rng, 1000, True), encoding="utf-8")
    found["read_xml, 100 files"] = bench.cpu_seconds(lambda: bench.read_xml(paths, progress=False), rounds=5)[0]
place = np.arange(10**6) % 50
parent = np.where(place == 0, -1, np.arange(10**6) - 1)
label, words = place % 10, [str(m) for m in range(10)]
make = lambda: bench.Forest.from_parents(parent, label, vocabulary=words)
found["from_parents, 10^6 nodes"] = bench.cpu_seconds(make, rounds=3)[0]
""",
}
SHOW = "\nimport json; print(json.dumps(found))"


def environment(tree: Path) -> dict[str, str]:
    """Where Python finds the package and the benchmarks of a tree; one thread."""
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(tree / "benchmarks")])}
    return {**here, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def piece(tree: Path, name: str) -> dict[str, float]:
    """CPU seconds of each work of a piece."""
    code = PIECES[name] + SHOW
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=environment(tree), capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{tree}, {name}: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def command(tree: Path) -> dict[str, float]:
    """CPU seconds of `arbora cluster` with a report, and of the same without one."""
    files = str(Path(os.environ["ARBORA_DATA"]) / "inex2005" / "inex05.train.elastic.tree")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, more in (("alone", []), ("with report", ["--report", f"{folder}/page.html"])):
            words = ["cluster", files, "--model", "mixture", "-k", "11", "--seed", "0", "-q", *more]
            before = os.times()
            line = [sys.executable, "-W", "ignore", "-c", "from arbora.cli import main; main()", *words]
            done = subprocess.run(line, env=environment(tree), capture_output=True, text=True)
            after = os.times()
            if done.returncode:
                raise SystemExit(f"{tree}, cluster: {done.stderr[-2000:]}")
            spent = after.children_user + after.children_system - before.children_user - before.children_system
            found[f"arbora cluster --model mixture -k 11, INEX 2005, {name}"] = spent
    return found


def main() -> None:
    """Run all pieces by turns and print the times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=[*PIECES, "cluster"])
    given = parser.parse_args()
    for name in [given.only] if given.only else [*PIECES, "cluster"]:
        best: list[dict[str, float]] = [{}, {}]
        for _ in range(given.rounds):
            for x, tree in enumerate((given.before, given.after)):
                found = command(tree.resolve()) if name == "cluster" else piece(tree.resolve(), name)
                for what, seconds in found.items():
                    best[x][what] = min(seconds, best[x].get(what, float("inf")))
        for what, seconds in best[1].items():
            before = best[0][what]
            sys.stdout.write(f"{what}: {before:.4f} s before, {seconds:.4f} s after, ratio {seconds / before:.3f}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
