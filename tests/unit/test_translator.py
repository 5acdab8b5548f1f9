"""Trees of other shapes: the conditional mixture against plain sums, its gate, its draws and its files."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

import arbora as ab
from arbora.errors import ForestError, NotConvergedWarning, SettingError
from arbora.models.translation import choosing
from arbora.models.translation import gate as gt
from tests.reference import top_down as twin

INPUTS = [("list", ["item", "item"]), ("page", ["text"]), ("page", ["text", "text"])] * 8
OUTPUTS = [("ul", ["li", ("li", ["a"])]), "p", ("p", ["b"])] * 8

pytestmark = pytest.mark.filterwarnings("ignore::arbora.errors.NotConvergedWarning")


def small(**settings):
    usual = {"n_components": 2, "n_states": 2, "max_iter": 5, "n_draws": 8, "random_state": 0}
    return ab.TreeTranslator(**{**usual, **settings})


@pytest.fixture(scope="module")
def model():
    return small(max_iter=30).fit(INPUTS, OUTPUTS)


def nodes_of(forest, t):
    """A tree as the twin takes it."""
    lo, hi = forest.tree_start[t : t + 2]
    rows = zip(forest.parent[lo:hi], forest.slot[lo:hi], forest.label[lo:hi], strict=True)
    return [(int(p) - lo if p >= 0 else -1, int(s), int(m)) for p, s, m in rows]


def by_plain_sums(model, inputs, outputs):
    """log sum_k P(k | input) P(output | k), states summed over one by one."""
    inner, found = model.outputs_, []
    odds = np.asarray(model.encoder_.transform(inputs) @ model.gate_weight_.T) + model.gate_bias_
    forest = ab.Forest.from_nested(outputs).with_vocabulary(inner.vocabulary_)
    for t, share in enumerate(softmax(odds, axis=1)):
        total = Fraction(0)
        for k in range(len(share)):
            tables = ("root_prob_", "transition_prob_", "emission_prob_", "branching_prob_")
            theta = twin.exact(twin.Theta(*(getattr(inner, name)[k] for name in tables)))
            total += Fraction(float(share[k])) * twin.enumerate_tree(nodes_of(forest, t), theta).prob
        found.append(np.log(float(total)))
    return found


def test_log_probabilities_are_sums_over_components_and_states(model):
    inputs, outputs = [*INPUTS[:3], ("list", ["text"]), ("new", ["item"])], [*OUTPUTS[:3], ("ul", ["li"]), ("p", ["i"])]
    wanted = by_plain_sums(model, inputs, outputs)
    np.testing.assert_allclose(model.score_samples(inputs, outputs), wanted, rtol=1e-12)
    assert model.score(inputs, outputs) == pytest.approx(np.mean(wanted))
    proba = model.predict_proba(inputs)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    swapped = model.gate_bias_[::-1].copy()
    other = small(max_iter=30).fit(INPUTS, OUTPUTS)
    other.gate_bias_ = swapped  # planted: the constants of other components
    assert np.abs(other.score_samples(inputs, outputs) - wanted).max() > 1e-3


def test_the_gate_climbs_by_the_slope_of_its_objective():
    rng = np.random.default_rng(0)
    codes, resp = sparse.random_array((12, 5), density=0.5, rng=rng).tocsr(), rng.random((12, 3))
    gate = gt.Gate(rng.normal(size=(3, 5)), rng.normal(size=3))
    value, slope = gt.objective(gate, codes, resp, 0.3)
    for part, mine in enumerate(slope):
        for at in np.ndindex(mine.shape):
            moved = [x.copy() for x in gate]
            moved[part][at] += 1e-6
            up = gt.objective(gt.Gate(*moved), codes, resp, 0.3)[0]
            assert (up - value) / 1e-6 == pytest.approx(mine[at], abs=2e-4)
    better = gt.improved(gate, codes, resp, 0.3)
    assert gt.objective(better, codes, resp, 0.3)[0] > value
    dense = gt.improved(gate, codes.toarray(), resp, 0.3)
    np.testing.assert_allclose(dense.weight, better.weight, atol=1e-5)
    for _ in range(5):
        better = gt.improved(better, codes, resp, 0.3)
    flat = gt.objective(better, codes, resp, 0.3)[1]
    assert max(np.abs(x).max() for x in flat) < 1e-3


def test_fewer_numbers_per_row_lead_to_the_same_gate():
    rng = np.random.default_rng(0)
    codes, resp = sparse.random_array((9, 40), density=0.3, rng=rng).tocsr(), rng.random((9, 3))
    for rows in (codes, codes.toarray()):
        turned, gates = gt.turned(rows), []
        assert turned.codes.shape[1] <= 9
        for some in (rows, turned.codes):
            gate = gt.even(np.full(3, 1 / 3), some.shape[1])
            for _ in range(30):
                gate = gt.improved(gate, some, resp, 0.3)
            gates.append(gate)
        np.testing.assert_allclose(turned.weight(gates[1].weight, rows), gates[0].weight, atol=1e-4)
        np.testing.assert_allclose(gt.log_proba(gates[1], turned.codes), gt.log_proba(gates[0], rows), atol=1e-4)
    assert gt.turned(codes.T.tocsr()).back is None


def test_em_never_falls_and_weights_count_pairs_twice():
    rng = np.random.default_rng(1)
    shapes = ["a", ("a", ["b"]), ("b", ["a", "c"]), ("c", [("a", ["b"]), "b"])]
    x, y = ([shapes[i] for i in rng.integers(4, size=30)] for _ in range(2))
    for decay in (0.01, 1.0):
        fit = ab.TreeTranslator(3, 2, decay=decay, max_iter=25, tol=0, random_state=0).fit(x, y)
        assert np.diff(fit.history_).min() >= -1e-9 * abs(fit.history_[-1])
    weight = rng.integers(1, 3, size=30)
    rows = np.repeat(np.arange(30), weight)
    weighted = small(encoder=ab.TreePatterns(), tol=0).fit(x, y, sample_weight=weight)
    encoder = weighted.encoder_
    assert weighted.outputs_.weight_.sum() == pytest.approx(1.0)
    repeated = small(encoder=ab.TreePatterns(), tol=0).fit([x[i] for i in rows], [y[i] for i in rows])
    assert repeated.history_[0] == pytest.approx(weighted.history_[0], rel=0.05)  # other codes and starts
    assert encoder.vocabulary_ == repeated.encoder_.vocabulary_


def test_outputs_follow_inputs_and_not_where_pairs_are_mixed(model):
    assert [next(iter(model.predict([x])))["label"] for x in INPUTS[:2]] == ["ul", "p"]
    alone = ab.HiddenTreeMixture(2, 2, direction="down", structure="state", random_state=0).fit(OUTPUTS)
    assert model.score(INPUTS, OUTPUTS) > alone.score(OUTPUTS) + 0.4
    order = np.random.default_rng(0).permutation(len(INPUTS))
    mixed = small(max_iter=30, decay=10.0).fit(INPUTS, [OUTPUTS[i] for i in order])
    assert mixed.score(INPUTS, [OUTPUTS[i] for i in order]) < alone.score(OUTPUTS) + 0.3


def test_draws_come_as_often_as_they_are_probable(model):
    drawn = model.sample([INPUTS[1]] * 4000, random_state=0)
    names = np.array([repr(tree) for tree in drawn])
    for tree in ("p", ("p", ["b"])):
        mine = repr(next(iter(ab.Forest.from_nested([tree]))))
        share, wanted = np.mean(names == mine), np.exp(model.score_samples([INPUTS[1]], [tree])[0])
        assert wanted > 0.02
        assert abs(share - wanted) < 4 * np.sqrt(wanted / 4000)
    again = model.sample([INPUTS[1]] * 4000, random_state=0)
    assert again == drawn
    assert np.array_equal(again.target, drawn.target)


def test_the_tree_chosen_has_the_least_expected_distance(model):
    draws = ab.Forest.from_nested(["a", ("a", ["b"]), ("c", ["b", "b"]), "a"]).with_target([0, 0, 1, 1])
    risk = choosing.risks(draws, 2)
    trees = list(draws)
    for i, one in enumerate(trees):
        for k, members in enumerate(([0, 1], [2, 3])):
            wanted = np.mean([ab.edit_distance(one, trees[j]) for j in members])
            assert risk[i, k] == pytest.approx(wanted)
    proba = np.array([[1.0, 0.0], [0.1, 0.9]])
    for row, best in zip(proba, choosing.best_draws(risk, proba), strict=True):
        assert best == min(range(4), key=lambda i: (risk[i] @ row, i))
    assert model.predict(INPUTS) == model.predict(INPUTS)
    assert len(model.predict([])) == 0


def test_labels_may_be_missing_or_new(model):
    missing = small().fit([("a", [None]), "b"] * 6, [("c", [None]), "d"] * 6)
    assert np.isfinite(missing.score_samples([(None, ["x"])], [("zebra", [None])])).all()
    blank = model.score_samples([INPUTS[1]] * 3, ["zebra", None, "p"])
    assert blank[0] == pytest.approx(blank[1])  # of any label
    assert blank[0] > blank[2]


def test_outputs_with_content_are_drawn_with_it():
    outputs = ab.Forest.from_nested(OUTPUTS)
    outputs = outputs.with_content({"size": outputs.label + np.arange(outputs.n_nodes) / 100})
    fit = small().fit(INPUTS, outputs)
    assert np.isfinite(fit.score_samples(INPUTS, outputs)).all()
    assert "size" in fit.sample(INPUTS[:4], random_state=0).content


def test_stores_and_threads_do_not_change_the_result(tmp_path):
    x, y = ab.Forest.from_nested(INPUTS), ab.Forest.from_nested(OUTPUTS)
    stores = [ab.ForestStore.write(f, tmp_path / name, shard_nodes=9) for f, name in ((x, "x"), (y, "y"))]
    whole, stored = small().fit(x, y), small(n_jobs=2).fit(*stores)
    np.testing.assert_allclose(stored.history_, whole.history_, rtol=1e-7)
    np.testing.assert_allclose(stored.score_samples(*stores), whole.score_samples(x, y), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(stored.predict_proba(stores[0]), whole.predict_proba(x), atol=1e-4)


def test_dask_gives_the_same_bits(tmp_path):
    dask = pytest.importorskip("distributed")
    stores = [
        ab.ForestStore.write(ab.Forest.from_nested(trees), tmp_path / name, shard_nodes=9)
        for trees, name in ((INPUTS, "x"), (OUTPUTS, "y"))
    ]
    alone = small().fit(*stores)
    with (
        dask.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        dask.Client(cluster) as client,
        ab.distributed(client),
    ):
        far = small().fit(*stores)
        scores = far.score_samples(*stores)
    assert far.history_ == alone.history_
    assert np.array_equal(far.gate_weight_, alone.gate_weight_)
    assert np.array_equal(scores, alone.score_samples(*stores))


def test_codes_of_a_mixture_and_given_encoders(tmp_path):
    for encoder in ("mixture", ab.TreePatterns(("labels",)), ab.HiddenTreeMixture(2, 2, max_iter=3, random_state=0)):
        fit = small(encoder=encoder, n_draws=3).fit(INPUTS, OUTPUTS)
        fit.save(tmp_path / "m.arbora")
        loaded = ab.load(tmp_path / "m.arbora")
        assert np.array_equal(loaded.predict_proba(INPUTS), fit.predict_proba(INPUTS))
        assert type(loaded.encoder) is type(encoder)


def test_wrong_pairs_and_settings_are_refused():
    for settings in ({"decay": 0}, {"n_draws": 0}, {"max_iter": 0}, {"tol": -1}, {"n_states": 0}, {"prior": 0.5}):
        with pytest.raises(SettingError, match=next(iter(settings))):
            small(**settings).fit(INPUTS, OUTPUTS)
    with pytest.raises(SettingError, match="n_components"):
        small(n_components=0).fit(INPUTS, OUTPUTS)
    with pytest.raises(SettingError, match="encoder"):
        small(encoder=3).fit(INPUTS, OUTPUTS)
    with pytest.raises(ForestError, match="no output trees"):
        small().fit(INPUTS)
    with pytest.raises(ForestError, match="24 input trees and 3 output trees"):
        small().fit(INPUTS, OUTPUTS[:3])
    with pytest.raises(ForestError, match="1 input trees and 2 output trees"):
        small().fit(INPUTS, OUTPUTS).score_samples(INPUTS[:1], OUTPUTS[:2])
    with pytest.warns(NotConvergedWarning, match="max_iter=1"):
        small(max_iter=1).fit(INPUTS, OUTPUTS)


def test_forged_files_are_refused(model):
    header, arrays = model._pack()
    for name, wrong in (
        ("gate_weight_", arrays["gate_weight_"][:, 1:]),
        ("gate_bias_", arrays["gate_bias_"] * np.nan),
        ("outputs.weight_", arrays["outputs.weight_"] * 2),
    ):
        with pytest.raises(ValueError, match=r"gate|weight"):
            ab.TreeTranslator(**header["params"])._restore(header, {**arrays, name: wrong})
    for part, wrong in (("outputs", "encoder"), ("encoder", "outputs")):
        swapped = {**header, part: header[wrong]}
        own = {key: x for key, x in arrays.items() if not key.startswith(f"{part}.")}
        own |= {key.replace(wrong, part, 1): x for key, x in arrays.items() if key.startswith(f"{wrong}.")}
        with pytest.raises(ValueError, match=r"encodes no trees|other labels|no mixture|gate"):
            ab.TreeTranslator(**header["params"])._restore(swapped, own)
