"""A digest of all that Arbora computes from fixed seeds, to show that a change of the code changes no result.

    python benchmarks/fixed_seeds.py write before.json [--models FOLDER] [--only hidden]
    python benchmarks/fixed_seeds.py compare before.json after.json
    python benchmarks/fixed_seeds.py load FOLDER
`write` fits every model to small data and digests fitted arrays, answers, model files, reports, readers and the output
of the command line, by their bits; times, paths and versions are left out.  `compare` names what differs and fails if
anything does.  `--models` keeps the model files; `load` reads such files, of this or an older Arbora, and fails if one
is refused.  Two machines may differ in the last bits: compare files of one machine.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy: sums of one order
os.environ["SOURCE_DATE_EPOCH"] = "0"

import argparse
import contextlib
import dataclasses
import hashlib
import json
import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import arbora as ab
from arbora import datasets
from arbora.files.container import read_container
from arbora.report.gather import gather

LEFT_OUT = {"versions", "arbora", "python", "numpy", "scipy", "sklearn", "numba", "made", "checkpoint", "n_jobs"}
TIME = re.compile(r"\d+(\.\d+)? ?(s|ms|seconds|minutes)\b")

# ---- digests --------------------------------------------------------------------------------------------------------


def feed(sha, value):
    """Feed a value into a digest: arrays by their bits, containers by what they hold."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        sha.update(f"{value.dtype.str}{value.shape}".encode())
        sha.update(np.ascontiguousarray(value).tobytes())
    elif sparse.issparse(value):
        rows = value.tocsr()
        for part in (np.array(rows.shape), rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data):
            feed(sha, part)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            if key not in LEFT_OUT:
                sha.update(f"{key}:".encode())
                feed(sha, value[key])
    elif isinstance(value, (list, tuple, np.ndarray)):
        sha.update(f"[{len(value)}".encode())
        for item in value:
            feed(sha, item)
    elif isinstance(value, ab.Forest):
        feed(sha, [value.parent, value.slot, value.label, value.tree_start, list(value.vocabulary)])
        feed(sha, [getattr(value, "target", None), getattr(value, "name", None)])
    elif callable(getattr(value, "header", None)):
        feed(sha, value.header())
    elif dataclasses.is_dataclass(value):
        feed(sha, {field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    elif isinstance(value, float | np.floating):
        sha.update(float(value).hex().encode())
    elif value is None or isinstance(value, str | int | bool | bytes | np.generic):
        sha.update(repr(value).encode())
    elif hasattr(value, "__dict__"):
        feed(sha, {key: item for key, item in vars(value).items() if not callable(item)})
    else:
        sha.update(type(value).__name__.encode())


def digest(value):
    sha = hashlib.sha256()
    feed(sha, value)
    return sha.hexdigest()[:16]


# ---- models ---------------------------------------------------------------------------------------------------------

FINITE = {"max_iter": 6, "tol": 0, "random_state": 0}
CHAINS = {"n_iter": 6, "n_chains": 2, "random_state": 0}
READINGS = [(absent, structure) for absent in ("bottom", "slot", "literal", "renormalised")
            for structure in (None, "branching")]  # fmt: skip


def hidden():
    """Name, model and data of the hidden-tree family, in all its readings."""
    trees = datasets.make_asymmetric_trees(12, random_state=0)
    documents = datasets.make_documents(8, random_state=0)
    gaps = datasets.make_random_trees(30, 4, 5, 12, missing=0.2, random_state=1)
    for absent, structure in READINGS:
        reading = {"absent": absent, "structure": structure}
        name = f"{absent}, {structure}"
        yield f"hidden: mixture, {name}", ab.HiddenTreeMixture(3, 2, **reading, **FINITE), gaps
        yield f"hidden: flat, {name}", ab.HiddenTreeMixture(5, 3, prior=1.0, n_slots=2, **reading, **FINITE), gaps
        yield f"hidden: single, {name}", ab.HiddenTree(3, **reading, **FINITE), gaps
        yield f"hidden: gibbs, {name}", ab.InfiniteHiddenTreeMixture(2, **reading, **CHAINS), gaps
    for encoding in ("sum", "weighted", "log", "posterior", "score"):
        given = {"encoding": encoding, "sparse_output": encoding == "score"}
        yield f"hidden: {encoding}", ab.HiddenTreeMixture(4, 4, **given, **FINITE), documents
    yield "hidden: two starts", ab.HiddenTreeMixture(3, 5, n_init=2, init="random", shard_bytes=1, **FINITE), trees
    yield "hidden: eight states", ab.HiddenTree(8, shared=False, leaf_prior=1.3, **FINITE), documents
    yield "hidden: em", ab.InfiniteHiddenTreeMixture(3, update="em", concentration_prior=(1, 1), **CHAINS), trees
    learnt = {"hyperprior": (1.0, 1.0), "concentration_prior": (2.0, 1.0)}
    yield "hidden: learnt priors", ab.InfiniteHiddenTreeMixture(2, n_slots=2, **learnt, **CHAINS), gaps
    yield "hidden: documents", ab.InfiniteHiddenTreeMixture(4, prior=0.5, encoding="score", **CHAINS), documents


def others():
    """Name, model and data of all other families."""
    documents = datasets.make_documents(8, random_state=0)
    shapes = datasets.make_prototype_trees(3, 6, 8, random_state=0)
    rows = datasets.make_bananas(20, random_state=0).X
    yield "grammar: mixture", ab.TreeGrammarMixture(4, max_iter=10, random_state=0), documents
    yield "grammar: infinite", ab.TreeGrammarMixture(None, **CHAINS), documents
    yield "patterns: mixture", ab.PatternMixture(random_state=0, **_but(CHAINS, "random_state")), documents
    yield "patterns: given", ab.PatternMixture(4, random_state=0, n_chains=1, n_iter=3), documents
    yield "patterns: transformer", ab.TreePatterns(), documents
    yield "edit: clustering", ab.TreeEditClustering(3, random_state=0), shapes
    yield "unions: mixture", ab.TreeUnionMixture(3, max_rounds=3), shapes
    yield "unions: embedding", ab.UnionEmbedding(3, random_state=0), shapes
    yield "rows: gaussian", ab.DPGaussianMixture(**CHAINS, n_jobs=1), rows
    yield "rows: nhcm", ab.NHCM(**CHAINS, n_jobs=1), rows
    yield "rows: bhmc", ab.BHMC(n_iter=40, n_chains=2, random_state=0), rows
    yield "rows: rbhmc", ab.RBHMC(n_iter=20, n_chains=2, random_state=0), rows


def classifiers():
    """Name, model and data with classes."""
    forest = datasets.make_documents(10, random_state=0)
    encoder = ab.HiddenTreeMixture(3, 2, **FINITE)
    yield "classifiers: counts", ab.TreeClassifier(ab.SlotLabelCounts(), LogisticRegression(), random_state=0), forest
    yield "classifiers: encoder", ab.TreeClassifier(encoder, random_state=0), forest
    yield "classifiers: generative", ab.GenerativeTreeClassifier(ab.HiddenTree(2, **FINITE), random_state=0), forest
    yield "classifiers: slots", ab.SlotLabelCounts(), forest


def _but(settings, name):
    return {key: value for key, value in settings.items() if key != name}


ANSWERS = (
    "predict", "predict_proba", "predict_log_proba", "transform", "score_samples", "posterior", "decode", "bic",
    "novelty", "anomaly_score", "new_group_evidence", "draw_labels", "resample_labels",
)  # fmt: skip
SAMPLED = ("draws", "n_groups_posterior", "co_clustering", "point_estimate", "chain_report",
           "merges", "splits", "get_feature_names_out", "n_parameters")  # fmt: skip


def answer(model, name, *args, **settings):
    """What a method returns, or the error it ends in."""
    try:
        return getattr(model, name)(*args, **settings)
    except (ab.errors.ArboraError, AttributeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def on_model(name, model, data, folder):
    """Digests of one model: what it learns, answers, saves and reports."""
    found = {}
    y = data.target if name.startswith("classifiers") else None
    model = model.fit(data) if y is None else model.fit(data, y)
    fitted = {key: value for key, value in vars(model).items() if key.endswith("_") and key != "mixture_"}
    for key, value in fitted.items():
        found[f"{key}"] = digest(value)
    for method in ANSWERS:
        if callable(getattr(model, method, None)):
            seed = {"random_state": 0} if method in ("draw_labels", "resample_labels") else {}
            found[f"{method}()"] = digest(answer(model, method, data, **seed))
    for method in SAMPLED:
        if callable(getattr(model, method, None)):
            found[f"{method}()"] = digest(answer(model, method))
    if callable(getattr(model, "sample", None)) and name.startswith("hidden"):
        found["sample()"] = digest(answer(model, "sample", 5, random_state=0))
        found["sample(skeleton)"] = digest(answer(model, "sample", 1, data, random_state=0))
    path = folder / (re.sub(r"\W+", "-", name) + ".arbora")
    model.save(path)
    _, header, arrays = read_container(path, "model")
    found["file"] = digest([header, dict(arrays)])
    if not name.startswith("patterns: t") and hasattr(model, "labels_") | hasattr(model, "classes_"):
        found["report"] = digest(gather(ab.load(path), data))
    return {f"{name}: {key}": value for key, value in found.items()}


def on_stores(folder):
    """Models fitted to stores, over batches, and from checkpoints."""
    forest = datasets.make_documents(12, random_state=0)
    store = ab.ForestStore.write(forest, folder / "trees.store", shard_nodes=300)
    found = {}
    for name, model in (
        ("mixture", ab.HiddenTreeMixture(4, 3, shard_bytes=1, n_jobs=2, **FINITE)),
        ("gibbs", ab.InfiniteHiddenTreeMixture(2, **CHAINS)),
        ("single", ab.HiddenTree(3, **FINITE)),
    ):
        model.fit(store)
        for key in ("labels_", "weight_", "emission_prob_", "transition_prob_", "history_"):
            found[f"stores: {name}: {key}"] = digest(getattr(model, key))
        found[f"stores: {name}: transform"] = digest(model.transform(store))
        found[f"stores: {name}: score"] = digest(model.score_samples(store))
    weight = np.linspace(0.5, 2.0, forest.n_trees)
    stepwise = ab.HiddenTreeMixture(3, 2, **FINITE)
    for part in (forest[:16], forest[16:32], forest[32:]):
        stepwise.partial_fit(part, sample_weight=weight[: part.n_trees])
    found["batches: counts"] = digest(stepwise.counts_)
    found["batches: parameters"] = digest([stepwise.weight_, stepwise.emission_prob_, stepwise.history_])
    again = ab.HiddenTreeMixture(3, 2, warm_start=True, **FINITE).fit(forest, sample_weight=weight)
    found["warm start"] = digest([again.fit(forest).weight_, again.transition_prob_, again.history_])
    kept = ab.HiddenTreeMixture(3, 2, checkpoint=folder / "fit.checkpoint", n_init=2, **FINITE).fit(forest)
    _, header, arrays = read_container(folder / "fit.checkpoint", "fit")
    found["checkpoint"] = digest([kept.history_, {**header, "settings": None}, dict(arrays)])
    return found


def on_readers(folder):
    """Readers of texts, and files of forests."""
    texts = {
        "a.xml": "<a><b x='1'>text</b><c/></a>",
        "b.json": '{"a": [1, {"b": null}], "c": "x"}',
        "c.jsonl": '{"label": "a", "children": [{"label": "b"}]}\n',
        "d.nwk": "((a:1,b:2)c,d)e;",
        "e.html": "<html><body><p>one<p>two</body></html>",
        "f.mrg": "(S (NP (D the) (N cat)) (VP (V sat)))",
        "g.py": "def f(x):\n    return x + 1\n",
        "h.conllu": "1\tthe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\t_\t_\t0\troot\t_\t_\n\n",
    }
    found = {}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        with contextlib.chdir(folder):  # names of trees are those of files
            found[f"readers: {name}"] = digest(answer(ab, "read", Path(name)))
    forest = datasets.make_random_trees(9, 3, 4, 10, missing=0.2, random_state=3)
    ab.io.save_forest(forest, folder / "trees.forest")
    found["readers: forest"] = digest(ab.io.load_forest(folder / "trees.forest"))
    return found


def on_commands(folder):
    """Output and files of the command line."""
    from typer.testing import CliRunner

    from arbora.cli import app

    trees = folder / "trees.jsonl"
    ab.io.write_jsonl(datasets.make_documents(8, random_state=0), trees)
    rows = folder / "rows.csv"
    np.savetxt(rows, datasets.make_bananas(15, random_state=0).X, delimiter=",", header="x,y", comments="")
    out = folder / "out"
    quick = ("--max-iter", "4", "--seed", "0")
    chains = ("--sweeps", "6", "--chains", "2", "--seed", "0")
    commands = {
        "info": ["info", trees],
        "formats": ["formats"],
        "cluster": ["cluster", trees, "--components", 3, "--states", 2, *quick, "--save", out / "m.arbora"],
        "cluster json": ["cluster", trees, "--components", 3, "--states", 2, *quick, "--json"],
        "infinite": ["cluster", trees, "--model", "infinite", *chains, "--output", out / "infinite.csv"],
        "patterns": ["cluster", trees, "--model", "patterns", "--seed", "0", "--output", out / "patterns.csv"],
        "grammar": ["cluster", trees, "--model", "grammar", "--components", 3, "--seed", "0"],
        "predict": ["predict", out / "m.arbora", trees],
        "encode": ["encode", out / "m.arbora", trees, "--output", out / "codes.csv"],
        "hierarchy": ["hierarchy", rows, *chains],
        "distances": ["distances", trees, "--output", out / "distances.csv"],
        "report": ["report", out / "m.arbora", trees, "--output", out / "page.html"],
    }
    out.mkdir()
    found = {}
    for name, args in commands.items():
        done = CliRunner().invoke(app, [str(arg) for arg in args])
        if done.exit_code:
            raise SystemExit(f"{name}: {done.output}")
        said = done.stdout.replace(str(folder), "FOLDER")
        found[f"commands: {name}"] = digest(json.loads(said) if "--json" in args else TIME.sub("TIME", said))
    for path in sorted(out.iterdir()):
        if path.suffix == ".csv":
            found[f"commands: {path.name}"] = digest(path.read_bytes())
    return found


def write(target, models, only):
    """Run everything and write the digests."""
    warnings.simplefilter("ignore")
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        kept = folder if models is None else models
        kept.mkdir(parents=True, exist_ok=True)
        for name, model, data in (*hidden(), *others(), *classifiers()):
            if only is None or name.startswith(only):
                found |= on_model(name, model, data, kept)
        for name, part in (("stores", on_stores), ("readers", on_readers), ("commands", on_commands)):
            if only is None or name.startswith(only):
                found |= part(folder)
    target.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    print(f"{len(found)} digests in {target}")


def compare(first, second):
    """Names of all that differs."""
    a, b = (json.loads(path.read_text()) for path in (first, second))
    wrong = [f"{name}: {'missing' if name not in a or name not in b else 'differs'}"
             for name in sorted(a.keys() | b.keys()) if a.get(name) != b.get(name)]  # fmt: skip
    print("\n".join(wrong) or f"all {len(a)} digests are the same")
    return int(bool(wrong))


def load(folder):
    """Read the model files of a folder, and save each again: its arrays must stay; settings and arrays may be added."""
    paths, wrong = sorted(folder.glob("*.arbora")), 0
    for path in paths:
        with tempfile.TemporaryDirectory() as temporary:
            again = Path(temporary) / "again.arbora"
            try:
                ab.load(path).save(again)
            except ab.errors.ArboraError as error:
                print(error)
                wrong += 1
                continue
            before, after = (dict(read_container(file, "model")[2]) for file in (path, again))
            other = [name for name in before if name not in after or digest(before[name]) != digest(after[name])]
            if other:
                print(f"{path.name}: saved again it has other arrays: {', '.join(other)}")
                wrong += 1
    print(f"{len(paths) - wrong} of {len(paths)} model files load, and keep their arrays when saved again")
    return int(wrong or not paths)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(dest="what", required=True)
    for name, args in (("write", ["target"]), ("compare", ["first", "second"]), ("load", ["folder"])):
        one = what.add_parser(name)
        for arg in args:
            one.add_argument(arg, type=Path)
        if name == "write":
            one.add_argument("--models", type=Path, help="a folder for the model files")
            one.add_argument("--only", help="names that start so: hidden, stores, commands, ...")
    given = parser.parse_args()
    if given.what == "write":
        sys.exit(write(given.target, given.models, given.only))
    sys.exit(compare(given.first, given.second) if given.what == "compare" else load(given.folder))


if __name__ == "__main__":
    main()
