"""The command line, as ``arbora`` and as ``python -m arbora``; Ctrl-C ends it from its first moment on."""

import os
import signal
import sys

INTERRUPTED = 130


def _stop(*_: object) -> None:
    """End at once: nothing is begun, and an exception would come out of whatever is being imported."""
    os.write(2, b"arbora: interrupted; no result was written\n")
    os._exit(INTERRUPTED)


def _open_standard_streams() -> None:
    """Put a sink in place of each standard stream that is closed: else the next file opened takes its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def main() -> None:
    """Run the command that the arguments name; a command that works has a handler of its own for Ctrl-C."""
    signal.signal(signal.SIGINT, _stop)
    _open_standard_streams()
    from .cli import main as run

    run()


if __name__ == "__main__":
    main()
