"""The tests on every Python of this machine: with nothing optional, with the lowest versions admitted, with the newest.

A session builds a wheel, installs it, and runs the demo and the tests on it.  `nox` runs all sessions and skips a
Python that is not there; `nox -s base-3.12` runs one; what follows `--` goes to pytest.  By default: the battery that
every estimator passes, and the modules that lean most on other packages.
A session starts without compiled kernels: its first test says nothing for a minute of CPU time, while they compile.
"""

import sys
from pathlib import Path

import nox

sys.path.insert(0, str(Path(__file__).parent))  # the command nox, unlike python -m nox, leaves this folder out
from tests.lowest import lowest

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
TOOLS = ["pytest==9.2.0", "hypothesis==6.170.15"]
TESTS = [
    "tests/contract",
    *(f"tests/unit/test_{name}.py" for name in ("smoke", "convergence", "diagnostics", "chain", "vectors", "package")),
]

nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True


def run_tests(session: nox.Session) -> None:
    """Cluster the demo's trees, then run the tests asked for, or the default, on the package that was installed."""
    folder = Path(session.create_tmp())
    session.env["NUMBA_CACHE_DIR"] = str(folder / "numba")
    session.run("python", "-m", "pip", "list", silent=False)
    session.run("arbora", "demo", "--output", str(folder / "demo"))
    sources = ["-o", "pythonpath=."]  # without src: the wheel is under test
    session.run("python", "-m", "pytest", *sources, "-m", "not slow", *(session.posargs or TESTS))


@nox.session(python=PYTHONS)
def base(session: nox.Session) -> None:
    """Without any extra."""
    session.install(".", *TOOLS)
    run_tests(session)


@nox.session(python=["3.11", "3.12"])  # the lowest versions have no wheels for later ones
def lowest_versions(session: nox.Session) -> None:
    """With the lowest versions that pyproject.toml admits."""
    constraints = Path(session.create_tmp()) / "lowest.txt"
    constraints.write_text("\n".join(lowest()) + "\n")
    session.install("--constraint", str(constraints), ".[all]", *TOOLS)
    run_tests(session)


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """With the newest versions, and all extras."""
    session.install("--upgrade", "--upgrade-strategy", "eager", ".[all]", *TOOLS)
    run_tests(session)
