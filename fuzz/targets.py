"""What is fuzzed: functions of bytes that must end in a value that holds its promises, or in an ArboraError.

Readers get the bytes as a file.  Files of Arbora's own have checksums that random bytes never meet, so loaders also get
forged ones: a good file whose content the bytes have edited, written with checksums that are right.
"""

import json
import os
import tempfile
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier

import arbora as ab
from arbora.errors import ArboraError
from arbora.files.container import read_container, write_container
from arbora.files.own_outputs import MANIFEST
from arbora.inference.traces import load_trace
from arbora.io.registry import FORMATS, READERS
from arbora.io.tables import read_table
from arbora.models.hidden_tree.fit_checkpoint import FitCheckpoint
from arbora.models.hidden_tree.switching_tree import SwitchingTree

CORPUS = Path(__file__).parent / "corpus"
MAX_BYTES = 10**6  # of a file
N_EDITS = 8  # of a forged file at most: with more than a few it is always refused


def _folder() -> Path:
    """A folder of this process for the file at hand."""
    folder = Path(tempfile.gettempdir()) / f"arbora-fuzz-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    return folder


def read(format: str, data: bytes) -> None:
    """A file of any reader."""
    path = _folder() / f"data{FORMATS[format].suffixes[0]}"
    path.write_bytes(data)
    try:
        more = {"mirror": str(_folder())} if format == "sitemap" else {}  # nothing is fetched
        forest = ab.read(path, format, max_bytes=MAX_BYTES, **more)
    except ArboraError as error:
        _check_words(error)
        return
    forest.validate()
    assert forest.n_nodes <= 4 * len(data) + 4, "a small file made many nodes"


def read_numbers(data: bytes) -> None:
    """A table of numbers."""
    path = _folder() / "data.csv"
    path.write_bytes(data)
    try:
        table = read_table(path)
    except ArboraError as error:
        _check_words(error)
        return
    assert np.isfinite(table.X).all()
    assert table.X.shape == (len(table.names), len(table.columns))


def _check_words(error: ArboraError) -> None:
    told = str(error)
    assert told
    assert "\n" not in told, f"not one sentence: {told!r}"
    assert len(told) < 2000, "a sentence without end"


# ---- files of our own -----------------------------------------------------------------------------------------------


@cache
def _trees() -> ab.Forest:
    return ab.Forest.from_nested(
        [("a", ["b", ("c", ["d", None])]), "a", ("c", ["c"])], target=["x", "y", "x"], name=["one", "two", "three"]
    )


@cache
def _good(kind: str) -> bytes:
    """A good file of this kind."""
    path = _folder() / "good"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind in ("forest", "parquet"):
            path = path.with_suffix(f".{kind}")
            _trees().save(path)
        elif kind == "store":
            ab.ForestStore.write(_trees(), path.with_suffix(".store"), shard_nodes=4)
            path = path.with_suffix(".store") / MANIFEST
        elif kind == "trace":
            ab.InfiniteHiddenTreeMixture(2, n_iter=2, n_start=1, random_state=0).fit(_trees()).trace_.save(path)
        elif kind == "fit":
            path.unlink(missing_ok=True)
            ab.HiddenTreeMixture(2, 2, max_iter=2, random_state=0, checkpoint=path).fit(_trees())
        else:
            MODELS[kind]().fit(samples_for(kind), outputs_for(kind)).save(path)
    return path.read_bytes()


@cache
def _rows() -> Any:
    return np.random.default_rng(0).normal(size=(9, 2)).round(3) + np.arange(9)[:, None] // 3 * 4


ON_TREES: dict[str, Callable[[], Any]] = {
    "HiddenTreeMixture": lambda: ab.HiddenTreeMixture(2, 2, max_iter=2, random_state=0),
    "HiddenTree": lambda: ab.HiddenTree(2, max_iter=2, random_state=0),
    "InfiniteHiddenTreeMixture": lambda: ab.InfiniteHiddenTreeMixture(2, n_iter=2, n_start=1, random_state=0),
    "TopographicMap": lambda: ab.TopographicMap(3, basis=2, n_init=1, max_iter=2, random_state=0),
    "SlotLabelCounts": ab.SlotLabelCounts,
    "PatternMixture": lambda: ab.PatternMixture(n_iter=4, n_chains=1, random_state=0),
    "TreePatterns": lambda: ab.TreePatterns(["rules2", "bigrams", "slots"]),
    "TreeGrammarMixture": lambda: ab.TreeGrammarMixture(2, max_iter=2, tol=0.0, random_state=0),
    "TreeUnionMixture": lambda: ab.TreeUnionMixture(labels=True),
    "UnionEmbedding": lambda: ab.UnionEmbedding(2, labels=True, random_state=0),
    "TreeEditClustering": lambda: ab.TreeEditClustering(2, costs="learnt", random_state=0),
    "TreeClassifier": lambda: ab.TreeClassifier(
        ab.HiddenTree(2, max_iter=2), MLPClassifier((2,), max_iter=2), random_state=0
    ),
    "GenerativeTreeClassifier": lambda: ab.GenerativeTreeClassifier(ab.HiddenTree(2, max_iter=2), random_state=0),
    "TransducerClassifier": lambda: ab.TransducerClassifier(2, max_iter=2, calibration=None, random_state=0),
    "TreeTransducer": lambda: ab.TreeTransducer(2, tie=["switch"], max_iter=2, random_state=0),
    "TreeTranslator": lambda: ab.TreeTranslator(2, 2, max_iter=2, tol=0, n_draws=2, random_state=0),
}
ON_ROWS: dict[str, Callable[[], Any]] = {
    "DPGaussianMixture": lambda: ab.DPGaussianMixture(n_iter=4, n_chains=1, random_state=0),
    "NHCM": lambda: ab.NHCM(n_iter=4, n_chains=1, random_state=0),
    "BHMC": lambda: ab.BHMC(2, n_iter=4, n_chains=1, random_state=0),
    "RBHMC": lambda: ab.RBHMC(2, n_iter=4, n_chains=1, random_state=0),
}
MODELS = ON_TREES | ON_ROWS


def samples_for(kind: str) -> Any:
    """What a model of this kind is fitted to."""
    return _rows() if kind in ON_ROWS else _trees()


def outputs_for(kind: str) -> Any:
    """What a model of this kind learns besides; None: what the samples have themselves."""
    return {"TreeTransducer": _trees().label % 2, "TreeTranslator": _trees()}.get(kind)


def good_file(kind: str) -> Path:
    """A good file of this kind, to read and leave alone."""
    path = _folder() / f"good.{kind}"
    if not path.exists():
        path.write_bytes(_good(kind))
    return path


def _use(kind: str, path: Path) -> None:
    """Load a file and do what one does with it; nothing may be nan."""
    if kind in ("forest", "parquet"):
        ab.load_forest(path, max_bytes=2**26).validate()
    elif kind == "store":
        store = ab.ForestStore(path.parent, max_bytes=2**26)
        store.to_forest().validate()
        store.n_unseen()
    elif kind == "trace":
        trace = load_trace(path)
        for name in trace.names():
            trace.stack(name) if name in trace.names(fixed=True) else None
    elif kind == "fit":
        model = SwitchingTree.of_labels(2, 4, 2, "bottom", "branching")
        FitCheckpoint(path, {}).read(np.random.default_rng(0), model.tables, 2)
    else:
        use_model(ab.load(path), samples_for(kind))


def use_model(model: Any, data: Any) -> None:
    """Everything that a fitted model tells of data; it must be told, and be numbers."""
    if isinstance(model, ab.TreeTranslator):  # its predictions are trees, and its scores are of pairs
        values = np.concatenate([model.predict_proba(data).ravel(), model.score_samples(data, data)])
        assert not np.isnan(values).any()
        return
    for method in ("predict", "predict_proba", "predict_levels", "transform", "score_samples", "surprise", "decode"):
        conditional = isinstance(model, ab.TransducerClassifier)  # which has nothing to say about trees themselves
        if hasattr(model, method) and not (conditional and method == "surprise"):
            values = getattr(model, method)(data)
            values = values.data if hasattr(values, "indptr") else values
            assert values.dtype.kind not in "fc" or not np.isnan(values).any(), f"{method} gave nan"
    for method in ("get_feature_names_out", "n_parameters"):
        if hasattr(model, method):
            getattr(model, method)()
    model.hierarchy_.to_newick() if hasattr(model, "hierarchy_") else None


def load(kind: str, data: bytes) -> None:
    """Bytes in place of a file of our own."""
    _attempt(kind, lambda path: path.write_bytes(data))


def forge(kind: str, data: bytes) -> None:
    """A good file of our own, its content edited by the bytes, with checksums that are right."""
    source = _folder() / "source"
    source.write_bytes(_good(kind))
    kinds = {"forest": "forest", "store": "forest store", "trace": "trace", "fit": "fit"}
    version, header, arrays = read_container(source, kinds.get(kind, "model"))
    edits = iter(data)
    number = partial(next, edits, 0)
    for what, _ in zip(edits, range(N_EDITS), strict=False):
        if what % 2:
            header = _edited(header, number)
        elif arrays:
            name = sorted(arrays)[number() % len(arrays)]
            found = _edited_array(arrays[name], number)
            arrays = {key: value for key, value in arrays.items() if key != name}
            arrays |= {} if found is None else {name: found}
    _attempt(kind, lambda path: write_container(path, kinds.get(kind, "model"), version, header, arrays))


def _attempt(kind: str, write: Callable[[Path], Any]) -> None:
    folder = _folder()
    path = folder / (f"file.{kind}" if kind in ("forest", "parquet") else "file")
    if kind == "store":
        _good(kind)
        path = folder / "good.store" / MANIFEST
    try:
        write(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _use(kind, path)
    except ArboraError as error:
        _check_words(error)
    finally:
        if kind == "store":
            path.write_bytes(_good(kind))


_VALUES: list[Any] = [
    None, True, -1, 0, 1, 2, 2**40, -(2**70), 0.5, 1e308, "", "a", "__class__", [], [1], {}, {"a": 1}, [["a"]],
]  # fmt: skip


def _edited(value: Any, number: Callable[[], int]) -> Any:
    """A copy of a JSON value with one place in it changed."""
    value = json.loads(json.dumps(value))
    holder, key, inner = None, None, value
    while isinstance(inner, (dict, list)) and inner and number() % 4:
        holder, keys = inner, sorted(inner) if isinstance(inner, dict) else list(range(len(inner)))
        key = keys[number() % len(keys)]
        inner = holder[key]
    if holder is None:
        return value
    if number() % 4 == 0:
        del holder[key]
    else:
        holder[key] = _VALUES[number() % len(_VALUES)]
    return value


def _edited_array(array: Any, number: Callable[[], int]) -> Any:
    """A copy of an array, changed in one way; None: without it."""
    array = np.array(array)
    what = number() % 8
    if what == 0:
        return None
    if what == 1:
        return array[:-1] if array.ndim else array.reshape(1)
    if what == 2 and array.ndim < 64:
        return array[None]
    if what == 3 and array.dtype.kind == "U":
        return array.astype("U9")
    if what == 3:
        return array.astype([np.float32, np.int64, np.complex128, np.uint8, np.bool_][number() % 5])
    if what == 4:
        return np.concatenate([array, array]) if array.ndim and array.size < 2**16 else array
    if array.size:
        limits = [0, 1, -1, 2**31 - 1, -(2**31), 255, 3]
        values = [np.nan, np.inf, -1.0, 2.0, 0.0, 1e308, *limits] if array.dtype.kind == "f" else limits
        chosen = values[number() % len(values)]
        with np.errstate(all="ignore"):
            array.reshape(-1)[number() % array.size] = np.array(chosen).astype(array.dtype)
    return array


TARGETS: dict[str, Callable[[bytes], None]] = {
    **{f"read-{format}": partial(read, format) for format in READERS},
    "read-table": read_numbers,
    **{
        f"load-{kind}": partial(load, kind)
        for kind in ("forest", "parquet", "store", "trace", "fit", "HiddenTreeMixture")
    },
    **{f"forge-{kind}": partial(forge, kind) for kind in ("forest", "store", "trace", "fit", *MODELS)},
}


def seeds(target: str) -> list[bytes]:
    """What fuzzing of a target starts from: the corpus, and good files of our own."""
    kept = [path.read_bytes() for path in sorted((CORPUS / target).glob("*"))]
    return [*kept, _good(target.removeprefix("load-"))] if target.startswith("load-") else kept or [b""]
