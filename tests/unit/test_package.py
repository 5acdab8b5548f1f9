"""What `import arbora` costs and brings along, measured in fresh processes."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import arbora

SOURCE = Path(arbora.__file__).parent
OPTIONAL = [
    "matplotlib",
    "tree_sitter",
    "dask",
    "distributed",
    "pyarrow",
    "networkx",
    "pandas",
    "xarray",
    "arviz",
    "polars",
]


def run(code: str) -> str:
    """What this code prints in a fresh Python that finds the same arbora."""
    setup = f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r})\n"
    done = subprocess.run([sys.executable, "-c", setup + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def seconds_to(statement: str) -> float:
    # CPU time of one process, so that other work on the machine counts as little as can be
    return float(run(f"import time; start = time.process_time()\n{statement}\nprint(time.process_time() - start)"))


def test_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", arbora.__version__)


def test_public_names_exist() -> None:
    assert all(hasattr(arbora, name) for name in arbora.__all__)
    assert len(set(arbora.__all__)) == len(arbora.__all__)


def test_import_brings_no_optional_package() -> None:
    loaded = run(f"import arbora\nprint([name for name in {OPTIONAL} if name in sys.modules])")
    assert loaded.strip() == "[]"


@pytest.mark.compiled
def test_import_compiles_nothing() -> None:
    code = """
import numba.core.dispatcher
compiled = []
original = numba.core.dispatcher.Dispatcher.compile
numba.core.dispatcher.Dispatcher.compile = lambda self, sig: compiled.append(self) or original(self, sig)
import arbora
print(len(compiled), end=" ")
arbora.Forest.from_nested(["a"])
print(len(compiled) > 0)
"""
    assert run(code).split() == ["0", "True"]


def test_import_is_light() -> None:
    ours, theirs = [], []
    for _ in range(5):
        ours.append(seconds_to("import arbora"))
        theirs.append(seconds_to("import sklearn.mixture, numba"))
        if len(ours) >= 2 and min(ours) <= 1.2 * min(theirs):
            break
    assert min(ours) <= 1.3 * min(theirs)


def test_every_module_imports() -> None:
    modules = [
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(SOURCE.rglob("*.py"))
        if path.name != "__main__.py"
    ]
    loaded = run(f"import importlib\nfor name in {modules}: importlib.import_module(name)\nprint('done')")
    assert loaded.strip() == "done"


@pytest.mark.parametrize("word", [r"import pickle", r"\beval\(", r"\bexec\(", r"shell=True", r"allow_pickle=True"])
def test_source_runs_no_text_and_unpickles_nothing(word: str) -> None:
    offenders = [str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if re.search(word, path.read_text())]
    assert offenders == []


def test_the_package_is_marked_as_typed() -> None:
    assert (SOURCE / "py.typed").exists()


def test_every_public_name_is_there_and_listed():
    import arbora

    assert sorted(arbora.__all__) == sorted(arbora._HOME)
    for name in arbora.__all__:
        assert getattr(arbora, name) is not None
    for module, home in arbora._MODULES.items():
        assert getattr(arbora, module).__name__ == f"arbora.{home}"
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        arbora.nonsense  # noqa: B018


def test_a_missing_file_is_refused_before_anything_slow_is_imported():
    code = """
from typer.testing import CliRunner
from arbora.cli import app
done = CliRunner().invoke(app, ["cluster", "missing.xml"])
print(done.exit_code, "no such file" in done.stderr, [name for name in ("numpy", "numba") if name in sys.modules])
"""
    assert run(code).strip() == "1 True []"


# Each class lists all its parameters, as readers and editors want it, so the same words stand in several classes.
ALIKE = (
    ("HiddenTree", "HiddenTreeMixture", {"n_states"}),
    ("HiddenTreeMixture", "InfiniteHiddenTreeMixture", {"n_states", "checkpoint", "leaf_prior", "n_jobs", "verbose"}),
)


def described(name: str) -> dict[str, str]:
    """The words on each parameter of a class, by the line that says its name, type and default."""
    text = inspect.cleandoc(getattr(arbora, name).__doc__).partition("Parameters\n----------\n")[2]
    entries = re.findall(r"^(\w[^\n]* : [^\n]*)\n((?: {4}[^\n]*\n)+)", text.partition("\n\n")[0] + "\n", flags=re.M)
    return {head: " ".join(words.split()) for head, words in entries}


@pytest.mark.parametrize(("one", "other", "differ"), ALIKE)
def test_parameters_of_alike_models_are_described_in_the_same_words(one, other, differ):
    first, second = described(one), described(other)
    both = {head for head in first.keys() & second.keys() if re.match(r"\w+", head)[0] not in differ}
    assert len(both) > 5
    assert {head: first[head] for head in both} == {head: second[head] for head in both}
