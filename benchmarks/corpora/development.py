"""Recipes of the development corpora: defaults are chosen on these and on no others."""

import ast
import csv
import json
import re
from pathlib import Path

from .build import Recipe
from .convert import glycan_tree, newick_shape, regex_tree, value_tree
from .packages import debian, npm, sdist, wheel


def _files(root, pattern):
    return sorted(path for path in Path(root).rglob(pattern) if path.is_file() and not path.is_symlink())


# ---- pages: HTML manuals, by project (each has its own generator) ------------------------------------------------

PAGES = (
    debian("libgtk-3-doc", "3.24.38-2~deb12u3"),
    debian("libcommons-lang3-java-doc", "3.12.0-2+deb12u1"),
    debian("libeigen3-doc", "3.4.0-4"),
    debian("python-django-doc", "3:3.2.25-0+deb12u3"),
    debian("postgresql-doc-15", "15.18-0+deb12u1"),
    debian("git-doc", "1:2.39.5-0+deb12u3"),
    debian("ghc-doc", "9.0.2-4"),
    debian("octave-doc", "7.3.0-2"),
    debian("sqlite3-doc", "3.40.1-2+deb12u2"),
    debian("libxml2-doc", "2.9.14+dfsg-1.3~deb12u6"),
)


def pages(inside):
    for name, root in inside.items():
        for path in _files(root, "*.html"):
            yield name.removesuffix("-doc"), path


# ---- icons: SVG drawings, by theme -------------------------------------------------------------------------------

ICONS = (
    debian("adwaita-icon-theme", "43-1"),
    debian("elementary-xfce-icon-theme", "0.17-1"),
    debian("mate-icon-theme", "1.26.0-1"),
    debian("paper-icon-theme", "1.5.0+git20200312.aa3e8af-4"),
    debian("sugar-icon-theme", "0.120-1"),
    debian("suru-icon-theme", "20.05.1-3"),
    debian("tango-icon-theme", "0.8.90-11"),
    debian("breeze-icon-theme", "4:5.103.0-1"),
)


def icons(inside):
    for name, root in inside.items():
        for path in _files(root, "*.svg"):
            yield name.removesuffix("-icon-theme"), path


# ---- interfaces: descriptions of windows and dialogs, by application ---------------------------------------------

INTERFACES = (
    debian("libreoffice-common", "4:7.4.7-1+deb12u14"),
    debian("gnucash-common", "1:4.13-1"),
    debian("gramps", "5.1.5-1"),
    debian("gthumb-data", "3:3.12.2-3"),
    debian("abiword-common", "3.0.5~dfsg-3.2"),
    debian("anjuta-common", "2:3.34.0-8"),
    debian("synaptic", "0.91.3"),
    debian("virt-manager", "1:4.1.0-2"),
    debian("inkscape", "1.2.2-2+b1"),
    debian("pitivi", "2022.06-1+b1"),
)


def interfaces(inside):
    for name, root in inside.items():
        for path in _files(root, "*.ui") + _files(root, "*.glade"):
            yield re.sub("-(common|data)$", "", name), path


# ---- payloads: JSON that a web hook sends, by what it is about ---------------------------------------------------

SUBJECTS = (
    ("pull request", "pull_request"),
    ("issue", "issue|label|milestone"),
    ("check", "check_|status"),
    ("discussion", "discussion"),
    ("deployment", "deploy|page_build"),
    ("project", "project"),
    ("workflow", "workflow"),
    ("release", "release|package"),
    ("installation", "installation|marketplace|meta|github_app"),
    ("people", "member|organization|org_block|team|sponsor"),
    ("alert", "alert|advisory"),
    ("repository", "repository|public|fork|star|watch|branch_protection"),
    ("commit", "push|create|delete|commit_comment|gollum"),
)


def payloads(inside):
    (root,) = inside.values()
    for path in _files(root, "index.json"):
        for event in json.loads(path.read_text(encoding="utf-8")):
            about = next((name for name, words in SUBJECTS if re.match(words, event["name"])), None)
            for example in event["examples"] if about else ():
                yield about, value_tree(example)


# ---- django: Python files of web applications, by their part in one ----------------------------------------------

DJANGO = (
    wheel("mayan-edms", "4.12.2"),
    wheel("django-oscar", "4.2.1"),
    wheel("wagtail", "8.0.1"),
    wheel("geonode", "5.1.1"),
    wheel("wger", "2.1"),
    wheel("misago", "0.39.6"),
    wheel("django-cms", "5.1.3"),
)
PARTS = ("migrations", "tests", "models", "views", "forms", "admin", "urls", "apps", "serializers", "templatetags")
PARTS += ("commands",)


def django(inside):
    for root in inside.values():
        for path in _files(root, "*.py"):
            part = next((p for p in PARTS if p in (path.stem, path.parent.name)), None)
            if path.name.startswith("test"):
                part = "tests"
            if part and path.name != "__init__.py" and 300 < path.stat().st_size < 12_000:
                yield part, path


# ---- glycans: chains of sugars, by the kind of living thing that makes them --------------------------------------

KINDS = {
    "Mammalia": "mammals",
    "Actinopterygii": "fish",
    "Insecta": "insects",
    "Dicotyledons": "flowering plants",
    "Gammaproteobacteria": "gammaproteobacteria",
    "Bacilli": "bacilli",
    "Saccharomycetes": "yeasts",
    "Agaricomycetes": "mushrooms",
    "Chromadorea": "roundworms",
    "Gastropoda": "snails",
}


def glycans(inside):
    (root,) = inside.values()
    csv.field_size_limit(1 << 30)
    (path,) = root.rglob("v*_df_species.csv")
    makers = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            makers.setdefault(row["glycan"], set()).add(row["Class"])
    for glycan, classes in makers.items():
        tree = glycan_tree(glycan) if len(classes) == 1 else None
        (name, *_) = classes
        if tree and name in KINDS:
            yield KINDS[name], tree


# ---- expressions: regular expressions, by what they are to find --------------------------------------------------

EXPRESSIONS = (
    npm("uap-core", "0.18.0"),
    wheel("phonenumbers", "9.0.43"),
    debian("logcheck-database", "1.4.2+deb12u1"),
    debian("spamassassin", "4.0.1-1~deb12u1"),
    debian("modsecurity-crs", "3.3.4-1+deb12u3"),
    debian("fail2ban", "1.0.2-2"),
)


def _texts(inside):
    kinds = {"user_agent_parsers": "browser", "os_parsers": "operating system", "device_parsers": "device"}
    kind = ""
    for line in (inside["uap-core"] / "package" / "regexes.yaml").read_text(encoding="utf-8").splitlines():
        kind = kinds.get(line.rstrip(":"), kind) if line[:1].isalpha() else kind
        if found := re.match(r"\s+- regex: '(.*)'\s*$", line):
            yield kind, found[1].replace("''", "'")
    for path in _files(inside["phonenumbers"], "data/region_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "national_number_pattern":
                yield "phone number", str(ast.literal_eval(node.value))
    for path in _files(inside["logcheck-database"], "ignore.d.*/*"):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("^"):
                yield "log line", line
    for path in _files(inside["spamassassin"], "*.cf"):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if found := re.match(r"(body|header|uri)\s+\S+\s+(?:\S+\s+=~\s+)?(?:m\{(.*)\}|/(.*)/)[a-z]*\s*$", line):
                yield f"spam in {found[1]}", found[2] or found[3]
    for path in _files(inside["modsecurity-crs"], "*.conf"):
        for found in re.finditer(r'"@rx (.*?)"\s*\\$', path.read_text(encoding="utf-8"), re.MULTILINE):
            yield "web attack", found[1]
    for path in _files(inside["fail2ban"], "filter.d/*.conf"):
        for found in re.finditer(r"^(?:failregex\s*=)?\s+(\^.*)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            text = re.sub(r"%\(\w+\)s", "", re.sub(r"<[A-Z_]+>", r"(\\S+)", found[1]))
            yield "intrusion", text


def expressions(inside):
    for kind, text in _texts(inside):
        tree = regex_tree(text)
        if tree:
            yield kind, tree


# ---- phylogenies: shapes of evolutionary trees without names, by study and method --------------------------------

STUDIES = {
    "primates, BEAST": "primates.beast.mcmc.trees",
    "pythons, BEAST": "pythonidae.beast.mcmc.trees",
    "pythons, bootstrap": "pythonidae.mlboots.newick.tre",
    "pythons, at random": "pythonidae.random.bd0301.tre",
    "whales, strict clock": "cetaceans.mb.strict-clock.mcmc.trees",
    "whales, no clock": "cetaceans.mb.no-clock.mcmc.trees",
    "whales, bootstrap": "cetaceans.raxml.bootstraps.trees",
}


def phylogenies(inside):
    (root,) = inside.values()
    for study, name in STUDIES.items():
        (path,) = root.rglob(f"tests/data/trees/{name}")
        lines = path.read_text(encoding="utf-8").splitlines()
        trees = [line for line in lines if re.match(r"\s*(u?tree .*=.*|)\(", re.sub(r"\[[^\]]*\]", "", line), re.I)]
        for line in trees[:: max(1, len(trees) // 90)]:
            yield study, newick_shape(re.sub(r"^.*?=", "", re.sub(r"\[[^\]]*\]", "", line)))


DEVELOPMENT = (
    Recipe("pages", "HTML pages of manuals; class: the manual", PAGES, pages, "html", per_class=70),
    Recipe("icons", "SVG drawings; class: the icon theme", ICONS, icons, "xml"),
    Recipe("interfaces", "windows and dialogs in XML; class: the application", INTERFACES, interfaces, "xml"),
    Recipe(
        "payloads",
        "JSON that a web hook sends; class: what it is about",
        (npm("@octokit/webhooks-examples", "7.6.1"),),
        payloads,
    ),
    Recipe("django", "Python files of web applications; class: the part a file plays", DJANGO, django, "python"),
    Recipe(
        "glycans",
        "chains of sugars; class: the kind of living thing that makes them",
        (wheel("glycowork", "1.11.0"),),
        glycans,
    ),
    Recipe("expressions", "regular expressions; class: what they are to find", EXPRESSIONS, expressions),
    Recipe(
        "phylogenies",
        "shapes of evolutionary trees without names; class: study and method",
        (sdist("DendroPy", "4.4.0"),),
        phylogenies,
    ),
)
