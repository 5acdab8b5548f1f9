"""Arbora: probabilistic clustering of trees, and into trees."""

from .errors import ArboraError, ForestError, ModelFileError, ReadError
from .forest import MISSING, UNSEEN, Forest
from .io import (
    from_networkx,
    load_forest,
    read,
    read_brackets,
    read_conllu,
    read_elastic,
    read_html,
    read_json,
    read_jsonl,
    read_newick,
    read_python,
    read_xml,
    to_networkx,
    write_jsonl,
)
from .models import HiddenTree, HiddenTreeMixture, load

__version__ = "0.1.0"

__all__ = [
    "MISSING",
    "UNSEEN",
    "ArboraError",
    "Forest",
    "ForestError",
    "HiddenTree",
    "HiddenTreeMixture",
    "ModelFileError",
    "ReadError",
    "from_networkx",
    "load",
    "load_forest",
    "read",
    "read_brackets",
    "read_conllu",
    "read_elastic",
    "read_html",
    "read_json",
    "read_jsonl",
    "read_newick",
    "read_python",
    "read_xml",
    "to_networkx",
    "write_jsonl",
]
