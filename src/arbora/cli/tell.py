"""What the command line says: results to stdout, everything else to stderr, one clean line at a time."""

import contextlib
import functools
import json
import logging
import math
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec

import typer

P = ParamSpec("P")

BAD_INPUT, INTERRUPTED = 1, 130
_WIDTH_OF_A_PIPE = 120


def printable(text: object) -> str:
    """Text as it may go to a terminal: control characters, line ends among them, and half surrogates as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Turn what Arbora refuses into one sentence and an exit code; leave faults of our own their traceback."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        from ..errors import ArboraError

        try:
            function(*args, **kwargs)
        except ArboraError as error:
            raise fail(error, BAD_INPUT) from None
        except KeyboardInterrupt:
            raise fail("interrupted; nothing was written", INTERRUPTED) from None
        except BrokenPipeError:
            raise  # whoever reads our output has had enough; typer ends quietly
        except OSError as error:
            raise fail(f"{error.filename or 'a file'}: {error.strerror or error}", BAD_INPUT) from None
        except MemoryError:
            raise fail("not enough memory; use fewer trees, states or components", BAD_INPUT) from None

    return run


def fail(reason: object, code: int) -> typer.Exit:
    """Say why on stderr; the exception to raise."""
    _line(f"arbora: {printable(reason)}")
    return typer.Exit(code)


def usage(option: str, reason: str) -> typer.BadParameter:
    """The exception for options that do not make sense; typer prints it and exits with 2."""
    return typer.BadParameter(printable(reason), param_hint=option)


def stdout_console() -> Any:
    """A rich console that takes every text literally; wide, and without colours, when piped."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH_OF_A_PIPE
    return Console(width=width, markup=False, emoji=False, highlight=False)


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


class Teller(logging.Handler):
    """Messages and progress of one command, on stderr; as a context it also catches warnings, logs and compilations."""

    def __init__(self, quiet: bool = False) -> None:
        super().__init__(logging.INFO)
        self.quiet = quiet
        self.status: Any = None
        self.doing = ""
        self.compiling = False

    def say(self, message: str) -> None:
        """A line for people; nothing with --quiet."""
        if not self.quiet:
            _line(printable(message))

    @contextlib.contextmanager
    def working(self, doing: str) -> Iterator[None]:
        """Show what is going on until the block ends, on a terminal only."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        self.doing = doing
        with Console(stderr=True, markup=False, emoji=False, highlight=False).status(doing) as self.status:
            try:
                yield
            finally:
                self.status = None

    def emit(self, record: logging.LogRecord) -> None:
        """Warnings become lines; each iteration of a fit moves the progress on."""
        if record.levelno >= logging.WARNING:
            _line(f"arbora: {printable(record.getMessage())}")
        elif self.status is not None and record.getMessage().startswith("iteration"):
            self.status.update(f"{self.doing}, {record.getMessage()}")

    def _warn(self, message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        if not issubclass(category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning)):
            _line(f"arbora: warning: {printable(message)}")

    def _on_compile(self, dispatcher: Any) -> None:
        """Say, once, why the first run takes longer."""
        from ..jit import _CACHE

        ours = dispatcher is not None and dispatcher.py_func.__module__.startswith("arbora.")
        if ours and not self.compiling:
            self.compiling = True
            self.say("compiling, once; later runs start at once" if _CACHE else "compiling; the cache is off")

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
    """Counts Ctrl-C while a block lasts; the interrupt itself is raised as ever."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> "Interrupts":
        self._old: Any = None
        if threading.current_thread() is threading.main_thread():
            self._old = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        self.count += 1
        raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        if self._old is not None:
            signal.signal(signal.SIGINT, self._old)


def _line(text: str) -> None:
    typer.echo(text, err=True)
