"""Files of every kind of model with one thing in them wrong and checksums that are right: refused in one sentence when
loaded, or a model that tells numbers; never a crash, a nan, or memory that is not its own.

Kernels do not look whether an index is inside its array, so what loading lets through must be.
"""

import copy
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arbora as ab
from arbora import ArboraError, ModelFileError
from arbora.files.container import read_container, write_container
from arbora.models import MODELS
from fuzz.targets import MODELS as MADE
from fuzz.targets import good_file, samples_for, use_model

pytestmark = pytest.mark.compiled

Places = tuple[Any, ...]
VALUES = [None, True, -1, 0, 3, 2**40, -(2**70), 0.5, 1e308, float("nan"), float("inf"), "", "a", [], [1], {}, {"a": 1}]
SIZES = [0, 1, -1, 2, 255, 2**31 - 1, -(2**31), 2**62]
REALS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 2.0, 1e308, -1e308, 5e-324]


@cache
def content(kind: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
    path = good_file(kind)
    return read_container(path, "model")


def places(value: Any, at: Places = ()) -> Iterator[Places]:
    """Where something is in a JSON value, lists but for their first two items; what is only told of is left out."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, item in inner:
        if key != "provenance_":
            yield (*at, key)
            yield from places(item, (*at, key))


def with_json(header: dict[str, Any], at: Places) -> Iterator[tuple[str, dict[str, Any]]]:
    """Copies of the header with another value, or none, in a place."""
    for value in ["gone", *VALUES]:
        new = copy.deepcopy(header)
        holder = new
        for key in at[:-1]:
            holder = holder[key]
        if value == "gone":
            del holder[at[-1]]
        else:
            holder[at[-1]] = value
        yield f"{'.'.join(map(str, at))} = {value!r}", new


def with_array(array: Any) -> Iterator[tuple[str, Any]]:
    """An array that is not there, has another shape or type, or one other value in it."""
    yield "gone", None
    yield "flat", array.reshape(-1)
    yield "one axis more", array[None]
    yield "empty", np.zeros((0, *array.shape[1:]), array.dtype)
    yield "a number", np.zeros((), array.dtype)
    if array.ndim:
        yield "one less", array[:-1]
        yield "one more", np.concatenate([array, array[-1:]])
        yield "twice", np.concatenate([array, array])
        yield "backwards", array[::-1]
    if array.ndim > 1:
        yield "turned", array.T
        yield "narrow", array[..., :-1]
    kinds = ["f4", "i8", "i4", "u8", "?", "c16", "U3", ">f8", ">i8"] if array.dtype.kind != "U" else ["U9", ">U1"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from ((f"as {kind}", array.astype(kind)) for kind in kinds if kind != array.dtype.str[1:])
    if array.size and array.dtype.kind in "fi":
        for value in REALS if array.dtype.kind == "f" else SIZES:
            if array.dtype.itemsize == 4 and abs(value) > 2**31:
                continue
            for where in {0, array.size // 2, array.size - 1}:
                new = array.copy()
                new.reshape(-1)[where] = value
                yield f"[{where}] = {value}", new
            yield f"all {value}", np.full_like(array, value)
        yield "every other sign", np.where(np.arange(array.size).reshape(array.shape) % 2, -array, array)


def forgeries(kind: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """What is wrong, and the file's header and arrays with it."""
    _, header, arrays = content(kind)
    for name, array in arrays.items():
        for what, new in with_array(array):
            others = {key: value for key, value in arrays.items() if key != name}
            yield f"{name} {what}", header, others | ({} if new is None else {name: new})
    for at in places(header):
        for what, new in with_json(header, at):
            yield what, new, arrays
    yield "an array too many", header, arrays | {"more_": np.zeros(3)}
    for name in header["attributes"]:
        yield f"{name} as an array", header, arrays | {name: np.zeros(3)}


def attempt(kind: str, header: dict[str, Any], arrays: dict[str, Any], path: Path) -> bool:
    """Load the file and use the model; whether it was refused."""
    version, _, _ = content(kind)
    write_container(path, "model", version, header, arrays)
    told = ""
    try:
        use_model(ab.load(path), samples_for(kind))
    except ModelFileError as error:
        told = str(error)
    except ArboraError as error:  # settings that suit no data
        told = f"used: {error}"
    assert_told(told)
    return bool(told) and not told.startswith("used")


def assert_told(sentence: str) -> None:
    assert "\n" not in sentence
    assert len(sentence) < 1000


def test_every_kind_is_forged() -> None:
    assert set(MADE) == set(MODELS)


def run_some(kind: str, path: Path, every: int) -> None:
    """Forge one in `every` of what can be forged; tell all that went wrong."""
    wrong, n_refused, n_used = [], 0, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for number, (what, header, arrays) in enumerate(forgeries(kind)):
            if number % every:
                continue
            try:
                refused = attempt(kind, header, arrays, path)
            except Exception as error:  # noqa: BLE001, every one is told below
                wrong.append(f"{what}: {type(error).__name__}: {str(error)[:150]}")
            else:
                n_refused, n_used = n_refused + refused, n_used + (not refused)
    assert not wrong, f"{len(wrong)} of {len(wrong) + n_refused + n_used}:\n" + "\n".join(wrong)
    assert n_refused > 0


@pytest.mark.parametrize("kind", MADE)
def test_some_forged_files(kind: str, tmp_path: Path) -> None:
    run_some(kind, tmp_path / "forged", every=23)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MADE)
def test_all_forged_files(kind: str, tmp_path: Path) -> None:
    run_some(kind, tmp_path / "forged", every=1)
