"""Fuzz one target with atheris: ``python -m fuzz.run TARGET [SECONDS]``; inputs that fail go to the corpus.

Atheris is not a dependency of the tests: ``pip install --group fuzz`` brings it.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["arbora.io", "arbora.store", "arbora.models.saved", "arbora.chain_store"]):
    from fuzz.targets import CORPUS, TARGETS, seeds


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"usage: python -m fuzz.run TARGET [SECONDS]; targets: {', '.join(TARGETS)}")
    name = sys.argv[1]
    lasting = sys.argv[2] if len(sys.argv) > 2 else "60"
    folder = Path(tempfile.mkdtemp())
    for number, seed in enumerate(seeds(name)):
        (folder / f"seed{number}").write_bytes(seed)
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    failed = f"-artifact_prefix={CORPUS / name}/"
    atheris.Setup([sys.argv[0], str(folder), f"-max_total_time={lasting}", "-max_len=4096", failed], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
