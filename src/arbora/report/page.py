"""The page itself: values of `gather` as JSON that no text can break out of, one script, one style, a strict policy."""

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from typing import Any

from .. import __version__
from ..files.own_outputs import MARK

SCRIPTS = (
    "dom.js",
    "charts.js",
    "trees.js",
    "saving.js",
    "map.js",
    "panels.js",
    "hierarchy.js",
    "levels.js",
    "contents.js",
    "main.js",
)


def render(page: dict[str, Any]) -> str:
    """HTML of the page.  Script and style are allowed by their hashes, so that no text of a document can bring more."""
    style, script = asset("style.css"), "".join(asset(name) for name in SCRIPTS)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        f"base-uri 'none'; form-action 'none'"
    )
    title = text(page["title"])
    banner = _banner(page["verdict"])
    warned = "".join(f'<p class="warn" role="alert">{text(line)}</p>' for line in page["warned"])
    lines = "".join(f"<p>{text(line)}</p>" for line in page["lines"])
    notes = "".join(f'<p class="soft">{text(line)}</p>' for line in page["notes"])
    manifest = text(json.dumps(page["manifest"], indent=2, ensure_ascii=False, default=str), keep_lines=True)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">{MARK}
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">
<title>{title}</title><style>{style}</style></head>
<body><a class="skip" href="#main">Skip to content</a>
<header class="top"><div class="bar"><span class="brand" aria-hidden="true">arbora</span>
<nav id="nav" aria-label="Sections"></nav><button id="theme" type="button" class="ghost">Dark</button></div></header>
<main id="main" tabindex="-1"><section id="overview" aria-labelledby="h-top"><p class="kicker">{text(page["kind"])}</p>
<h1 id="h-top">{title}</h1>{banner}{warned}<div id="tiles"></div><div class="lines">{lines}{notes}</div>
<noscript><p class="warn">The pictures and tables below are drawn by the script of this page, and scripts are switched
off. It loads nothing and sends nothing.</p></noscript></section>
<div id="panels"></div>
<section id="manifest" aria-labelledby="h-made"><h2 id="h-made">How this was made</h2>
<details><summary>Command, time, seed, settings, data and versions</summary><pre tabindex="0">{manifest}</pre></details>
</section></main>
<footer><p>Written by Arbora {text(__version__)}. This file needs no network.</p></footer>
<div id="tip" role="status" aria-live="polite" hidden></div>
<script type="application/json" id="data">{embedded(page)}</script>
<script>{script}</script></body></html>
"""


def _banner(verdict: dict[str, str]) -> str:
    """How far to trust what follows, above all else."""
    level = verdict["level"]
    kind = {"sound": "yes", "look again": "maybe", "do not trust": "no"}[level]
    todo = f'<span class="todo">{text(_capital(verdict["what_to_do"]))}.</span>' if verdict["what_to_do"] else ""
    said = f"<strong>{text(_capital(level))}</strong> <span>{text(_capital(verdict['reason']))}.</span> {todo}"
    return f'<p class="banner {kind}" id="verdict" role="status">{said}</p>'


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def asset(name: str) -> str:
    """A file of the page, from the package."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def embedded(page: dict[str, Any]) -> str:
    """The page as JSON that may stand in a script element: no character of it ends the element or starts a comment."""
    shown = {key: value for key, value in page.items() if key not in ("manifest", "lines", "warned", "verdict")}
    plain = json.dumps(shown, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in "<>&\u2028\u2029":
        plain = plain.replace(mark, f"\\u{ord(mark):04x}")
    if plain.isprintable():  # looking is quicker than rebuilding a text of a megabyte
        return plain
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in plain)


def text(value: Any, keep_lines: bool = False) -> str:
    """Any value as HTML text: control characters and half surrogates as escapes, markup as plain characters."""
    plain = "".join(
        c if c.isprintable() or (keep_lines and c == "\n") else c.encode("unicode_escape").decode() for c in str(value)
    )
    return escape(plain, quote=True)


def _hash(source: str) -> str:
    """A source as a policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"
