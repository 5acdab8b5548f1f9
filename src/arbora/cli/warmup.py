"""``arbora warmup``: compile the kernels once, at a time of one's own choosing."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import typer

from .options import Json, Quiet
from .root import app
from .terminal import Teller, command, print_json


@app.command()
@command
def warmup(quiet: Quiet = False, as_json: Json = False) -> None:
    """Compile all kernels, so that later runs need not wait.

    Compiled code is cached beside the package, or in NUMBA_CACHE_DIR, and used by every later run on this machine.

    \b
    Examples:
      arbora warmup
      NUMBA_CACHE_DIR=/shared/cache arbora warmup
    """
    from ..jit import _CACHE

    seconds = {}
    with Teller(quiet).listening() as teller:
        teller.compiling = True  # what it does anyway need not be said
        if not _CACHE:
            teller.warn("ARBORA_NO_CACHE is set: nothing compiled now is kept; unset it")
        for name, run in _parts().items():
            start = time.monotonic()
            with teller.working(f"compiling: {name}"):
                run()
            seconds[name] = time.monotonic() - start
            teller.say(f"{name}: {seconds[name]:.1f} s")
    if as_json:
        print_json({"seconds": seconds})
    else:
        typer.echo(f"ready after {sum(seconds.values()):.0f} s")


def _parts() -> dict[str, Callable[[], object]]:
    """Every model of the registry on a few data, with all its methods that have kernels of their own."""
    import warnings

    import numpy as np

    from ..datasets import make_asymmetric_trees, make_bananas
    from ..evaluate.metrics import silhouette_score, slot_label_counts
    from ..models.registry import MODELS

    warnings.simplefilter("ignore")  # of fits this short
    forest = make_asymmetric_trees(4, random_state=0)
    rows = make_bananas(10, random_state=0)[0]

    def silhouettes() -> None:
        silhouette_score(slot_label_counts(forest), np.arange(forest.n_trees) % 2)

    parts: dict[str, Callable[[], object]] = {
        row.cluster or name: partial(_fit_all, name, rows if "levels" in row.page else forest)
        for name, row in MODELS.items()
        if row.warm_up
    }
    return {**parts, "silhouettes": silhouettes}


def _fit_all(name: str, data: Any) -> None:
    """Fits of a model, and what is called, or read, after each."""
    from .. import models
    from ..models.registry import MODELS

    row = MODELS[name]
    for settings in row.warm_up:
        model = getattr(models, name)(**settings).fit(data, getattr(data, "target", None))
        for attribute in row.warm_calls:
            found = getattr(model, attribute)
            if callable(found):
                found(data)
