"""The cache of compiled kernels: it serves while no kernel source has changed, and never a moment longer."""

import ast
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import arbora
from arbora import jit

SOURCE = Path(arbora.__file__).parent
pytestmark = pytest.mark.compiled

HELPER = """
from ..jit import inlined, jit

SHIFT = {shift}

@inlined
def shifted(x):
    return x + SHIFT

@jit
def doubled(x):
    return {factor} * x
"""
KERNEL = """
from .planted_helper import doubled, shifted
from ..jit import jit

@jit
def planted(x):
    return doubled(x) + shifted(x)
"""
RUN = """
import sys
from arbora.models.rooms.kernels.planted import planted
print(planted(10.0), sum(planted.stats.cache_hits.values()), sum(planted.stats.cache_misses.values()))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of two files of kernels, the real `jit.py` and a version, and where its compiled code goes."""
    root = tmp_path / "src" / "arbora"
    kernels = root / "models" / "rooms" / "kernels"
    kernels.mkdir(parents=True)
    for folder in (root, root / "models", root / "models" / "rooms", kernels):
        (folder / "__init__.py").write_text("")
    (root / "__init__.py").write_text('__version__ = "1.0"\n')
    shutil.copy(SOURCE / "jit.py", root)
    (kernels / "planted.py").write_text(KERNEL.replace("..jit", "....jit"))
    write_helper(root)
    return root


def write_helper(root: Path, factor: float = 2.0, shift: float = 1.0) -> None:
    text = HELPER.format(factor=factor, shift=shift).replace("..jit", "....jit")
    (root / "models" / "rooms" / "kernels" / "planted_helper.py").write_text(text)


def run(root: Path, code: str = RUN, **env: str) -> list[float]:
    """What a fresh process prints: the value of the kernel, hits and misses of the cache."""
    cache = {} if "HOME" in env else {"NUMBA_CACHE_DIR": str(root.parent.parent / "cache")}
    env = {**os.environ, "PYTHONPATH": str(root.parent), "NUMBA_DISABLE_JIT": "0", **cache, **env}
    if "HOME" in env and not cache:
        env.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    return [float(x) for x in done.stdout.split()]


def test_a_warm_cache_is_used_and_an_edit_elsewhere_is_seen(package: Path) -> None:
    assert run(package) == [31.0, 0, 1]
    assert run(package) == [31.0, 1, 0]
    write_helper(package, factor=3.0)  # a function that the kernel calls
    assert run(package) == [41.0, 0, 1]
    write_helper(package, factor=3.0, shift=5.0)  # a constant of a function that is compiled into it
    assert run(package) == [45.0, 0, 1]
    write_helper(package)  # back to the first, whose code is still there
    assert run(package) == [31.0, 1, 0]


def test_another_version_compiles_anew(package: Path) -> None:
    run(package)
    (package / "__init__.py").write_text('__version__ = "1.1"\n')
    assert run(package) == [31.0, 0, 1]


def test_the_cache_is_turned_off_and_moved(package: Path, tmp_path: Path) -> None:
    assert run(package, ARBORA_NO_CACHE="1") == [31.0, 0, 1]
    assert not (tmp_path / "cache").exists()
    run(package, NUMBA_CACHE_DIR=str(tmp_path / "elsewhere"))
    assert list((tmp_path / "elsewhere").rglob("planted.planted-*.nbc"))


def test_a_source_that_changes_under_a_running_process_is_not_mixed_up(package: Path) -> None:
    """The process has loaded the old helper, and must not keep its code under the name of the new one."""
    code = """
import pathlib
from arbora.models.rooms.kernels import planted, planted_helper
path = pathlib.Path(planted_helper.__file__)
path.write_text(path.read_text().replace("2.0 * x", "3.0 * x"))
print(planted.planted(10.0))
"""
    assert run(package, code) == [31.0]
    assert run(package) == [41.0, 0, 1]


@pytest.mark.slow
def test_an_index_without_its_data_runs_no_old_code(package: Path, tmp_path: Path) -> None:
    """A kill between the two files that numba writes: the data of older sources are not taken for those of newer."""
    run(package)
    old = {path.name: path.read_bytes() for path in (tmp_path / "cache").rglob("*.nbc")}
    write_helper(package, factor=3.0)
    run(package)
    new = [path for path in (tmp_path / "cache").rglob("*.nbc") if path.name not in old]
    assert new
    for path in new:
        path.unlink()
    assert run(package)[0] == 41.0
    for path in (tmp_path / "cache").rglob("*.nbi"):
        path.write_bytes(b"")
    assert run(package)[0] == 41.0


def test_no_folder_to_write_to_costs_only_time(package: Path, tmp_path: Path) -> None:
    """A file where numba wants a folder: neither beside the source, nor in the home, nor where it was told to."""
    file = tmp_path / "file"
    file.write_text("")
    for folder in package.rglob("kernels"):
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        (folder / "__pycache__").write_text("")
    home = {"HOME": str(file / "home"), "XDG_CACHE_HOME": str(file / "home"), "LOCALAPPDATA": str(file / "home")}
    assert run(package, **home, PYTHONDONTWRITEBYTECODE="1") == [31.0, 0, 1]


@pytest.mark.slow
def test_code_of_old_sources_is_removed_after_a_day(package: Path, tmp_path: Path) -> None:
    run(package)
    old = list((tmp_path / "cache").rglob("*.nb[ic]"))
    others = tmp_path / "cache" / "others.nbi"  # of another package
    others.write_bytes(b"")
    for path in (*old, others):
        os.utime(path, (time.time() - 3 * jit.KEPT_SECONDS,) * 2)
    run(package)
    assert all(path.exists() for path in old)  # they are of today's sources, however old
    write_helper(package, factor=3.0)
    run(package)
    assert not any(path.exists() for path in old)
    assert others.exists()
    assert run(package) == [41.0, 1, 0]


def test_every_kernel_and_what_it_imports_is_a_kernel_source() -> None:
    """The digest covers what can be compiled: a kernel elsewhere, or a helper from elsewhere, would escape it."""
    sources = {Path(path) for path in jit.kernel_files()}
    for path in sorted(SOURCE.rglob("*.py")):
        taken = _taken_from(path)
        users = {name for module, name in taken if module == SOURCE / "jit"}
        if path.name != "jit.py" and users & {"jit", "bare", "inlined"}:
            assert path in sources, f"{path}: kernels live in a folder called `kernels` or a file `*kernels.py`"
            for module, name in taken:
                inside = {module.with_suffix(".py"), (module / name).with_suffix(".py"), module / "__init__.py"}
                assert inside & sources, f"{path} takes {name} from {module}, which is no kernel source"


def _taken_from(path: Path) -> list[tuple[Path, str]]:
    """Modules of the package that a file imports from by relative imports, and the names."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            found += [(base, alias.name) for alias in node.names]
    return found


def test_the_digest_is_quick() -> None:
    seconds = []
    for _ in range(5):
        jit._digest.cache_clear()
        start = time.process_time()
        jit._digest()
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.05
