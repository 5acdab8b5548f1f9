"""``arbora watch`` and ``arbora replay``: a fitted model follows a stream of trees."""

import contextlib
import json
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .option_checks import check_there, given, load_model
from .options import FormatOption, ModelFile, Paths, Quiet, ReadOptions
from .root import app
from .terminal import INTERRUPTED, Teller, command, finite, usage

if TYPE_CHECKING:
    from ..watch.log import Batch
    from ..watch.watcher import Watcher

LogFolder = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="FOLDER",
        help="Folder of the watcher: what it takes in is on the disk before a line is printed, and the same command "
        "continues after a crash. Without it nothing is kept.",
    ),
]


def _setting(name: str, help: str, **more: Any) -> Any:
    return typer.Option(name, help=help, show_default=False, **more)


@app.command(short_help="Follow a stream of trees: a line of JSON per tree.")
@command
def watch(
    model: ModelFile,
    paths: Paths,
    log: LogFolder = None,
    false_alarms: Annotated[
        float | None,
        _setting("--false-alarms", "Expected false alarms of drift per tree, at most. [default: 1e-05]", max=0.5),
    ] = None,
    keep_novel: Annotated[
        float | None,
        _setting("--keep-novel", "Keep trees among the most novel or surprising share. [default: 0.01]", min=0, max=1),
    ] = None,
    keep_share: Annotated[
        float | None, _setting("--keep-share", "Share of the other trees to keep. [default: 0.05]", min=0, max=1)
    ] = None,
    window: Annotated[
        int | None, _setting("--window", "Trees whose cluster may still change. [default: 50]", min=1)
    ] = None,
    particles: Annotated[
        int | None, _setting("--particles", "Most assignments of these that are followed. [default: 32]", min=1)
    ] = None,
    seed: Annotated[int | None, _setting("--seed", "The same seed gives the same lines. [default: 0]", min=0)] = None,
    format: FormatOption = None,
    read: ReadOptions = None,
    quiet: Quiet = False,
) -> None:
    """Follow a stream of trees with a model of patterns: a line of JSON per tree.

    Each line has the cluster and its probability, novelty, surprise, and whether to keep the tree, with its weight. New
    clusters and drift have lines of their own. What cannot be read is set aside with its reason and counted, and the
    stream goes on. - reads standard input line by line, as trees come. JSON lines are trees unless --read
    lines=documents says otherwise; of other formats each line is a document of its own. Ctrl-C ends after the trees at
    hand.

    \b
    Examples:
      arbora watch model.arbora new/ --log watch.log
      tail -f trees.jsonl | arbora watch model.arbora - --format jsonl --log watch.log
      arbora watch model.arbora traces/ --format traces --keep-share 0.01
    """
    check_there(model, *paths)
    from . import reading
    from .feeding import from_files, from_standard_input

    with Teller(quiet).listening() as teller, _stopping() as stopped:
        loaded = load_model(model)
        settings = given(
            false_alarms=false_alarms, keep_novel=keep_novel, keep_share=keep_share, window=window,
            particles=particles, seed=seed,
        )  # fmt: skip
        with _opened(loaded, model, log, settings) as watched:
            if list(paths) == [Path("-")]:
                inputs = _standard_input(loaded, format, read)
                parts = from_standard_input(inputs.format, _options(inputs), stopped)
            else:
                inputs = reading.find_like_training(loaded, paths, format.value if format else None, read, teller)
                parts = from_files(inputs.files, inputs.format, _options(inputs), watched.places, stopped)
            try:
                for part in parts:
                    _print(watched.add(watched.watcher.read(part.forest), part.names, part.aside, part.places), 0)
                    for reason in part.aside:
                        teller.warn(f"set aside: {reason}")
                    if stopped():
                        break
            finally:
                watched.tell(teller)
        if stopped():
            raise typer.Exit(INTERRUPTED)


@app.command(short_help="Compute the lines of arbora watch again from its log.")
@command
def replay(
    log: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder that arbora watch --log made.")],
    first: Annotated[int, typer.Option("--from", min=0, help="Number of the first tree to print.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Print the lines of arbora watch again, all computed anew from its log.

    At the end the state is compared with the last snapshot, bit for bit; exit code 1 if they differ.

    \b
    Examples:
      arbora replay watch.log
      arbora replay watch.log --from 120000
    """
    check_there(log)
    from ..errors import ArboraError
    from ..watch.log import SNAPSHOT, replay
    from ..watch.watcher import Watcher

    with Teller(quiet).listening() as teller:
        saved, compared = None, False
        if (log / SNAPSHOT).exists():
            saved = Watcher.load(log / SNAPSHOT)
        n_trees = 0
        for watcher, batch in replay(log):
            _print(batch, first)
            n_trees = watcher.n_trees_
            if saved is not None and watcher.n_trees_ == saved.n_trees_ and not compared:
                compared = True
                if watcher.digest() != saved.digest():
                    raise ArboraError(f"{log}: the snapshot is not what the journal gives; remove {SNAPSHOT}")
        if saved is not None and saved.n_trees_ > n_trees:
            found = f"the journal ends after {n_trees:,} trees, and the snapshot is of {saved.n_trees_:,}"
            raise ArboraError(f"{log}: {found}; the journal lost its end, take it from a copy")
        teller.say(f"{n_trees:,} trees{', the snapshot is what the journal gives' if compared else ''}")


class _Watched:
    """A watcher with or without a folder, and counts of what it said."""

    def __init__(self, watcher: "Watcher", log: Any):
        self.log, self._watcher = log, watcher
        self.n_trees = self.n_kept = self.n_births = self.n_alarms = self.n_aside = 0
        self.frozen = 0.0

    @property
    def watcher(self) -> "Watcher":
        return self._watcher if self.log is None else self.log.watcher

    @property
    def places(self) -> Any:
        return {} if self.log is None else self.log.places

    def add(self, rows: Any, names: Sequence[str], aside: Sequence[str], places: Any) -> "Batch":
        from ..watch.log import Batch

        if self.log is not None:
            batch = self.log.add(rows, names, aside, places)
        else:
            batch = Batch(self._watcher.update_rows(rows), list(names), list(aside))
        trees = batch.trees
        self.n_trees += trees.n_trees
        self.n_kept += int(trees.keep.sum())
        self.n_births += len(trees.births)
        self.n_alarms += len(trees.alarms)
        self.n_aside += len(batch.aside)
        self.frozen += float((1.0 - trees.frozen).sum())
        return batch

    def tell(self, teller: Teller) -> None:
        """A summary of this run."""
        teller.say(
            f"{self.n_trees:,} trees, {self.n_kept:,} to keep; {self.n_births} new clusters, {self.n_alarms} alarms of "
            f"drift; {self.n_aside:,} set aside; mean probability lost by making clusters final: "
            f"{self.frozen / max(self.n_trees, 1):.2g}"
        )
        if self.log is not None:
            teller.say(
                f"the log {self.log.folder} holds {self.watcher.n_trees_:,} trees, {self.log.n_aside:,} set aside"
            )


@contextlib.contextmanager
def _opened(loaded: Any, path: Path, folder: Path | None, settings: dict[str, Any]) -> Iterator[_Watched]:
    """The watcher: new, or the one of the folder, once it fits the model and the settings."""
    from ..errors import ModelFileError
    from ..models.patterns.mixture import PatternMixture
    from ..watch.log import START, WatchLog
    from ..watch.watcher import Watcher

    if not isinstance(loaded, PatternMixture):
        raise ModelFileError(f"{path}: a {type(loaded).__name__}; arbora watch takes a model of patterns")
    watcher = Watcher(loaded, **settings)
    if folder is None:
        yield _Watched(watcher, None)
        return
    there = (folder / START).exists()
    with WatchLog(folder, None if there else watcher) as log:
        for name, value in settings.items():
            if getattr(log.watcher.settings, name) != value:
                found = getattr(log.watcher.settings, name)
                raise usage(f"--{name.replace('_', '-')}", f"{value}, but {folder} began with {found}; leave this out")
        if there and log.watcher.model.provenance_ != loaded.provenance_:
            raise ModelFileError(f"{path}: {folder} began with another model; name another folder")
        yield _Watched(watcher, log)


@contextlib.contextmanager
def _stopping() -> Iterator[Any]:
    """Ctrl-C, while the block lasts, is noted and looked at between parts: a step is taken whole or not at all."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    before = signal.signal(signal.SIGINT, lambda *_: asked.set())
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def _standard_input(loaded: Any, format: Any, read: Any) -> Any:
    """Format and options of standard input: those of the training unless others are given."""
    from .reading import Inputs, reader_options, trained_by

    trained = trained_by(loaded) or {"format": None, "options": {}}
    name = format.value if format is not None else trained["format"]
    if name is None:
        raise usage("--format", "standard input has no name that shows the format; give it")
    before = trained["options"] if trained["format"] == name else {}
    return Inputs([], name, {**before, **reader_options(name, read)}, {})


def _options(inputs: Any) -> dict[str, Any]:
    """What the reader is called with; lines of JSON are trees unless it is said otherwise."""
    from ..io.option_words import parse_option

    out = {key: parse_option(inputs.format, key, text) for key, text in inputs.options.items()}
    if inputs.format == "jsonl" and out.get("lines", "auto") == "auto":
        out["lines"] = "trees"
    return out


def _print(batch: "Batch", first: int) -> None:
    """Lines of JSON, those of trees from a number on."""
    from ..watch.watched_trees import lines_of

    lines = [json.dumps(finite(line)) for line in lines_of(batch.trees, batch.names) if line["tree"] >= first]
    if lines:
        typer.echo("\n".join(lines))
