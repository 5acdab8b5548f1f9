"""Reader of decision trees in dumps of XGBoost and LightGBM; `from_sklearn` takes those of scikit-learn."""

import re
from collections.abc import Sequence

from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..decision_trees import add_dump
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format
from ..json_text import looks_like_json, parse_json
from ..sources import MAX_BYTES, Policy, decode, read_bytes, read_files

# Beginnings of a dump and of a model of XGBoost, and keys of a dump of LightGBM.
_XGBOOST = re.compile(r'\s*(?:\[\s*\{\s*"nodeid"\s*:|\{\s*"learner"\s*:\s*\{\s*"attributes"\s*:)')
_LIGHTGBM = tuple(re.compile(rf'"{key}"\s*:\s*[\[{{0-9]') for key in ("max_feature_idx", "feature_names"))


def read_decisions(
    source: Source,
    *,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read the decision trees of boosted models of XGBoost or LightGBM.

    Files hold what ``dump_model`` or ``save_model`` of XGBoost write as JSON, or what ``dump_model()`` of LightGBM
    returns. A split is a node labelled by its feature, and a leaf is labelled "leaf".  Slot 0 leads to values below the
    threshold, slot 1 to the others.  Thresholds and values of leaves are left out.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    max_bytes : int, default 100,000,000
        Longest file that is read, in bytes after decompression.  A longer one is refused; raise it for files you trust.
    on_error : {"raise", "skip"}, default "raise"
        "skip" leaves out bad files and warns how many there were.
    vocabulary : sequence of str or None, default None
        Labels to use.  Labels outside it are marked unseen.  None uses the labels that occur, sorted.
    progress : bool or None, default None
        Whether to show a progress bar.  None shows it on a terminal.

    Returns
    -------
    Forest
        One tree per decision tree.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_decisions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.xgboost.json")
    ...     _ = path.write_text('[{"nodeid": 0, "leaf": 0.5}]')
    ...     read_decisions(path)[0]
    {'label': 'leaf'}
    """

    def read_file(path: str, columns: Columns) -> None:
        before = len(columns.name)
        add_dump(parse_json(decode(read_bytes(path, max_bytes)), pairs=False), columns)
        if len(columns.name) == before:
            raise Fault("there is no tree in it; leave the file out")

    return read_files(source, "decisions", read_file, Policy(on_error, vocabulary, progress, max_bytes))


def _surely(text: str) -> bool:
    return bool(_XGBOOST.match(text) or (looks_like_json(text) and all(key.search(text) for key in _LIGHTGBM)))


_KEYS = re.compile(r'"(?:tree_info|gradient_booster|nodeid|left_children)"\s*:')


def _sniff(text: str) -> int:
    return 3 * bool(looks_like_json(text) and _KEYS.search(text[:16384]))


FORMAT = Format(
    name="decisions",
    suffixes=(".xgboost.json", ".lightgbm.json"),
    makes="one tree per decision tree in a dump of XGBoost or LightGBM; a split is a node, its feature the label",
    manual="""\
The decision trees of a boosted model: JSON that `dump_model` or `save_model` of XGBoost write, or that `dump_model()`
of LightGBM returns. A split is a node labelled by its feature, with its two children in slots 0 (values below the
threshold) and 1; leaves are labelled `leaf`. Thresholds and values are ignored. Files of other names, as `model.json`,
are recognised by how they begin. In Python, `ab.from_sklearn(model)` converts trees, forests and boosted trees of
scikit-learn:

```python
from sklearn.ensemble import RandomForestClassifier

ab.from_sklearn(RandomForestClassifier(5, random_state=0).fit(X, y))
```""",
    options=(MAX_BYTES_OPTION,),
    reader=read_decisions,
    sniff=_sniff,
    within=("json",),
    surely=_surely,
)
