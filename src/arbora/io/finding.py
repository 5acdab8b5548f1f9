"""The files that a source names: paths, globs, folders, or lists of these, each file once."""

import fnmatch
import glob
import logging
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..errors import ReadError
from ..files.kinds import is_store, plain_name
from ..files.own_outputs import is_result
from ..files.urls import as_given, expand_url, is_url
from .format import Format
from .registry import DOCUMENTS, FORMATS
from .sniffing import format_of_name, sniffed

logger = logging.getLogger(__name__)

Source = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_MOST_TOLD = 8  # suffixes of files that were not read


class Found(NamedTuple):
    """Files to read, and what was left out."""

    files: list[str]
    not_read: Counter[str]  # files of folders, by suffix or reason
    twice: list[str]  # files that had been named before


def find_files(source: Source, formats: Sequence[str], every: bool = False) -> list[str]:
    """The files a source names: a path, a glob (``**`` for any folders), a directory, or a list of these.

    What a glob or a directory holds comes sorted; a list keeps its order.  A directory gives the files below it whose
    names call for one of the formats, with or without ``.gz``, and those of unknown suffixes that begin as such files
    do, except pages and tables that Arbora wrote.  Each file comes once, and each folder is gone through once, however
    many links lead to it.  With `every`, for a format that any text might have, a directory gives all text of unknown
    suffixes that begins like nothing else.  What is left out is logged.
    """
    found = search(source, formats, every)
    report(found, str(source) if isinstance(source, (str, os.PathLike)) else "the files")
    return found.files


def search(source: Source, formats: Sequence[str], every: bool = False) -> Found:
    """As `find_files`, and what was left out."""
    if isinstance(source, (str, os.PathLike)):
        items = [as_given(source)]
    elif isinstance(source, bytes) or not isinstance(source, Iterable):
        raise ReadError(
            f"cannot read from {type(source).__name__}; give a path, a list of paths, a glob or a directory"
        )
    else:
        items = [as_given(item) for item in source]
    if not items:
        raise ReadError("the list of files is empty; give at least one path")
    if "documents" in formats:
        formats = (*formats, *DOCUMENTS)
    not_read: Counter[str] = Counter()
    seen: set[str] = set()
    files, twice = list[str](), list[str]()
    folders = dict[str, str]()
    for item in items:
        for path in _expand(item, formats, every, not_read):
            real = path if is_url(path) else _real(path, folders)
            (twice if real in seen else files).append(path)
            seen.add(real)
    return Found(files, not_read, twice)


def _real(path: str, folders: dict[str, str]) -> str:
    """A path without links; `folders` holds those of the folders so far, which take longer than the file."""
    folder, name = os.path.split(path)
    if name in ("", ".", "..") or os.path.islink(path):
        return os.path.realpath(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return os.path.join(folders[folder], name)


def report(found: Found, where: str) -> None:
    """Log what was left out, if anything was."""
    if found.twice:
        n = len(found.twice)
        logger.warning(
            "%s: %d %s named twice and read once, such as %s", where, n, "is" if n == 1 else "are", found.twice[0]
        )
    if found.not_read:
        logger.warning("%s: %s", where, told(found.not_read))


def told(not_read: Counter[str]) -> str:
    """How many files were not read, and why, in words."""
    n = sum(not_read.values())
    some = [f"{count} {reason}" for reason, count in not_read.most_common(_MOST_TOLD)]
    rest = n - sum(count for _, count in not_read.most_common(_MOST_TOLD))
    some += [f"{rest} others"] if rest else []
    return f"{n} {'file was' if n == 1 else 'files were'} not read ({', '.join(some)})"


def _expand(path: str, formats: Sequence[str], every: bool, not_read: Counter[str]) -> list[str]:
    if is_url(path):
        if is_store(path):
            return [path.rstrip("/")]
        return expand_url(path, not_read, lambda name: _reason_against(name, path, formats, every))
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return _expand_glob(path, not_read)
    if not stat.S_ISDIR(mode) or is_store(path):
        return [path.rstrip(os.sep) or path]
    found = _without_results(path, _of_folder(path, formats, every, not_read))
    if not found:
        suffixes = [suffix for format in formats for suffix in FORMATS[format].suffixes]
        ending = "has a known suffix" if len(suffixes) > 5 else f"ends in {' or '.join(suffixes)}"
        holds = f" ({told(not_read)})" if not_read else ""
        closed = [
            name for name, format in FORMATS.items() if name not in formats or (format.asked and len(formats) > 1)
        ]
        others = [(name, x) for name in closed for x in FORMATS[name].suffixes if x in not_read]
        advice = f"name the format {others[0][0]}, which reads {others[0][1]}" if others else "name the files instead"
        raise ReadError(f"{path}: no file in this directory {ending}{holds}; {advice}")
    return found


def _of_folder(folder: str, formats: Sequence[str], every: bool, not_read: Counter[str]) -> list[str]:
    """The files below a folder that have one of these formats, one for each real file."""
    real: dict[str, str] = {}
    folders = dict[str, str]()
    for path in sorted(_below(folder, not_read), key=lambda path: (os.path.islink(path), path)):
        reason = _reason_against(path, folder, formats, every)
        if reason is None:
            real.setdefault(_real(path, folders), path)
        else:
            not_read[reason] += 1
    return sorted(real.values())


def _reason_against(path: str, folder: str, wanted: Sequence[str], every: bool) -> str | None:
    """Why a file of a folder is not one of the formats that are wanted; None if it is.

    The name decides where its ending is known.  A file of another ending is one of them if it begins like it, or, with
    `every` and a single format that any text might have, if it is text and begins like nothing else.
    """
    if is_store(path):
        return None if "store" in wanted else ".store"
    if not is_url(path) and not os.path.isfile(path):
        return "no regular file"  # a pipe that nobody may ever write to, or a link to nothing
    name = format_of_name(path)
    if name in wanted:
        return None
    suffix = os.path.splitext(plain_name(path))[1] or "without a suffix"
    single = FORMATS[wanted[0]] if len(wanted) == 1 else None
    if single is not None and single.asked:
        has = plain_name(path).endswith(single.suffixes) and not _is_hidden(path, folder)
        return None if has else suffix
    shows = single is not None and single.sniff is not None
    if (name is not None and not shows) or _is_hidden(path, folder):
        return suffix if name is not None else "hidden"
    kind, is_text = sniffed(path)
    if kind in wanted or (every and single is not None and _any_text(single) and kind is None and is_text):
        return None
    return suffix


def _any_text(format: Format) -> bool:
    """Whether any text might be of this format."""
    return format.sniff is None and format.parts is None


def _is_hidden(path: str, folder: str) -> bool:
    return any(part.startswith(".") for part in _rest(path, folder).split(os.sep))


def _below(folder: str, not_read: Counter[str]) -> Iterator[str]:
    """All files and stores below a folder; a real folder is gone through once, links to folders last."""
    seen: set[str] = set()
    links, folders = [folder], list[str]()
    while links or folders:
        where = folders.pop() if folders else links.pop(0)
        real = os.path.realpath(where)
        if real in seen:
            continue
        seen.add(real)
        for entry in _entries(where, not_read):
            path = os.path.join(where, entry.name)
            if not entry.is_dir() or is_store(path):  # what is in a store is the store's own
                yield path
            else:
                (links if entry.is_symlink() else folders).append(path)


def _entries(folder: str, not_read: Counter[str]) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        not_read["in folders that cannot be opened"] += 1
        return []


def _expand_glob(path: str, not_read: Counter[str]) -> list[str]:
    if not glob.has_magic(path):
        raise ReadError(f"{path}: there is no such file; check the path")
    path = path.replace(os.altsep, os.sep) if os.altsep else path
    matches = _glob_below(path, not_read) if "**" in path.split(os.sep) else glob.glob(path)
    found = sorted(match for match in matches if os.path.isfile(match) or is_store(match))
    if not found:
        raise ReadError(f"{path}: no file matches this pattern; check the folder and the ending")
    return found


def _glob_below(pattern: str, not_read: Counter[str]) -> Iterator[str]:
    """The matches of a pattern with ``**``: as `glob.glob`, but links that form a loop come to an end.

    A real folder is gone through once for each set of places in the pattern at which one may be there.
    """
    parts = pattern.split(os.sep)
    first = parts.index("**")
    start, parts = os.sep.join(parts[:first]), parts[first:]
    for base in sorted(glob.glob(start)) if glob.has_magic(start) else [start]:
        top = base or (os.sep if pattern.startswith(os.sep) else "")
        seen: set[tuple[str, frozenset[int]]] = set()
        links, folders = [(top, _passed({0}, parts))], list[tuple[str, set[int]]]()
        while links or folders:
            where, at = folders.pop() if folders else links.pop(0)
            key = os.path.realpath(where or os.curdir), frozenset(at)
            if key in seen:
                continue
            seen.add(key)
            for entry in _entries(where or os.curdir, not_read):
                path, now = os.path.join(where, entry.name), _advanced(at, entry.name, parts)
                if not entry.is_dir() or is_store(path):
                    if len(parts) in now:
                        yield path
                elif now - {len(parts)}:
                    (links if entry.is_symlink() else folders).append((path, now))


def _advanced(at: set[int], name: str, parts: list[str]) -> set[int]:
    """The places in a pattern after one more name; a wildcard does not stand for a dot at its beginning."""
    now = set()
    for i in at - {len(parts)}:
        if parts[i] == "**":
            now |= set() if name.startswith(".") else {i}
        elif fnmatch.fnmatch(name, parts[i]) and (parts[i].startswith(".") or not name.startswith(".")):
            now.add(i + 1)
    return _passed(now, parts)


def _passed(at: set[int], parts: list[str]) -> set[int]:
    """These places in a pattern, and those behind each ``**``, which may stand for no folder."""
    for i, part in enumerate(parts):
        if i in at and part == "**":
            at = at | {i + 1}
    return at


def _rest(path: str, folder: str) -> str:
    """The path of a file below a folder."""
    return path[len(os.path.join(folder, "")) :]


def _without_results(folder: str, found: list[str]) -> list[str]:
    """The files that Arbora did not write itself as a page or table; says how many it did."""
    results = [path for path in found if is_result(path)]
    if results:
        what = "a result" if len(results) == 1 else f"{len(results)} results"
        logger.warning("%s: left out %s that Arbora wrote, such as %s", folder, what, results[0])
    ours = set(results)
    return [path for path in found if path not in ours]
