"""What a command reads: the files, their format, options of the reader, and known classes of the trees."""

import contextlib
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from ..errors import ReadError, warn
from ..evaluate.summary import tree_names
from ..evaluate.wording import counted
from ..files.urls import is_url, state_of
from ..forest.forest import Forest
from ..forest.store import ForestStore
from ..forest.store_writing import StoreWriter
from ..forest.trees import Trees
from ..inference.distribute import distributed
from ..io.choose_reader import read, stream
from ..io.finding import Found, report, search
from ..io.format import Option
from ..io.option_words import default_of, default_told, parse_option, wanted
from ..io.registry import FORMATS
from ..io.sniffing import format_of, side_by_side, suited_options, tell_recognised, tell_side_by_side, tell_suited
from ..io.sources import Position, Sink
from ..io.tables import named_columns
from .standard_input import is_spooled, plain, with_standard_input
from .terminal import INTERRUPTED, Teller, fail, usage


class Inputs(NamedTuple):
    """Files of one format, and the options of its reader as they were typed."""

    files: list[str]
    format: str
    options: dict[str, str]
    not_read: dict[str, int]  # files of folders that were left out, by suffix or reason

    def typed(self) -> list[str]:
        """The options as typed."""
        return [f"{key}={text}" for key, text in self.options.items()]

    def remembered(self) -> dict[str, Any]:
        """What a model keeps of this: all that says what becomes a tree, so neither limits nor choices of trees."""
        kept = {option.name for option in FORMATS[self.format].options if option.of_trees}
        return {"format": self.format, "options": {k: v for k, v in self.options.items() if k in kept}}


def find(
    paths: Sequence[Path], format: str | None, options: Sequence[str] | None, otherwise: str | None = None
) -> Inputs:
    """The files that paths, globs and directories name; all of one format.  Says how many files were left out.

    Where neither names nor contents show a format, or several, it is `otherwise`, the format of the trees that a model
    was trained on.
    """
    paths = with_standard_input(paths)
    found, others = _search(paths, format), dict[str, int]()
    if format is None:
        single = [format_of(path) for path in found.files]
        kinds = side_by_side(single, otherwise)
        counts = Counter(kinds)
        if otherwise is not None and None in counts:
            return find(paths, otherwise, options, otherwise)
        if len(counts) > 1:
            format = otherwise if otherwise in counts else _most_frequent(paths, counts)
            others = {f"of format {kind}": n for kind, n in counts.items() if kind != format}
            kept = [path for path, kind in zip(found.files, kinds, strict=True) if kind == format]
            found = found._replace(files=kept)
        else:
            (format,) = counts
        if format is None:
            raise ReadError(
                f"{found.files[0]}: neither name nor content shows the format; choose one by --format "
                f"({', '.join(FORMATS)})"
            )
        tell_recognised(found.files, format)
        if format == "documents":
            tell_side_by_side(plain(str(paths[0])) if len(paths) == 1 else "the files", single)
    report(found, str(paths[0]) if len(paths) == 1 else "the files")
    given = reader_options(format, options)
    if otherwise is None and (suited := suited_options(format, found.files, given)):
        tell_suited(found.files, suited)
        given |= suited
    return Inputs(found.files, format, given, {**found.not_read, **others})


def find_like_training(
    model: Any, paths: Sequence[Path], format: str | None, options: Sequence[str] | None, teller: Teller
) -> Inputs:
    """As `find`; what is not given is as when the trees of the model were read; differences are reported."""
    trained = trained_by(model)
    if trained is None:
        return find(paths, format, options)
    inputs = find(paths, format, options, trained["format"])
    if inputs.format != trained["format"]:
        teller.say(f"the model was trained on {trained['format']}, these trees are read from {inputs.format}")
        return inputs
    for option in FORMATS[inputs.format].options:
        now, before = (_meant(inputs.format, option, given) for given in (inputs.options, trained["options"]))
        if option.of_trees and option.name in inputs.options and now != before:
            now, before = (_told(inputs.format, option, given) for given in (inputs.options, trained["options"]))
            teller.warn(f"the model was trained with {before}, these trees are read with {now}")
    taken = {key: value for key, value in trained["options"].items() if key not in inputs.options}
    if taken:
        told = ", ".join(f"{key}={value}" for key, value in taken.items())
        teller.say(f"reading {inputs.format} with {told}, as in training; --read changes it")
    return inputs._replace(options={**taken, **inputs.options})


def _meant(format: str, option: Option, options: Mapping[str, str]) -> Any:
    typed = options.get(option.name)
    return default_of(format, option) if typed is None else parse_option(format, option.name, typed)


def _told(format: str, option: Option, options: Mapping[str, str]) -> str:
    typed = options.get(option.name) or default_told(format, option)
    return f"{option.name} {typed}" if typed == "left out" else f"{option.name}={typed}"


def trained_by(model: Any) -> dict[str, Any] | None:
    """How a model, perhaps from a stranger, says that its trees were read, if that makes sense to us."""
    try:
        reading = model.provenance_["reading"]
        known = {option.name for option in FORMATS[reading["format"]].options if option.of_trees}
        for key, value in reading["options"].items():
            parse_option(reading["format"], key, value)
    except (TypeError, KeyError, ValueError, AttributeError):
        return None
    return reading if known.issuperset(reading["options"]) else None


def read_trees(inputs: Inputs, skip_bad: bool, classes: str | None, quiet: bool) -> Forest:
    """Read the files, with the known classes that --classes names."""
    given = _reader_options(inputs, skip_bad, quiet)
    with _advised(inputs, skip_bad):
        forest = read(inputs.files, inputs.format, **given)
    if not forest.n_trees:
        raise ReadError(f"{inputs.files[0]}: there are no trees in it; check the file")
    forest = _named(forest)
    if classes is None:
        return forest
    known = _Classes(inputs.files, classes)
    forest = forest.with_target(known.of(forest))
    known.tell_idle(Teller(quiet))
    return forest


def _named(forest: Forest) -> Forest:
    """The same trees; those of standard input are not named by the file that stands for it."""
    if forest.name is None or not is_spooled():
        return forest
    return forest.with_name([plain(name) for name in forest.name])


def open_trees(inputs: Inputs, skip_bad: bool, classes: str | None, quiet: bool, memory: int | None = None) -> Trees:
    """As `read_trees`, but a single store is opened and not read, so that models go through it file by file."""
    if inputs.format != "store" or len(inputs.files) > 1 or classes is not None:
        return read_trees(inputs, skip_bad, classes, quiet)
    given = _reader_options(inputs, skip_bad, quiet) | ({} if memory is None else {"memory": memory * 2**20})
    return ForestStore(inputs.files[0], **given)


def workers_of(scheduler: str | None, forest: Trees) -> contextlib.AbstractContextManager[Any]:
    """A block in which the workers of --scheduler go through the store, if there is such an option."""
    if scheduler is None:
        return contextlib.nullcontext()
    if forest.in_memory is not None:
        raise usage("--scheduler", "workers read trees from a .store alone; arbora convert PATH OUT.store makes one")
    return distributed(scheduler)


def write_store(
    inputs: Inputs, output: Path, skip_bad: bool, classes: str | None, quiet: bool, shard_nodes: int
) -> ForestStore:
    """Read files part by part into a store; the same call continues where a killed one stopped."""
    given = _reader_options(inputs, skip_bad, quiet)
    known = None if classes is None else _Classes(inputs.files, classes)
    with StoreWriter(output, _token(inputs, skip_bad, classes, shard_nodes), shard_nodes, in_order=True) as writer:

        def take(forest: Forest, position: Position) -> None:
            forest = _named(forest)
            writer.add(forest if known is None else forest.with_target(known.of(forest)), position)

        before = None if known is not None or not writer.written else writer.written[0].class_kind
        start = Position() if writer.position is None else Position(*writer.position)
        try:
            with _advised(inputs, skip_bad):
                stream(inputs.files, inputs.format, Sink(take, shard_nodes, start, before, known is None), **given)
        except KeyboardInterrupt:
            kept = f"{counted(len(writer.written), 'file')} of the store {'is' if len(writer.written) == 1 else 'are'}"
            raise fail(f"interrupted; {kept} written, and the same command continues", INTERRUPTED) from None
        if not writer.written:
            raise ReadError(f"{inputs.files[0]}: there are no trees in it; check the file")
        writer.finish()
    if known is not None and start == Position():  # else who knows what the trees before were called
        known.tell_idle(Teller(quiet))
    return ForestStore(output)


def _token(inputs: Inputs, skip_bad: bool, classes: str | None, shard_nodes: int) -> str:
    """What names this conversion: the files as they are now, and how they are read."""
    files = [_state(path) for path in inputs.files]
    table = hashlib.sha256(Path(classes).read_bytes()).hexdigest() if classes and os.path.isfile(classes) else None
    asked = [__version__, files, inputs.format, inputs.options, skip_bad, classes, table, shard_nodes]
    return hashlib.sha256(json.dumps(asked).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _state(path: str) -> list[Any]:
    """A file as it is now."""
    if is_url(path):
        return [path, state_of(path)]
    told = os.stat(path)
    return [os.path.abspath(path), told.st_size, told.st_mtime_ns]


def _reader_options(inputs: Inputs, skip_bad: bool, quiet: bool) -> dict[str, Any]:
    """What the reader is called with."""
    given = {key: parse_option(inputs.format, key, text) for key, text in inputs.options.items()}
    if FORMATS[inputs.format].parts is None:
        given |= {"on_error": "skip"} if skip_bad else {}
        given |= {"progress": False} if quiet else {}
    elif skip_bad:
        raise usage("--skip-bad", f"a {inputs.format} file is read whole or not at all; leave this out")
    return given


@contextlib.contextmanager
def _advised(inputs: Inputs, skip_bad: bool) -> Iterator[None]:
    """Adds to what a reader complains of that bad files can be left out."""
    try:
        yield
    except ReadError as error:
        several = len(inputs.files) > 1 or FORMATS[inputs.format].by_line
        if skip_bad or not several or not str(error).startswith(tuple(inputs.files)):
            raise
        raise ReadError(f"{error}, or leave bad files out by --skip-bad") from None


def formats_facts() -> dict[str, Any]:
    """Every format: what it makes of a file, its suffixes, and the options of its reader."""
    return {
        format.name: {
            "makes": format.makes,
            "suffixes": list(format.suffixes),
            "options": {
                option.name: {
                    "values": wanted(format.name, option),
                    "default": default_told(format.name, option),
                    "meaning": option.meaning,
                }
                for option in format.options
            },
        }
        for format in FORMATS.values()
    }


# ---- files and options ----------------------------------------------------------------------------------------------


def _search(paths: Sequence[Path], format: str | None) -> Found:
    found = search(list(paths), tuple(FORMATS) if format is None else (format,), every=True)
    for path in found.files:
        if path.lower().endswith(".arbora"):
            raise ReadError(f"{path}: this is a model, wanted trees; arbora predict MODEL PATH assigns trees by it")
    return found


def _most_frequent(paths: Sequence[Path], found: Counter[str | None]) -> str:
    """The format that most files of folders have; others are reported.  Of files that were named none is left out."""
    counts = [f"{n} {format or 'unknown'}" for format, n in found.most_common()]
    (first, n_first), (_, n_second), *_ = found.most_common()
    if first is None or n_first == n_second or not all(path.is_dir() for path in paths):
        named = f"{paths[0]}{' ...' if len(paths) > 1 else ''}"
        advice = "name files of one format"
        if any(path.is_dir() for path in paths):
            advice = "--format FORMAT reads those of one and leaves out the others of a folder"
        raise ReadError(f"{named}: files of several formats ({', '.join(sorted(counts))}); {advice}")
    most = counts[0] if first == "documents" else f"{counts[0]} files"
    message = f"{paths[0]}: reading its {most}, not its {', '.join(counts[1:])}; --format chooses others"
    warn(message, UserWarning)
    return first


def reader_options(format: str, options: Sequence[str] | None) -> dict[str, str]:
    """KEY=VALUE as typed, once the reader is known to take it."""
    given: dict[str, str] = {}
    for typed in options or ():
        key, equals, value = typed.partition("=")
        if not equals:
            raise usage("--read", f"{typed!r}: wanted KEY=VALUE, as in text=kind; arbora formats lists what there is")
        try:
            parse_option(format, key, value)
        except ValueError as error:
            raise usage("--read", str(error)) from None
        given[key] = value
    return given


# ---- classes --------------------------------------------------------------------------------------------------------


class _Classes:
    """Known classes of trees: the folders of their files, or what a table says."""

    def __init__(self, files: Sequence[str], classes: str):
        self.classes = classes
        self.used: set[str] = set()
        if classes == "folder":
            self.known = {path: os.path.basename(os.path.dirname(os.path.abspath(path))) for path in files}
            self.advice = "it has a name of its own, so that its folder is not known; give --classes FILE.csv"
        elif classes.lower().endswith(".csv"):
            self.known = class_table(classes)
            self.advice = f"{classes} has no row of this name, or an empty class; give one to every tree"
        else:
            raise usage("--classes", f"{classes!r}; wanted folder, or FILE.csv with the columns name and class")

    def of(self, forest: Forest) -> list[str]:
        """The class of each tree."""
        names = tree_names(forest)
        keys = [next((key for key in keys_of(name) if key in self.known), None) for name in names]
        lost = [name for name, key in zip(names, keys, strict=True) if key is None]
        if lost:
            more = f" and {counted(len(lost) - 1, 'other')}" if len(lost) > 1 else ""
            raise ReadError(f"--classes {self.classes}: no class for the tree {lost[0]}{more}; {self.advice}")
        found = [key for key in keys if key is not None]
        self.used.update(found)
        return [self.known[key] for key in found]

    def tell_idle(self, teller: Teller) -> None:
        """Say which rows of the table no tree had."""
        idle = sorted(set(self.known) - self.used) if self.classes != "folder" else []
        if idle:
            more = f" and {counted(len(idle) - 1, 'other')}" if len(idle) > 1 else ""
            teller.say(f"{self.classes} has rows for trees that are not here, {idle[0]}{more}; they are not used")


def keys_of(name: str) -> tuple[str, ...]:
    """What a tree may be called: its name, its file (of several, a name is file#2, file:2 or file#trace), or the last
    part of these."""
    file = re.sub(r"(?:[#:][^#:/\\]+)+$", "", name)
    return name, file, os.path.basename(name), os.path.basename(file)


def class_table(path: str) -> dict[str, str]:
    """The class of each name that has one."""
    known: dict[str, str] = {}
    for line, (name, found) in named_columns(path, "name", "class"):
        if found and known.setdefault(name, found) != found:
            raise ReadError(
                f"{path}, line {line}: {name!r} is of class {found!r}, and of {known[name]!r} before; keep one"
            )
    return known
