"""Temporary files: whole files whatever happens, what killed writers left goes, what others write stays."""

import os
import threading
from pathlib import Path

import pytest

from arbora.files.container import written_whole
from arbora.files.temporary import temporary_file
from tests.faults.killing import run_child


def write(path: Path, text: str) -> None:
    with written_whole(path) as temporary:
        Path(temporary).write_text(text)


def killed_while_writing(path: Path) -> None:
    """Leave what a writer leaves that dies before the end."""

    def work() -> None:
        with written_whole(path) as temporary:
            Path(temporary).write_text("half of i")
            os.kill(os.getpid(), 9)

    assert not run_child(work)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_next_writer_takes_over_what_a_killed_one_left(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write(path, "old")
    killed_while_writing(path)
    killed_while_writing(path)
    assert names(tmp_path) == ["a.csv", "a.csv.0.tmp"]  # one, however many were killed
    assert path.read_text() == "old"
    write(path, "n")
    assert names(tmp_path) == ["a.csv"]
    assert path.read_text() == "n"


def test_leftovers_of_several_writers_at_once_all_go(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for number in range(3):
        (tmp_path / f"a.csv.{number}.tmp").write_text("half")
    (tmp_path / "a.csv.txt.0.tmp").write_text("another target's")
    write(path, "new")
    assert names(tmp_path) == ["a.csv", "a.csv.txt.0.tmp"]


def test_a_file_being_written_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with written_whole(path) as first:
        Path(first).write_text("slow")
        write(path, "quick")
        assert path.read_text() == "quick"
        assert names(tmp_path) == ["a.csv", "a.csv.0.tmp"]
    assert path.read_text() == "slow"
    assert names(tmp_path) == ["a.csv"]


def test_failed_writer_removes_its_own_and_keeps_the_old(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write(path, "old")

    def fail_halfway() -> None:
        with written_whole(path) as temporary:
            Path(temporary).write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    assert names(tmp_path) == ["a.csv"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("kind", ["symlink", "hardlink", "folder", "fifo"])
def test_names_taken_by_something_else_are_passed_over(kind: str, tmp_path: Path) -> None:
    path, precious, trap = tmp_path / "a.csv", tmp_path / "precious", tmp_path / "a.csv.0.tmp"
    precious.write_text("precious")
    make = {
        "symlink": lambda: trap.symlink_to(precious),
        "hardlink": lambda: trap.hardlink_to(precious),
        "folder": trap.mkdir,
        "fifo": lambda: os.mkfifo(trap),
    }
    make[kind]()
    write(path, "new")
    assert path.read_text() == "new"
    assert precious.read_text() == "precious"
    assert trap.exists()


def test_many_writers_of_one_target(tmp_path: Path) -> None:
    """Each write is whole, and none steps on another's temporary file."""
    path, failed = tmp_path / "a.txt", []

    def work(letter: str) -> None:
        for _ in range(60):
            try:
                with temporary_file(str(path)) as temporary, open(temporary, "w") as file:
                    for _ in range(50):
                        file.write(letter)
                        file.flush()
                found = path.read_text()
                assert len(found) == 50, found
                assert len(set(found)) == 1, found
            except BaseException as error:  # noqa: BLE001, told below
                failed.append(error)

    threads = [threading.Thread(target=work, args=(letter,)) for letter in "abcdef"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert names(tmp_path) == ["a.txt"]


def test_unwritable_folder_is_told(tmp_path: Path) -> None:
    from arbora import ModelFileError

    with pytest.raises(ModelFileError, match="cannot be written"), written_whole(tmp_path / "none" / "a"):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelFileError, match="cannot be written"):
        write(tmp_path / "folder", "a folder is there")
    assert names(tmp_path) == ["folder"]
