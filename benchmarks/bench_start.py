"""A first answer: CPU time of commands and of the demonstration, with kernels compiled before and not.

    python benchmarks/bench_start.py

Ratios to the import of what Arbora stands on: numpy, scipy, scikit-learn, numba and, for pictures, matplotlib.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy: one thread for everybody

import subprocess
import sys
import tempfile
from pathlib import Path

from measure import finish, judge

STANDS_ON = "import numpy, scipy.sparse, scipy.special, sklearn.base, numba, matplotlib.figure"
LISTED = """
import atexit, sys, time
import numba.core.event as event
spent, open_at = {}, []
class Listener(event.Listener):
    def on_start(self, found):
        open_at.append([time.thread_time(), 0.0])
    def on_end(self, found):
        begin, inside = open_at.pop()
        took = time.thread_time() - begin
        if open_at:
            open_at[-1][1] += took
        kernel = found.data["dispatcher"].py_func
        ours = kernel.__module__.startswith("arbora")
        name = f"{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}" if ours else "numba"
        seconds, times = spent.get(name, (0.0, 0))
        spent[name] = seconds + took - inside, times + 1
event.register("numba:compile", Listener())
@atexit.register
def tell():
    total = sum(seconds for seconds, _ in spent.values())
    print(f"compiled {sum(times for _, times in spent.values())} functions in {total:.1f} s", file=sys.stderr)
    for name, (seconds, times) in sorted(spent.items(), key=lambda item: -item[1][0])[:8]:
        print(f"  {100 * seconds / total:.0f} %  {name}, {times} times", file=sys.stderr)
from arbora.cli import main
main()
"""


def cpu_of(*command, environ):
    """CPU seconds of a process, and what it says on stderr."""
    before = os.times()
    done = subprocess.run([sys.executable, "-W", "ignore", *command], capture_output=True, text=True, env=environ)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, done.stderr


def main():
    """Measure, and judge the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        new = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder, "cache"))}
        demo = ("demo", "--quiet", "--output", str(Path(folder, "demo")))

        def least(*command):
            return min(cpu_of(*command, environ=new)[0] for _ in range(3))

        bare = least("-c", STANDS_ON)
        seconds = {
            "arbora --help": least("-m", "arbora", "--help"),
            "arbora cluster, of a file that is missing": least(
                "-m", "arbora", "cluster", str(Path(folder, "none.xml"))
            ),
        }
        seconds["arbora demo, nothing compiled"], told = cpu_of("-c", LISTED, *demo, environ=new)
        seconds["arbora demo, compiled before"] = least("-m", "arbora", *demo)
    print(f"import of what Arbora stands on: {bare:.2f} s")
    for what, took in seconds.items():
        print(f"{what}: {took:.2f} s, {took / bare:.2f} times that import")
    print("".join(line + "\n" for line in told.splitlines() if line.startswith(("compiled", "  "))), end="")
    quick, missing, cold, warm = (took / bare for took in seconds.values())
    judge("help / import", quick, 0.2, at_least=False)
    judge("missing file / import", missing, 0.3, at_least=False)
    judge("demo, compiled before / import", warm, 4, at_least=False)
    judge("demo, nothing compiled / import", cold, 20, at_least=False)
    finish()


if __name__ == "__main__":
    main()
