"""The imports by which type checkers see the models, made from the registry.

``python -m arbora.models.type_imports`` in a checkout writes them into `arbora.models`; names themselves are lazy.
"""

import re
from pathlib import Path

from .registry import MODELS, OTHERS

_LINES = re.compile(r"(?:    from \.\S+ import \w+(?: as \w+)?\n)+")


def imports() -> str:
    """One line for each public name, and one for the base of all models, sorted by module."""
    homes = {**{name: row.module for name, row in MODELS.items()}, **OTHERS}
    lines = [f"    from .{module} import {name} as {name}\n" for name, module in homes.items()]
    return "".join(sorted([*lines, "    from .model_file import SavedEstimator\n"]))


def with_imports(source: str) -> str:
    """Source of `arbora.models` with the imports as they are now."""
    return _LINES.sub(imports(), source, count=1)


if __name__ == "__main__":
    package = Path(__file__).with_name("__init__.py")
    package.write_text(with_imports(package.read_text(encoding="utf-8")), encoding="utf-8")
