"""What goes onto a page: values against the models they come from, caps that say so, links, and nothing that harms."""

import base64
import json
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import arbora as ab
from arbora.datasets import make_documents
from arbora.errors import ArboraError
from arbora.evaluate.metrics import silhouette_samples
from arbora.inference import diagnostics
from arbora.io import read
from arbora.models.patterns import Namer, name_groups
from arbora.report import Context, columns, gather, render, write_report
from arbora.report.tree_drawings import Words, drawn_tree
from tests.pages import page_data

pytestmark = pytest.mark.compiled

TREES = make_documents(8, random_state=0)


@pytest.fixture(scope="module")
def mixture() -> ab.HiddenTreeMixture:
    return ab.HiddenTreeMixture(5, 2, max_iter=15, tol=0, random_state=0).fit(TREES)


def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(30, 3)) + 4.0 * (np.arange(30) % 3)[:, None]


def test_groups_and_items_are_those_of_the_model(mixture: ab.HiddenTreeMixture) -> None:
    page = gather(mixture, TREES)
    numbers = np.unique(mixture.labels_)
    assert [group["size"] for group in page["groups"]] == np.bincount(mixture.labels_)[numbers].tolist()
    named = name_groups(TREES, mixture.labels_)
    assert page["group_names"] == [f"{n} \u00b7 {named[n].name}" for n in numbers]
    for group, n in zip(page["groups"], numbers, strict=True):
        assert group["skeleton"] == named[n].skeleton_text
        assert [rule[0] for rule in group["rules"]] == [pattern.text for pattern in named[n].patterns]
        np.testing.assert_allclose([rule[2] for rule in group["rules"]], [p.coverage for p in named[n].patterns], 1e-2)
    np.testing.assert_array_equal(numbers[page["items"]["group"]], mixture.labels_)
    np.testing.assert_array_equal(page["items"]["size"], TREES.sizes)
    own = mixture.predict_proba(TREES)[np.arange(40), mixture.labels_]
    np.testing.assert_allclose(page["items"]["p"], own, atol=6e-4)
    np.testing.assert_allclose(page["items"]["silhouette"], silhouette_samples(TREES, mixture.labels_), atol=6e-3)
    assert [page["classes"][c] for c in page["items"]["known"]] == TREES.target.tolist()
    assert f"{adjusted_rand_score(TREES.target, mixture.labels_):.3f}" in page["confusion"]["about"]
    assert np.sum(page["confusion"]["table"]) == 40


def test_levels_are_the_merges_of_the_model(mixture: ab.HiddenTreeMixture) -> None:
    page = gather(mixture, TREES)
    base = np.array(page["items"]["group"])
    assert [level["n"] for level in page["levels"]] == list(range(page["n_groups"] - 1, 1, -1))
    for level in page["levels"]:
        place = np.array(level["place"])
        cut = mixture.cut(level["n"])
        assert len(np.unique(np.column_stack([place[base], cut]), axis=0)) == level["n"]
        assert [bool(name) for name in level["names"]] == [c in place for c in range(page["n_groups"])]
        cards = [page["joined"][-k - 1] if k < 0 else page["groups"][k] for k in level["cards"]]
        assert [card["index"] for card in cards] == sorted(set(level["place"]))
        assert [card["size"] for card in cards] == [int((place[base] == card["index"]).sum()) for card in cards]
        assert [card["name"] for card in cards] == [level["names"][card["index"]] for card in cards]
        assert f"Adjusted Rand index {adjusted_rand_score(TREES.target, cut):.3f}" in level["agreement"]
        assert all(typical["drawing"] for card in cards for typical in card["typical"])
        assert level["border"]["n"] <= page["border"]["n"]
    joined = page["joined"][0]
    assert joined["rules"]
    assert joined["skeleton"]


def test_levels_are_bounded_and_need_merges(mixture: ab.HiddenTreeMixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbora.report.levels.MAX_LEVELS", 1)
    assert len(gather(mixture, TREES)["levels"]) == 1
    single = ab.HiddenTree(3, max_iter=3, tol=0, random_state=0).fit(TREES)
    assert "levels" not in gather(single, TREES)


def test_finer_levels_are_the_splits_of_the_model() -> None:
    model = ab.PatternMixture(2, n_chains=1, n_iter=2, random_state=0).fit(TREES)
    page = gather(model, TREES)
    base, side = np.array(page["items"]["group"]), np.array(page["side"])
    assert [level["n"] for level in page["finer"]] == [3, 4]
    for level in page["finer"]:
        place = base.copy()
        for j, k in enumerate(level["parted"]):
            place[(base == k) & (side == 1)] = 2 + j
        cut = model.cut(level["n"])
        assert len(np.unique(np.column_stack([place, cut]), axis=0)) == level["n"] == len(np.unique(cut))
        cards = [page["joined"][-k - 1] if k < 0 else page["groups"][k] for k in level["cards"]]
        assert [card["index"] for card in cards] == list(range(level["n"]))
        assert [card["size"] for card in cards] == np.bincount(place).tolist()
        assert [card["name"] for card in cards] == level["names"]
        assert f"Adjusted Rand index {adjusted_rand_score(TREES.target, cut):.3f}" in level["confusion"]["about"]
        assert np.sum(level["confusion"]["table"], axis=0).tolist() == np.bincount(place).tolist()
        assert all(typical["drawing"] for card in cards for typical in card["typical"])
    first = page["finer"][0]["parted"][0]
    assert page["finer"][0]["confusion"]["columns"] == [f"{first}a" if k == first else str(k) for k in (0, 1)] + [
        f"{first}b"
    ]
    assert "finer" not in gather(model, TREES[:39])  # only trees of the fit have parts


def test_groupings_of_one_page_are_named_as_each_alone() -> None:
    namer = Namer(TREES)
    for label in (np.arange(40) % 3, np.arange(40) // 20, np.where(np.arange(40) < 9, -1, np.arange(40) % 2)):
        assert namer.name(label) == name_groups(TREES, label)
    skipped = namer.name(np.arange(40) // 20, skip=0)
    assert skipped[0].skeleton is None
    assert skipped[1] == name_groups(TREES, np.arange(40) // 20)[1]


def test_what_must_not_be_overlooked_comes_before_all_figures(mixture: ab.HiddenTreeMixture) -> None:
    html = render(gather(mixture, TREES, Context(warned=("Chains disagree.",))))
    assert html.index("</h1>") < html.index("Chains disagree.") < html.index('id="tiles"')


def test_history_parameters_and_border(mixture: ab.HiddenTreeMixture) -> None:
    page = gather(mixture, TREES)
    np.testing.assert_allclose(page["history"]["y"], mixture.history_, rtol=1e-6)
    for k, component in enumerate(page["parameters"]["components"]):
        label = [TREES.vocabulary.index(word) for word in component["labels"]]
        np.testing.assert_allclose(component["emission"], mixture.emission_prob_[k][:, label], atol=6e-4)
        mean = sum(s * t for s, t in zip(mixture.switch_prob_[k], mixture.transition_prob_[k], strict=True))
        np.testing.assert_allclose(component["transition"], mean, atol=6e-4)
    proba = np.sort(mixture.predict_proba(TREES), axis=1)
    assert page["border"]["n"] == int((proba[:, -1] < 0.99).sum())
    margin = [p - q for _, _, p, _, q in page["border"]["rows"]]
    assert margin == sorted(margin)


def test_the_map_keeps_order_along_both_axes(mixture: ab.HiddenTreeMixture) -> None:
    from arbora.evaluate.projection import principal_plane

    page = gather(mixture, TREES)
    (principal,) = (map for map in [page["map"], *page["map"]["others"]] if map["name"] == "principal components")
    place, explained = principal_plane(mixture.transform(TREES))
    for axis, column in zip("xy", place.T, strict=True):
        assert np.corrcoef(principal[axis], column)[0, 1] > 0.999
    assert f"{explained.sum():.0%} of the variance" in principal["about"]


def test_a_page_of_other_trees_predicts(mixture: ab.HiddenTreeMixture) -> None:
    other = make_documents(3, random_state=1)
    page = gather(mixture, other)
    np.testing.assert_array_equal(np.unique(mixture.predict(other))[page["items"]["group"]], mixture.predict(other))
    assert page["manifest"]["fitted_to"]["n_trees"] == 40
    strange = ab.Forest.from_nested([("a", ["never", "seen"]), ("meta", ["title"])])
    assert any("never seen in training" in line for line in gather(mixture, strange)["warned"])


def test_a_model_that_is_loaded_gives_the_same_page(mixture: ab.HiddenTreeMixture, tmp_path: Path) -> None:
    mixture.save(tmp_path / "m.arbora")
    mixture.report(TREES, tmp_path / "a.html")
    ab.load(tmp_path / "m.arbora").report(TREES, tmp_path / "b.html")
    assert page_data((tmp_path / "a.html").read_text()) == page_data((tmp_path / "b.html").read_text())


def test_chains_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ab.InfiniteHiddenTreeMixture(2, n_iter=16, n_start=4, n_chains=2, update="em", random_state=0).fit(TREES)
    (level,) = gather(model, TREES)["posterior"]["levels"]
    report = model.chain_report()
    assert level["chains"]["verdict"].lower().startswith(report.verdict.lower())
    assert level["chains"]["agree"] == report.agree
    posterior = model.n_groups_posterior()
    assert level["count"]["number"] == posterior.n_groups.tolist()
    order = np.argsort(model.labels_, kind="stable")
    cells = np.frombuffer(base64.b64decode(level["together"]["cells"]), np.uint8).reshape(40, 40)
    np.testing.assert_allclose(cells / 255.0, model.co_clustering()[np.ix_(order, order)], atol=1 / 255)
    one = ab.InfiniteHiddenTreeMixture(2, n_iter=6, n_start=4, n_chains=1, update="em", random_state=0).fit(TREES)
    assert "nothing to compare" in gather(one, TREES)["posterior"]["levels"][0]["chains"]["verdict"]
    monkeypatch.setattr("arbora.report.posterior.MAX_TOGETHER", 10)
    few = gather(model, TREES)["posterior"]["levels"][0]["together"]
    assert few["n"] == len(few["names"]) == 10
    assert few["note"].startswith("10 of 40")


def test_rows_that_are_not_those_of_the_fit_are_refused() -> None:
    model = ab.DPGaussianMixture(n_iter=4, n_chains=1, random_state=0).fit(rows())
    for wrong in (rows()[:, :1], rows()[:-1], rows()[::-1], np.full_like(rows(), np.nan)):
        with pytest.raises(ArboraError, match="found other rows, of shape"):
            gather(model, wrong)
    with pytest.raises(ArboraError, match="names has 2 entries; wanted 30"):
        gather(model, rows(), Context(names=["a", "b"]))


def test_names_given_are_those_on_the_page(tmp_path: Path) -> None:
    model = ab.HiddenTreeMixture(2, 2, max_iter=2, tol=0, random_state=0).fit(TREES)
    page = gather(model, TREES, Context(names=[f"zz{t}" for t in range(len(TREES))]))
    assert page["items"]["name"][:2] == ["zz0", "zz1"]


def test_a_folder_whose_name_is_not_text_can_be_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = os.fsdecode(b"d\xff")
    os.mkdir(folder)
    Path(folder, "a.xml").write_text("<a/>")
    assert columns.link_base([f"{folder}/a.xml"], f"{folder}/", "r.html") == "./d%FF/"


def test_a_hierarchy_is_told_level_by_level(tmp_path: Path) -> None:
    model = ab.BHMC(2, branching=3, n_iter=24, n_chains=2, random_state=0, n_projected=None).fit(rows())
    target = [str(n % 3) for n in range(30)]
    page = gather(model, rows(), Context(target=target, names=[f"row {n}" for n in range(30)]))
    tree = page["hierarchy"]
    assert tree["parent"] == model.hierarchy_.parent.tolist()
    for z in range(1, len(tree["parent"])):
        names = tree["names"][tree["first"][z] : tree["first"][z] + tree["size"][z]]
        assert {int(name.split()[1]) for name in names} == set(model.hierarchy_.members(z).tolist())
        group = model.level_labels_[tree["level"][z] - 1][int(names[0].split()[1])]
        assert tree["number"][z] == group
    draws = model.draws(1).reshape(-1, 30)
    share = (diagnostics.align_labels(draws, model.level_labels_[1]) == model.level_labels_[1]).mean(axis=0)
    np.testing.assert_allclose(page["items"]["path"][1], share, atol=6e-3)
    assert [level["level"] for level in page["agreement"]] == ["level 1", "level 2"]
    model.save(tmp_path / "m.arbora")
    bare = gather(ab.load(tmp_path / "m.arbora"), rows())
    assert "posterior" not in bare
    assert any("no chains" in note for note in bare["notes"])
    path = np.array(bare["items"]["path"])
    assert ((path >= 0) & (path <= 1)).all()
    assert (path[1] <= path[0] + 0.011).all()  # a leaf is inside the node above it
    with pytest.raises(ArboraError, match="needs the 30 rows"):
        gather(model, rows()[:5])


@pytest.mark.filterwarnings("ignore::arbora.errors.ChainsDisagreeWarning")
def test_gaussian_groups_have_a_page() -> None:
    model = ab.DPGaussianMixture(n_iter=20, n_chains=2, random_state=0).fit(rows())
    page = gather(model, rows())
    assert page["posterior"]["levels"][0]["name"] == ""
    assert page["groups"][0]["size"] == int((model.labels_ == 0).sum())


def test_unions_show_archetypes_and_merges() -> None:
    few = TREES[::4]
    model = ab.TreeUnionMixture(3, search="greedy").fit(few)
    page = gather(model, few)
    for union, shown in zip(model.unions_, page["archetypes"]["unions"], strict=True):
        assert shown["n_nodes"] == union.n_nodes
        np.testing.assert_allclose(shown["p"], union.node_prob, atol=6e-4)
    assert page["merges"]["pairs"] == model.merges_.tolist()
    assert page["silhouette"] is None  # it compares labels, at which this model does not look


def test_classes_are_scored_and_novel_trees_flagged() -> None:
    encoder = ab.HiddenTreeMixture(3, 2, max_iter=5, tol=0)
    model = ab.TreeClassifier(encoder, "logistic", random_state=0).fit(TREES)
    strange = ab.Forest.concat([make_documents(2, random_state=3), _strange()])
    page = gather(model, strange)
    assert page["novel"]["n"] == int(model.is_novel(strange).sum()) >= 1
    assert page["novel"]["rows"][0][0] == "odd.xml"
    assert f"{np.mean(model.predict(strange) != strange.target):.1%}" in [tile[0] for tile in page["tiles"]]
    assert np.sum(page["scores"]["table"]) == strange.n_trees


def _strange() -> ab.Forest:
    chain = "x"
    for _ in range(12):
        chain = ("never", [chain, "seen"])
    return ab.Forest.from_nested([chain], target=["article"], name=["odd.xml"])


@pytest.mark.parametrize("kind", [ab.TreeEditClustering, ab.UnionEmbedding])
def test_models_of_distances_use_their_own(kind: type) -> None:
    few = ab.Forest.from_nested([("a", ["b"] * (n % 3 + 1)) if n % 2 else ("c", [("d", ["b"] * n)]) for n in range(9)])
    model = kind(3, random_state=0).fit(few)
    page = gather(model, few)
    assert "distances to the medoids" in page["map"]["about"]
    assert page["border"] is None
    if page["silhouette"] is not None:
        assert "the distances of the model" in page["silhouette"]["about"]


def test_what_has_no_groups_is_refused() -> None:
    with pytest.raises(ArboraError, match="no groups, levels or classes to report"):
        gather(ab.SlotLabelCounts().fit(TREES), TREES)


# ---- trees ----------------------------------------------------------------------------------------------------------


def test_a_drawn_tree_is_the_tree() -> None:
    words = Words()
    for t in range(TREES.n_trees):
        drawing = drawn_tree(TREES, t, words)
        nested = [
            {"label": words.listed[label], **({} if slot < 0 else {"slot": slot})}
            for label, slot in zip(drawing["label"], drawing["slot"], strict=True)
        ]
        for u in range(len(nested) - 1, 0, -1):
            nested[drawing["parent"][u]].setdefault("children", []).insert(0, nested[u])
        assert ab.Forest.from_nested([nested[0]]) == ab.Forest(*TREES[[t]].arrays, TREES.vocabulary)


def test_large_and_deep_trees_are_cut_and_say_so() -> None:
    deep = ab.Forest.from_parents(np.arange(-1, 49_999), ["a"] * 50_000)
    drawing = drawn_tree(deep, 0, Words(), 100)
    assert len(drawing["parent"]) == 100
    assert drawing["hidden"] == 49_900
    assert drawing["below"] == {"99": 49_900}
    star = ab.Forest.from_parents([-1] + [0] * 500, ["a"] * 501)
    assert drawn_tree(star, 0, Words(), 10)["below"] == {"0": 491}


# ---- names, links, numbers ------------------------------------------------------------------------------------------


def test_links_lead_to_files_and_tell_of_no_other_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "my docs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    names = [f"my docs/{x}.xml" for x in "ab"]
    for name in names:
        Path(name).write_text("<a/>")
    assert columns.link_base(names, "my docs/", "report.html") == "./my%20docs/"
    assert columns.link_base(names, "my docs/", "my docs/report.html") == "././"
    os.mkdir("out")
    assert columns.link_base(names, "my docs/", "out/report.html") == "./../my%20docs/"
    assert columns.link_base(names, "my docs/", str(tmp_path / "report.html")) is None  # would tell of "here"
    assert columns.link_base([*names, "gone.xml"], "", "report.html") is None
    whole = [str(tmp_path / "here" / name) for name in names]
    assert columns.link_base(whole, str(tmp_path / "here" / "my docs") + "/", str(tmp_path / "r.html")) is not None
    shown = columns.named(names, "report.html")
    assert shown == {"name": ["a.xml", "b.xml"], "folder": "my docs/", "base": "./my%20docs/", "unlinked": []}
    shown = columns.named(whole, str(tmp_path / "far" / "away" / "r.html"))
    assert shown == {"name": ["a.xml", "b.xml"], "folder": "my docs/", "base": None}
    for page in (columns.named(whole, "r.html"), columns.named(["/a.xml", "/b.xml"], "r.html")):
        assert str(tmp_path) not in str(page)
        assert page["folder"] in ("my docs/", "")


def test_a_report_on_files_links_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkdir("docs")
    for x in range(6):
        Path(f"docs/javascript:{x}.xml").write_text(f"<a>{'<b/>' * (x % 3)}</a>")
    forest = read("docs")
    model = ab.HiddenTreeMixture(2, 2, max_iter=3, tol=0, random_state=0).fit(forest)
    model.report(forest, "r.html")
    page = page_data(Path("r.html").read_text())
    assert page["items"]["base"] == "./docs/"  # so that no name is taken for a scheme
    assert str(tmp_path) not in Path("r.html").read_text()


def test_a_page_of_draws_names_no_absolute_folder(tmp_path: Path) -> None:
    for x in range(6):
        (tmp_path / f"{x}.xml").write_text(f"<a>{'<b/>' * (x % 3)}</a>")
    forest = read(tmp_path)
    assert forest.name is not None
    assert str(tmp_path) in forest.name[0]
    model = ab.InfiniteHiddenTreeMixture(2, n_iter=6, n_start=2, n_chains=1, update="em", random_state=0).fit(forest)
    page = gather(model, forest)
    assert page["posterior"]["levels"][0]["together"]["names"][0] in {f"{x}.xml" for x in range(6)}
    assert str(tmp_path) not in json.dumps(page, default=str)


def test_names_are_shortened_by_bytes() -> None:
    assert columns.shortened("a" * 90) == "a" * 90
    long = columns.shortened("\u4e16" * 80)
    assert len(long.encode()) <= 90
    assert "\u2026" in long
    assert columns.shortened("a\x1b\n\udc80") == "a\\x1b\\n\\udc80"


def test_names_of_classes_are_shortened_wherever_they_stand() -> None:
    names = [f"{c}{'x' * 200}{c}" for c in "ab"]
    forest = ab.datasets.make_random_trees(12, 4, 3, 12, random_state=0).with_target([names[n % 2] for n in range(12)])
    model = ab.TreeClassifier(ab.HiddenTreeMixture(1, 1, max_iter=1, tol=0), "logistic", novelty=None, random_state=0)
    page = gather(model.fit(forest), forest.with_target([names[n // 6] for n in range(12)]))
    assert page["scores"]["mistaken"]
    told = json.dumps({key: page[key] for key in ("group_names", "scores", "groups", "classes", "border")})
    assert "x" * 91 not in told
    assert max(len(name.encode()) for name in page["group_names"]) <= 90


def test_numbers_are_plain() -> None:
    assert columns.rounded([1.0, 0.12345, np.nan, np.inf]) == [1, 0.123, None, None]
    assert columns.figure(float("inf")) is None
    assert columns.figure(123456.0, 3) == 123000
    line = columns.thinned(np.arange(1000.0))
    assert line["step"] == 3
    assert len(line["y"]) == 334


def test_no_text_breaks_out_of_the_page(mixture: ab.HiddenTreeMixture) -> None:
    evil = "</script><!--<script>\u2028\u2029&\x00"
    page = gather(mixture, TREES, Context(told=(evil,), warned=(evil,), command=evil))
    page["title"] = page["kind"] = evil
    page["classes"] = [evil]
    html = render(page)
    assert html.count("<script") == 2
    assert html.count("</script>") == 2
    assert "<!--" not in html
    assert "\u2028" not in html
    assert "\x00" not in html
    assert page_data(html)["classes"] == [evil]


def test_the_manifest_tells_how_to_make_the_page_again(
    mixture: ab.HiddenTreeMixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    told = gather(mixture, TREES, Context(command="arbora cluster x"))["manifest"]
    assert told["command"] == "arbora cluster x"
    assert told["made"] == "1970-01-02 00:00:00 UTC"
    assert told["seed"] == 0
    assert told["fitted_to"] == "the same data"
    assert told["data"]["data_sha256"] == mixture.provenance_["data_sha256"]
    assert {"numpy", "python"} <= set(told["versions"])
    write_report(mixture, TREES, tmp_path / "a.html")
    write_report(mixture, TREES, tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    json.dumps(told)


def test_very_many_trees_and_clusters_stay_small(tmp_path: Path) -> None:
    """Ten thousand trees with long names make less than 2 MB, and so do a hundred clusters."""
    base = make_documents(400, random_state=0)
    few = base[:500]
    model = ab.HiddenTreeMixture(40, 2, max_iter=2, tol=0, random_state=0, init="random").fit(few)
    many = ab.Forest.concat([base] * 5)
    names = [f"a/rather/long/folder-{t % 7}/with/many/parts/and-a-long-name-{t:06d}.xml" for t in range(10_000)]
    many = ab.Forest(*many.arrays, many.vocabulary, many.target, np.array(names))
    model.report(many, tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size < 2_000_000
    page = page_data((tmp_path / "r.html").read_text())
    assert len(page["items"]["name"]) == 10_000
    assert "of 3,000 trees, evenly spread," in page["silhouette"]["about"]


@pytest.mark.filterwarnings("ignore::arbora.errors.UnexplainedTreesWarning")
def test_awkward_trees_have_a_page_too(awkward: ab.Forest) -> None:
    if not awkward.n_trees:
        pytest.skip("no trees, no model")
    model = ab.HiddenTreeMixture(2, 2, max_iter=2, tol=0, random_state=0).fit(awkward)
    html = render(gather(model, awkward))
    assert sum(group["size"] for group in page_data(html)["groups"]) == awkward.n_trees
