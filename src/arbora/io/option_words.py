"""Options of readers in words, and read from words: for the command line's parser, its help and the manual."""

import inspect
from typing import Any

from .format import Option
from .registry import FORMATS

_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_WANTED = {bool: "true or false", int: "a whole number", float: "numbers separated by commas", str: "text"}


def default_of(format: str, option: Option) -> Any:
    """The reader's own default."""
    return inspect.signature(FORMATS[format].reader).parameters[option.name].default


def default_told(format: str, option: Option) -> str:
    """The default as one would type it, or that the option is left out."""
    default = default_of(format, option)
    return "left out" if default is None else str(default).lower()


def wanted(format: str, option: Option) -> str:
    """The values that an option takes, in words."""
    if isinstance(option.values, tuple):
        *most, last = option.values
        words = f"{', '.join(most)} or {last}" if most else last
    else:
        words = _WANTED[option.values]
    return words if default_of(format, option) is not None else f"{words}; or leave it out"


def parse_option(format: str, key: str, text: str) -> Any:
    """The value that KEY=TEXT means to the reader of a format; ValueError, in a sentence, if it means nothing.

    An option that may be left out takes an empty text for that.

    >>> parse_option("xml", "attributes", "yes"), parse_option("xml", "text", "")
    (True, None)
    """
    option = next((option for option in FORMATS[format].options if option.name == key), None)
    if option is None:
        has = ", ".join(f"{option.name} ({wanted(format, option)})" for option in FORMATS[format].options)
        raise ValueError(f"the reader of {format} has no option {key!r}; it has {has or 'none'}")
    if text == "" and default_of(format, option) is None:
        return None
    try:
        return _value(option, text)
    except (KeyError, ValueError):
        raise ValueError(f"{key}={text}: wanted {wanted(format, option)}") from None


def _value(option: Option, text: str) -> Any:
    if isinstance(option.values, tuple):
        return option.values[option.values.index(text)]
    if option.values is bool:
        return _TRUTH[text.lower()]
    if option.values is int:
        if not (text.isascii() and text.isdigit()):
            raise ValueError
        return int(text)
    return [float(part) for part in text.split(",")] if option.values is float else text
