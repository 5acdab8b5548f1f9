"""Temporary files that take the place of others, and what killed writers leave of them.

A writer takes the first of ``target.0.tmp``, ``target.1.tmp``, ... that nobody holds a lock on.  Locks end with their
process, so what a killed one left is taken over by the next writer of the same target, and what several left at once is
removed by it; a file that somebody is writing is never touched.
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from itertools import count

try:
    import fcntl
except ImportError:  # not a Unix: no locks, so names that nobody else can have, and leftovers stay
    fcntl = None  # type: ignore[assignment]

MOST_WRITERS = 10_000  # of one target at once


@contextlib.contextmanager
def temporary_file(target: str) -> Iterator[str]:
    """The path of an empty file, flushed and moved to the target once the block has ended well, and else removed."""
    held, temporary, number = _claim(target)
    moved = False
    try:
        yield temporary
        os.fsync(held)
        os.replace(temporary, target)
        moved = True
        _remove_leftovers(target, number + 1)
    finally:
        if not moved:  # once moved, the name may be another writer's
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        os.close(held)


class FolderLock:
    """A folder that this process alone writes to, until it is closed or the process ends; `held` says if it is.

    Where the system or the file system has no locks, everybody holds it.
    """

    def __init__(self, folder: str):
        self._descriptor: int | None = None
        self.held = True
        if fcntl is None:
            return
        self._descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.held = False
            self.close()
        except OSError:
            self.close()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    __del__ = close


def _claim(target: str) -> tuple[int, str, int]:
    """A temporary file of ours, empty: its descriptor, path and number."""
    for number in range(MOST_WRITERS if fcntl is not None else 0):
        temporary = f"{target}.{number}.tmp"
        try:
            held = _lock(temporary, os.O_CREAT)
        except _NoLocksError:
            break
        if held is not None:
            os.ftruncate(held, 0)
            return held, temporary, number
    temporary = f"{target}.{secrets.token_hex(6)}.tmp"
    return os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666), temporary, 0


class _NoLocksError(Exception):
    """The file system has no locks."""


def _lock(path: str, create: int) -> int | None:
    """A descriptor of the file, locked; None if it is not to be had: being written, or not a plain file of ours."""
    try:
        held = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | create, 0o666)
    except OSError:
        if create and not os.path.lexists(path):
            raise  # the folder or the disk is at fault
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_ours(held, path):
            return held
    except BlockingIOError:
        pass
    except OSError:
        if create and os.fstat(held).st_size == 0:
            os.unlink(path)
        os.close(held)
        raise _NoLocksError from None
    os.close(held)
    return None


def _is_ours(held: int, path: str) -> bool:
    """Whether the path still is this file, and this file nobody else's under any name."""
    mine = os.fstat(held)
    try:
        there = os.lstat(path)
    except FileNotFoundError:  # its writer moved it to its place before we had the lock
        return False
    same = (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)
    return same and stat.S_ISREG(mine.st_mode) and mine.st_nlink == 1 and mine.st_uid == os.geteuid()


def _remove_leftovers(target: str, first: int) -> None:
    """Remove the numbered files from the first on that nobody is writing."""
    if fcntl is None:
        return
    for number in count(first):
        path = f"{target}.{number}.tmp"
        if not os.path.lexists(path):
            return
        with contextlib.suppress(OSError, _NoLocksError):
            held = _lock(path, 0)
            if held is not None:
                os.unlink(path)
                os.close(held)
