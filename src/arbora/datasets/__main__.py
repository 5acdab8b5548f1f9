"""Write the demo corpus that ships with the package: ``python -m arbora.datasets FILE.jsonl.gz``."""

import sys
from pathlib import Path

from .documents import write_demo

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("wanted one argument, the file to write: python -m arbora.datasets demo.jsonl.gz")
    write_demo(Path(sys.argv[1]))
