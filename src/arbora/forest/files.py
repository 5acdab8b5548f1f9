"""Forests on disk: ``.forest`` (arrays and JSON in one file) and ``.parquet`` (one row per tree, for other tools)."""

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ForestError, MissingDependencyError, ModelFileError
from ..files.container import MAX_BYTES, Arrays, digest, file_bytes, read_container, write_container, written_whole
from ..files.urls import as_given, is_url
from .classes import class_column, text_classes
from .content_files import content_of_parquet, pack_content, parquet_content, unpack_content
from .forest import Forest
from .texts import pack_text, unpack_text

FOREST_VERSION, CONTENT_VERSION = 1, 2  # of labels alone, and with content: an older Arbora would leave that out
SUFFIXES = (".forest", ".parquet")


def save_forest(forest: Forest, path: str | os.PathLike[str]) -> None:
    """Write a forest to ``.forest`` or ``.parquet``, at once or not at all; `load_forest` gives it back exactly."""
    if _suffix(path) == ".parquet":
        _save_parquet(forest, path)
        return
    write_forest(forest, path, {})


def write_forest(forest: Forest, path: str | os.PathLike[str], more: dict[str, Any]) -> None:
    """Write a forest as ``.forest`` has it, with more entries in the header."""
    arrays: Arrays = dict(forest.arrays._asdict()) | pack_text("vocabulary", forest.vocabulary)
    if forest.name is not None:
        arrays |= pack_text("name", forest.name.tolist())
    if forest.target is not None:
        is_text = forest.target.dtype.kind == "U"
        arrays |= pack_text("target", forest.target.tolist()) if is_text else {"target": forest.target}
    header = {"n_trees": forest.n_trees, "n_nodes": forest.n_nodes, "n_labels": forest.n_labels, **more}
    version = FOREST_VERSION
    if forest.content:
        version = CONTENT_VERSION
        header["content"], packed = pack_content(forest.content)
        arrays |= packed
    write_container(path, "forest", version, header, arrays)


def load_forest(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Forest:
    """Read a forest from a file that `Forest.save` wrote, with the same checks as any other input.

    Parameters
    ----------
    path : path or URL
        A ``.forest`` or ``.parquet`` file.
    max_bytes : int
        Files that unpack to more are refused.

    Returns
    -------
    Forest
        The trees.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "trees.forest")
    >>> Forest.from_nested([("a", ["b"]), "a"]).save(path)
    >>> load_forest(path)
    Forest(2 trees, 3 nodes, 2 labels, 1 slots)
    """
    if _suffix(path) == ".parquet":
        return _load_parquet(path, max_bytes)
    return read_forest(path, max_bytes)[0]


def read_forest(
    path: str | os.PathLike[str], max_bytes: int, *, data: bytes | None = None, without: tuple[str, ...] = ()
) -> tuple[Forest, dict[str, Any]]:
    """A forest of a ``.forest`` file and its header; `data` and `without` as for `read_container`."""
    version, header, arrays = read_container(path, "forest", max_bytes, data=data, without=without)
    _check_version(path, version)
    try:
        target = text_classes(unpack_text("target", arrays)) if "target.text" in arrays else arrays.get("target")
        forest = Forest(
            parent=arrays["parent"],
            slot=arrays["slot"],
            label=arrays["label"],
            tree_start=arrays["tree_start"],
            vocabulary=tuple(unpack_text("vocabulary", arrays)),
            target=target,
            name=unpack_text("name", arrays) if "name.text" in arrays else None,  # type: ignore[arg-type]
            content={} if "content" in without else unpack_content(header.get("content", []), arrays),
        )
    except (ForestError, KeyError, ValueError) as error:
        raise _invalid(path, error) from None
    return forest, header


def _suffix(path: str | os.PathLike[str]) -> str:
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending not in SUFFIXES:
        raise ModelFileError(f"{os.fspath(path)}: the name of a stored forest must end in .forest or .parquet")
    return ending


def _check_version(path: Any, version: Any) -> None:
    if version not in (FOREST_VERSION, CONTENT_VERSION):
        known = f"{FOREST_VERSION} and {CONTENT_VERSION}"
        raise ModelFileError(f"{path}: forest version {version}, this version of Arbora reads {known}; update Arbora")


def _invalid(path: Any, error: Exception) -> ModelFileError:
    return ModelFileError(f"{path}: its columns do not make a forest ({error}); save it again")


# ---- parquet --------------------------------------------------------------------------------------------------------


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingDependencyError(".parquet files need pyarrow; install arbora[parquet], or use .forest") from None
    return pa, parquet


def _save_parquet(forest: Forest, path: str | os.PathLike[str]) -> None:
    from .. import __version__

    pa, parquet = _pyarrow()
    first = np.repeat(forest.tree_start[:-1], forest.sizes)  # parents are stored as numbers within the tree
    local = np.where(forest.parent < 0, -1, forest.parent - first)
    columns = {
        column: pa.LargeListArray.from_arrays(forest.tree_start, values)
        for column, values in (("parent", local), ("slot", forest.slot), ("label", forest.label))
    }
    for column, values in (("name", forest.name), ("target", forest.target)):
        if values is not None:
            columns[column] = _parquet_column(path, values)
    head = {
        "version": FOREST_VERSION,
        "arbora": __version__,
        "vocabulary": list(forest.vocabulary),
        "sha256": _fingerprint(forest),
    }
    if forest.content:
        head["version"] = CONTENT_VERSION
        head["content"] = [[key, column.kind] for key, column in forest.content.items()]
        head["content_words"] = [list(column.words) for column in forest.content.values()]
        columns |= _as_parquet(path, lambda: parquet_content(forest.content, forest.tree_start))
    table = pa.table(columns).replace_schema_metadata({"arbora": json.dumps(head)})
    with written_whole(path) as temporary:
        parquet.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def _parquet_column(path: Any, values: Any) -> Any:
    pa, _ = _pyarrow()
    return _as_parquet(path, lambda: pa.array(values.tolist() if values.dtype.kind in "OU" else values))


def _as_parquet(path: Any, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except UnicodeEncodeError:
        raise ModelFileError(
            f"{path}: a name, class or word has half a surrogate, which parquet cannot hold; save it as .forest"
        ) from None


def _load_parquet(path: str | os.PathLike[str], max_bytes: int) -> Forest:
    pa, parquet = _pyarrow()
    url = as_given(path)
    if not is_url(url) and not os.path.isfile(path):
        raise ModelFileError(f"{path}: there is no such file; check the path")
    source = pa.BufferReader(file_bytes(url, max_bytes)) if is_url(url) else os.fspath(path)
    try:
        with parquet.ParquetFile(source, page_checksum_verification=True) as file:
            head = json.loads((file.schema_arrow.metadata or {})[b"arbora"])
            table = _read_table(path, file, max_bytes)
        _check_version(path, head["version"])
        forest = _from_table(table, head)
        if _fingerprint(forest) != head["sha256"]:
            raise ForestError("the checksum is wrong")
        return forest
    except ModelFileError:
        raise
    except KeyError as error:
        raise ModelFileError(f"{path}: it was not written by Arbora ({error} is absent); use save_forest") from None
    except (pa.ArrowException, OSError, RecursionError) as error:
        said = str(error).partition("\n")[0]
        raise ModelFileError(f"{path}: the file is damaged or not parquet ({said}); save it again") from None
    except (ForestError, ValueError, TypeError, AttributeError) as error:  # columns of other names or types
        raise _invalid(path, error) from None


def _read_table(path: Any, file: Any, max_bytes: int) -> Any:
    """The table batch by batch, so that a file that unpacks to more than `max_bytes` is stopped on the way."""
    import pyarrow as pa

    batches, total = [], 0
    # The sizes in the footer are no help: asking for them ends the process if the footer is damaged.
    for batch in file.iter_batches():
        batches.append(batch)
        total += batch.nbytes
        if total > max_bytes:
            raise ModelFileError(f"{path}: it holds more than max_bytes={max_bytes}; raise max_bytes if you trust it")
    return pa.Table.from_batches(batches, schema=file.schema_arrow)


def _from_table(table: Any, head: dict[str, Any]) -> Forest:
    lists = {column: table[column].combine_chunks() for column in ("parent", "slot", "label")}
    values = {column: array.flatten().to_numpy(zero_copy_only=False) for column, array in lists.items()}
    sizes = lists["parent"].value_lengths().to_numpy(zero_copy_only=False)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    optional = {key: table[key].to_pylist() for key in ("name", "target") if key in table.column_names}
    parent = values["parent"]
    return Forest(
        parent=np.where(parent < 0, -1, parent + np.repeat(start[:-1], sizes)),
        slot=values["slot"],
        label=values["label"],
        tree_start=start,
        vocabulary=tuple(head["vocabulary"]),
        target=_classes(optional["target"]) if "target" in optional else None,
        name=optional.get("name"),
        content=content_of_parquet(head.get("content", []), head.get("content_words"), table),
    )


def _classes(values: list[Any]) -> Any:
    return class_column(values)


def _fingerprint(forest: Forest) -> str:
    """Checksum of everything in a forest, for files whose own checksums leave gaps."""
    optional = [None if column is None else column.tolist() for column in (forest.name, forest.target)]
    content = [[digest(column) for column in forest.arrays], forest.vocabulary, *optional]
    content += [
        [name, one.kind, one.words, [digest(array) for array in one.arrays.values()]]
        for name, one in forest.content.items()
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
