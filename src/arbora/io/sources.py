"""What all readers share: finding files, opening them, leaving bad ones out, and showing progress."""

import contextlib
import gzip
import io
import logging
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import IO, Any, NamedTuple, TypeVar

from ..errors import ReadError, SkippedFilesWarning, warn
from ..files.urls import is_url, open_url, size_of
from ..forest.forest import Forest
from ..progress import Progress
from .builder import Columns, Fault
from .contents import NOTHING, Asked
from .finding import Source, find_files

logger = logging.getLogger(__name__)

MAX_BYTES = 100_000_000  # of a file, or of a line where lines are read one by one, unless a reader is told otherwise
Item = TypeVar("Item")
CHUNK = 1 << 20  # bytes read at a time
UNPACKED_BYTES, UNPACKED_RATIO = 2**30, 100  # of gzip data: the larger of the two is what they may unpack to


class Policy(NamedTuple):
    """The options that every reader has."""

    on_error: str = "raise"
    vocabulary: Sequence[str] | None = None
    progress: bool | None = None
    max_bytes: int = MAX_BYTES
    asked: Asked = NOTHING  # columns of content, if no format says beforehand which there are


class Position(NamedTuple):
    """Where the trees that were not yet taken begin: number of the file, and lines of it that are done."""

    file: int = 0
    line: int = 0


class Sink:
    """Takes trees from a reader part by part, so that never much more than `max_nodes` nodes are in memory.

    `take(forest, position)` gets each part, and where the next one begins; reading starts at `start`, and then
    `class_kind` is the kind of the known classes before it, as numpy calls it, or empty if there are none.  With
    `own_classes` those of the reader are kept, and must be of one kind.  `aside` is called with the reason for each bad
    file or line that is left out; then neither a warning nor an error is.
    """

    def __init__(
        self,
        take: Callable[[Forest, Position], None],
        max_nodes: int,
        start: Position = Position(),  # noqa: B008
        class_kind: str | None = None,
        own_classes: bool = True,
        aside: Callable[[str], None] | None = None,
    ):
        self.aside = aside
        self.take, self.max_nodes, self.start, self.class_kind = take, max_nodes, start, class_kind
        self.own_classes = own_classes
        self.file, self.taken_at = start.file, start
        self.n_trees = 0

    def lines_done(self) -> int:
        """Lines of the file at hand that are done already."""
        return self.taken_at.line if self.taken_at.file == self.file else 0

    def took_trees(self) -> bool:
        """Whether it got trees, in this run or before."""
        return self.n_trees > 0 or self.start != Position()

    def flush(self, columns: Columns, policy: Policy, position: Position) -> Forest:
        """Hand over all trees so far."""
        forest = columns.take(policy.vocabulary)
        if forest.n_trees:
            self.take(forest, position)
        self.n_trees += forest.n_trees
        self.taken_at = position
        return forest


# Not an argument: every public reader would have to take a sink and pass it on to the reading of its files.
_sink: ContextVar[Sink | None] = ContextVar("arbora_sink", default=None)


def nothing_found(forest: Forest) -> bool:
    """Whether a read that ended with this forest, perhaps the last part of several, gave no tree at all."""
    sink = _sink.get()
    return not forest.n_trees and not (sink is not None and sink.took_trees())


@contextlib.contextmanager
def streaming(sink: Sink) -> Iterator[None]:
    """Readers called in this block give their trees to the sink; what they return is the last part."""
    before = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(before)


# ---- opening --------------------------------------------------------------------------------------------------------


class _Limited(io.RawIOBase):
    """What gzip data unpack to, with an end to those that are made to fill the memory."""

    def __init__(self, path: str) -> None:
        size = size_of(path) if is_url(path) else os.stat(path).st_size
        self.file = _opened(path)
        self.packed = gzip.GzipFile(fileobj=self.file)
        self.left = self.most = max(UNPACKED_BYTES, UNPACKED_RATIO * size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.packed.read1(len(buffer))
        self.left -= len(data)
        if self.left < 0:
            raise Fault(f"it unpacks to more than {self.most} bytes, as made to do harm; unpack it if you trust it")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.packed.close()
        self.file.close()
        super().close()


def _opened(path: str) -> IO[bytes]:
    return open_url(path) if is_url(path) else open(path, "rb")


def _unpacked(path: str) -> io.BufferedReader:
    return io.BufferedReader(_Limited(path), 2**17)


class Opened:
    """A file open for reading bytes, unpacked if it is gzip; failures inside the block become a Fault."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> IO[bytes]:
        try:
            found = _unpacked(self.path) if self.path.lower().endswith(".gz") else _opened(self.path)
        except (OSError, ValueError) as error:
            raise Fault(_reason(error)) from None
        self.file = found
        return self.file

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.file.close()
        if isinstance(error, (EOFError, zlib.error, gzip.BadGzipFile)):
            raise Fault("the gzip data is damaged or cut short; fetch or pack the file again") from None
        if isinstance(error, OSError):
            raise Fault(_reason(error)) from None


def _reason(error: Exception) -> str:
    text = (isinstance(error, OSError) and error.strerror) or str(error)
    return f"the file cannot be opened ({text.lower()}); check the path and the permissions"


def read_bytes(path: str, max_bytes: int, advice: str = "raise max_bytes if you trust it") -> bytes:
    """All bytes of a file, unpacked if its name ends in .gz; at most `max_bytes` of them."""
    with Opened(path) as file:
        chunks, left = [], max_bytes  # in chunks, because asking for max_bytes at once would also allocate as many
        read = getattr(file, "read1", file.read)  # files of some servers have none
        while left >= 0 and (chunk := read(CHUNK)):
            chunks.append(chunk)
            left -= len(chunk)
    if left < 0:
        raise Fault(f"the file holds more than {max_bytes} bytes; {advice}")
    return b"".join(chunks)


def decode(data: bytes) -> str:
    """UTF-8 bytes as text, without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Fault(f"byte 0x{data[error.start]:02x} is not UTF-8; convert the file to UTF-8", line) from None


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column, counted from one, of an offset into a text."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def shown(text: str, limit: int = 40) -> str:
    """A piece of the input as it may stand in a message: quoted, and short."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


# ---- the two loops --------------------------------------------------------------------------------------------------


def read_files(
    source: Source,
    format: str,
    read_file: Callable[[str, Columns], None],
    policy: Policy,
    finish: Callable[[Columns], None] | None = None,
) -> Forest:
    """Read every file whole; a file with a fault is left out with all its trees, or stops the read.

    `finish` is called after the last file, for readers that keep nodes back.
    """
    return _read(source, format, lambda path, columns, _skipped, _bar: read_file(path, columns), policy, finish)


def read_items(
    source: Source,
    format: str,
    items: Callable[[str], Iterator[Item]],
    read_item: Callable[[Item, Columns], None],
    policy: Policy,
) -> Forest:
    """Read files of many trees, such as one per line, with ``read_item(item, columns)`` for each of ``items(path)``.

    Bad items are left out one by one, if the policy says so.
    """

    def read_file(path: str, columns: Columns, skipped: "_Skipped", bar: Progress) -> None:
        sink = _sink.get()
        done = 0 if sink is None else sink.lines_done()
        for number, item in enumerate(items(path), 1):
            if number <= done:
                continue
            mark = columns.mark()
            try:
                read_item(item, columns)
            except Fault as fault:
                columns.rewind(mark)
                if policy.on_error == "raise":
                    raise
                skipped.add(fault.at(path))
            if sink is not None and columns.n_nodes >= sink.max_nodes:
                sink.flush(columns, policy, Position(sink.file, number))
            if number % 256 == 0:
                bar.show()

    return _read(source, format, read_file, policy)


def read_lines(source: Source, format: str, read_line: Callable[[str, str, Columns], None], policy: Policy) -> Forest:
    """Read files of one tree per line with ``read_line(text, name, columns)``; bad lines are left out one by one."""

    def lines(path: str) -> Iterator[tuple[str, int, bytes]]:
        with Opened(path) as file:
            for number, raw in enumerate(_lines(file, policy.max_bytes), 1):
                yield path, number, raw

    def read_item(item: tuple[str, int, bytes], columns: Columns) -> None:
        path, number, raw = item
        try:
            text = decode(raw).strip()
            if text:
                read_line(text, f"{path}:{number}", columns)
        except Fault as fault:
            fault.line = number
            raise

    return read_items(source, format, lines, read_item, policy)


def _lines(file: IO[bytes], max_bytes: int) -> Iterator[bytes]:
    """The lines of a file; one that is longer, or has no end, is a fault of the file."""
    number = 0
    while line := file.readline(max_bytes + 1):
        number += 1
        if len(line) > max_bytes:
            raise Fault(f"the line holds more than {max_bytes} bytes; raise max_bytes if you trust it", number)
        yield line


def _read(
    source: Source,
    format: str,
    read_file: Callable[[str, Columns, "_Skipped", Progress], None],
    policy: Policy,
    finish: Callable[[Columns], None] | None = None,
) -> Forest:
    if policy.on_error not in ("raise", "skip"):
        raise ReadError(f'on_error={policy.on_error!r}; wanted "raise" or "skip"')
    if policy.max_bytes < 1:
        raise ReadError(f"max_bytes={policy.max_bytes}; wanted 1 or more")
    files = find_files(source, (format,))
    sink, empty = _sink.get(), list[str]()
    skipped = _Skipped(None if sink is None else sink.aside)
    columns = Columns() if sink is None else Columns(sink.own_classes, sink.class_kind)
    with Progress("reading", len(files), policy.progress) as bar:
        for number, path in enumerate(files):
            if sink is not None:
                if number < sink.start.file:
                    bar.advance()
                    continue
                sink.file = number
            mark, before = columns.mark(), len(skipped.reasons)
            try:
                read_file(path, columns, skipped, bar)
            except Fault as fault:
                columns.rewind(mark)
                del skipped.reasons[before:]  # the whole file goes, and counts once
                skipped.add(fault.at(path))
                # Trees that were handed over cannot be taken back.
                if policy.on_error == "raise" or (sink is not None and sink.lines_done()):
                    raise ReadError(skipped.reasons[-1]) from None
            else:
                columns.end_file(path, mark)
                if len(columns.name) == mark.trees and (sink is None or not sink.lines_done()):
                    empty.append(path)
                if sink is not None and columns.n_nodes >= sink.max_nodes:
                    if finish is not None:
                        finish(columns)
                    sink.flush(columns, policy, Position(number + 1))
            bar.advance()
    if skipped.told is None and skipped.reasons and not columns.name and not (sink is not None and sink.took_trees()):
        raise ReadError(f"nothing could be read; the first reason: {skipped.reasons[0]}")
    skipped.warn()
    if empty and len(files) > 1:
        logger.warning("%d of %d files have no tree in them, such as %s", len(empty), len(files), empty[0])
    if finish is not None:
        finish(columns)
    whole = sink is None or sink.start == Position()
    forest = columns.build(policy.vocabulary) if sink is None else sink.flush(columns, policy, Position(len(files)))
    lost = sorted(policy.asked.names - columns.made) if whole else []  # of trees taken earlier nobody knows
    if lost:
        logger.warning("content: no node has %s; check the names of the columns", ", ".join(map(repr, lost)))
    if sink is not None:
        return forest
    logger.debug("read %d trees, %d nodes from %d files", forest.n_trees, forest.n_nodes, len(files))
    return forest


class _Skipped:
    """The files and lines that were left out, and why."""

    def __init__(self, told: Callable[[str], None] | None = None) -> None:
        self.reasons: list[str] = []
        self.told = told  # who is told of each at once

    def add(self, reason: str) -> None:
        self.reasons.append(reason)
        if self.told is not None:
            self.told(reason)

    def warn(self) -> None:
        """Warn once, with the count and the first reason."""
        if self.reasons and self.told is None:
            n = len(self.reasons)
            count = "1 bad file or line was" if n == 1 else f"{n} bad files or lines were"
            text = f"{count} left out; the first: {self.reasons[0]}"
            warn(text, SkippedFilesWarning)  # the caller of read_xml and the like
