"""Readers and writers of trees; each reader gives a `Forest`, and `read` chooses one by the name of the file."""

from ..forest.files import load_forest, save_forest
from .brackets import read_brackets
from .choose import FORMATS, read
from .conllu import read_conllu
from .elastic import read_elastic
from .graphs import from_networkx, to_networkx
from .html import read_html
from .json import read_json, read_jsonl, write_jsonl
from .newick import read_newick
from .syntax import read_python
from .xml import read_xml

__all__ = [
    "FORMATS",
    "from_networkx",
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
    "save_forest",
    "to_networkx",
    "write_jsonl",
]
