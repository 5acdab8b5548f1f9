"""What objects show in a notebook: small tables and drawn trees, as HTML without scripts."""

from collections.abc import Iterable, Sequence
from html import escape

MOST_NODES = 40  # of a drawn tree
MOST_LETTERS = 24  # of the text of a node
ROW, LETTER, MARGIN = 18, 7, 12  # in pixels


def page(title: str, *parts: str) -> str:
    """A heading and what belongs to it."""
    return f"<div style='font-family: sans-serif'><p><b>{escape(title)}</b></p>{''.join(parts)}</div>"


def table(rows: Iterable[tuple[str, object]]) -> str:
    """Names and values, one pair per row."""
    left = "style='text-align: left'"
    cells = (f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(str(value))}</td></tr>" for name, value in rows)
    return f"<table>{''.join(cells)}</table>"


def beside(parts: Iterable[str]) -> str:
    """Parts beside each other, as many as fit into a line."""
    return f"<div style='display: flex; flex-wrap: wrap; gap: 2em'>{''.join(parts)}</div>"


def drawing(parent: Sequence[int], text: Sequence[str], size: Sequence[float] | None = None) -> str:
    """A tree as SVG, from left to right: parents (-1 at the root), text and relative area of the mark of each node.

    Children follow the order of their numbers.  Of a large tree the nodes nearest to the root are drawn, and the text
    below says how many are left out.
    """
    children: list[list[int]] = [[] for _ in parent]
    roots: list[int] = []
    for node, above in enumerate(parent):
        (children[above] if above >= 0 else roots).append(node)
    chosen = _nearest(roots, children)
    shown = _document_order(roots, children, set(chosen))
    level = dict(shown)
    short = {u: _cut(text[u]) for u in level}
    width = [0] * (max(level.values(), default=0) + 1)
    for u, depth in shown:
        width[depth] = max(width[depth], len(short[u]) * LETTER + 30)
    left = [MARGIN + sum(width[:depth]) for depth in range(len(width))]
    height = _rows(shown, children, level)
    marks = [_node(left[level[u]], height[u], short[u], text[u], 1.0 if size is None else size[u]) for u, _ in shown]
    lines = [
        _edge(
            left[level[parent[u]]] + len(short[parent[u]]) * LETTER + 12, height[parent[u]], left[level[u]], height[u]
        )
        for u, _ in shown
        if parent[u] >= 0
    ]
    box = f"width='{sum(width) + MARGIN}' height='{int(max(height.values(), default=0)) + ROW}'"
    more = f"<p>{len(parent) - len(shown)} more nodes are not drawn.</p>" if len(parent) > len(shown) else ""
    looks = "font-family='sans-serif' font-size='12' fill='currentColor'"
    return f"<svg {box} {looks} role='img'>{''.join(lines + marks)}</svg>{more}"


def _nearest(roots: list[int], children: list[list[int]]) -> list[int]:
    """The nodes that are drawn: level by level, up to the most."""
    found = list(roots)
    for u in found:
        if len(found) >= MOST_NODES:
            break
        found += children[u]
    return found[:MOST_NODES]


def _document_order(roots: list[int], children: list[list[int]], chosen: set[int]) -> list[tuple[int, int]]:
    order, stack = [], [(u, 0) for u in reversed(roots) if u in chosen]
    while stack:
        u, depth = stack.pop()
        order.append((u, depth))
        stack += [(v, depth + 1) for v in reversed(children[u]) if v in chosen]
    return order


def _rows(shown: list[tuple[int, int]], children: list[list[int]], level: dict[int, int]) -> dict[int, float]:
    """Height of each node: leaves one below the other, an inner node between its first and last child."""
    height: dict[int, float] = {}
    leaves = 0
    for u, _ in shown:
        if not any(v in level for v in children[u]):
            height[u] = MARGIN + ROW * leaves
            leaves += 1
    for u, _ in reversed(shown):
        if u not in height:
            below = [height[v] for v in children[u] if v in level]
            height[u] = (below[0] + below[-1]) / 2
    return height


def _cut(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


def _node(x: float, y: float, short: str, text: str, size: float) -> str:
    radius = 1 + 3.5 * max(size, 0.0) ** 0.5
    mark = f"<circle cx='{x}' cy='{y}' r='{radius:.1f}' fill='#0b6e4f'><title>{escape(text)}</title></circle>"
    return f"{mark}<text x='{x + 8}' y='{y + 4}'>{escape(short)}</text>"


def _edge(x: float, y: float, to_x: float, to_y: float) -> str:
    bend = to_x - 10
    path = f"M {x} {y} C {bend} {y}, {x} {to_y}, {to_x - 5} {to_y}"
    return f"<path d='{path}' fill='none' stroke='currentColor' stroke-opacity='0.35'/>"
