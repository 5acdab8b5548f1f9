"""Files that are elsewhere: URLs that fsspec opens, such as s3://bucket/corpus, https://... and memory://."""

import glob
import io
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import PurePath
from typing import IO, Any

from ..errors import MissingDependencyError, ReadError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_IN_STORE = re.compile(r"(.*?\.store)/", re.DOTALL)
_ONE_SLASH = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(?=[^/])")  # what a Path makes of a URL


def is_url(path: Any) -> bool:
    """Whether a path is a URL and not a file of this machine."""
    return isinstance(path, str) and "://" in path and _URL.match(path) is not None


def as_given(path: str | os.PathLike[str]) -> str:
    """A path as text; a URL that went through a Path gets its second slash back."""
    text = os.fspath(path)
    return _ONE_SLASH.sub(r"\1://", text, count=1) if isinstance(path, PurePath) and not os.path.exists(text) else text


class _Raw(io.RawIOBase):
    """The bytes of a file of fsspec: not all of its kinds have the methods of files, such as lines up to a length."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self.file.seekable())

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self.file.seek(offset, whence))

    def tell(self) -> int:
        return int(self.file.tell())

    def readinto(self, buffer: Any) -> int:
        data = self.file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self.file.close()
        super().close()


def open_url(url: str) -> IO[bytes]:
    """The file behind a URL, open for reading bytes."""
    system, path = _system(url)
    try:
        return io.BufferedReader(_Raw(system.open(path, "rb")), 2**17)
    except (OSError, ValueError) as error:
        kind = FileNotFoundError if isinstance(error, FileNotFoundError) else OSError
        raise kind(f"{type(error).__name__}: {error}") from None


def bytes_of(url: str, max_bytes: int) -> bytes:
    """All bytes of the file behind a URL; OSError if there is no such file, it cannot be read, or it has more."""
    try:
        with open_url(url) as file:
            data = file.read(max_bytes + 1)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 (each file system has errors of its own)
        raise OSError(f"{type(error).__name__}: {error}") from None
    if len(data) > max_bytes:
        raise OSError(f"the file holds more than {max_bytes} bytes; raise max_bytes if you trust it")
    return data


def inside(folder: str, name: str) -> str:
    """The path of a file in a folder, which may be a URL."""
    return f"{folder.rstrip('/')}/{name}" if is_url(folder) else os.path.join(folder, name)


def size_of(url: str) -> int:
    """Bytes of the file behind a URL; 0 if its server does not say."""
    system, path = _system(url)
    return int(system.info(path).get("size") or 0)


def state_of(url: str) -> str:
    """What changes when the file behind a URL does."""
    system, path = _system(url)
    return str(system.ukey(path))


def expand_url(url: str, not_read: Counter[str], reason_against: Callable[[str], str | None]) -> list[str]:
    """The files that a URL names: one file, all that match a pattern, or those below a folder that are of a format."""
    system, path = _system(url)
    try:
        if glob.has_magic(path):
            found = [name for name in system.glob(path) if system.isfile(name)]
            if not found:
                raise ReadError(f"{url}: no file matches this pattern; check the folder and the ending")
            return sorted(map(system.unstrip_protocol, found))
        if not system.isdir(path):
            if not system.exists(path):
                raise ReadError(f"{url}: there is no such file; check the path")
            return [url]
        below = sorted({_whole(system.unstrip_protocol(name)) for name in system.find(path)})
    except OSError as error:
        raise ReadError(f"{url}: it cannot be listed ({error}); check the address and the permissions") from None
    chosen = []
    for name in below:
        reason = reason_against(name)
        if reason is None:
            chosen.append(name)
        else:
            not_read[reason] += 1
    if not chosen:
        raise ReadError(f"{url}: no file in this folder has a known suffix; name the files instead")
    return chosen


def _whole(url: str) -> str:
    """The store that a file belongs to, or else the file itself."""
    store = _IN_STORE.match(url)
    return store[1] if store else url


def _system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    try:
        import fsspec
    except ImportError:
        raise MissingDependencyError(f"{url}: files that are elsewhere need fsspec; install arbora[remote]") from None
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:  # of s3fs, gcsfs and the like
        raise MissingDependencyError(f"{url}: {error}") from None
    except ValueError as error:
        raise ReadError(f"{url}: {error}; check the part before ://") from None
    return system, path
