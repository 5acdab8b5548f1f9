"""Lists of texts as arrays, for files."""

import itertools
from collections.abc import Sequence

import numpy as np

from ..errors import ForestError
from ..files.container import Arrays


def pack_text(name: str, texts: Sequence[str]) -> Arrays:
    """Texts as one array of UTF-8 bytes and one of offsets."""
    pieces = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    return {f"{name}.text": np.frombuffer(b"".join(pieces), np.uint8), f"{name}.offsets": offsets}


def unpack_text(name: str, arrays: Arrays) -> list[str]:
    """Undo `pack_text`."""
    data, offsets = arrays[f"{name}.text"].tobytes(), arrays[f"{name}.offsets"]
    fits = offsets.ndim == 1 and offsets.dtype.kind in "iu" and len(offsets)
    fits = fits and offsets[0] == 0 and offsets[-1] == len(data)
    if not fits or (np.diff(offsets) < 0).any():
        raise ForestError(f"the offsets of {name!r} do not fit its text")
    ends = offsets.tolist()
    return [data[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(ends)]
