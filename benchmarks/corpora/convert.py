"""Texts that are trees without a reader of their own: regular expressions, glycans, s-expressions, YAML, Newick."""

import ast
import re
import warnings

try:
    import re._parser as sre
except ImportError:  # Python 3.10
    import sre_parse as sre

_POSIX = {"alnum": "a-zA-Z0-9", "digit": "0-9", "space": r"\s", "xdigit": "0-9a-fA-F", "alpha": "a-zA-Z"}
_POSIX |= {"upper": "A-Z", "lower": "a-z", "punct": r"!-/:-@\[-`{-~", "print": " -~", "blank": r" \t", "graph": "!-~"}


def regex_tree(text):
    """The syntax tree of a regular expression, or None if Python cannot read it; letters lose their value."""
    text = re.sub(r"\[:(\w+):\]", lambda found: _POSIX.get(found[1], ""), text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "regex", _sequence(sre.parse(text))
    except (re.error, OverflowError, RecursionError, ValueError):
        return None


def _sequence(parsed):
    """Children for a run of a regular expression; a run of letters is one node."""
    nodes = []
    for op, value in parsed:
        node = _node(str(op), value)
        if not (node == "text" and nodes and nodes[-1] == "text"):
            nodes.append(node)
    return nodes


def _node(op, value):
    if op == "LITERAL":
        return "text"
    if op in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        low, high, inner = value
        many = {(0, 1): "?", (0, "inf"): "*", (1, "inf"): "+"}
        end = "inf" if high == sre.MAXREPEAT else int(high)
        word = many.get((int(low), end), "{}")
        return word + ("?" if op == "MIN_REPEAT" else ""), _sequence(inner)
    if op == "SUBPATTERN":
        return "group" if value[0] is not None else "(?:)", _sequence(value[-1])
    if op == "BRANCH":
        return "|", [("branch", _sequence(branch)) for branch in value[1]]
    if op == "IN":
        return "[]", [_class_member(str(kind), v) for kind, v in value]
    if op in ("ASSERT", "ASSERT_NOT"):
        word = ("(?" if value[0] > 0 else "(?<") + ("=" if op == "ASSERT" else "!") + ")"
        return word, _sequence(value[1])
    if op == "AT":
        return str(value).lower()
    if op == "ATOMIC_GROUP":
        return "atomic", _sequence(value)
    return op.lower()  # any, groupref, not_literal


def _class_member(kind, value):
    if kind == "CATEGORY":
        return str(value).lower()
    return kind.lower()  # literal, range, negate


_SUGAR = re.compile(r"\[|\]|([^()\[\]]+)(?:\(([^()]*)\))?")


def glycan_tree(text):
    """The tree of a glycan in the condensed notation; the root is the last sugar, a label is a sugar and its bond."""
    branch = [[]]  # what has been read of each open branch: chains that end at the next sugar
    for token in _SUGAR.finditer(text):
        if token[0] == "[":
            branch.append([])
        elif token[0] == "]":
            if len(branch) == 1:
                return None
            side = branch.pop()
            branch[-1] = branch[-1] + side
        else:
            bond = f" {token[2]}" if token[2] else ""
            branch[-1] = [(token[1].strip() + bond, branch[-1])]
    return branch[0][0] if len(branch) == 1 and len(branch[0]) == 1 else None


_LISP = re.compile(r'"(?:\\.|[^"\\])*"|[()]|[^\s()"]+')


def s_expression(text, leaf=None):
    """The first s-expression of a text: a bracket is a node with its first word as label.

    Other words are left out, or are leaves with the label that `leaf` makes of them.
    """
    stack, root = [], None
    for token in _LISP.finditer(text):
        word = token[0]
        if word == "(":
            stack.append([None, []])
        elif word == ")":
            label, children = stack.pop()
            node = (label or "()", children)
            if not stack:
                root = node
                break
            stack[-1][1].append(node)
        elif stack and stack[-1][0] is None:
            stack[-1][0] = word
        elif stack and leaf:
            stack[-1][1].append(leaf(word))
    return root


_TYPE = re.compile(r"->|=>|::|'?\[|\]|'?\(#?|#?\)|,|[A-Za-z_][\w.']*#*|\"[^\"]*\"|\d+|[^\sA-Za-z_\[\](),]+")


def haskell_type(text):
    """The tree of a Haskell type, or None; a chain of arrows is one node, and so are all names of variables."""
    words = [word for word in _TYPE.findall(text) if word not in ("!", "~", "@")]
    try:
        node, rest = _arrows(words)
    except (IndexError, ValueError):
        return None
    return None if rest else node


def _arrows(words):
    """What is left of arrows at this level of brackets: the parts between them, under one node."""
    if words[0] == "forall":
        words = words[words.index(".") + 1 :]
    parts, sign = [], ""
    while True:
        part, words = _application(words)
        parts.append(part)
        if not words or words[0] not in ("->", "=>"):
            break
        sign, words = words[0], words[1:]
        if sign == "=>":  # what is before it is a constraint on all that follows
            inner, words = _arrows(words)
            return ("=>", [*parts, inner]), words
    return (("->", parts) if len(parts) > 1 else parts[0]), words


def _application(words):
    head, words = _atom(words)
    arguments = []
    while words and words[0] not in ("->", "=>", "]", ")", "#)", ","):
        argument, words = _atom(words)
        arguments.append(argument)
    name, children = head
    return (name, [*children, *arguments]), words


def _atom(words):
    word, words = words[0], words[1:]
    close = {"[": "]", "'[": "]", "(": ")", "'(": ")", "(#": "#)"}.get(word)
    if close is None:
        if word in ("->", "=>", "]", ")", "#)", ",", "::"):
            raise ValueError(word)
        return ("variable" if word[0].islower() or word[0] == "_" else word.split(".")[-1], []), words
    parts = []
    while words[0] != close:
        if words[0] == ",":
            words = words[1:]
        else:
            part, words = _arrows(words)
            parts.append(part)
    if close == ")" and len(parts) == 1:
        return parts[0], words[1:]
    return ("[]" if close == "]" else "(,)", parts), words[1:]


def newick_shape(text):
    """A Newick tree without any names or lengths: its shape alone, labels missing."""
    text = re.sub(r"\[[^\]]*\]", "", text)
    text = text[text.index("(") :]
    stack, root = [[]], None
    leaf = re.compile(r"[^(),;]*")
    i = 0
    while i < len(text):
        sign = text[i]
        if sign == "(":
            stack.append([])
            i += 1
        elif sign == ",":
            i += 1
        elif sign == ")":
            children = stack.pop()
            stack[-1].append((None, children))
            i = leaf.match(text, i + 1).end()
        elif sign == ";":
            break
        else:
            stack[-1].append((None, []))
            i = leaf.match(text, i).end()
    root = stack[0][0]
    return root


def value_tree(value, key=None):
    """A value of YAML or JSON as `read_json` has it: objects ``{}``, members by key, arrays ``[]``, scalars by kind."""
    if isinstance(value, dict):
        node = ("{}", [value_tree(inner, str(name)) for name, inner in value.items()])
    elif isinstance(value, list):
        node = ("[]", [value_tree(inner) for inner in value])
    elif isinstance(value, bool):
        node = ("#boolean", [])
    elif isinstance(value, int | float):
        node = ("#number", [])
    else:
        node = ("#null" if value is None else "#string", [])
    return node if key is None else (key, [node])


def xml_tree(element):
    """An XML element without attributes and text."""
    return str(element.tag), [xml_tree(child) for child in element if isinstance(child.tag, str)]


def python_tree(node):
    """A syntax tree of Python as `read_python` has it."""
    children = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr_context)]
    return type(node).__name__, [python_tree(child) for child in children]
