"""Plant each bug of the table in a copy of the sources, and see whether the quick tests named beside it find it.

``python -m tests.mutation [NAME ...]`` runs the mutants whose names begin so, or all.  The test that is known to find a
bug runs alone; only if it passes do the others of the set run.  ``--clean`` runs the tests on an unchanged copy
instead: a test that fails there finds nothing.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .table import MUTANTS, ROOT, Mutant, planted

COPIED = ("src", "papers")  # what mutants may change
PATIENCE = 300  # seconds of CPU time; a mutant that hangs is found
PASSED, FAILED = 0, 1  # of pytest; anything else is no verdict


def run(folder: Path, tests: tuple[str, ...], compiled: bool) -> tuple[str, str]:
    """What the tests say of the copy: a word, and the first that failed."""
    settings = {
        "PYTHONPATH": os.pathsep.join(str(folder / part) for part in ("src", "")),
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        "NUMBA_DISABLE_JIT": "0" if compiled else "1",
        "HYPOTHESIS_PROFILE": "brief",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
    command += ["-m", "not slow" if compiled else "not slow and not compiled"]
    command += ["-W", "ignore:overflow encountered:RuntimeWarning"]  # of hashes that are not compiled
    command += ["-o", f"pythonpath={folder / 'src'} {folder} {ROOT}", *tests]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 1)),
    )
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "killed", "it hung"
    first = next((line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
    if done.returncode == PASSED:
        return "survived", ""
    if done.returncode == FAILED:
        return "killed", first.removeprefix("FAILED ").partition(" - ")[0]
    raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def judge(folder: Path, mutant: Mutant) -> tuple[str, str]:
    """Plant the bug, run the tests, take it out again."""
    path = folder / mutant.file
    before = path.read_text()
    path.write_text(planted(before, mutant))
    try:
        word, by = run(folder, (mutant.by,), mutant.compiled) if mutant.by else ("survived", "")
        return (word, by) if word == "killed" else run(folder, mutant.tests, mutant.compiled)
    finally:
        path.write_text(before)


def check(folder: Path, mutants: list[Mutant]) -> int:
    """Run the tests that find the bugs on sources without any; 1 if one fails."""
    for compiled in (False, True):
        tests = [(mutant.by,) if mutant.by else mutant.tests for mutant in mutants if mutant.compiled == compiled]
        if tests:
            word, by = run(folder, tuple(dict.fromkeys(test for some in tests for test in some)), compiled)
            print(f"tests of {len(tests)} mutants without any bug: {by + ' fails' if by else 'all pass'}", flush=True)
            if word == "killed":
                return 1
    return 0


def main(arguments: list[str]) -> int:
    """Print a line for each mutant and the score; 1 if any survived."""
    clean = "--clean" in arguments
    names = [name for name in arguments if name != "--clean"]
    chosen = [mutant for mutant in MUTANTS if not names or mutant.name.startswith(tuple(names))]
    if not chosen:
        sys.exit(f"no mutant begins with {' or '.join(names)}")
    survivors = []
    with tempfile.TemporaryDirectory(prefix="arbora-mutants-") as scratch:
        for part in COPIED:
            shutil.copytree(ROOT / part, Path(scratch) / part, ignore=shutil.ignore_patterns("__pycache__"))
        if clean:
            return check(Path(scratch), chosen)
        for mutant in chosen:
            start = time.perf_counter()
            word, by = judge(Path(scratch), mutant)
            print(f"{word:8} {mutant.name:48} {time.perf_counter() - start:5.0f} s  {by}", flush=True)
            survivors += [mutant.name] if word == "survived" else []
    n_killed = len(chosen) - len(survivors)
    print(f"killed {n_killed} of {len(chosen)}, {100.0 * n_killed / len(chosen):.0f} %; survived: {survivors}")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
