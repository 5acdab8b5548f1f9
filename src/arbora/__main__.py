"""The command line, as ``arbora`` and as ``python -m arbora``; Ctrl-C ends it from its first moment on."""

import os
import signal

INTERRUPTED = 130


def _stop(*_: object) -> None:
    """End at once: nothing is begun, and an exception would come out of whatever is being imported."""
    os.write(2, b"arbora: interrupted; no result was written\n")
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command that the arguments name; a command that works has a handler of its own for Ctrl-C."""
    signal.signal(signal.SIGINT, _stop)
    from .cli import main as run

    run()


if __name__ == "__main__":
    main()
