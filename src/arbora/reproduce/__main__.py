"""Run experiments and print their tables: ``python -m arbora.reproduce [NAME ...] [--quick] [--output DIR]``."""

import argparse
import sys
import time
from pathlib import Path

from ..errors import ArboraError
from . import EXPERIMENTS


def main() -> int:
    """Run what is named, all by default; with --output every table is also written to DIR/NAME.md."""
    parser = argparse.ArgumentParser(prog="python -m arbora.reproduce", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"of: {', '.join(EXPERIMENTS)}; all if left out")
    parser.add_argument("--quick", action="store_true", help="fewer runs and settings, to see that it works")
    parser.add_argument("--output", type=Path, help="a folder for the tables as Markdown")
    options = parser.parse_args()
    unknown = [name for name in options.name if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"no experiment {unknown[0]!r}; known: {', '.join(EXPERIMENTS)}")
    for name in options.name or EXPERIMENTS:
        start = time.perf_counter()
        try:
            table = EXPERIMENTS[name](options.quick)
        except ArboraError as error:
            sys.stderr.write(f"{name}: {error}\n")
            return 1
        command = f"python -m arbora.reproduce {name}" + (" --quick" if options.quick else "")
        text = table.markdown(command, time.perf_counter() - start)
        sys.stdout.write(text + "\n")
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            (options.output / f"{name}.md").write_text(text, encoding="utf-8")
            for file, image in table.pictures.items():
                (options.output / file).write_bytes(image)
    return 0


if __name__ == "__main__":
    sys.exit(main())
