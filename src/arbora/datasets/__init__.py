"""Trees to try things on: generators, a small demo corpus that ships with the package, loaders of published sets."""

from .arrays import make_bananas
from .documents import load_demo, make_documents
from .generators import make_asymmetric_trees, make_chains, make_random_trees
from .prototypes import make_prototype_trees
from .published import (
    LabelledRows,
    load_animals,
    load_fashion,
    load_inex2005,
    load_inex2006,
    load_shock,
    load_synthetic,
)

__all__ = [
    "LabelledRows",
    "load_animals",
    "load_demo",
    "load_fashion",
    "load_inex2005",
    "load_inex2006",
    "load_shock",
    "load_synthetic",
    "make_asymmetric_trees",
    "make_bananas",
    "make_chains",
    "make_documents",
    "make_prototype_trees",
    "make_random_trees",
]
