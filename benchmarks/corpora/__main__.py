"""Make the corpora and the table of methods on them.

python -m benchmarks.corpora all FOLDER [NAME ...]
python -m benchmarks.corpora make FOLDER [NAME ...]
python -m benchmarks.corpora table FOLDER [NAME ...]

all is make, and then table.
"""

import argparse
import json
from pathlib import Path

from .build import facts, make
from .development import DEVELOPMENT as FIRST
from .development_more import MORE_DEVELOPMENT

DEVELOPMENT = (*FIRST, *MORE_DEVELOPMENT)


def _recipes(options):
    from .held_out import HELD_OUT
    from .judged import JUDGED
    from .untouched import UNTOUCHED

    if options.name:
        return [one for one in (*DEVELOPMENT, *HELD_OUT, *JUDGED, *UNTOUCHED) if one.name in options.name]
    if options.untouched:
        return UNTOUCHED
    return JUDGED if options.judged else HELD_OUT if options.held_out else DEVELOPMENT


def _make(options):
    page = options.folder / "facts.json"
    for recipe in _recipes(options):
        forest = make(recipe, options.folder, options.trust)
        found = json.loads(page.read_text(encoding="utf-8")) if page.exists() else {}
        found[recipe.name] = {"what": recipe.told, "held_out": recipe.held_out, **facts(forest)}
        page.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(recipe.name, {k: v for k, v in found[recipe.name].items() if k != "sha256"}, flush=True)


def _table(options):
    from .table import page, run

    run(options.folder, options.name, options.methods)
    print(page(options.folder, options.name))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("all", "make", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("name", nargs="*", help="of corpora; all of the development set if left out")
    parser.add_argument("--held-out", action="store_true", help="the corpora that no choice was made on")
    parser.add_argument("--judged", action="store_true", help="the second set of such corpora")
    parser.add_argument("--untouched", action="store_true", help="the third set of such corpora")
    parser.add_argument(
        "--methods", default="", help="titles of methods to run, by a regular expression; all if left out"
    )
    parser.add_argument("--trust", action="store_true", help="write down checksums of packages that have none")
    options = parser.parse_intermixed_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for step in {"all": (_make, _table), "make": (_make,), "table": (_table,)}[options.what]:
        step(options)


if __name__ == "__main__":
    main()
