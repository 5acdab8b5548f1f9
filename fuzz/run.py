"""Fuzz one target with atheris: ``python -m fuzz.run TARGET [SECONDS [FOLDER]]``; inputs that fail go to the corpus.

FOLDER keeps what was found on the way, and is gone on from the next time; without one it is forgotten.

Atheris is not a dependency of the tests: ``pip install --group fuzz`` brings it.
"""

import os
import sys
import tempfile
import warnings
from pathlib import Path

# Compiled kernels that look at every index, kept apart from those that do not.
os.environ["NUMBA_BOUNDSCHECK"] = "1"
os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / "arbora-fuzz-kernels")

import atheris

SOURCE = Path(__file__).parents[1] / "src"
KERNELS = sorted((SOURCE / "arbora" / "kernels").glob("*.py"))

with atheris.instrument_imports(
    include=["arbora"], exclude=[".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in KERNELS]
):
    from fuzz.targets import CORPUS, TARGETS, seeds

warnings.simplefilter("ignore")  # of forged numbers, numpy says a lot


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"usage: python -m fuzz.run TARGET [SECONDS [FOLDER]]; targets: {', '.join(TARGETS)}")
    name = sys.argv[1]
    lasting = sys.argv[2] if len(sys.argv) > 2 else "60"
    folder = Path(sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    started = seeds(name)
    for number, seed in enumerate(started):
        (folder / f"seed{number}").write_bytes(seed)
        TARGETS[name](seed)  # compiles, so that the fuzzer does not take that for an input without end
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={lasting}",
        f"-max_len={128 if name.startswith('forge-') else max(4096, *map(len, started))}",
        f"-artifact_prefix={CORPUS / name}/",
        "-len_control=0",  # long inputs from the start: a forged file takes a few bytes for each edit
        "-timeout=120",  # seconds for one input of a few kB
        "-rss_limit_mb=2048",
    ]
    atheris.Setup([sys.argv[0], str(folder), *options], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
