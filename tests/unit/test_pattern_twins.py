"""Patterns of one family that the same trees have, drawn into one column: no score may change."""

import numpy as np
import pytest
from scipy import sparse

from arbora.models.patterns import constraints, search
from arbora.models.patterns import marginals as mg
from arbora.models.patterns.kernels import blocks, group_merges, group_sweeps

N, PRIOR = 30, mg.PartitionPrior("dp", 1.5)
STRENGTHS, LABEL = np.array([5.0, 2.0]), np.arange(N) % 4


@pytest.fixture(scope="module")
def whole():
    """Random trees; a third of the patterns have twins, one of them in the other family, where it is none."""
    rng = np.random.default_rng(0)
    presence = (rng.random((N, 12)) < 0.3).astype(float)
    columns = [*range(12), 0, 0, 1, 2, 2, 2, 3]
    family = np.array([0] * 6 + [1] * 6 + [0] * 6 + [1])
    return mg.corpus_of(sparse.csr_array(presence[:, columns]), family, 2)


def values(corpus):
    """What searches and chains ask for."""
    tables = mg.make_tables(corpus, STRENGTHS, 0.8, PRIOR)
    groups = mg.seat(corpus, tables, LABEL)
    cosines = (lambda rows: (rows @ rows.T).toarray())(search.tfidf_rows(corpus))
    given = constraints.read_constraints(None, {"must_link": [(0, 1)], "cannot_link": [(2, 3)]}, N)
    made = constraints.make_blocks(given, corpus.rows, np.arange(N))
    by_block, score = groups._replace(label=groups.label[made.first]), np.empty(4)
    of_blocks = []
    for b in range(5):
        blocks.move_block(made, tables, by_block, b, by_block.label[b], -1)
        blocks.move_block(made, tables, by_block, b, by_block.label[b], 1)
        blocks.score_block(made, tables, by_block, b, 4, score)
        of_blocks.append(score.copy())
    return {
        "posterior": mg.log_posterior(corpus, tables, groups, PRIOR),
        "scores": group_sweeps.score_all(corpus.rows, tables, groups, 5),
        "blocks": np.array(of_blocks),
        "strengths": mg.STRENGTHS[mg.best_strengths(corpus, groups, np.full(2, 20))],
        "cosines": cosines,
        "joined": group_merges.joined_marginal(tables, groups.count, groups.total, 0, 1),
        "merges": group_merges.merge_best(tables, groups, 4, 1, True)[1],
    }


def test_twins_are_one_column_and_change_no_score(whole):
    joined = mg.twins_as_one(whole)
    assert len(joined.share) == 13
    assert joined.times.tolist() == [3.0, 2.0, 4.0, 1.0, *[1.0] * 9]
    assert np.array_equal(joined.rows.size, whole.rows.size)
    ours, wanted, planted = values(joined), values(whole), values(joined._replace(twins=None))
    for name, value in wanted.items():
        np.testing.assert_allclose(ours[name], value, rtol=1e-9, err_msg=name)
        assert not np.allclose(planted[name], value, rtol=1e-6), name


def test_without_twins_nothing_is_drawn_together(whole):
    alone = mg.twins_as_one(mg.twins_as_one(whole)._replace(twins=None))
    assert alone.times.tolist() == [1.0] * 13
    empty = mg.twins_as_one(mg.corpus_of(sparse.csr_array((3, 0)), np.zeros(0, np.int64), 2))
    assert empty.n_trees == 3
    assert len(empty.share) == 0
