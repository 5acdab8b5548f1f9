"""The journal and the folder of a watcher: cut short, damaged, killed, copied, replayed."""

import json
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest

import arbora as ab
from arbora.errors import ArboraError, ModelFileError
from arbora.files.journal import Journal, read_journal
from arbora.watch.log import JOURNAL, SNAPSHOT, Place, WatchLog, replay
from arbora.watch.watcher import Watcher
from tests.unit.test_watching import fitted, stream


def written(path: Path, n: int = 4) -> list[int]:
    journal = Journal(path)
    ends = [journal.append({"n": i, "text": "é" * i}) for i in range(n)]
    journal.close()
    return ends


def test_a_journal_cut_anywhere_gives_the_records_before(tmp_path: Path) -> None:
    path = tmp_path / "j"
    ends = written(path)
    whole = path.read_bytes()
    assert [entry.record["n"] for entry in read_journal(path)] == [0, 1, 2, 3]
    assert [entry.end for entry in read_journal(path, ends[1])] == ends[2:]
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        found = list(read_journal(path))
        assert [entry.end for entry in found] == [end for end in ends if end <= length]
        journal = Journal(path, found[-1].end if found else 0)
        journal.append({"n": 9})
        journal.close()
        assert [entry.record["n"] for entry in read_journal(path)] == [*range(len(found)), 9]


def test_damage_within_a_journal_raises_and_at_its_end_cuts(tmp_path: Path) -> None:
    path = tmp_path / "j"
    ends = written(path)
    whole = bytearray(path.read_bytes())
    for at in range(len(whole)):
        damaged = whole.copy()
        damaged[at] ^= 1
        path.write_bytes(damaged)
        if at < ends[2]:
            with pytest.raises(ModelFileError, match="damaged"):
                list(read_journal(path))
        else:
            try:
                assert len(list(read_journal(path))) <= 3
            except ModelFileError:
                assert at < ends[2] + 18
    with pytest.raises(ModelFileError, match="it has"):
        list(read_journal(path, 10**6))


def test_a_full_disk_leaves_what_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    journal = Journal(tmp_path / "j")
    journal.append({"n": 0})

    def full(*_: object) -> int:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            journal.append({"n": 1})
    journal.append({"n": 2})
    journal.close()
    assert [entry.record["n"] for entry in read_journal(tmp_path / "j")] == [0, 2]


pytest_compiled = pytest.mark.compiled


@pytest.fixture(scope="module")
def model() -> ab.PatternMixture:
    return fitted()


def fill(log: WatchLog, trees: list[object], size: int = 7) -> None:
    for a in range(0, len(trees), size):
        part = ab.Forest.from_nested(trees[a : a + size])
        names, aside = [f"t{a + i}" for i in range(part.n_trees)], ["bad"] if a == 0 else []
        log.add(log.watcher.read(part), names, aside, [Place("s", a)])


@pytest_compiled
def test_a_folder_is_opened_again_copied_and_replayed(model: ab.PatternMixture, tmp_path: Path) -> None:
    trees = stream(60, 20)
    with WatchLog(tmp_path / "w", Watcher(model, window=9)) as log:
        fill(log, trees)
        wanted = log.watcher.digest()
        with pytest.raises(ArboraError, match="another process"):
            WatchLog(tmp_path / "w")
    shutil.copytree(tmp_path / "w", tmp_path / "copy")
    (tmp_path / "copy" / SNAPSHOT).unlink()
    for folder in ("w", "copy"):
        with WatchLog(tmp_path / folder) as again:
            assert again.watcher.digest() == wanted
            assert (again.n_aside, again.places) == (1, {"s": Place("s", 56)})
    *_, (watcher, _) = replay(tmp_path / "w")
    assert watcher.digest() == wanted
    with pytest.raises(ArboraError, match="lives there"):
        WatchLog(tmp_path / "w", Watcher(model))
    with pytest.raises(ArboraError, match="no watcher"):
        WatchLog(tmp_path / "none")


@pytest_compiled
def test_a_record_that_does_not_fit_the_model_is_refused(model: ab.PatternMixture, tmp_path: Path) -> None:
    with WatchLog(tmp_path / "w", Watcher(model)) as log:
        fill(log, stream(3))
    (tmp_path / "w" / SNAPSHOT).unlink()
    path = tmp_path / "w" / JOURNAL
    record = json.loads(path.read_bytes()[18:])
    record["column"][0] = 10**7
    text = json.dumps(record).encode()
    path.write_bytes(b"%08x %08x %s\n" % (zlib.crc32(text), len(text), text))
    with pytest.raises(ModelFileError, match="does not fit its model"):
        WatchLog(tmp_path / "w")


@pytest_compiled
def test_a_state_that_was_interrupted_is_not_saved(
    model: ab.PatternMixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees = stream(20)
    with WatchLog(tmp_path / "w", Watcher(model)) as log:
        fill(log, trees[:10])
        monkeypatch.setattr(Watcher, "_by_the_fit", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            fill(log, trees[10:], 10)
    monkeypatch.undo()
    other = Watcher(model)
    other.update(trees)
    with WatchLog(tmp_path / "w") as again:  # the record was on the disk
        assert again.watcher.digest() == other.digest()
    assert np.isfinite(again.watcher.state.cloud.weight).all()
