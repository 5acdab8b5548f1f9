"""Run the benchmarks one after another and write what they print to benchmarks/README.md, with versions and the date.

    python benchmarks/run.py [--quick] [NAME ...]

With names, only those are run again; the others keep the text of their last run.
"""

import argparse
import datetime as dt
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE / "README.md"
MEASURED = ("numpy", "scipy", "scikit-learn", "numba", "dask", "hmmlearn", "pomegranate", "torch", "dynamax", "jax")
MEASURED += ("apted", "zss", "edist", "bnpy", "grakel")
HEAD = """# Benchmarks

`make bench` writes this page. It runs `benchmarks/bench_*.py`; each fails if a figure misses its bound. Trust the
ratios, which are taken in one run; seconds are those of one machine on one day. Times are CPU times, except seconds of
workers or threads: these are wall-clock times and suffer from other work on the machine. Packages to compare with are
optional, and a line names those that were not installed. Results are compared before anything is timed.
"""


def versions():
    """Versions of what is measured, as far as it is installed."""
    found = []
    for name in MEASURED:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return f"Python {platform.python_version()}, {', '.join(found)}"


def measure(script, quick):
    """The section of the page on one script, and whether all of its bounds held."""
    quick = quick and "--quick" in script.read_text(encoding="utf-8")
    command = [sys.executable, str(script), *(["--quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "120"})
    print(done.stdout + done.stderr, flush=True)
    told = script.read_text(encoding="utf-8").splitlines()[0].strip('".:')
    verdict = "all bounds held" if done.returncode == 0 else f"exit code {done.returncode}: a bound was missed"
    shown = f"python benchmarks/{script.name}" + (" --quick" if quick else "")
    when = f"{dt.date.today()}, {os.cpu_count()} cores, {versions()}"
    section = f"## {script.stem.removeprefix('bench_')}\n\n{told}.\n\n```text\n{done.stdout.strip()}\n```\n\n"
    return section + f"`{shown}`, {when}: {verdict}.\n", done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help="as em for bench_em.py; all if left out")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    scripts = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    unknown = [name for name in options.name if name not in scripts]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(scripts)}")
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    sections = {
        name: f"## {name}\n{rest}" for name, rest in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", old, re.M | re.S)
    }
    good = True
    for name in options.name or scripts:
        sections[name], held = measure(scripts[name], options.quick)
        good &= held
        PAGE.write_text("\n".join([HEAD, *(sections[n].rstrip() + "\n" for n in scripts if n in sections)]), "utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
