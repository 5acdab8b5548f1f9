"""Work in a child process that dies at any moment, as by kill -9 or a power cut.

The child is a fork, so that it starts at once with all kernels compiled, and dies without a word: no handler, no
`finally`, no flush.
"""

import contextlib
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path


def run_child(work: Callable[[], object], kill_after: float | None = None) -> bool:
    """Run the work in a child, killed after some seconds; whether it came to its end."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 (a fork must not run into the tests)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    deadline = time.monotonic() + (120.0 if kill_after is None else kill_after)
    while time.monotonic() < deadline and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.001)
    assert kill_after is not None or time.monotonic() < deadline, "the work hangs in the child"
    if kill_after is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, f"ended by signal {os.WTERMSIG(status)}"
        return False
    assert os.WEXITSTATUS(status) == 0, "the work failed in the child; see above"
    return True


def seconds(work: Callable[[], object]) -> float:
    """How long the work takes in a child that nobody kills."""
    start = time.monotonic()
    assert run_child(work)
    return time.monotonic() - start


@contextlib.contextmanager
def full_disk(n_bytes: int):
    """No file can grow beyond this; what a write then says is what it says on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def leftovers(folder: Path) -> list[str]:
    """Temporary files in a folder."""
    return sorted(path.name for path in folder.rglob("*.tmp"))
