"""What a page shows of a model, as plain dictionaries, lists, numbers and text; each kind of model has its own file."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from ..errors import ArboraError
from ..models.on_page import OnPage

if TYPE_CHECKING:
    from ..inference.verdict import Verdict
    from ..models.assignments import Assignments
    from ..models.patterns import GroupName, Namer


class Context(NamedTuple):
    """What a page shows beside the model and its data."""

    path: str = "report.html"
    target: Sequence[Any] | None = None
    names: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    told: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    command: str | None = None
    verdict: "Verdict | None" = None  # in terms of the command line, if there was one
    assignments: "Assignments | None" = None  # of these trees, if they are known already
    described: "list[GroupName] | None" = None  # what sets their groups apart, likewise
    group_names: Mapping[int, str] | None = None  # that stand for names from patterns
    namer: "Namer | None" = None  # of these trees, if their patterns are counted already


def gather(model: Any, data: Any, context: Context | None = None) -> dict[str, Any]:
    """Everything that a page about this model and these data shows."""
    about = context or Context()
    parts: frozenset[str] = frozenset()
    if isinstance(model, OnPage):
        check_is_fitted(model)
        parts = model.page_parts()
    if "levels" in parts:
        from .rows import gather_rows

        page = gather_rows(model, data, about)
    elif "classes" in parts:
        from .classes import gather_classes

        page = gather_classes(model, data, about)
    elif "clusters" in parts:
        from .clusters import gather_clusters

        page = gather_clusters(model, data, about)
    else:
        raise ArboraError(
            f"{type(model).__name__}: there are no groups, levels or classes to report; "
            f"wanted a clusterer, a hierarchy or a classifier"
        )
    page["lines"] = [*about.told, *page.get("lines", [])]
    page["warned"] = [*about.warned, *page.get("warned", [])]
    verdict = about.verdict or page.pop("judged", None) or model.verdict()
    page["verdict"] = {**verdict.as_dict(), "sentence": verdict.sentence}
    page["manifest"] = manifest(model, about, page.pop("data_facts"))
    return page


def manifest(model: Any, context: Context, data: dict[str, Any]) -> dict[str, Any]:
    """Enough to make the page again: command line, time, seed, settings, versions, and a hash of the data."""
    known = dict(getattr(model, "provenance_", {}))
    params = known.pop("params", {})
    trained = {key: known.pop(key) for key in ("n_trees", "n_nodes", "n_rows", "n_columns", "data_sha256", "reading")
               if key in known}  # fmt: skip
    return {
        "command": context.command,
        "made": _now(),
        "model": known.pop("model", type(model).__name__),
        "seed": params.get("random_state"),
        "settings": params,
        "data": data,
        "fitted_to": "the same data" if trained.get("data_sha256") == data["data_sha256"] else trained,
        "versions": known,
    }


def _now() -> str:
    """Time in UTC; SOURCE_DATE_EPOCH, if set, stands for it, so that pages can be made again byte for byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(int(epoch) if epoch else None))
