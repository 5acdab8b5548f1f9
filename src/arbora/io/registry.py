"""The formats: one word each.  A format is a module of `arbora.io.formats` that declares it as FORMAT.

This module imports no reader before one is needed, so that `import arbora` stays quick.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module

TYPE_CHECKING = False  # typing's own would take longer to import than all the rest
if TYPE_CHECKING:
    from .format import Format

# In the order of the manual.  The reader of each is public as read_NAME.
READERS = (
    "xml",
    "html",
    "json",
    "jsonl",
    "elastic",
    "newick",
    "nexus",
    "brackets",
    "conllu",
    "python",
    "traces",
    "swc",
    "dotbracket",
    "glycans",
    "decisions",
    "code",
)
STORED = ("forest", "parquet", "store")  # what Arbora stores trees in; `read` and `load_forest` read them


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
