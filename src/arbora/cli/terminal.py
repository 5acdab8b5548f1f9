"""What the command line says: results to stdout, everything else to stderr, one clean line at a time."""

import contextlib
import enum
import functools
import inspect
import json
import logging
import math
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import IO, Annotated, Any, ParamSpec, cast

import typer

from ..progress import in_words
from .standard_input import plain

P = ParamSpec("P")

BAD_INPUT, INTERRUPTED = 1, 130
_WIDTH_OF_A_PIPE = 120
# Advice of the library, in the terms of its functions, and what one types here.
_TYPED = (
    ("read HTML with read_html", "read HTML by --format html"),
    ("name the files instead", "arbora formats lists the suffixes"),
    ("name the format ", "use --format "),
    ("raise max_depth", "raise it by --read max_depth=N"),
    ("raise max_bytes", "raise it by --read max_bytes=N"),
    ("set n_slots (say 64)", "set --n-slots (say 64)"),
)


def printable(text: object) -> str:
    """Text as it may go to a terminal: control characters, line ends among them, and half surrogates as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


class Loudness(enum.Enum):
    """What the argument `quiet` of a command holds; true with --quiet alone, so it also serves as a flag."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"

    def __bool__(self) -> bool:
        return self is Loudness.QUIET


_Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="More messages: what is being done, and each iteration.", rich_help_panel="Running"
    ),
]


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Turn what Arbora refuses into one sentence and an exit code; leave faults of our own their traceback.

    A command that can be quiet gets the option --verbose too.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        from ..errors import ArboraError

        if "quiet" in told.parameters:
            kwargs["quiet"] = _loudness(bool(kwargs.get("quiet")), bool(kwargs.pop("verbose", False)))
        try:
            with Interrupts():
                function(*args, **kwargs)
                sys.stdout.flush()  # a full disk or a closed pipe shows here, not when all is over
        except ArboraError as error:
            raise fail(as_typed(str(error)), BAD_INPUT) from None
        except KeyboardInterrupt:
            raise fail("interrupted; no result was written", INTERRUPTED) from None
        except BrokenPipeError:
            raise  # whoever reads our output has had enough; main ends quietly
        except OSError as error:
            raise fail(f"{error.filename or 'a file'}: {error.strerror or error}", BAD_INPUT) from None
        except MemoryError:
            raise fail("not enough memory; use fewer trees, states or components", BAD_INPUT) from None

    told = inspect.signature(function)
    if "quiet" in told.parameters:
        verbose = inspect.Parameter("verbose", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Verbose)
        run.__signature__ = told.replace(parameters=[*told.parameters.values(), verbose])  # type: ignore[attr-defined]
        run.__annotations__ = {**function.__annotations__, "verbose": _Verbose}
    return run


def _loudness(quiet: bool, verbose: bool) -> Loudness:
    if quiet and verbose:
        raise usage("--verbose", "and --quiet exclude each other; give one")
    return Loudness.QUIET if quiet else Loudness.VERBOSE if verbose else Loudness.NORMAL


def fail(reason: object, code: int) -> typer.Exit:
    """Say why on stderr; the exception to raise."""
    _line(f"arbora: {printable(reason)}")
    return typer.Exit(code)


def as_typed(message: str) -> str:
    """The message with its advice, which comes last, in terms of the command line."""
    said, semicolon, advice = message.rpartition("; ")
    for ours, typed in _TYPED:
        advice = advice.replace(ours, typed)
    return said + semicolon + advice


def usage(option: str, reason: str) -> typer.BadParameter:
    """The exception for options that do not make sense; typer prints it and exits with 2."""
    return typer.BadParameter(printable(reason), param_hint=option)


def stdout_console() -> Any:
    """A rich console that takes every text literally; wide, without colours or blanks at line ends, when piped."""
    from rich import console

    class Console(console.Console):
        def on_broken_pipe(self) -> None:
            raise  # what it is called for; rich itself would end with 1

    if sys.stdout.isatty():
        return Console(markup=False, emoji=False, highlight=False)
    width = None if "COLUMNS" in os.environ else _WIDTH_OF_A_PIPE
    return Console(file=cast(IO[str], _Trimmed()), width=width, markup=False, emoji=False, highlight=False)


class _Trimmed:
    """Stdout without the blanks that tables have at the ends of lines."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stdout, name)

    def write(self, text: str) -> int:
        return sys.stdout.write(re.sub(r" +$", "", text, flags=re.MULTILINE))


def print_json(value: Any) -> None:
    """One JSON document to stdout; what JSON has no number for becomes null."""
    typer.echo(json.dumps(finite(value), indent=2, ensure_ascii=True))


def finite(value: Any) -> Any:
    """The same value with None for infinities and nan."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


class Pace:
    """How long an iteration takes, from those that were reported, and so how long the rest may take at most."""

    def __init__(self) -> None:
        self.start, self.n_told = 0.0, 0

    def left(self, n: int, most: int) -> str:
        """Words on the iterations of this start that are left; none for the first, which also compiles."""
        now = time.monotonic()
        if n == 1 or self.n_told == 0:
            self.start, self.n_told = now, 0
        self.n_told += 1
        if self.n_told == 1:
            return ""
        each = (now - self.start) / (self.n_told - 1)
        return f", at most {in_words(each * (most - n))} left of this start"


class Teller(logging.Handler):
    """Messages and progress of one command, on stderr; as a context it also catches warnings, logs and compilations."""

    def __init__(self, quiet: bool | Loudness = False) -> None:
        super().__init__(logging.INFO)
        self.quiet, self.verbose = bool(quiet), quiet is Loudness.VERBOSE
        self.status: Any = None
        self.doing = ""
        self.pace = Pace()
        self.compiling = False

    def say(self, message: str) -> None:
        """A line for people; nothing with --quiet."""
        if not self.quiet:
            _line(printable(message))

    def warn(self, message: str) -> None:
        """A line that --quiet does not drop."""
        _line(f"arbora: warning: {printable(message)}")

    @contextlib.contextmanager
    def working(self, doing: str) -> Iterator[None]:
        """Show what is going on until the block ends, on a terminal only."""
        if self.verbose:
            start = time.monotonic()
            self.say(doing)
            yield
            self.say(f"{doing}: {in_words(time.monotonic() - start)}")
            return
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        self.doing, self.pace = doing, Pace()
        with Console(stderr=True, markup=False, emoji=False, highlight=False).status(doing) as self.status:
            try:
                yield
            finally:
                self.status = None

    def emit(self, record: logging.LogRecord) -> None:
        """Warnings become lines; each iteration of a fit moves the progress on."""
        if record.levelno >= logging.WARNING:
            _line(f"arbora: {printable(record.getMessage())}")
        elif self.verbose:
            _line(printable(record.getMessage()))
        elif self.status is not None and record.getMessage().startswith("iteration"):
            n, most, objective = cast(tuple[int, int, float], record.args)
            left = self.pace.left(n, most)
            self.status.update(f"{self.doing}: iteration {n} of at most {most}{left}, objective {objective:.1f}")

    def _warn(self, message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        from ..errors import ChainsDisagreeWarning, NotConvergedWarning, UnexplainedTreesWarning

        # What a fit left undone is told with its result, in terms of the command line.
        told = (NotConvergedWarning, UnexplainedTreesWarning, ChainsDisagreeWarning)
        if not issubclass(category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning, *told)):
            self.warn(as_typed(str(message)))

    def _on_compile(self, dispatcher: Any) -> None:
        """Say, once, why the first run takes longer."""
        from ..jit import _CACHE

        ours = dispatcher is not None and dispatcher.py_func.__module__.startswith("arbora.")
        if ours and not self.compiling:
            self.compiling = True
            self.say(
                "compiling what this needs, once on this machine" if _CACHE else "compiling; ARBORA_NO_CACHE is set"
            )

    @contextlib.contextmanager
    def listening(self) -> Iterator["Teller"]:
        """Pass warnings, log records and compilations on, while the block lasts."""
        from numba.core import event

        teller = self

        class Compilations(event.Listener):
            def on_start(self, started: Any) -> None:
                teller._on_compile((started.data or {}).get("dispatcher"))

            def on_end(self, ended: Any) -> None:
                pass

        logger = logging.getLogger("arbora")
        level, propagate = logger.level, logger.propagate
        logger.addHandler(self)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        try:
            with warnings.catch_warnings(), event.install_listener("numba:compile", Compilations()):
                warnings.simplefilter("always")
                warnings.showwarning = self._warn
                yield self
        finally:
            logger.removeHandler(self)
            logger.setLevel(level)
            logger.propagate = propagate


class Interrupts:
    """Notes Ctrl-C while a block lasts and raises it, but not inside numba.

    Numba loads kernels through callbacks from C, where an exception is printed and lost: the interrupt comes again a
    little later, until they are through.
    """

    def __init__(self) -> None:
        self.heard = False
        self._later: threading.Timer | None = None

    def __enter__(self) -> "Interrupts":
        self._old: Any = None
        if threading.current_thread() is threading.main_thread():
            self._old = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        self.heard = True
        self._cancel()
        if not _inside_numba(frame):
            raise KeyboardInterrupt
        self._later = threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,))
        self._later.daemon = True
        self._later.start()

    def _cancel(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None

    def __exit__(self, *_: object) -> None:
        self._cancel()
        if self._old is not None:
            signal.signal(signal.SIGINT, self._old)


def _inside_numba(frame: Any) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in ("numba", "llvmlite"):
            return True
        frame = frame.f_back
    return False


def _line(text: str) -> None:
    typer.echo(plain(text), err=True)
