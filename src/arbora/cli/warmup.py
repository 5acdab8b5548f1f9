"""``arbora warmup``: compile the kernels once, at a time of one's own choosing."""

import time
from collections.abc import Callable

import typer

from .options import Json, Quiet
from .root import app
from .terminal import Teller, command, print_json


@app.command()
@command
def warmup(quiet: Quiet = False, as_json: Json = False) -> None:
    """Compile what the models need, so that no later run has to wait for it.

    Compiled code is kept beside the package, or in NUMBA_CACHE_DIR, and serves every later run on this machine.

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
    """Every model on a few data, with all its methods that have kernels of their own."""
    import warnings

    import numpy as np

    from .. import models
    from ..datasets import make_asymmetric_trees, make_bananas
    from ..evaluate.metrics import silhouette_score, slot_label_counts

    warnings.simplefilter("ignore")  # of fits this short
    forest = make_asymmetric_trees(4, random_state=0)
    rows = make_bananas(10, random_state=0)[0]

    def mixture() -> None:
        model = models.HiddenTreeMixture(2, 2, max_iter=2, random_state=0).fit(forest)
        model.transform(forest)
        model.predict(forest)
        silhouette_score(slot_label_counts(forest), np.arange(forest.n_trees) % 2)

    def classifiers() -> None:
        for encoder in (None, "mixture"):
            models.TreeClassifier(encoder, "logistic", random_state=0).fit(forest, forest.target).predict(forest)

    def infinite() -> None:
        for update in ("gibbs", "em"):
            models.InfiniteHiddenTreeMixture(2, update=update, n_iter=3, random_state=0).fit(forest).predict(forest)

    def vectors(name: str) -> Callable[[], object]:
        model = getattr(models, name)(n_iter=4, n_chains=1, random_state=0)
        return lambda: model.fit(rows).predict(rows)

    def patterns() -> None:
        model = models.PatternMixture(n_iter=4, n_chains=1, random_state=0).fit(forest)
        model.predict(forest)
        model.merges()
        models.PatternMixture(2, labels="sizes", n_iter=4, n_chains=1, random_state=0).fit(forest)

    def grammar() -> None:
        models.TreeGrammarMixture(2, max_iter=2, random_state=0).fit(forest).predict(forest)
        models.TreeGrammarMixture(None, n_iter=4, n_chains=1, random_state=0).fit(forest)

    return {
        "patterns": patterns,
        "label chains": grammar,
        "mixture": mixture,
        "infinite mixture": infinite,
        "classifier": classifiers,
        "tree-unions": lambda: models.TreeUnionMixture().fit(forest).predict(forest),
        "edit distance": lambda: models.TreeEditClustering(2).fit(forest),
        **{name: vectors(name) for name in ("DPGaussianMixture", "NHCM", "BHMC", "RBHMC")},
    }
