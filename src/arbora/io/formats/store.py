"""Stores: folders of stored trees, for more than fit in memory."""

from collections.abc import Iterator

from ...files.container import MAX_BYTES
from ...files.kinds import STORE
from ...forest.forest import Forest
from ...forest.store import ForestStore
from ..finding import Source, find_files
from ..format import MAX_BYTES_OPTION, Format


def load_parts(path: str, *, max_bytes: int = MAX_BYTES) -> Iterator[Forest]:
    """The forests of a store, shard by shard."""
    return ForestStore(path, max_bytes=max_bytes).parts()


def read_store(source: Source, *, max_bytes: int = MAX_BYTES) -> Forest:
    """Read stores into memory; models take a `ForestStore` as it is."""
    stores = (ForestStore(path, max_bytes=max_bytes) for path in find_files(source, ("store",)))
    return Forest.concat(store.to_forest() for store in stores)


FORMAT = Format(
    name="store",
    suffixes=(STORE,),
    makes="a folder of trees that arbora convert wrote, read file by file where a model can",
    manual="""\
A folder of `.forest` files and a manifest, for more trees than fit in memory. `arbora convert PATH OUT.store` or
`ForestStore.write` make it. Hidden-tree models process it file by file; see [](scaling.md). Other models and readers
load it into memory.""",
    options=(MAX_BYTES_OPTION,),
    reader=read_store,
    parts=load_parts,
)
