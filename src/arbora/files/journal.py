"""An append-only file of JSON records, each with a checksum, that a crash at any moment leaves readable.

A line is ``crc32 length json``.  `append` returns once the line is on the disk.  A last line that is not whole is what
a crash left of an append that never returned: `Journal` cuts it off.  Damage anywhere else raises.
"""

import json
import os
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..errors import ModelFileError

HEAD = 18  # bytes of "crc32 length " : two numbers of eight hexadecimal digits, a blank after each


class Entry(NamedTuple):
    """A record, and where the next one begins."""

    record: dict[str, Any]
    end: int


def _line(record: Any) -> bytes:
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=True).encode()
    return b"%08x %08x %s\n" % (zlib.crc32(text), len(text), text)


def read_journal(path: str | os.PathLike[str], start: int = 0) -> Iterator[Entry]:
    """The records from an offset on; ends before a last one that is not whole, and raises where one is damaged."""
    size = os.path.getsize(path)
    if start > size:
        raise ModelFileError(
            f"{path}: it has {size} bytes, and a snapshot is of byte {start}; restore the whole folder"
        )
    with open(path, "rb") as file:
        file.seek(start)
        at = start
        while at < size:
            head = file.read(HEAD)
            try:
                checksum, length = int(head[:8], 16), int(head[9:17], 16)
                if len(head) < HEAD or head[8:9] != b" " or head[17:] != b" ":
                    raise ValueError
            except ValueError:
                if len(head) < HEAD:
                    return
                raise _damaged(path, at) from None
            text = file.read(min(length + 1, size - at))
            if at + HEAD + length + 1 > size:
                if b"\n" in text[:-1]:
                    raise _damaged(path, at)  # there are records after it: its length is wrong
                return  # cut short: the append never returned
            if text[-1:] != b"\n" or zlib.crc32(text[:-1]) != checksum:
                if at + HEAD + length + 1 == size:
                    return  # the blocks of the last line may reach the disk in any order
                raise _damaged(path, at)
            at += HEAD + length + 1
            yield Entry(json.loads(text), at)


def _damaged(path: Any, at: int) -> ModelFileError:
    return ModelFileError(f"{path}: the record at byte {at} is damaged; restore a copy of the folder")


class Journal:
    """A journal that is open for appending at the end of what is whole."""

    def __init__(self, path: str | os.PathLike[str], end: int = 0):
        new = not os.path.exists(path)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)
        self.end = end
        if new:
            _sync_folder(os.path.dirname(os.path.abspath(path)))

    def append(self, record: dict[str, Any]) -> int:
        """Write a record; it is on the disk when this returns the offset after it."""
        line = memoryview(_line(record))
        try:
            done = 0
            while done < len(line):
                done += os.write(self._file, line[done:])
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, self.end)  # a full disk: what is whole stays whole
            os.lseek(self._file, self.end, os.SEEK_SET)
            raise
        self.end += len(line)
        return self.end

    def close(self) -> None:
        os.close(self._file)


def _sync_folder(folder: str) -> None:
    """A new name in a folder is on the disk, too, where the system can do that."""
    try:
        held = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(held)
    except OSError:
        pass
    finally:
        os.close(held)
