"""FitCheckpoint: a file in which a fit by EM is written down as it runs, and from which a broken one continues.

What is kept after an iteration, the parameters and the objectives so far, is all that the next one depends on; so a fit
that was killed and resumed ends with the same model, bit for bit, as one that was not.
"""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...errors import ModelFileError, SettingError
from ...files.container import read_container, write_container
from ...inference.em import EMResult, Leap
from ...inference.records import put, take
from ...inference.schedules import generator_state
from ..model_file import plain
from . import tree_model as tm
from .passes import MixtureParams

VERSION = 1
EVERY = 30.0  # seconds between two writings; the end of a start is always written

Result = EMResult[MixtureParams]


class Progress(NamedTuple):
    """How far a fit has come."""

    n_done: int = 0  # starts that have ended
    best: Result | None = None  # of these
    current: Result | None = None  # the start under way, after its last iteration that was written


class FitCheckpoint:
    """The checkpoint of one fit; without a path it stores nothing."""

    def __init__(self, path: str | os.PathLike[str] | None, settings: Mapping[str, Any]):
        self.path, self.settings = path, {name: plain(value) for name, value in settings.items()}
        self.written_at = time.monotonic()

    def read(self, rng: np.random.Generator, tables: tm.Arrays, n_components: int) -> Progress:
        """What an earlier run left, if there was one; then the generator continues as it would have there."""
        if self.path is None or not os.path.exists(self.path):
            return Progress()
        version, header, arrays = read_container(self.path, "fit")
        if version != VERSION:
            raise ModelFileError(f"{self.path}: checkpoint version {version}, wanted {VERSION}; resume it with its own")
        try:
            self._compare(header["settings"])
            kept = (
                (header[name], *(take(arrays, x) for x in (name, f"{name}_before"))) for name in ("best", "current")
            )
            best, current = (_unpack(told, (now, before), tables, n_components) for told, now, before in kept)
            n_done = header["n_done"]
            if type(n_done) is not int or n_done < 0 or (best is None) != (n_done == 0):
                raise ValueError("its numbers of starts make no sense")
            rng.bit_generator.state = header["generator"]["bits"]
            return Progress(n_done, best, current)
        except SettingError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ModelFileError(f"{self.path}: not the checkpoint of a fit ({error}); give another file") from None

    def _compare(self, before: Mapping[str, Any]) -> None:
        for name, now in self.settings.items():
            if before.get(name) != now:
                raise SettingError(
                    f"{self.path}: this checkpoint was made with {name}={before.get(name)!r}, not {now!r}; "
                    f"ask for the same {name}, or give another file"
                )

    def write(self, progress: Progress, rng: np.random.Generator, at_once: bool = True) -> None:
        """Write down how far the fit has come; unless `at_once`, only if the last time is long ago."""
        if self.path is None or (not at_once and time.monotonic() - self.written_at < EVERY):
            return
        header: dict[str, Any] = {"settings": self.settings, "n_done": progress.n_done}
        header["generator"] = plain(generator_state(rng))
        arrays: dict[str, Any] = {}
        for name, result in (("best", progress.best), ("current", progress.current)):
            if result is None:
                header[name] = None
                continue
            before, longest = result.leap
            header[name] = [result.history, result.converged, result.interrupted, longest]
            arrays |= put(name, {"weight": result.params.weight, **tm.named(result.params.tree)})
            if before is not None:
                arrays |= put(f"{name}_before", {"weight": before.weight, **tm.named(before.tree)})
        write_container(self.path, "fit", VERSION, header, arrays)
        self.written_at = time.monotonic()


def state_digest(random_state: np.random.Generator | np.random.RandomState) -> str:
    """What differs between generators that will give other numbers."""
    if isinstance(random_state, np.random.RandomState):
        state = random_state.get_state(legacy=False)
    else:
        state = generator_state(random_state)
    return f"generator {hashlib.sha256(json.dumps(plain(state)).encode()).hexdigest()[:16]}"


def _unpack(
    told: Any, arrays: tuple[Mapping[str, Any], Mapping[str, Any]], tables: tm.Arrays, n_components: int
) -> Result | None:
    """A result from its header and the arrays of its parameters, and of those before, if there are some."""
    if told is None:
        return None
    params, before = (_params(some, tables, n_components) if some else None for some in arrays)
    if params is None:
        raise ValueError("it has no parameters")
    history, converged, interrupted, *more = told  # files of fits without acceleration may end here
    leap = Leap(before, float(more[0]) if more else 1.0)
    if not leap.longest >= 1.0:
        raise ValueError("its longest step makes no sense")
    return EMResult(params, [float(value) for value in history], bool(converged), bool(interrupted), leap)


def _params(arrays: Mapping[str, Any], tables: tm.Arrays, n_components: int) -> MixtureParams:
    for name, table in tm.named(tables).items():
        values = arrays[name]
        sound = values.shape == (*table.shape, n_components) and values.dtype == np.float64
        if not sound or not ((values >= table.least) & (values <= table.most + 1e-9)).all():
            raise ValueError(f"{name} is not what it should be")
    weight = arrays["weight"]
    if weight.shape != (n_components,) or not np.isclose(weight.sum(), 1.0) or not (weight >= 0).all():
        raise ValueError("the weights of the components are not what they should be")
    return MixtureParams(weight, tm.unnamed(tables, arrays))
