"""One small HTML page about a clustering: no script, nothing loaded from elsewhere, every text escaped."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from .io.own import MARK
from .summary import Cluster, Summary, Trait, counted

MAX_LISTED = 2_000  # trees in the table of all
LEGEND = (
    "Labels and pairs of labels, parent > child: how many times as frequent as elsewhere (on so many nodes). "
    "Shape: mean in the cluster (elsewhere). Typical: the trees nearest to the mean of the cluster."
)
STYLE = """
:root{color-scheme:light dark;--ink:#1d2329;--soft:#5a6570;--line:#d9dee3;--page:#fff;--tint:#f3f6f9}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#9aa6b2;--line:#39424c;--page:#15191e;--tint:#1f252c}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem;max-width:62rem;font:1rem/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--page)}
h1{font-size:1.5rem;line-height:1.2;margin:.2rem 0 .6rem}
h2{font-size:1.15rem;margin:2rem 0 .5rem}
h3{font-size:1rem;margin:0 0 .2rem}
p,dl{margin:.4rem 0}
.soft{color:var(--soft)}
img{display:block;margin:1rem 0;width:100%;height:auto;background:#fff;border-radius:6px}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:.8rem}
.card{background:var(--tint);border-radius:6px;padding:.8rem 1rem;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{text-align:left;padding-left:0}
dt{color:var(--soft);font-size:.85rem;margin-top:.4rem}
dd{margin:0}
pre{background:var(--tint);border-radius:6px;padding:.8rem 1rem;font-size:.85rem;
white-space:pre-wrap;overflow-wrap:anywhere}
.warn{border-left:4px solid #d55e00;padding-left:.8rem;font-weight:600}
summary{cursor:pointer}
"""


class Page(NamedTuple):
    """What goes onto a page."""

    summary: Summary
    lines: Sequence[str]  # how the model came about
    warned: Sequence[str]  # what must not be overlooked
    trees: Sequence[tuple[str, int, float]]  # name, cluster and its probability
    manifest: Mapping[str, Any]
    picture: bytes | None = None  # PNG


def render(page: Page) -> str:
    """The page: a few sentences, the picture, clusters, agreement, uncertain trees, all trees, and the manifest."""
    # The policy names the one style by its hash, so that no text of a document could ever bring another.
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    summary = page.summary
    title = f"{counted(summary.n_trees, 'tree')} in {counted(len(summary.clusters), 'cluster')}"
    folder = f"Names of trees are below {summary.folder}" if summary.folder else ""
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8">{MARK}',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{text(title)}</title><style>{STYLE}</style></head><body><main>",
        f"<h1>{text(title)}</h1>",
        *(f'<p class="warn">{text(line)}</p>' for line in page.warned),
        *(f"<p>{text(line)}</p>" for line in page.lines),
        _picture(page.picture),
        "<h2>Clusters</h2>",
        f'<p class="soft">{text(LEGEND)} {text(folder)}</p>',
        f'<div class="cards">{"".join(_card(cluster, summary) for cluster in summary.clusters)}</div>',
        _agreement(summary),
        _uncertain(summary),
        _all_trees(page),
        "<h2>How this was made</h2>",
        f"<pre>{text(json.dumps(page.manifest, indent=2, ensure_ascii=False, default=str), keep_lines=True)}</pre>",
        "</main></body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def text(value: Any, keep_lines: bool = False) -> str:
    """Any value as HTML text: control characters and half surrogates as escapes, markup as plain characters."""
    plain = "".join(
        c if c.isprintable() or (keep_lines and c == "\n") else c.encode("unicode_escape").decode() for c in str(value)
    )
    return escape(plain, quote=True)


def _picture(picture: bytes | None) -> str:
    if picture is None:
        return ""
    data = base64.b64encode(picture).decode()
    alt = "All trees on a plane, coloured by cluster; beside it the sizes of the clusters and the objective of the fit"
    return f'<img alt="{alt}" src="data:image/png;base64,{data}">'


def _card(cluster: Cluster, summary: Summary) -> str:
    rows: list[tuple[str, list[str]]] = [
        ("labels", [told(trait) for trait in cluster.labels]),
        ("parent > child", [told(trait) for trait in cluster.pairs]),
        ("shape (elsewhere)", [shape_told(cluster)]),
        ("typical", list(map(summary.short, cluster.typical))),
    ]
    known = "" if cluster.main_class is None else f", mostly {text(cluster.main_class)}"
    items = "".join(
        f"<dt>{text(what)}</dt>" + "".join(f"<dd>{text(value)}</dd>" for value in values)
        for what, values in rows
        if values
    )
    return (
        f'<section class="card"><h3>Cluster {cluster.cluster}</h3>'
        f'<p class="soft">{counted(cluster.size, "tree")}, {cluster.share:.0%}{known}</p><dl>{items}</dl></section>'
    )


def told(trait: Trait) -> str:
    """A trait in a few words: how much more frequent, and on how many nodes."""
    times = "over 100 times" if trait.lift > 100 else f"{trait.lift:.{0 if trait.lift >= 10 else 1}f} times"
    return f"{trait.what} {times if trait.elsewhere else 'only here'} ({trait.count})"


def shape_told(cluster: Cluster) -> str:
    """Means of the measures of shape, those of other clusters in brackets."""
    words = []
    for shape in cluster.shapes:
        other = "" if shape.elsewhere is None else f" ({shape.elsewhere:.1f})"
        words.append(f"{shape.mean:.1f}{other} {shape.what}")
    return ", ".join(words)


def _agreement(summary: Summary) -> str:
    found = summary.agreement
    if found is None:
        return ""
    head = "".join(f"<th>{cluster}</th>" for cluster in found.clusters)
    rows = "".join(
        f"<tr><td>{text(name)}</td>" + "".join(f"<td>{n or ''}</td>" for n in counts) + "</tr>"
        for name, counts in zip(found.classes, found.table, strict=True)
    )
    return (
        f"<h2>Agreement with the known classes</h2><p>Adjusted Rand index {found.ari:.3f}, normalised mutual "
        f'information {found.nmi:.3f}.</p><div class="scroll"><table><tr><th>class \\ cluster</th>{head}</tr>'
        f"{rows}</table></div>"
    )


def _uncertain(summary: Summary) -> str:
    if not summary.uncertain:
        return ""
    rows = "".join(
        f"<tr><td>{text(summary.short(u.name))}</td><td>{u.cluster}</td><td>{u.probability:.3f}</td>"
        f"<td>{u.other}</td><td>{u.other_probability:.3f}</td></tr>"
        for u in summary.uncertain
    )
    return (
        f"<h2>Least certain trees</h2><p>{len(summary.uncertain)} of {summary.n_uncertain}.</p>"
        '<div class="scroll"><table><tr><th>tree</th><th>cluster</th><th>probability</th><th>or</th>'
        f"<th>probability</th></tr>{rows}</table></div>"
    )


def _all_trees(page: Page) -> str:
    """Every tree with its cluster, folded away; the first of them, if they are very many."""
    listed = page.trees[:MAX_LISTED]
    note = ""
    if len(listed) < len(page.trees):
        note = f"<p>The first {len(listed):,} of {len(page.trees):,}; --output writes all of them to a table.</p>"
    rows = "".join(
        f"<tr><td>{text(page.summary.short(name))}</td><td>{cluster}</td><td>{probability:.3f}</td></tr>"
        for name, cluster, probability in listed
    )
    return (
        f"<h2>All trees</h2><details><summary>{counted(len(page.trees), 'tree')}</summary>{note}"
        '<div class="scroll"><table><tr><th>tree</th><th>cluster</th><th>probability</th></tr>'
        f"{rows}</table></div></details>"
    )
