"""Stores that grow, and models that meet labels which their first trees did not have."""

import numpy as np
import pytest

import arbora as ab
from arbora.errors import ForestError, ModelFileError

OLD = [("m", ["b", "z"]), "b", ("m", ["z"])]
NEW = [("m", ["a", "b"]), ("q", ["a"])]


@pytest.fixture
def store(tmp_path):
    return ab.ForestStore.write(OLD, tmp_path / "trees.store", shard_nodes=3)


def test_new_labels_come_last(store):
    grown = store.append(NEW, shard_nodes=3)
    assert store.vocabulary == ("b", "m", "z")
    assert grown.vocabulary == ("b", "m", "z", "a", "q")
    assert list(grown) == list(ab.Forest.from_nested([*OLD, *NEW]))
    assert list(store) == list(ab.Forest.from_nested(OLD))  # which keeps to what it opened
    assert [entry.file for entry in grown.entries[: len(store.entries)]] == [entry.file for entry in store.entries]
    assert grown.n_unseen() == 0
    assert grown.with_vocabulary(store.vocabulary).n_unseen() == 3
    again = grown.append(ab.Forest.from_nested(["r"]))
    assert again.vocabulary[-1] == "r"
    assert again.n_trees == 6
    assert ab.ForestStore(store.path).sha256 == again.sha256


def test_names_classes_and_columns_must_go_with_those_that_are_there(tmp_path):
    first = ab.Forest.from_nested(OLD, target=["x", "y", "x"], name=["1", "2", "3"])
    store = ab.ForestStore.write(first.with_content({"n": np.arange(6.0)}), tmp_path / "s.store")
    named = ab.Forest.from_nested(NEW, target=["x", "z"], name=["4", "5"])
    for bad, said in [
        (ab.Forest.from_nested(NEW), "some of the trees have a name and some have none"),
        (ab.Forest.from_nested(NEW, target=[1, 2], name=["4", "5"]), "the classes are of another kind"),
    ]:
        with pytest.raises(ForestError, match=said):
            store.append(bad)
        assert ab.ForestStore(store.path).sha256 == store.sha256
    grown = store.append(named)
    assert grown.target.tolist() == ["x", "y", "x", "x", "z"]
    assert grown.name.tolist() == ["1", "2", "3", "4", "5"]
    assert grown.to_forest().content["n"].missing.sum() == 5  # of the new nodes


def test_one_writer_at_a_time_and_an_empty_store(store, tmp_path):
    from arbora.forest.store_writing import lock_folder

    lock = lock_folder(store.path)
    with pytest.raises(ModelFileError, match="somebody else is writing"):
        store.append(NEW)
    lock.close()
    empty = ab.ForestStore.write([], tmp_path / "empty.store")
    assert list(empty.append(NEW)) == list(ab.Forest.from_nested(NEW))


def test_models_go_on_with_what_they_learnt(store, caplog):
    model = ab.HiddenTreeMixture(2, 2, random_state=0).partial_fit(store)
    grown = store.append(NEW)
    model.partial_fit(grown.with_vocabulary(store.vocabulary))  # as it was
    assert model.vocabulary_ == store.vocabulary
    model.partial_fit(grown)
    assert model.vocabulary_ == grown.vocabulary
    assert model.n_batches_ == 3
    assert "never seen" not in caplog.text
    assert model.predict(grown).shape == (5,)
    wide = ab.HiddenTreeMixture(2, 2, random_state=0).partial_fit(store.with_vocabulary([*store.vocabulary, "a", "q"]))
    caplog.clear()
    wide.partial_fit(grown)
    assert wide.vocabulary_ == grown.vocabulary
    assert "never seen" not in caplog.text
