"""Columns of content in files: as arrays of a ``.forest``, and as lists of a ``.parquet``."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ForestError
from ..files.container import Arrays
from .content import KINDS, Column, Entries
from .texts import pack_text, unpack_text

CONTENT = "content"  # what the names of all arrays of columns begin with


def pack_content(content: Mapping[str, Column]) -> tuple[list[list[str]], Arrays]:
    """Names and kinds for the header, and arrays."""
    arrays: Arrays = {}
    for x, column in enumerate(content.values()):
        arrays |= {f"{CONTENT}.c{x}.{key}": array for key, array in column.arrays.items()}
        if column.kind in ("codes", "bags"):
            arrays |= pack_text(f"{CONTENT}.c{x}.words", column.words)
    return [[name, column.kind] for name, column in content.items()], arrays


def unpack_content(told: Any, arrays: Arrays) -> dict[str, Column]:
    """Undo `pack_content`; the forest checks what is inside."""
    made = {}
    for x, (name, kind) in enumerate(_told(told)):
        at = f"{CONTENT}.c{x}"
        words = tuple(unpack_text(f"{at}.words", arrays)) if kind in ("codes", "bags") else ()
        entries = None
        if kind == "bags":
            entries = Entries(*(_typed(arrays[f"{at}.{key}"], dtype) for key, dtype in _ENTRIES.items()))
        made[name] = Column(kind, _typed(arrays[f"{at}.values"], KINDS[kind]), words, entries)
    return made


_ENTRIES = {"start": np.int64, "word": np.int32, "times": np.int64}


def _typed(array: Any, dtype: Any) -> Any:
    if array.dtype != np.dtype(dtype) or array.ndim != 1:
        raise ForestError(f"a column of content is of {array.dtype} and shape {array.shape}")
    return array


def _told(told: Any) -> list[list[str]]:
    """Names and kinds of a header, once they make sense."""
    pairs = isinstance(told, list) and all(isinstance(one, list) and len(one) == 2 for one in told)
    if not pairs or not all(isinstance(name, str) and kind in KINDS for name, kind in told):
        raise ForestError("the columns of content are not described as they should be")
    if len({name for name, _ in told}) != len(told):
        raise ForestError("two columns of content have one name")
    return list(told)


# ---- parquet --------------------------------------------------------------------------------------------------------


def parquet_content(content: Mapping[str, Column], tree_start: Any) -> dict[str, Any]:
    """Columns as lists by tree, with null for what is missing; codes as text, bags as lists of words and times."""
    import pyarrow as pa

    lists = {}
    for name, column in content.items():
        missing = column.missing
        if column.entries is not None:
            start, word, times = column.entries
            pairs = pa.StructArray.from_arrays([_texts(column.words, word), pa.array(times)], ["word", "times"])
            offsets = pa.array(start, mask=np.append(missing, False))
            flat = pa.LargeListArray.from_arrays(offsets, pairs)
        elif column.kind == "codes":
            flat = _texts(column.words, np.where(missing, 0, column.values), missing)
        else:
            plain = column.values.astype(bool) if column.kind == "flags" else column.values
            flat = pa.array(plain, mask=missing)
        lists[f"{CONTENT}.{name}"] = pa.LargeListArray.from_arrays(tree_start, flat)
    return lists


def _texts(words: tuple[str, ...], code: Any, missing: Any = None) -> Any:
    import pyarrow as pa

    return pa.array(list(words), pa.large_string()).take(pa.array(code, pa.int64(), mask=missing))


def content_of_parquet(told: Any, words: Any, table: Any) -> dict[str, Column]:
    """Undo `parquet_content`; `words` are those of each column, so that it comes back as it was."""
    made = {}
    for x, (name, kind) in enumerate(_told(told)):
        flat = table[f"{CONTENT}.{name}"].combine_chunks().flatten()
        missing = flat.is_null().to_numpy(zero_copy_only=False)
        known = tuple(words[x])
        if kind == "bags":
            length = flat.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
            pairs = flat.flatten()
            word, times = _numbered(pairs.field("word"), known), pairs.field("times").to_numpy(zero_copy_only=False)
            entries = Entries(np.append(0, np.cumsum(length)).astype(np.int64), word, times)
            made[name] = Column(kind, -missing.astype(np.int8), known, entries)
        elif kind == "codes":
            made[name] = Column(kind, _numbered(flat, known), known)
        elif kind == "numbers":
            made[name] = Column(kind, flat.fill_null(float("nan")).to_numpy(zero_copy_only=False))
        else:
            values = flat.fill_null(False if kind == "flags" else 0).to_numpy(zero_copy_only=False)
            made[name] = Column(kind, np.where(missing, -1, values).astype(KINDS[kind]))
    return made


def _numbered(texts: Any, words: tuple[str, ...]) -> Any:
    """Texts as numbers of words; null is -1."""
    import pyarrow as pa
    import pyarrow.compute as pc

    index = pc.index_in(texts.cast(pa.large_string()), value_set=pa.array(list(words), pa.large_string()))
    if index.null_count != texts.null_count:
        raise ForestError("a column of content has a word that its list of words has not")
    return index.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
