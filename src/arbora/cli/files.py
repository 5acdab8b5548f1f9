"""Files of the command line: where results may go, and tables by the suffix of their name."""

import csv
import importlib.util
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from ..errors import MissingDependencyError, ReadError
from ..evaluate.summary import tree_names
from ..files import own_outputs as own
from ..files.container import written_whole
from ..files.kinds import is_store
from ..forest.forest import Forest
from ..forest.node_columns import UNSEEN
from ..forest.trees import Trees
from ..io.tables import named_columns
from ..models.assignments import Assignments
from .terminal import finite, usage

TABLES = (".csv", ".json", ".parquet")
_WHOLE = re.compile("-?[0-9]{1,15}")
ROWS_AT_ONCE = 10_000  # of a table that are text in memory

Columns = Mapping[str, Any]  # by name; each a list or an array


class Output(NamedTuple):
    """A file that a command would write, by the option that names it; None where nobody asked."""

    option: str
    path: Path | None
    suffixes: Sequence[str] = ("",)
    is_folder: bool = False  # which is made if need be


def check_outputs(outputs: Sequence[Output], reads: Sequence[str | Path | None]) -> None:
    """Refuse, before any work, outputs that cannot be written, that are a file the command reads, or the same twice.

    Every command passes all its outputs through here, and all files that it reads: inputs, tables of classes, models.
    """
    read = [os.fspath(path) for path in reads if path is not None]
    seen: list[tuple[str, Path]] = []
    for output in outputs:
        option, path = output.option, output.path
        if path is None:
            continue
        _check_place(output, path)
        if any(is_same_file(path, given) or _shares_store(path, given) for given in read):
            raise usage(option, f"{path}: this is an input, and would be overwritten; choose another name")
        for other, taken in seen:
            if is_same_file(path, taken):
                raise usage(option, f"{path}: {other} writes to this file, too; choose another name")
        seen.append((option, path))


def _check_place(output: Output, path: Path) -> None:
    """Refuse another suffix, a folder that is not there, and what cannot be a file."""
    option, suffixes = output.option, output.suffixes
    if not path.name or not path.name.lower().endswith(tuple(suffixes)):
        ends = " or ".join(suffixes)
        raise usage(option, f"{path}: the name must end in {ends}" if ends else f"{path}: this is no name of a file")
    try:
        is_folder, has_parent = path.is_dir() and not is_store(path), path.absolute().parent.is_dir()
    except (OSError, ValueError) as error:  # a name too long, or with a zero byte
        raise usage(option, f"{path}: no file can have this name ({error}); choose another") from None
    if output.is_folder:
        if path.exists() and not is_folder:
            raise usage(option, f"{path}: this is a file; name a folder")
        return
    if is_folder:
        raise usage(option, f"{path}: this is a directory; name a file")
    if not has_parent:
        raise usage(option, f"{path}: there is no such folder; make it first")
    if path.suffix.lower() == ".parquet":
        _need("pyarrow", ".parquet files need pyarrow; install arbora[parquet], or choose another suffix")


def is_same_file(one: str | Path, two: str | Path) -> bool:
    """Whether two names are of one file, by links of either kind; of files that are not there, by the real path."""
    try:
        return os.path.samefile(one, two)
    except (OSError, ValueError):
        return _real(one) == _real(two)


def _real(path: str | Path) -> Path:
    """The path without links, or as it is if it cannot be one of a file."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return Path(path)


def _shares_store(path: Path, given: str) -> bool:
    """Whether an output would go into a store that is read, or a file that is read is in a store that is written."""
    one, two = _real(path), _real(given)
    return (is_store(two) and two in one.parents) or (is_store(one) and one in two.parents)


def table_of(classes: str | None) -> str | None:
    """The file that --classes names, if it names one."""
    return None if classes == "folder" else classes


def need_matplotlib() -> None:
    """Refuse, before any work, a picture that cannot be drawn."""
    _need("matplotlib", "pictures need matplotlib; install arbora[plot]")


def _need(package: str, reason: str) -> None:
    if not has_package(package):
        raise MissingDependencyError(reason)


def has_package(name: str) -> bool:
    """Whether an optional package is there, without importing it."""
    return importlib.util.find_spec(name) is not None


def read_names(path: Path) -> dict[int, str]:
    """Names of clusters by their numbers, from a table with the columns cluster and name."""
    found: dict[int, str] = {}
    for line, (cluster, name) in named_columns(path, "cluster", "name"):
        number = cluster.strip()
        if not _WHOLE.fullmatch(number):
            raise ReadError(f"{path}, line {line}: cluster {number!r}; wanted a whole number")
        if int(number) in found:
            raise ReadError(f"{path}, line {line}: cluster {number} has a name already; wanted each once")
        found[int(number)] = name
    if not found:
        raise ReadError(f"{path}: no names; wanted a table with the columns cluster and name")
    return found


# ---- tables ---------------------------------------------------------------------------------------------------------


def assignments(model: Any, forest: Trees, known: Assignments | None = None) -> Columns:
    """Columns about each tree: cluster, its probability, log-likelihood, nodes whose label the model has never seen.

    They are computed unless they are given.  A tree that may be of a new group (cluster -1) has the probability of
    that, which is the last column of `predict_proba`.
    """
    forest = forest.with_vocabulary(model.vocabulary_)
    found: Assignments = model.assign(forest) if known is None else known
    cluster, probability, score = found.labels, np.asarray(found.proba), np.asarray(found.log_likelihood)
    reads_labels = getattr(model, "labels", True) is not False
    unseen = [_n_unseen(part, reads_labels) for part in forest.parts()]
    columns: Columns = {
        "name": tree_names(forest),
        "cluster": cluster,
        "probability": probability[np.arange(len(cluster)), cluster],
        "log_likelihood": score,
        "explained": np.isfinite(score),
        "nodes_with_unseen_label": np.concatenate(unseen),
    }
    return columns if forest.target is None else {**columns, "class": forest.target}


def assigned(labels: Any, forest: Trees) -> Columns:
    """The first columns of `assignments`, for clusters that are known and nothing else."""
    columns: Columns = {"name": tree_names(forest), "cluster": labels}
    return columns if forest.target is None else {**columns, "class": forest.target}


def _n_unseen(forest: Forest, reads_labels: bool) -> Any:
    """Nodes of each tree whose label is unseen."""
    if not reads_labels or not forest.n_trees:
        return np.zeros(forest.n_trees, np.int64)
    return np.add.reduceat((forest.label == UNSEEN).astype(np.int64), forest.tree_start[:-1])


def encodable(text: str) -> str:
    """The text with escapes for what UTF-8 cannot hold, as in names of files that are not UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _some_rows(columns: Columns) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of columns, in plain Python, as many at a time as take little memory."""
    n_rows = max(map(len, columns.values()), default=0)
    for lo in range(0, n_rows, ROWS_AT_ONCE):
        some = [column[lo : lo + ROWS_AT_ONCE] for column in columns.values()]
        plain = [x.tolist() if isinstance(x, np.ndarray) else x for x in some]
        yield list(zip(*([encodable(x) if isinstance(x, str) else x for x in column] for column in plain), strict=True))


def csv_text(columns: Columns) -> Iterator[str]:
    """Columns as CSV, piece by piece; numbers in full, truth as true and false."""
    for rows in chain([[tuple(map(encodable, columns))]], _some_rows(columns)):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)
        yield out.getvalue()


def print_csv(columns: Columns) -> None:
    """Columns as CSV to stdout."""
    for text in csv_text(columns):
        typer.echo(text, nl=False)


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _json_text(columns: Columns) -> Iterator[str]:
    """Columns as a JSON array of rows, piece by piece."""
    before = "[\n"
    for rows in _some_rows(columns):
        yield before + json.dumps(_records(columns, rows), indent=1)[len("[\n") : -len("\n]")]
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def records(columns: Columns) -> list[dict[str, Any]]:
    """Columns as a list of rows, as JSON takes them."""
    return [record for rows in _some_rows(columns) for record in _records(columns, rows)]


def _records(columns: Columns, rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    titles = [encodable(title) for title in columns]
    return [finite(dict(zip(titles, row, strict=True))) for row in rows]


def write_table(path: Path, columns: Columns) -> None:
    """Write columns to .csv, .json or .parquet, at once or not at all."""
    suffix = path.suffix.lower()
    if suffix in (".csv", ".json"):
        with written_whole(path) as temporary, open(temporary, "wb") as file:
            for text in csv_text(columns) if suffix == ".csv" else _json_text(columns):
                file.write(text.encode("utf-8", "backslashreplace"))
    else:
        import pyarrow as pa
        from pyarrow import parquet

        with written_whole(path) as temporary:
            held = {encodable(title): _text_column(column) for title, column in columns.items()}
            parquet.write_table(pa.table(held).replace_schema_metadata(own.TABLE), temporary)


def _text_column(column: Any) -> Any:
    """The column, if it is of text with escapes for what UTF-8 cannot hold."""
    is_text = column.dtype.kind == "U" if isinstance(column, np.ndarray) else bool(column) and type(column[0]) is str
    return [encodable(text) for text in column] if is_text else column


def write_text(path: Path, text: str) -> None:
    """Write text, at once or not at all."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write bytes, at once or not at all."""
    with written_whole(path) as temporary:
        Path(temporary).write_bytes(data)


def write_encoding(path: Path, encoding: Any, names: Sequence[str], columns: Sequence[str]) -> None:
    """Write codes of trees: .npz as a sparse matrix of SciPy's, .csv and .parquet with names of trees and columns."""
    if path.suffix.lower() == ".npz":
        from scipy import sparse

        with written_whole(path) as temporary, open(temporary, "wb") as file:
            sparse.save_npz(file, encoding)
        return
    dense = encoding.toarray()
    write_table(path, {"name": names, **dict(zip(columns, dense.T.tolist(), strict=True))})


def write_matrix(path: Path, name: str, matrix: Any, names: Sequence[str]) -> None:
    """Write a square matrix: .npz as arrays `name` and name of trees, .csv and .parquet with a column a tree."""
    if path.suffix.lower() == ".npz":
        with written_whole(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, **{name: matrix, "name": np.array([encodable(tree) for tree in names])})
        return
    columns = {f"{name}_{j}": matrix[:, j].tolist() for j in range(matrix.shape[1])}
    write_table(path, {"name": names, **columns})
