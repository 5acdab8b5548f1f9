"""Loaders of published data sets that Arbora may not redistribute; they are read where the user keeps them."""

import csv
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataNotFoundError
from ..forest.forest import Forest
from ..io import read_elastic, read_jsonl

_FASHION = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


class LabelledRows(NamedTuple):
    """An array data set: one datum per row.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The rows.
    y : ndarray of shape (n_rows,)
        Known classes.
    names : ndarray of shape (n_rows,)
        What each row is.
    """

    X: NDArray[np.float64]  # (n, d)
    y: NDArray[np.str_]  # (n,) known classes
    names: NDArray[np.str_]  # (n,) what each row is


def load_inex2005(split: str | None = None) -> Forest:
    """Read INEX 2005, the structure of XML documents: 4,820 training and 4,811 test trees, 11 classes.

    The file is read below ``$ARBORA_DATA``; `DataNotFoundError` says where to put it.

    Parameters
    ----------
    split : {"train", "test"} or None, default None
        Which part to read; None reads both, training trees first.  The vocabulary is always that of both.

    Returns
    -------
    Forest
        The trees, with classes in `target`.
    """
    return _load_inex("inex2005", "inex05", split)


def load_inex2006(split: str | None = None) -> Forest:
    """Read INEX 2006, the structure of XML documents: 6,053 training and 6,054 test trees, 18 classes.

    The file is read below ``$ARBORA_DATA``; `DataNotFoundError` says where to put it.

    Parameters
    ----------
    split : {"train", "test"} or None, default None
        Which part to read; None reads both, training trees first.  The vocabulary is always that of both.

    Returns
    -------
    Forest
        The trees, with classes in `target`.
    """
    return _load_inex("inex2006", "inex06", split)


def load_synthetic(split: str | None = None) -> Forest:
    """Read the left / symmetric / right trees of Bacciu and Castellana (2019): 600 training and 180 test trees.

    Labels "1" to "4" are the number of children plus one, as published; `make_asymmetric_trees` draws more of the kind.
    The file is read below ``$ARBORA_DATA``; `DataNotFoundError` says where to put it.

    Parameters
    ----------
    split : {"train", "test"} or None, default None
        Which part to read; None reads both.

    Returns
    -------
    Forest
        The trees, with classes in `target`.
    """
    _check_split(split)
    path = _find("synthetic", "synthetic.jsonl.gz")
    return read_jsonl(path, split=split, vocabulary=("1", "2", "3", "4"), progress=False)


def load_shock() -> Forest:
    """Read shock-like trees of the 216 Kimia silhouettes (as in Torsello and Hancock 2003), 18 classes of 12.

    The file is read below ``$ARBORA_DATA``; `DataNotFoundError` says where to put it.

    Returns
    -------
    Forest
        The trees, with classes in `target`.
    """
    return read_jsonl(_find("shock", "kimia216_shock.jsonl.gz"), progress=False)


def load_animals() -> LabelledRows:
    """Read 33 animals by 102 yes-or-no features (Kemp and Tenenbaum 2008), 8 classes.

    The file is read below ``$ARBORA_DATA``; `DataNotFoundError` says where to put it.

    Returns
    -------
    LabelledRows
        The rows, their classes and names.
    """
    with _find("animals", "animals33.csv").open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    return LabelledRows(
        X=np.array([row[2:] for row in rows], np.float64),
        y=np.array([row[1] for row in rows]),
        names=np.array([row[0] for row in rows]),
    )


def load_fashion() -> LabelledRows:
    """Read 100 Fashion-MNIST images, ten of each class, 784 pixels scaled to 0..1.

    The file is read below ``$ARBORA_DATA``; `DataNotFoundError` says where to put it.

    Returns
    -------
    LabelledRows
        The rows, their classes and names.
    """
    with np.load(_find("fashion", "fashion100.npz")) as file:
        image, code = file["X"], file["y"]
    rank = np.zeros(len(code), int)  # among the images of the class
    for c in np.unique(code):
        rank[code == c] = np.arange((code == c).sum())
    return LabelledRows(
        X=image.reshape(len(image), -1) / 255.0,
        y=np.array(_FASHION)[code],
        names=np.array([f"{_FASHION[c]}-{r}" for c, r in zip(code, rank, strict=True)]),
    )


def _load_inex(folder: str, stem: str, split: str | None) -> Forest:
    _check_split(split)
    paths = {part: _find(folder, f"{stem}.{part}.elastic.tree") for part in ("train", "test")}
    parts = {part: read_elastic(path, progress=False) for part, path in paths.items()}
    words = sorted({word for part in parts.values() for word in part.vocabulary}, key=int)
    chosen = [part.with_vocabulary(words) for key, part in parts.items() if split in (None, key)]
    return Forest.concat(chosen)


def _find(folder: str, file: str) -> Path:
    """Path of a file of a data set: below $ARBORA_DATA if set, else below a ``shared/data`` beside the project."""
    given = os.environ.get("ARBORA_DATA")
    here = Path.cwd()
    bases = [Path(given)] if given else [up.parent / "shared" / "data" for up in (here, *here.parents)]
    for base in bases:
        if (base / folder / file).is_file():
            return base / folder / file
    wanted = Path(folder) / file
    where = f"ARBORA_DATA={given}" if given else "../shared/data, seen from here or from a folder above"
    raise DataNotFoundError(
        f"{wanted} not found below {where}; put the file at {wanted} in a folder and set ARBORA_DATA to that folder"
    )


def _check_split(split: str | None) -> None:
    if split not in (None, "train", "test"):
        raise ValueError(f'split={split!r}; wanted "train", "test" or None for both')
