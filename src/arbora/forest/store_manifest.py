"""The manifest of a store: which files it has, their sizes and checksums, and the vocabulary of all."""

import contextlib
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ForestError, ModelFileError
from ..files.container import read_container, write_container
from ..files.own_outputs import MANIFEST
from ..files.urls import bytes_of, inside, is_url
from .content import KINDS, common_kind
from .node_columns import Ints, natural_order
from .texts import pack_text, unpack_text

STORE_VERSION = 1
MAX_PACKED = 16 * 2**30  # bytes of one file of a store that is elsewhere
SHARD_NAME = re.compile(r"shard-([0-9a-f]{16})-(\d{6,})\.forest")


class Entry(NamedTuple):
    """A file of a store, as the manifest has it."""

    file: str
    n_trees: int
    n_nodes: int
    n_slots: int
    sha256: str


class Manifest(NamedTuple):
    """What a store says of itself."""

    entries: list[Entry]
    words: tuple[str, ...]
    label_count: Ints
    token: str
    content_kinds: dict[str, str]  # columns of content, in their order


def read_manifest(folder: str, max_bytes: int) -> Manifest:
    """Files, vocabulary, counts of labels, token and columns of a store."""
    path = inside(folder, MANIFEST)
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
        token, kinds = header["token"], dict(header.get("content", []))
        good = type(token) is str and len(words) == len(set(words)) and all(map(_is_sane, entries))
        good = good and all(kind in KINDS for kind in kinds.values())
        good = good and count.shape == (len(words),) and count.dtype == np.int64 and bool((count >= 0).all())
    except (KeyError, TypeError, ValueError):
        good = False
    if not good:
        raise ModelFileError(f"{path}: its content does not make a store; write it again")
    return Manifest(entries, words, count, token, kinds)


def _is_sane(entry: Entry) -> bool:
    """Whether an entry of a manifest, perhaps from a stranger, names a file of its own folder and possible sizes."""
    sizes = all(type(n) is int and n >= 0 for n in entry[1:4])
    named = type(entry.file) is str and SHARD_NAME.fullmatch(entry.file) is not None
    return sizes and named and type(entry.sha256) is str


def read_checked(path: str, entry: Entry) -> bytes:
    """The bytes of a file of a store, if they are those that the manifest names."""
    try:
        data = bytes_of(path, MAX_PACKED) if is_url(path) else Path(path).read_bytes()
    except OSError as error:
        told = str(error.strerror or error).lower()
        raise ModelFileError(f"{path}: a file of the store cannot be read ({told}); write the store again") from None
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise ModelFileError(
            f"{path}: it is not the file that the manifest lists, or it is damaged; write the store again"
        )
    return data


class Written(NamedTuple):
    """What the manifest holds of a file."""

    entry: Entry
    words: tuple[str, ...]
    label_count: Ints
    optional: tuple[bool, bool]  # whether trees have names, and classes
    class_kind: str  # of these, as numpy calls it; empty if there are none
    content: tuple[tuple[str, str], ...] = ()  # columns and their kinds; those without a value come with none


def _content_kinds(parts: Sequence[tuple[tuple[str, str], ...]]) -> dict[str, str]:
    """The columns of all files, each of the kind that its parts agree on."""
    found: dict[str, list[str]] = {}
    for name, kind in (pair for part in parts for pair in part):
        found.setdefault(name, []).append(kind)
    return {name: common_kind([kind for kind in kinds if kind] or ["numbers"], name) for name, kinds in found.items()}


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
    header: dict[str, Any] = {"token": token, "shards": [list(one.entry) for one in written]}
    columns = _content_kinds([one.content for one in written])
    if columns:
        header["content"] = [[name, kind] for name, kind in columns.items()]
    arrays = pack_text("vocabulary", words)
    arrays["label_count"] = np.array([total[word] for word in words], np.int64)
    write_container(os.path.join(folder, MANIFEST), "forest store", STORE_VERSION, header, arrays)
    kept = {MANIFEST, *(one.entry.file for one in written)}
    for name in os.listdir(folder):
        if name not in kept and (SHARD_NAME.match(name) or name.startswith(MANIFEST)):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))
