"""A small JSON parser without recursion, for documents nested deeper than the standard library's parser goes."""

import re
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any

from .builder import Fault
from .sources import position, shown

_WORDS = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}
_STRING = r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"'
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
# A sign, a string or other scalar, or a character that cannot start either.
_TOKEN = re.compile(rf"[ \t\n\r]*(?:([\[\]{{}},:])|({_STRING}|{'|'.join(_WORDS)}|{_NUMBER})|([^ \t\n\r]))")

_WANTED = ["a value", "a value or ']'", "a key in double quotes", "a key or '}'", "':'", "',' or the closing bracket"]
VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, MORE = range(6)


class Number(str):
    """A number as the text it was written in, so that no digit is lost."""


def distinct_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object, whose names must differ: of two, which one is meant nobody can say."""
    found = dict(members)
    if len(found) < len(members):
        seen: set[str] = set()
        twice = next(name for name, _ in members if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise Fault(f"an object has two members {shown(twice)}, wanted names that differ; take one out")
    return found


def parse_deep(text: str, pairs: bool) -> Any:
    """The value of a JSON text, however deep; `pairs` makes objects tuples of members and numbers `Number`."""
    stack: list[tuple[list[Any], str, str]] = []  # the open containers around the current one
    items: list[Any] = []  # what the current container holds so far; the outermost holds the document
    closing, key, want = "", "", VALUE
    for token in _TOKEN.finditer(text):
        sign, scalar, _ = token.groups()
        if scalar is not None and want <= VALUE_OR_END:
            value = _scalar(token, pairs)
            items.append((key, value) if closing == "}" else value)
            want = MORE
        elif scalar is not None and scalar[0] == '"' and KEY <= want <= KEY_OR_END:
            key, want = _scalar(token, pairs), COLON
        elif sign == ":" and want == COLON:
            want = VALUE
        elif sign == "," and want == MORE and stack:
            want = KEY if closing == "}" else VALUE
        elif (sign == "{" or sign == "[") and want <= VALUE_OR_END:
            stack.append((items, closing, key))
            items = []
            closing, want = ("}", KEY_OR_END) if sign == "{" else ("]", VALUE_OR_END)
        elif sign == closing and want in (VALUE_OR_END, KEY_OR_END, MORE):
            value = items if closing == "]" else tuple(items) if pairs else distinct_members(items)
            items, closing, key = stack.pop()
            items.append((key, value) if closing == "}" else value)
            want = MORE
        else:
            raise _fault(text, token.start(token.lastindex or 0), _WANTED[want] if stack or want < MORE else "the end")
    if stack or want != MORE:
        raise _fault(text, len(text), _WANTED[want])
    return items[0]


def _scalar(token: re.Match[str], pairs: bool) -> Any:
    text = token[2]
    if text[0] == '"':
        return text[1:-1] if "\\" not in text else _unescape(token)
    if text in _WORDS:
        return _WORDS[text]
    if pairs:
        return Number(text)
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:  # Python refuses to convert integers of thousands of digits
        raise Fault("it holds an integer too long to read; shorten it or make it text") from None


def _unescape(token: re.Match[str]) -> str:
    try:
        value: str = scanstring(token.string, token.start(2) + 1, True)[0]
    except JSONDecodeError as error:
        raise _fault(token.string, error.pos, "a valid escape") from None
    return value


def _fault(text: str, at: int, wanted: str) -> Fault:
    found = shown(text[at : at + 10]) if at < len(text) else "the end"
    return Fault(f"not JSON (found {found}, wanted {wanted}); correct the file", *position(text, at))
