"""Recognising what Arbora writes beside trees, so that results left in a folder are not read as its data."""

import json
import re

MARK = '<meta name="generator" content="Arbora">'  # in the head of every page
MANIFEST = "manifest.arbora-store"  # in the folder of every finished store
TABLE = {"arbora": json.dumps("table")}  # metadata of every parquet table that holds no trees

_HEAD = 1 << 16  # bytes looked at
_TEXT = r'"(?:[^"\\]|\\.)*"'
_ASSIGNED = rf'  "cluster": \d+,\n(?:  "cluster_name": {_TEXT},\n)?|  "class": {_TEXT},\n'
_JSON_TABLE = re.compile(rf'\[\n \{{\n  "name": {_TEXT},\n(?:{_ASSIGNED})  "probability": '.encode())


def is_result(path: str) -> bool:
    """Whether a file is a page or a table that Arbora wrote; trees that it wrote are not."""
    name = path.lower()
    if not name.endswith((".html", ".json", ".parquet")):
        return False
    try:
        if name.endswith(".parquet"):
            return _is_parquet_table(path)
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:  # the reader will say so, too
        return False
    return MARK.encode() in head if name.endswith(".html") else _JSON_TABLE.match(head) is not None


def _is_parquet_table(path: str) -> bool:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return False
    try:
        metadata = parquet.read_schema(path).metadata or {}
    except pa.ArrowException:
        return False
    return metadata.get(b"arbora") == TABLE["arbora"].encode()
