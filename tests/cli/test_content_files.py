"""Columns of content of real files, and of files that other libraries write, all the way to clusters."""

import importlib.util
import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

import arbora as ab
from arbora.cli import app
from tests.unit.test_io_content import CONLLU, OTLP, SWC

pytestmark = pytest.mark.compiled


def folder_of(package, below=""):
    """Folder of an installed package."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    return Path(next(iter(found.submodule_search_locations))) / below


def simulated(tmp_path, schema):
    """Trees with lengths, as dendropy draws and writes them."""
    dendropy = pytest.importorskip("dendropy")
    from dendropy.simulate import treesim

    rng, names = random.Random(0), dendropy.TaxonNamespace()  # noqa: S311 (no cryptography)
    given = {"birth_rate": 1.0, "num_extant_tips": 6, "rng": rng, "taxon_namespace": names}
    trees = [treesim.birth_death_tree(death_rate=0.1 + 0.5 * (n % 2), **given) for n in range(8)]
    path = tmp_path / f"trees.{schema}"
    dendropy.TreeList(trees, taxon_namespace=names).write(path=str(path), schema=schema)
    return path


def written(tmp_path, name, text, times=6):
    """A file or several, which another program wrote once."""
    for n in range(times):
        (tmp_path / f"{n}.{name}").write_text(text)
    return tmp_path


def sentences(tmp_path):
    """Sentences, as the library conllu reads and writes them."""
    conllu = pytest.importorskip("conllu")
    return written(tmp_path, "conllu", "".join(one.serialize() for one in conllu.parse(CONLLU)))


FILES = {
    "newick": (lambda at: simulated(at, "newick"), "length", {"length": "gaussian"}),
    "nexus": (lambda at: simulated(at, "nexus"), "length", {"length": "gaussian"}),
    "html": (lambda at: folder_of("matplotlib", "backends/web_backend"), "words:bag:20", {"words": "bag"}),
    "xml": (lambda at: folder_of("sphinx", "templates/epub3"), "all", {"@href": "categorical"}),
    "json": (
        lambda at: folder_of("jsonschema_specifications", "schemas/draft202012"),
        "all",
        {"string": "categorical"},
    ),
    "python": (lambda at: folder_of("json"), "all", {"name": "categorical"}),
    "traces": (lambda at: written(at, "otlp.json", json.dumps(OTLP)), "log_duration,status", {"status": "categorical"}),
    "swc": (lambda at: written(at, "swc", SWC), "radius,length", {"radius": "gaussian", "length": "gaussian"}),
    "conllu": (sentences, "lemma,feats", {"lemma": "categorical", "feats": "bag"}),
}


@pytest.mark.parametrize("format", FILES)
@pytest.mark.filterwarnings("ignore::arbora.errors.ContentWarning")
def test_columns_of_files_reach_the_clusters(format, tmp_path):
    where, content, wanted = FILES[format]
    path = where(tmp_path)
    options = ["--format", format, "--content", content, "-k", "2", "--states", "2", "--max-iter", "3", "--json", "-q"]
    done = CliRunner().invoke(app, ["cluster", str(path), *options])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["content"]
    assert told["taken"].items() >= wanted.items()
    assert all(told["columns"][name]["by_cluster"] for name in wanted)
    assert sum(one["share"] for one in told["scores"].values()) == pytest.approx(1.0, abs=0.01)


@pytest.mark.filterwarnings("ignore::arbora.errors.ContentWarning")
def test_attributes_of_graphs_reach_the_clusters():
    nx = pytest.importorskip("networkx")
    club, trees = nx.karate_club_graph(), []
    for root in list(club)[:12]:
        tree = nx.bfs_tree(club, root)
        nx.set_node_attributes(tree, {v: {"club": club.nodes[v]["club"], "degree": club.degree(v)} for v in tree})
        trees.append(tree)
    forest = ab.from_networkx(trees, label=None, content=["club", "degree"])
    assert forest.content_kinds == {"club": "codes", "degree": "counts"}
    model = ab.HiddenTreeMixture(2, 2, max_iter=3, random_state=0).fit(forest)
    assert {"club", "degree"} <= set(model.content_params_)
