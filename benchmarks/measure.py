"""What the benchmarks share: a figure beside its bound, CPU seconds, and peers that may be absent."""

import importlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numba

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
    """A package to compare with, or None where it is not installed; its absence is printed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"  {name}: not installed ({error})")
        return None


@numba.njit(nogil=True)
def _count(n):
    x = 0.5
    for _ in range(n):
        x = 0.999 * x + 0.1
    return x


def second_core():
    """How much faster two threads are than one that only compute, best of several: two if a second core is free."""
    n, best = 20_000_000, [float("inf")] * 2
    _count(1)
    with ThreadPoolExecutor(2) as pool:
        for _ in range(8):
            for x, run in enumerate((map, pool.map)):
                begin = time.perf_counter()
                list(run(_count, (n, n)))
                best[x] = min(best[x], time.perf_counter() - begin)
    return best[0] / best[1]
