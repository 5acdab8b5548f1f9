"""JSON text to values, for every reader of a format that is JSON."""

import json
import re
from typing import Any

from .builder import Fault
from .json_deep import Number, distinct_members, parse_deep
from .sources import shown

_JSON = re.compile(r'\s*(?:\{\s*(?:"|\})|\[\s*(?:["\[{\]0-9-]|true\b|false\b|null\b))')


def looks_like_json(text: str) -> bool:
    """Whether a text begins like an object or an array."""
    return _JSON.match(text) is not None


def parse_json(text: str, pairs: bool) -> Any:
    """The value of a JSON text; with `pairs`, objects become tuples of members and numbers keep their text."""
    hooks: dict[str, Any] = {"object_pairs_hook": distinct_members}
    if pairs:
        hooks = {"object_pairs_hook": tuple, "parse_int": Number, "parse_float": Number}
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        return parse_deep(text, pairs)
    except json.JSONDecodeError as error:
        said = error.msg[:1].lower() + error.msg[1:]
        raise Fault(f"not JSON ({said}); correct the file", error.lineno, error.colno) from None
    except ValueError:  # Python refuses to convert integers of thousands of digits
        raise Fault("it holds an integer too long to read; shorten it or make it text") from None


def json_kind(value: Any) -> str:
    """What a JSON value is, as messages say it."""
    if value is None:
        return "null"
    names = {
        list: "an array",
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    if isinstance(value, dict) and not value:
        return "an object without keys"
    if isinstance(value, dict):
        return f"an object with the keys {shown(', '.join(map(str, value)))}"
    return names.get(type(value), type(value).__name__)
