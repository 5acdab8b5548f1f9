"""The folder that holds what experiments gave, so that a long run can be interrupted and gone on with."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from arbora import __version__
from arbora.errors import ReadError
from arbora.files.container import written_whole

from .judges import judge
from .table import Table, read_tables, row


class Record(NamedTuple):
    """What is known of a finished experiment besides its table."""

    name: str
    title: str
    verdict: str
    quick: bool
    seconds: float  # of processor time
    version: str

    @property
    def command(self) -> str:
        """What one types to run it again."""
        return f"python -m papers {self.name}" + (" --quick" if self.quick else "")


class Outputs:
    """NAME.md, its pictures and their numbers, and NAME.json, which comes last: an experiment that has one is done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, name: str, quick: bool) -> Record | None:
        """The record of an experiment that this version has finished, as quick or as thorough as wanted."""
        record = self._read(name)
        return record if record and record.quick == quick and record.version == __version__ else None

    def _read(self, name: str) -> Record | None:
        try:
            record = Record(**json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None  # never run, or damaged
        return record if (self.folder / f"{name}.md").exists() else None

    def text(self, name: str) -> str:
        """The table of a finished experiment."""
        return (self.folder / f"{name}.md").read_text(encoding="utf-8")

    def runs(self, name: str, quick: bool) -> Path:
        """Where the runs of an experiment are kept until it is finished."""
        return self.folder / f"{name}{'-quick' if quick else ''}.runs"

    def judge_again(self, record: Record) -> Record:
        """Put the verdicts of today into a table that was made before."""
        try:
            table, rest = read_tables(self.text(record.name))
        except ValueError as error:
            raise ReadError(f"{self.folder / record.name}.md: {error}; --again makes it anew") from None
        judge(record.name, table)
        self._write(f"{record.name}.md", f"{table.body()}\n{rest}".encode())
        return self._note(record._replace(verdict=table.verdict))

    def keep(self, name: str, quick: bool, table: Table, seconds: float) -> Record:
        """Judge a table, and write it, its pictures and their numbers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        judge(name, table)
        record = Record(name, table.title, table.verdict, quick, round(seconds, 1), __version__)
        for file, content in table.files().items():
            self._write(file, content)
        self._write(f"{name}.md", table.markdown(record.command, seconds).encode())
        return self._note(record)

    def _note(self, record: Record) -> Record:
        self._write(f"{record.name}.json", (json.dumps(record._asdict(), indent=1) + "\n").encode())
        return record

    def summarise(self, names: Iterable[str]) -> None:
        """Write summary.md: a line for each experiment of which the folder holds the table, and their time together."""
        records = [record for record in map(self._read, names) if record is not None]
        header = ["experiment", "what", "verdict", "processor time"]
        lines = [row(header), row(["---"] * len(header))]
        lines += [row([f"`{r.command}`", r.title, r.verdict or "-", f"{r.seconds:.0f} s"]) for r in records]
        total = sum(r.seconds for r in records)
        lines += ["", f"Together {len(records)} experiments, {total:.0f} s of processor time."]
        self._write("summary.md", "\n".join([*lines, ""]).encode())

    def _write(self, file: str, content: bytes) -> None:
        with written_whole(self.folder / file) as temporary:
            Path(temporary).write_bytes(content)


def as_dict(record: Record) -> dict[str, Any]:
    """A record for JSON, with the command."""
    return {**record._asdict(), "command": record.command}
