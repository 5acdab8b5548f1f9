"""Real processes: entry point, pipes, terminals, exit codes, Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import arbora
from arbora.datasets import make_documents
from arbora.io import write_jsonl

SOURCE = str(Path(arbora.__file__).parents[1])


def start(*args: object, **more: object) -> subprocess.Popen:
    code = f"import sys; sys.path.insert(0, {SOURCE!r}); from arbora.__main__ import main; main()"
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def start_all(commands: list[tuple[Any, ...]], **more: object) -> subprocess.Popen:
    """Several commands in one process, which ends with the first that fails."""
    code = f"""if True:
        import sys
        sys.path.insert(0, {SOURCE!r})
        from arbora.__main__ import main
        for words in {[[str(word) for word in command] for command in commands]!r}:
            sys.argv = ["arbora", *words]
            try:
                main()
            except SystemExit as end:
                if end.code:
                    sys.exit(f"{{words}}: exit code {{end.code}}")"""
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "trees.jsonl"
    write_jsonl(make_documents(8, random_state=0), path)
    return path


def test_main_prints_results_to_stdout_and_errors_to_stderr(corpus: Path) -> None:
    process = start("info", corpus)
    out, err = process.communicate()
    assert process.returncode == 0
    assert "40, of which" in out
    assert "\x1b" not in out + err  # no colours in a pipe
    process = start("info", "missing.xml")
    out, err = process.communicate()
    assert (process.returncode, out) == (1, "")
    assert err == "arbora: missing.xml: there is no such file; check the path\n"


def test_first_run_says_that_it_compiles(corpus: Path, tmp_path: Path) -> None:
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_DISABLE_JIT": "0"}
    out = tmp_path / "out.jsonl"  # no command compiles less
    first, second = (start("convert", corpus, out, env=env).communicate()[1].splitlines() for _ in range(2))
    assert first == ["compiling what this needs, once on this machine", *second]
    third = start("convert", corpus, out, env={**env, "ARBORA_NO_CACHE": "1"}).communicate()[1].splitlines()
    assert third == ["compiling; ARBORA_NO_CACHE is set", *second]


def test_closed_standard_streams_change_no_file(corpus: Path, tmp_path: Path) -> None:
    """Neither a traceback nor output in the file that would otherwise take the number of a closed stream."""
    code = f"import sys; sys.path.insert(0, {SOURCE!r}); from arbora.__main__ import main; main()"
    files = []
    for name, closed in (("open.jsonl", ""), ("closed.jsonl", "<&- >&- 2>&-"), ("some.jsonl", ">&-")):
        files.append(tmp_path / name)
        words = [sys.executable, "-c", code, "convert", str(corpus), str(files[-1])]
        done = subprocess.run(["/bin/sh", "-c", f'"$@" {closed}', "sh", *words], capture_output=True, text=True)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert len({file.read_bytes() for file in files}) == 1
    words = [sys.executable, "-c", code, "info", "-q", str(corpus)]
    for closed in (">&-", "<&- >&- 2>&-"):
        done = subprocess.run(["/bin/sh", "-c", f'"$@" {closed}', "sh", *words], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "args", [("info", "-q", "CORPUS"), ("info", "-q", "CORPUS", "--json"), ("formats",), ("--help",)]
)
def test_reader_that_has_had_enough(corpus: Path, args: tuple[str, ...]) -> None:
    with start(*(corpus if arg == "CORPUS" else arg for arg in args)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141  # as a shell says of cat


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("args", [("formats",), ("formats", "--json"), ("--help",)])
def test_a_full_disk_behind_stdout_is_told(args: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        env = {**os.environ, "PYTHONPATH": SOURCE}
        command = [sys.executable, "-m", "arbora", *args]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=env)
    assert done.returncode == 1
    assert done.stderr.startswith("arbora: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "module", ["arbora.cli", "typer", "arbora.cli.options", "arbora.cli.reading", "numpy", "numba"]
)
def test_ctrl_c_while_modules_are_imported(corpus: Path, module: str) -> None:
    code = f"""if True:
        import os, signal, sys
        sys.path.insert(0, {SOURCE!r})
        class Press:
            def find_spec(self, name, *_):
                if name == {module!r}:
                    os.kill(os.getpid(), signal.SIGINT)
        sys.meta_path.insert(0, Press())
        from arbora.__main__ import main
        main()"""
    done = subprocess.run([sys.executable, "-c", code, "info", str(corpus)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "arbora: interrupted; no result was written\n"


def test_ctrl_c_in_code_from_a_string_has_the_same_exit_code(tmp_path: Path) -> None:
    """Classes that write their own methods run code from strings; Python would end by the signal after one of these."""
    (tmp_path / "stopped.py").write_text(f"""if True:
        import sys
        sys.path.insert(0, {SOURCE!r})
        from arbora.cli import main
        from arbora.cli.root import app
        from arbora.cli.terminal import command
        @app.command()
        @command
        def stop() -> None:
            exec("raise KeyboardInterrupt")
        main()""")
    done = subprocess.run([sys.executable, "-m", "stopped", "stop"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "arbora: interrupted; no result was written\n")


def test_nothing_slow_is_imported_before_ctrl_c_is_heard() -> None:
    code = "import sys; before = set(sys.modules); import arbora.__main__; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCE}
    )
    assert not set(done.stdout.split()) & {"typing", "typer", "numpy", "arbora.cli", "re"}


@pytest.mark.compiled
def test_ctrl_c_ends_the_fit_and_keeps_it(tmp_path: Path) -> None:
    trees, saved = tmp_path / "trees.jsonl", tmp_path / "m.arbora"
    write_jsonl(make_documents(40, random_state=0), trees)
    # A thread presses Ctrl-C as soon as two iterations are done.
    code = f"""if True:
        import os, signal, sys, threading, time
        sys.path.insert(0, {SOURCE!r})
        def press():
            while True:
                time.sleep(0.002)
                frame = sys._current_frames()[threading.main_thread().ident]
                while frame is not None:
                    if frame.f_code.co_name == "run_em" and len(frame.f_locals.get("history", ())) > 1:
                        return os.kill(os.getpid(), signal.SIGINT)
                    frame = frame.f_back
        threading.Thread(target=press, daemon=True).start()
        from arbora.__main__ import main
        main()"""
    settings = ("--model", "mixture", "-k", 8, "--init", "random", "--max-iter", 10**6, "--tol", 0)
    command = [sys.executable, "-c", code, "cluster", trees, *settings, "--save", saved]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 130
    assert "interrupted" in done.stderr
    assert "Traceback" not in done.stderr
    assert "the fit was interrupted" in done.stdout
    assert 2 <= arbora.load(saved).n_iter_ < 10**6


def test_ctrl_c_waits_until_numba_is_through() -> None:
    from arbora.cli.terminal import Interrupts

    loading: dict[str, object] = {"__name__": "numba.core.codegen", "signal": signal, "time": time}
    exec("def load():\n    signal.raise_signal(signal.SIGINT)\n    time.sleep(0.2)\n    return 'loaded'", loading)  # noqa: S102
    done = []

    def work() -> None:
        done.append(loading["load"]())  # type: ignore[operator]
        time.sleep(5.0)
        done.append("never")

    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["loaded"]
    assert interrupts.heard


@pytest.mark.compiled
def test_text_that_no_encoding_holds(tmp_path: Path) -> None:
    odd = tmp_path / "odd.jsonl"
    line = '{"label":"\\udc80x","class":"\\ud8000","name":"\\ud800","children":[{"label":"b%d"}]}\n'
    odd.write_text("".join(line % (n % 2) for n in range(6)))
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    model = tmp_path / "m.arbora"
    commands: list[tuple[Any, ...]] = [
        ("info", odd),
        ("cluster", odd, "--model", "mixture", "-k", 2, "--save", model, "--output", tmp_path / "c.parquet"),
        ("predict", model, odd),
        ("predict", model, odd, "--json"),
        ("encode", model, odd, "--encoding", "score", "--output", tmp_path / "e.parquet"),
        ("encode", model, odd, "--encoding", "score", "--output", tmp_path / "e.csv"),
    ]
    process = start_all(commands, env=plain)
    err = process.communicate()[1]
    assert process.returncode == 0, err
    process = start("convert", odd, tmp_path / "a.parquet", env=plain)
    assert "half a surrogate, which parquet cannot hold; save it as .forest" in process.communicate()[1]
    assert process.returncode == 1


@pytest.mark.compiled
def test_ctrl_c_in_a_conversion_says_what_is_kept(tmp_path: Path) -> None:
    big, store = tmp_path / "big.jsonl", tmp_path / "big.store"
    write_jsonl(make_documents(20, random_state=0), tmp_path / "some.jsonl")
    big.write_text((tmp_path / "some.jsonl").read_text() * 1000)
    process = start("convert", big, store, "--shard-nodes", 2000)
    while len(list(store.glob("shard-*"))) < 3:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    err = process.communicate()[1]
    assert process.returncode == 130
    assert re.search(r"interrupted; \d+ files of the store are written, and the same command continues", err)
