"""SQUAREM: the objective never falls, the optima are those of EM, and the steps are fewer where EM is slow."""

import numpy as np
import pytest

import arbora as ab
from arbora.datasets import make_documents
from arbora.inference import em
from arbora.inference.em import Leap, run_em
from arbora.models.hidden_tree import acceleration
from arbora.models.hidden_tree.passes import MixtureParams
from arbora.models.hidden_tree.tree_model import named
from tests.unit.test_content import nested

DENSITY = np.random.default_rng(0).dirichlet(np.full(5, 8.0), 400)  # of 400 data under five known components


def e_step(share):
    joint = DENSITY * share
    total = joint.sum(axis=1)
    return (joint / total[:, None]).sum(axis=0), float(np.log(total).sum())


def straight(before, between, after, longest):
    """Extrapolated shares of components; none where one would not be positive."""
    first, change = between - before, after - 2.0 * between + before
    step = float(np.clip(np.linalg.norm(first) / np.linalg.norm(change), 1.0, longest))
    further = before + 2.0 * step * first + step**2 * change
    return (None if step == 1.0 or further.min() <= 0.0 else further / further.sum()), step


def shares(extrapolate, tol=1e-9):
    """Shares of known components, whose likelihood has one optimum."""
    return run_em(
        np.full(5, 0.2),
        e_step,
        lambda counts, _: counts / counts.sum(),
        lambda share: e_step(share)[1],
        max_iter=20_000,
        tol=tol,
        extrapolate=extrapolate,
    )


def test_the_one_optimum_is_found_in_fewer_steps():
    plain, fast = shares(None), shares(straight)
    assert plain.converged
    assert fast.converged
    assert np.diff(fast.history).min() >= -1e-10  # rounding
    assert fast.history[-1] >= plain.history[-1] - 1e-10  # plain EM ends before it is there
    assert len(fast.history) < len(plain.history) / 4
    np.testing.assert_allclose(shares(None, 1e-13).params, fast.params, atol=1e-3)


def no_safeguard(extrapolate, place, judge, objective):
    """A bug: whatever is further along is kept."""
    (before, longest), params, new = place
    if before is None:
        return None, Leap(params, longest)
    further, _ = extrapolate(before, params, new, longest)
    found = None if further is None else (further, *judge(further))
    return found, Leap(None, 4.0 * longest)


def fits():
    """Models of every kind with their trees."""
    documents, content = make_documents(12, random_state=0), ab.Forest.from_nested(nested(3, 30))
    mixture = {"init": "random", "tol": 0.0, "max_iter": 16, "random_state": 1, "acceleration": "squarem"}
    alone = {name: value for name, value in mixture.items() if name != "init"}
    return {
        "bottom-up": (ab.HiddenTreeMixture(3, 2, **mixture), documents),
        "top-down": (ab.HiddenTreeMixture(3, 2, direction="down", structure="state", **mixture), documents),
        "single": (ab.HiddenTree(3, **alone), documents),
        "renormalised": (ab.HiddenTree(2, absent="renormalised", **alone), documents),
        "content": (ab.HiddenTreeMixture(2, 2, **mixture), content),
        "states": (ab.HiddenTreeMixture(2, "infer", max_states=3, **mixture), documents),
    }


@pytest.mark.filterwarnings("ignore:a component uses all")
@pytest.mark.parametrize("kind", list(fits()))
def test_the_objective_never_falls(monkeypatch, kind):
    model, forest = fits()[kind]
    history = np.array(model.fit(forest).history_)
    assert np.diff(history).min() >= -1e-12 * abs(history[-1])
    plain = model.set_params(acceleration=None).fit(forest).history_
    assert history.tolist() != plain
    np.testing.assert_array_equal(history[:2], plain[:2])  # the first two are those of EM


def test_without_the_safeguard_it_falls(monkeypatch):
    monkeypatch.setattr(em, "_leapt", no_safeguard)
    falls = 0
    for kind in ("bottom-up", "single"):
        model, forest = fits()[kind]
        history = np.array(model.fit(forest).history_)
        falls += np.diff(history).min() < -1e-6 * abs(history[-1])
    assert falls


def test_an_optimum_of_em_stays_where_it_is():
    model, forest = fits()["single"]
    model.set_params(acceleration=None, max_iter=3000, tol=1e-12).fit(forest)
    before = model.emission_prob_.copy()
    model.set_params(acceleration="squarem", warm_start=True, max_iter=12, tol=0.0).fit(forest)
    np.testing.assert_allclose(model.emission_prob_, before, atol=1e-4)
    params = model._fitted_params()
    assert acceleration.extrapolated(model.spec_, params, params, params, 100.0) == (None, 1.0)


@pytest.mark.parametrize("longest", [2.0, 1e6])
def test_extrapolated_parameters_are_parameters(longest):
    model, forest = fits()["content"]
    spec = model.set_params(max_iter=1).fit(forest).spec_
    rng = np.random.default_rng(0)
    drawn = [MixtureParams(rng.dirichlet(np.ones(2)), spec.draw(rng, 2)) for _ in range(2)]
    near = MixtureParams(*(0.5 * (a + b) for a, b in [(drawn[0].weight, drawn[1].weight)]), drawn[1].tree)
    found, step = acceleration.extrapolated(spec, drawn[0], near, drawn[1], longest)
    assert 1.0 <= step <= longest
    if found is None:
        return
    assert found.weight.sum() == pytest.approx(1.0)
    for table, values in zip(named(spec.tables).values(), named(found.tree).values(), strict=True):
        table.check(table.show(values), 2)


def test_another_acceleration_is_refused():
    with pytest.raises(ab.errors.SettingError, match="acceleration='fast'; wanted one of None, 'squarem'"):
        ab.HiddenTree(acceleration="fast").fit(make_documents(2, random_state=0))
