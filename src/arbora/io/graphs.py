"""Forests from and to networkx graphs: a DiGraph whose edges lead from parent to child, or a Graph and its root."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import ForestError, MissingDependencyError
from ..forest.forest import Forest
from ..forest.node_columns import MISSING, UNSEEN


def _networkx() -> Any:
    try:
        import networkx as nx
    except ImportError:
        raise MissingDependencyError("graphs need networkx; install arbora[graphs]") from None
    return nx


def from_networkx(
    graphs: Any,
    *,
    label: str | None = "label",
    slot: str = "slot",
    root: Any = None,
    vocabulary: Sequence[str] | None = None,
    content: Sequence[str] = (),
) -> Forest:
    """Make a forest of networkx graphs.

    Edges of a DiGraph lead from parent to child; a graph of several trees gives them in the order of their roots.  An
    undirected graph is one tree.  The graph attributes "target" and "name" are kept if every graph has them.

    Parameters
    ----------
    graphs : networkx graph or iterable of them
        The graphs.  Each must be a tree or, if it is directed, several trees.
    label : str or None, default "label"
        Node attribute that holds the label; a value of None is a missing label.  ``label=None`` uses the node itself.
    slot : str, default "slot"
        Node attribute that holds the slot.  Where it is absent, children follow each other in the order of the edges.
    root : node, function or None, default None
        Root of undirected graphs, or a function that returns the root of a graph.
    vocabulary : sequence of str or None, default None
        Labels to use.  Labels outside it are marked unseen.  None uses the labels that occur, sorted.
    content : sequence of str, default ()
        Node attributes that become columns of content; a node without one has no value there.

    Returns
    -------
    Forest
        The trees of all graphs.

    Examples
    --------
    >>> import networkx as nx
    >>> from arbora import from_networkx
    >>> from_networkx(nx.DiGraph([("a", "b"), ("a", "c")]), label=None)[0]
    {'label': 'a', 'children': [{'label': 'b'}, {'label': 'c'}]}
    """
    nx = _networkx()
    several = list(graphs) if isinstance(graphs, Iterable) and not isinstance(graphs, nx.Graph) else [graphs]
    nested: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for g, graph in enumerate(several):
        if not isinstance(graph, nx.Graph):
            raise ForestError(f"graph {g} is {type(graph).__name__}; wanted a networkx DiGraph or a list of them")
        if graph.is_multigraph():
            raise ForestError(f"graph {g}: it allows multiple edges; wanted a DiGraph, or a Graph and root=")
        graph = _directed(nx, graph, g, root)
        trees = _trees_of(graph, g, label, slot, content)
        nested += trees
        marks += [graph.graph] * len(trees)
    optional = {key: [m[key] for m in marks] for key in ("target", "name") if marks and all(key in m for m in marks)}
    return Forest.from_nested(nested, vocabulary, target=optional.get("target"), name=optional.get("name"))


def _directed(nx: Any, graph: Any, g: int, root: Any) -> Any:
    """The graph with edges from parent to child; one that has a direction must do without a root."""
    if graph.is_directed():
        if root is not None:
            raise ForestError(f"graph {g}: its edges have a direction, which says the root; leave root out")
        return graph
    top = root(graph) if callable(root) else root
    if top is None or top not in graph:
        found = "no root is given" if top is None else f"the root {top!r} is not one of its nodes"
        raise ForestError(f"graph {g}: it is undirected and {found}; wanted root=NODE, or a function of the graph")
    out = nx.DiGraph(**graph.graph)
    out.add_node(top, **graph.nodes[top])
    stack = [top]
    while stack:
        u = stack.pop()
        for v in graph[u]:
            if v in out and not out.has_edge(v, u):
                raise ForestError(f"graph {g}, node {v!r}: two ways lead to it from the root; wanted a tree")
            if v not in out:
                out.add_node(v, **graph.nodes[v])
                out.add_edge(u, v)
                stack.append(v)
    lost = next((u for u in graph if u not in out), None)
    if lost is not None:
        raise ForestError(f"graph {g}, node {lost!r}: no way leads to it from the root; wanted one tree per graph")
    return out


def _trees_of(graph: Any, g: int, label: str | None, slot: str, content: Sequence[str]) -> list[dict[str, Any]]:
    """Nested trees of one graph, once it is sure that it is nothing but trees."""
    crowded = next((u for u, n in graph.in_degree() if n > 1), None)
    if crowded is not None:
        raise ForestError(f"graph {g}, node {crowded!r}: {graph.in_degree(crowded)} parents; wanted at most one")
    roots = [u for u, n in graph.in_degree() if n == 0]
    made: dict[Any, dict[str, Any]] = {}
    stack = list(reversed(roots))
    while stack:
        u = stack.pop()
        made[u] = _nested_node(graph, g, u, label, slot)
        held = {name: graph.nodes[u][name] for name in content if name in graph.nodes[u]}
        made[u] |= {"content": held} if held else {}
        stack.extend(graph.successors(u))
    if len(made) < graph.number_of_nodes() or not roots:
        raise ForestError(f"graph {g}: it is empty or has a cycle; wanted a rooted tree")
    for u, node in made.items():
        children = [made[v] for v in graph.successors(u)]
        if children:
            node["children"] = children
    return [made[u] for u in roots]


def _nested_node(graph: Any, g: int, u: Any, label: str | None, slot: str) -> dict[str, Any]:
    data = graph.nodes[u]
    if label is not None and label not in data:
        raise ForestError(
            f"graph {g}, node {u!r}: no attribute {label!r}; set it, or take label=None for the node's name"
        )
    node: dict[str, Any] = {"label": str(u) if label is None else data[label]}
    node |= {key: data[given] for key, given in (("slot", slot), ("unseen", "unseen")) if given in data}
    return node


def to_networkx(forest: Forest) -> list[Any]:
    """Make one networkx DiGraph per tree.

    Nodes are 0, 1, ..., the root first, with the attributes "label" and "slot".  A missing label is None; an unseen
    label is None with the attribute "unseen".  Target and name of the tree become graph attributes.

    Parameters
    ----------
    forest : Forest
        The trees.

    Returns
    -------
    list of networkx.DiGraph
        One graph per tree; edges lead from parent to child.

    Examples
    --------
    >>> from arbora import Forest, to_networkx
    >>> (graph,) = to_networkx(Forest.from_nested([("a", ["b", "c"])]))
    >>> graph.nodes(data="label")
    NodeDataView({0: 'a', 1: 'c', 2: 'b'}, data='label')
    """
    nx = _networkx()
    graphs = []
    for t in range(forest.n_trees):
        lo, hi = int(forest.tree_start[t]), int(forest.tree_start[t + 1])
        graph = nx.DiGraph()
        if forest.name is not None:
            graph.graph["name"] = forest.name[t]
        if forest.target is not None:
            graph.graph["target"] = forest.target[t].item()
        # Backwards, because parents come after children.
        for u in range(hi - 1, lo - 1, -1):
            m, number = int(forest.label[u]), hi - 1 - u
            graph.add_node(number, label=forest.vocabulary[m] if m > MISSING and m != UNSEEN else None)
            if m == UNSEEN:
                graph.nodes[number]["unseen"] = True
            if forest.parent[u] >= 0:
                graph.nodes[number]["slot"] = int(forest.slot[u])
                graph.add_edge(hi - 1 - int(forest.parent[u]), number)
        graphs.append(graph)
    return graphs
