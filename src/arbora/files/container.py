"""One file of arrays and JSON, versioned and checksummed, for forests and models alike; no pickle anywhere.

The file is a zip archive: ``header.json``, and one ``.npy`` member for each array.  The header names the kind and
version of the content, the Arbora that wrote it, and dtype, shape and sha256 of every array.
"""

import contextlib
import hashlib
import io
import json
import math
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError
from .temporary import temporary_file
from .urls import as_given, bytes_of, is_url

CONTAINER_VERSION = 1
MAX_BYTES = 16 * 2**30  # what all arrays of a file may take together, unless the reader is given another limit
MAX_HEADER_BYTES = 64 * 2**20
_KINDS = "biufcU"  # dtypes that may be stored: plain numbers, and text of a fixed width
_EPOCH = (1980, 1, 1, 0, 0, 0)  # equal content gives equal bytes

# What zipfile raises on a damaged archive: its own error, and those of the fields and codecs it trusts.
_ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
    LookupError,
    OverflowError,
)

Arrays = dict[str, NDArray[Any]]


@contextlib.contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[str]:
    """A temporary file beside `path` that takes its place once the block has ended well, and else vanishes."""
    try:
        with temporary_file(os.path.abspath(os.fspath(path))) as temporary:
            yield temporary
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be written ({_told(error)}); check the folder and the disk") from None


def _told(error: OSError) -> str:
    return str(error.strerror or error).lower()


def write_container(
    path: str | os.PathLike[str], kind: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write arrays of numbers and a JSON header to one file, at once or not at all.

    `kind` says what the file is ("forest", "model"), `version` which form of it; `read_container` gives both back.
    """
    from .. import __version__

    stored = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in stored.items():
        if array.dtype.kind not in _KINDS:
            raise ModelFileError(f"{path}: array {name!r} has dtype {array.dtype}; wanted numbers or text")
        if not name or not all(part.isidentifier() for part in name.split(".")):
            raise ModelFileError(f"{path}: array name {name!r}; wanted letters, digits, underscores and dots")
    head = {
        "container": CONTAINER_VERSION,
        "kind": kind,
        "version": version,
        "arbora": __version__,
        "arrays": {name: _describe(array) for name, array in stored.items()},
        "header": dict(header),
    }
    with written_whole(path) as temporary, zipfile.ZipFile(temporary, "w") as zipped:
        zipped.writestr(_member("header.json"), json.dumps(head).encode())
        for name, array in stored.items():
            with zipped.open(_member(f"{name}.npy"), "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array, order="C"), allow_pickle=False)


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _describe(array: NDArray[Any]) -> dict[str, Any]:
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest(array)}


def digest(array: NDArray[Any]) -> str:
    """Checksum of the content of an array."""
    return hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).hexdigest()


# ---- reading --------------------------------------------------------------------------------------------------------


def read_container(
    path: str | os.PathLike[str],
    kind: str,
    max_bytes: int = MAX_BYTES,
    *,
    data: bytes | None = None,
    without: tuple[str, ...] = (),
) -> tuple[int, dict[str, Any], Arrays]:
    """Version, header and arrays of a file that `write_container` wrote; the content is checked against its checksums.

    Nothing larger than the header declares is ever unpacked, and files that declare more than `max_bytes` (16 GiB) are
    refused.  The caller compares the version with those it reads.  `data` holds the bytes of the file, if they have
    been read; arrays named by `without`, up to a dot, stay packed.
    """
    path = as_given(path)
    if data is None and is_url(path):
        data = file_bytes(path, max_bytes)
    try:
        if data is None and stat.S_ISFIFO(os.stat(path).st_mode):
            raise ModelFileError(f"{path}: it is a pipe; wanted a file, so write what comes through it to one first")
        with zipfile.ZipFile(path if data is None else io.BytesIO(data)) as zipped:
            head = _read_header(path, zipped, kind)
            arrays = _read_arrays(path, zipped, head["arrays"], max_bytes, without)
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file; check the path") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({_told(error)}); check the path and the permissions") from None
    except ModelFileError:
        raise
    except _ZIP_FAULTS:
        raise _damaged(path) from None
    return head["version"], head["header"], arrays


def file_bytes(url: str, max_bytes: int) -> bytes:
    """The bytes of a file that is elsewhere, for `read_container`."""
    try:
        return bytes_of(url, max_bytes)
    except FileNotFoundError:
        raise ModelFileError(f"{url}: there is no such file; check the address") from None
    except OSError as error:
        raise ModelFileError(f"{url}: cannot be read ({_told(error)}); check the address and the permissions") from None


def _damaged(path: Any, what: str = "its zip structure or a checksum is wrong") -> ModelFileError:
    return ModelFileError(f"{path}: the file is damaged, cut short, or not written by Arbora ({what}); save it again")


def _read_header(path: Any, zipped: zipfile.ZipFile, kind: str) -> dict[str, Any]:
    head = _parse_header(path, _unpack(path, zipped, "header.json", MAX_HEADER_BYTES))
    if head["kind"] != kind:
        raise ModelFileError(f"{path}: it holds a {head['kind']}, wanted a {kind}; use the function that loads it")
    if head["container"] != CONTAINER_VERSION:
        raise ModelFileError(
            f"{path}: container version {head['container']}, wanted {CONTAINER_VERSION}; "
            f"it was written by Arbora {head['arbora']}, load it with that one"
        )
    return head


def _parse_header(path: Any, data: bytes) -> dict[str, Any]:
    types = {"container": int, "kind": str, "version": int, "arbora": str, "arrays": dict, "header": dict}
    try:
        head = json.loads(data)
    except (ValueError, RecursionError):
        raise _damaged(path, "its header is not JSON") from None
    if not isinstance(head, dict) or any(type(head.get(key)) is not kind for key, kind in types.items()):
        raise _damaged(path, "its header lacks a key")
    return head


def _read_arrays(
    path: Any, zipped: zipfile.ZipFile, declared: dict[str, Any], max_bytes: int, without: tuple[str, ...]
) -> Arrays:
    sizes = {name: _declared_bytes(path, name, entry) for name, entry in declared.items()}
    total = sum(sizes.values())
    if total > max_bytes:
        raise ModelFileError(f"{path}: it declares {total} bytes, more than max_bytes={max_bytes}; raise max_bytes")
    if sorted(zipped.namelist()) != sorted(["header.json", *(f"{name}.npy" for name in declared)]):
        raise _damaged(path, "its members are not those of the header")
    arrays = {}
    for name, entry in declared.items():
        if name.split(".")[0] in without:
            continue
        data = _unpack(path, zipped, f"{name}.npy", sizes[name] + 4096)  # a little for the header of the .npy
        arrays[name] = _read_array(path, name, entry, data)
    return arrays


def _declared_bytes(path: Any, name: str, entry: Any) -> int:
    """Bytes of an array by the header, once that makes sense."""
    try:
        dtype, shape = np.dtype(entry["dtype"]), entry["shape"]
        good = dtype.kind in _KINDS and all(type(n) is int and n >= 0 for n in shape) and type(entry["sha256"]) is str
    except (TypeError, KeyError, ValueError):
        good = False
    if not good:
        raise _damaged(path, f"its header describes the array {name!r} wrongly")
    return int(math.prod(shape) * dtype.itemsize)


def _unpack(path: Any, zipped: zipfile.ZipFile, member: str, limit: int) -> bytes:
    """Bytes of a member, never more than `limit`, whatever the archive says of itself."""
    info = zipped.getinfo(member)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _damaged(path, f"{member} is packed in an unknown way")
    if info.file_size > limit:
        raise _damaged(path, f"{member} is larger than declared")
    with zipped.open(member) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise _damaged(path, f"{member} is larger than declared")
    return data


def _read_array(path: Any, name: str, entry: dict[str, Any], data: bytes) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, TypeError, SyntaxError, MemoryError, OSError):
        raise _damaged(path, f"the array {name!r} cannot be read") from None
    if not isinstance(array, np.ndarray) or array.dtype.str != entry["dtype"] or list(array.shape) != entry["shape"]:
        raise _damaged(path, f"the array {name!r} is not as declared")
    if digest(array) != entry["sha256"]:
        raise _damaged(path, f"the checksum of the array {name!r} is wrong")
    return array
