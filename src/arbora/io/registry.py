"""The formats: every module of `arbora.io.formats` is one, and declares it as FORMAT.

This module imports no reader before one is needed, so that `import arbora` stays quick.
"""

import os
from collections.abc import Iterator, Mapping
from importlib import import_module

TYPE_CHECKING = False  # typing's own would take longer to import than all the rest
if TYPE_CHECKING:
    from .format import Format

STORED = ("forest", "parquet", "store")  # what Arbora stores trees in; `read` and `load_forest` read them
DOCUMENTS = ("html", "json", "xml")  # what the format "documents" reads side by side
# All other files of the folder, by name.  The reader of each is public as read_NAME.
READERS = tuple(
    sorted(
        file.removesuffix(".py")
        for file in os.listdir(os.path.join(os.path.dirname(__file__), "formats"))
        if file.endswith(".py") and file not in ("__init__.py", *(f"{name}.py" for name in STORED))
    )
)


class _Formats(Mapping[str, "Format"]):
    """The formats by name; each is imported when it is asked for."""

    def __getitem__(self, name: str) -> "Format":
        if name not in (*READERS, *STORED):
            raise KeyError(name)
        found: Format = import_module(f"{__package__}.formats.{name}").FORMAT
        return found

    def __iter__(self) -> Iterator[str]:
        return iter((*READERS, *STORED))

    def __len__(self) -> int:
        return len(READERS) + len(STORED)


FORMATS = _Formats()
