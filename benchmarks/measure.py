"""What the benchmarks share: a figure beside its bound, CPU seconds, and peers that may be absent."""

import importlib
import sys
import time

FAILED = []


def judge(what, value, bound, at_least=True):
    """Print a measured figure beside its bound."""
    good = value >= bound if at_least else value <= bound
    side = "at least" if at_least else "at most"
    print(f"  {what}: {value:.2f} (bound: {side} {bound}) {'ok' if good else 'MISSED'}")
    if not good:
        FAILED.append(what)


def finish():
    """Leave with an error if a figure missed its bound."""
    sys.exit("missed: " + "; ".join(FAILED) if FAILED else 0)


def cpu_seconds(action, repeat=3):
    """Least CPU time of several calls."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
    return best


def peer(name):
    """A package to compare with, or None where it is not installed; its absence is told."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"  {name}: not installed ({error})")
        return None
