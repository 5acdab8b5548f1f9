"""The manifest of a store: which files it has, their sizes and checksums, and the vocabulary of all."""

import contextlib
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import ForestError, ModelFileError
from ..files.container import read_container, write_container
from ..files.own_outputs import MANIFEST
from .files import pack_text, unpack_text
from .node_columns import Ints, natural_order

STORE_VERSION = 1
SHARD_NAME = re.compile(r"shard-([0-9a-f]{16})-(\d{6,})\.forest")


class Entry(NamedTuple):
    """A file of a store, as the manifest has it."""

    file: str
    n_trees: int
    n_nodes: int
    n_slots: int
    sha256: str


def read_manifest(folder: str, max_bytes: int) -> tuple[list[Entry], tuple[str, ...], Ints, str]:
    """Files, vocabulary, counts of labels and token of a store."""
    path = os.path.join(folder, MANIFEST)
    if os.path.isdir(folder) and not os.path.exists(path):
        raise ModelFileError(f"{folder}: it has no {MANIFEST}, so it is no finished store; run arbora convert again")
    version, header, arrays = read_container(path, "forest store", max_bytes)
    if version != STORE_VERSION:
        raise ModelFileError(
            f"{path}: store version {version}, this version of Arbora reads {STORE_VERSION}; update Arbora"
        )
    try:
        entries = [Entry(*row) for row in header["shards"]]
        words = tuple(unpack_text("vocabulary", arrays))
        count = np.asarray(arrays["label_count"])
        token = header["token"]
        good = type(token) is str and len(words) == len(set(words)) and all(map(_is_sane, entries))
        good = good and count.shape == (len(words),) and count.dtype == np.int64 and bool((count >= 0).all())
    except (KeyError, TypeError, ValueError):
        good = False
    if not good:
        raise ModelFileError(f"{path}: its content does not make a store; write it again")
    return entries, words, count, token


def _is_sane(entry: Entry) -> bool:
    """Whether an entry of a manifest, perhaps from a stranger, names a file of its own folder and possible sizes."""
    sizes = all(type(n) is int and n >= 0 for n in entry[1:4])
    named = type(entry.file) is str and SHARD_NAME.fullmatch(entry.file) is not None
    return sizes and named and type(entry.sha256) is str


def read_checked(path: str, entry: Entry) -> bytes:
    """The bytes of a file of a store, if they are those that the manifest names."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        told = str(error.strerror or error).lower()
        raise ModelFileError(f"{path}: a file of the store cannot be read ({told}); write the store again") from None
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise ModelFileError(
            f"{path}: it is not the file that the manifest lists, or it is damaged; write the store again"
        )
    return data


class Written(NamedTuple):
    """What the manifest needs to know of a file."""

    entry: Entry
    words: tuple[str, ...]
    label_count: Ints
    optional: tuple[bool, bool]  # whether trees have names, and classes
    class_kind: str  # of these, as numpy calls it; empty if there are none


def write_manifest(folder: str, token: str, written: Sequence[Written], in_order: bool) -> None:
    """Name the files and all labels; `in_order` sorts the labels as readers do."""
    for what, kinds in zip(("name", "target"), zip(*(one.optional for one in written), strict=True), strict=False):
        if len(set(kinds)) > 1:
            raise ForestError(f"some of the trees have a {what} and some have none; give it to all or to none")
    total: dict[str, int] = {}
    for one in written:
        for word, n in zip(one.words, one.label_count.tolist(), strict=True):
            total[word] = total.get(word, 0) + n
    words = sorted(total, key=natural_order) if in_order else list(total)
    header = {"token": token, "shards": [list(one.entry) for one in written]}
    arrays = pack_text("vocabulary", words)
    arrays["label_count"] = np.array([total[word] for word in words], np.int64)
    write_container(os.path.join(folder, MANIFEST), "forest store", STORE_VERSION, header, arrays)
    kept = {MANIFEST, *(one.entry.file for one in written)}
    for name in os.listdir(folder):
        if name not in kept and (SHARD_NAME.match(name) or name.startswith(MANIFEST)):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))
