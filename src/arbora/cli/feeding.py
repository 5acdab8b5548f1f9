"""A stream of trees in small parts, from files or standard input; what cannot be read is set aside with its reason."""

import queue
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ReadError
from ..evaluate.summary import tree_names
from ..forest.forest import Forest
from ..io.choose_reader import stream
from ..io.registry import FORMATS
from ..io.sources import Position, Sink
from ..watch.log import Place
from .standard_input import NAME

MOST_NODES = 20_000  # of a part
MOST_LINES = 256  # of standard input at once
FILES_AT_ONCE = 64  # files read as one part if they are small
WAIT = 0.2  # seconds between looks at whether to stop


class Part(NamedTuple):
    """Trees that were read, their names, what was set aside before their end, and how far each source is read."""

    forest: Forest
    names: list[str]
    aside: list[str]
    places: list[Place]


class _Gathered:
    """Parts of some files, in order, as the reader gives them."""

    def __init__(self, files: list[str], start: int) -> None:
        self.files, self.parts = files, list[Part]()
        self.aside: list[str] = []
        self.file, self.start = 0, start

    def told(self, reason: str) -> None:
        self.aside.append(reason)

    def take(self, forest: Forest, position: Position) -> None:
        self.parts.append(Part(forest, tree_names(forest), self.aside, self._places(position)))
        self.aside = []

    def _places(self, position: Position) -> list[Place]:
        done = [Place(path, 0, True) for path in self.files[self.file : position.file]]
        self.file = position.file
        if position.line:
            done.append(Place(self.files[position.file], position.line))
        return done

    def rest(self) -> Part | None:
        """What no tree came after."""
        places = self._places(Position(len(self.files)))
        if not self.aside and not places:
            return None
        return Part(Forest.from_nested([]), [], self.aside, places)


def _read(files: list[str], format: str, options: dict[str, Any], line: int = 0) -> Iterator[Part]:
    """All parts of some files; those of one file are given on as they are read, one part behind."""
    gathered = _Gathered(files, line)
    sink = Sink(gathered.take, MOST_NODES, Position(0, line), own_classes=False, aside=gathered.told)
    given = {} if FORMATS[format].parts else {"on_error": "skip", "progress": False}
    try:
        stream(files, format, sink, **given, **options)
    except ReadError as error:
        if str(error) not in gathered.aside and not any(str(error) in part.aside for part in gathered.parts):
            gathered.told(str(error))
    yield from gathered.parts
    if (rest := gathered.rest()) is not None:
        yield rest


class LineByLine:
    """Parts of one long file of a tree per line: the reader runs in a thread, a few parts ahead."""

    def __init__(self, path: str, format: str, options: dict[str, Any], line: int, stopped: Callable[[], bool]) -> None:
        self.gathered = _Gathered([path], line)
        self.waiting: queue.Queue[Part | None] = queue.Queue(maxsize=4)
        self.given_up = False
        self.args = (path, format, options, line)
        self.stopped = stopped

    def _take(self, forest: Forest, position: Position) -> None:
        self.gathered.take(forest, position)
        self._put(self.gathered.parts.pop())

    def _put(self, part: Part | None) -> None:
        while not self.given_up:
            try:
                return self.waiting.put(part, timeout=WAIT)
            except queue.Full:
                continue
        raise ReadError("the reading was given up")

    def _run(self) -> None:
        path, format, options, line = self.args
        sink = Sink(self._take, MOST_NODES, Position(0, line), own_classes=False, aside=self.gathered.told)
        try:
            try:
                stream([path], format, sink, on_error="skip", progress=False, **options)
            except ReadError as error:
                if str(error) not in self.gathered.aside:
                    self.gathered.told(str(error))
            rest = self.gathered.rest()
            if rest is not None:
                self._put(rest)
            self._put(None)
        except ReadError:
            return  # given up

    def __iter__(self) -> Iterator[Part]:
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        try:
            while not self.stopped():
                try:
                    part = self.waiting.get(timeout=WAIT)
                except queue.Empty:
                    continue
                if part is None:
                    return
                yield part
        finally:
            self.given_up = True
            thread.join()


def from_files(
    files: list[str], format: str, options: dict[str, Any], places: dict[str, Place], stopped: Callable[[], bool]
) -> Iterator[Part]:
    """Parts of files, without what was read of them before."""
    left = [path for path in files if not (path in places and places[path].done)]
    if FORMATS[format].by_line:
        for path in left:
            line = places[path].line if path in places else 0
            yield from LineByLine(path, format, options, line, stopped)
        return
    for first in range(0, len(left), FILES_AT_ONCE):
        if stopped():
            return
        yield from _read(left[first : first + FILES_AT_ONCE], format, options)


def from_standard_input(format: str, options: dict[str, Any], stopped: Callable[[], bool]) -> Iterator[Part]:
    """Parts of standard input as its lines come in: a tree per line, or a document per line."""
    most = MOST_LINES if FORMATS[format].by_line else 1
    number = 0
    with tempfile.TemporaryDirectory(prefix="arbora-") as folder:
        path = str(Path(folder, NAME))
        for lines in _lines_as_they_come(most, stopped):
            Path(path).write_bytes(b"".join(lines))
            for part in _read([path], format, options):
                names = [_as_sent(name, path, number) for name in part.names]
                aside = [_as_sent(reason, path, number) for reason in part.aside]
                yield part._replace(names=names, aside=aside, places=[])
            number += len(lines)


def _as_sent(text: str, path: str, before: int) -> str:
    """A name or a reason in terms of the whole stream, not of the file that holds some lines of it."""
    text = re.sub(re.escape(path) + r"(:|, line )(\d+)", lambda m: f"{NAME}{m[1]}{int(m[2]) + before}", text)
    return text.replace(path, f"{NAME}:{before + 1}")


def _lines_as_they_come(most: int, stopped: Callable[[], bool]) -> Iterator[list[bytes]]:
    """Lines of standard input, so many at once or those that are there."""
    waiting: queue.Queue[bytes] = queue.Queue(maxsize=4 * MOST_LINES)

    def read() -> None:
        for line in sys.stdin.buffer:
            waiting.put(line)
        waiting.put(b"")

    threading.Thread(target=read, daemon=True).start()
    ended = False
    while not ended and not stopped():
        lines: list[bytes] = []
        try:
            lines.append(waiting.get(timeout=WAIT))
            while len(lines) < most:
                lines.append(waiting.get_nowait())
        except queue.Empty:
            pass
        ended = b"" in lines
        lines = [line for line in lines if line.strip()]
        if lines:
            yield lines
