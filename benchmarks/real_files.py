"""Real files of the readers that no corpus of `benchmarks.corpora` covers, read and clustered with a report.

``python benchmarks/real_files.py FOLDER`` fetches packages from the registries, reads what they hold by the reader of
each format, and writes a table and a report per format.  Packages are pinned by version and checksum as those of the
corpora are; ``--trust`` writes down the checksum of a new one.
"""

import argparse
import csv
import warnings
from pathlib import Path

import arbora as ab
from benchmarks.corpora.packages import debian, sdist, unpacked


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


# Format, package, the files in it, and options of the reader.
SOURCES = [
    ("warc", sdist("pywb", "2.10.0"), "**/sample_archive/warcs/*.warc*", {}),
    ("swc", sdist("navis", "1.12.0"), "**/*.swc", {}),
    ("nexus", debian("r-cran-rncl", "0.8.7-1"), "**/nexusfiles/*.nex", {}),
    ("newick", debian("r-cran-rncl", "0.8.7-1"), "**/newick_good/*.tre", {}),
    ("glycans", sdist("glycowork", "1.11.0"), _glycans, {}),
    ("code", sdist("scrapy", "2.19.0"), "**/scrapy/**/*.py", {"unit": "function"}),
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trust", action="store_true", help="write down checksums of new packages")
    parser.add_argument("--only", help="one format")
    given = parser.parse_args()
    print("| format | package | files | refused | trees | nodes | labels | groups |\n|---|---|---|---|---|---|---|---|")
    for format, package, files, options in SOURCES:
        if given.only in (None, format):
            paths = files_of(unpacked(package, given.folder, given.trust), files)
            forest, refused = read(format, paths, options)
            model = ab.PatternMixture(random_state=0).fit(forest)
            model.report(forest, given.folder / f"{format}.html")
            sizes = f"{forest.n_trees} | {forest.n_nodes} | {forest.n_labels} | {model.n_components_}"
            print(f"| {format} | {package.name} {package.version} | {len(paths)} | {refused} | {sizes} |", flush=True)


if __name__ == "__main__":
    main()
