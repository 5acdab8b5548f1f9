"""Files that hypothesis makes, read by Arbora and by another reader of the format: equal node by node.

HTML has a module of its own, `test_io_html`.
"""

import xml.etree.ElementTree as ET
from xml.sax.saxutils import quoteattr

import conllu
import dendropy
import nltk
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arbora.io import read_brackets, read_conllu, read_newick, read_xml
from tests.examples import preorder

QUICK = settings(max_examples=60, deadline=None)


def walked(root, label, children):
    """Depth and label of every node of a tree of another reader, in document order."""
    found, stack = [], [(root, 0)]
    while stack:
        node, level = stack.pop()
        found.append((level, label(node)))
        stack += [(child, level + 1) for child in reversed(children(node))]
    return found


def ours(reader, folder, text, ending, **options):
    path = folder / f"a.{ending}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [preorder(tree) for tree in reader(path, **options)]


def shapes(leaves, n_leaves=12):
    """(label, [children]) of random shape."""
    return st.recursive(
        leaves.map(lambda label: (label, [])),
        lambda below: st.tuples(leaves, st.lists(below, min_size=1, max_size=4)),
        max_leaves=n_leaves,
    )


# ---- XML: ElementTree -----------------------------------------------------------------------------------------------

TAGS = st.sampled_from(["a", "b", "long-name", "x.y", "_u", "\u00e9t\u00e9", "A", "p1"])
FILLING = st.sampled_from(
    ["", "text", " \n", "<!-- <a> -->", "<?pi <a?>", "<![CDATA[<a></a>]]>", "&lt;a&gt;", "&#60;b&#62;", "\u4f60"]
)


@st.composite
def xml_texts(draw):
    def written(node):
        tag, children = node
        attribute = f" x={quoteattr(draw(st.sampled_from(['1', '<', '>', '/>', chr(34), '&'])))}" * draw(st.booleans())
        if not children and draw(st.booleans()):
            return f"<{tag}{attribute}/>"
        inner = "".join(draw(FILLING) + written(child) for child in children)
        return f"<{tag}{attribute}>{inner}{draw(FILLING)}</{tag} >"

    before = draw(st.sampled_from(["", "<?xml version='1.0'?>\n", "<!DOCTYPE a [<!ELEMENT a ANY>]>", "<!-- <a> -->"]))
    return before + written(draw(shapes(TAGS))) + draw(st.sampled_from(["", "\n", "<!-- </a> -->"]))


def of_element_tree(data):
    root = ET.fromstring(data)  # noqa: S314 (of our own making)
    return walked(root, lambda element: element.tag.rpartition("}")[2], list)


@QUICK
@given(text=xml_texts(), codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
@example(text="<r xmlns='u' xmlns:p='v'><p:a/><b xmlns=''><c/></b></r>", codec="utf-8")
def test_xml_is_that_of_element_tree(tmp_path_factory, text, codec):
    data = text.encode(codec)
    assert ours(read_xml, tmp_path_factory.mktemp("x"), data, "xml") == [of_element_tree(data)]


def test_full_names_are_those_of_element_tree(tmp_path):
    text = "<r xmlns='u' xmlns:p='v'><p:a/><b xmlns=''><c/></b><p:d xmlns:p='w'/></r>"
    wanted = walked(ET.fromstring(text), lambda element: element.tag, list)  # noqa: S314
    assert ours(read_xml, tmp_path, text, "xml", namespaces="keep") == [wanted]


# ---- Newick: dendropy -----------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "B1", "long_name", "'in quotes'", "'it''s'", "'(;)'", "x.y", "-1", "\u00e9", "''"])
LENGTHS = st.sampled_from(["", "", ":1", ":0.5", ": 1e-5", ":-2.5E+3"])
BETWEEN = st.sampled_from(["", "", " ", "\n", "[a (comment] ", "[&R=1] "])  # dendropy wants no quote after "]"


@st.composite
def newick_texts(draw):
    def written(node):
        name, children = node
        below = ",".join(draw(BETWEEN) + written(child) for child in children)
        name = name if not children or draw(st.booleans()) else ""
        return (f"({below})" if children else "") + name + draw(LENGTHS) + draw(BETWEEN)

    trees = draw(st.lists(shapes(NAMES.filter(lambda name: name != "''")), min_size=1, max_size=3))
    return "".join(written(tree) + ";" + draw(st.sampled_from(["", "\n", " "])) for tree in trees)


def of_dendropy(text):
    def label(node):
        return (node.taxon.label if node.taxon else node.label) or None

    trees = dendropy.TreeList.get(
        data=text,
        schema="newick",
        preserve_underscores=True,
        suppress_internal_node_taxa=True,
        suppress_leaf_node_taxa=True,
        rooting="force-rooted",
    )
    return [walked(tree.seed_node, label, lambda node: node.child_nodes()) for tree in trees]


@QUICK
@given(text=newick_texts())
@example(text="((a,b),(c)'':1)[x];")  # a last leaf without a name, as in (a,); is lost by dendropy, not by us
@example(text="(a,b)c;(d)e;\n'x y';")
def test_newick_is_that_of_dendropy(tmp_path_factory, text):
    assert ours(read_newick, tmp_path_factory.mktemp("n"), text, "nwk") == of_dendropy(text)


# ---- brackets: nltk -------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["NP", "the", "-LRB-", "*T*-1", "x=y", ",", "``", "\u00e9", "NP-SBJ|x", "1"])
SPACES = st.sampled_from([" ", "\n  ", "\t"])


@st.composite
def bracket_texts(draw):
    def written(node):
        label, children = node
        if not children and draw(st.booleans()):
            return label  # a word
        return (
            "("
            + label
            + "".join(draw(SPACES) + written(child) for child in children)
            + draw(st.just("") | SPACES)
            + ")"
        )

    def tree(node):
        text = written(node)
        return text if text.startswith("(") else f"({text})"

    return draw(SPACES).join(tree(node) for node in draw(st.lists(shapes(WORDS), min_size=1, max_size=3)))


def of_nltk(text):
    """What nltk reads, one tree after another."""
    trees, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == ")" and depth == 0:
            trees.append(nltk.Tree.fromstring(text[start : at + 1]))
            start = at + 1
    is_tree = lambda node: isinstance(node, nltk.Tree)  # noqa: E731
    return [
        walked(tree, lambda n: n.label() if is_tree(n) else n, lambda n: list(n) if is_tree(n) else [])
        for tree in trees
    ]


@QUICK
@given(text=bracket_texts())
@example(text="(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))\n(FRAG)")
def test_brackets_are_those_of_nltk(tmp_path_factory, text):
    assert ours(read_brackets, tmp_path_factory.mktemp("b"), text, "mrg") == of_nltk(text)


# ---- CoNLL-U: conllu ------------------------------------------------------------------------------------------------


@st.composite
def conllu_texts(draw):
    """Sentences of random heads without a cycle, in any order, with ranges, empty nodes and comments."""
    text = ""
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 8))
        order = draw(st.permutations(range(1, n + 1)))
        head = {order[0]: 0} | {w: order[draw(st.integers(0, k))] for k, w in enumerate(order[1:])}
        text += "# text = a\tb\n" * draw(st.booleans())
        text += "0.1\te\t_\t_\t_\t_\t_\t_\t0:root\t_\n" * draw(st.booleans())
        for w in range(1, n + 1):
            if w < n and draw(st.booleans()):
                text += f"{w}-{w + 1}\tdu" + "\t_" * 8 + "\n"
            relation = draw(st.sampled_from(["nsubj", "obl:arg", "punct", "root"]))
            text += f"{w}\tw{w}\tl\tX\t_\tA=1|B=2\t{head[w]}\t{relation}\t_\tSpaceAfter=No\n"
            text += f"{w}.1\te\t_\t_\t_\t_\t_\t_\t{w}:dep\t_\n" * draw(st.booleans())
        text += "\n"
    return text


@QUICK
@given(text=conllu_texts(), column=st.sampled_from(["deprel", "form", "upos", "lemma"]))
def test_treebanks_are_those_of_conllu(tmp_path_factory, text, column):
    sentences = conllu.parse(text)
    wanted = [
        walked(s.filter(id=lambda n: isinstance(n, int)).to_tree(), lambda n: n.token[column], lambda n: n.children)
        for s in sentences
    ]
    assert ours(read_conllu, tmp_path_factory.mktemp("c"), text, "conllu", label=column) == wanted


@pytest.mark.parametrize("odd", ["-5", "a-b", "x.y"])
def test_neither_reads_odd_ids(odd):
    with pytest.raises(conllu.exceptions.ParseException):
        conllu.parse(f"{odd}\tw\tl\tX\t_\t_\t0\troot\t_\t_\n")
