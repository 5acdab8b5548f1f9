"""Checkpoints of chains: files from which an interrupted chain continues; arrays and JSON, no pickle.

A checkpoint of chain k is ``chain-k.arbora-chain`` (the current state) and part files, each with what was kept of a run
of sweeps.  A part is named after its sweeps and is written before the first state that needs it, so the state on disk
always finds all its parts, whole.  Chains are deterministic: files of the same name are equal.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ChainError, ModelFileError
from ..files.container import Arrays, read_container, write_container
from .records import Record, pack_draws, put, take
from .schedules import Schedule, Seed, generator_state

VERSION = 1  # of both kinds of file


class Stored(NamedTuple):
    """What a checkpoint gives back."""

    record: Record
    generator: dict[str, Any]
    state: Arrays


class Checkpoint:
    """The files of one chain in a folder; `settings` must be those of the run that wrote them."""

    def __init__(self, folder: Path, chain: int, settings: Mapping[str, Any]) -> None:
        self.folder, self.chain, self.settings = folder, chain, dict(settings)
        self.path = folder / f"chain-{chain}.arbora-chain"
        self.ends = [0]  # sweeps at which a part ends and the next begins

    def _part(self, start: int, end: int) -> Path:
        return self.folder / f"chain-{self.chain}.{start:08d}-{end:08d}.arbora-part"

    def n_sweeps(self) -> int:
        """How far the stored chain has come."""
        return int(self._header()[0]["ends"][-1]) if self.path.exists() else 0

    def read(self) -> Stored | None:
        """The chain as it was last written, or None if it never was."""
        for left in self.folder.glob(f"chain-{self.chain}.*.tmp"):  # by a run killed as it wrote
            left.unlink(missing_ok=True)
        if not self.path.exists():
            return None
        header, arrays = self._header()
        record = Record()
        for start, end in pairwise(header["ends"]):
            record.extend(self._read(self._part(start, end), "chain part")[1], end - start)
        self.ends = list(header["ends"])
        return Stored(record, header["generator"], take(arrays, "state"))

    def write(self, record: Record, rng: np.random.Generator, state: Mapping[str, Any]) -> None:
        """Store the chain; what earlier parts hold is not written again."""
        start, end = self.ends[-1], record.n_sweeps
        if end > start:
            kept = Schedule(self.settings["burn_in"], self.settings["thin"]).n_kept(start)
            arrays = put("info", {name: np.array(values[start:end]) for name, values in record.info.items()})
            arrays |= put("draws", pack_draws({name: draws[kept:] for name, draws in record.draws.items()}))
            write_container(self._part(start, end), "chain part", VERSION, {}, arrays)
        ends = [*self.ends, end] if end > start else self.ends
        header = {"settings": self.settings, "ends": ends, "generator": generator_state(rng)}
        write_container(self.path, "chain", VERSION, header, put("state", state))
        self.ends = ends

    def _header(self) -> tuple[dict[str, Any], Arrays]:
        header, arrays = self._read(self.path, "chain")
        for name, now in self.settings.items():
            before = header["settings"].get(name)
            if before != now:
                raise ChainError(
                    f"{self.path}: this checkpoint was made with {name}={before!r}, not {now!r}; "
                    f"ask for the same {name}, or give another folder"
                )
        return header, arrays

    def _read(self, path: Path, kind: str) -> tuple[dict[str, Any], Arrays]:
        try:
            version, header, arrays = read_container(path, kind)
        except ModelFileError as error:
            raise ChainError(
                f"{path}: the checkpoint is damaged, incomplete or not of Arbora; "
                f"delete {self.path.name} to start chain {self.chain} again, or give another folder"
            ) from error
        if version != VERSION:
            raise ChainError(f"{path}: checkpoint version {version}, wanted {VERSION}; resume it with its own Arbora")
        return header, arrays


def stored_seed(folder: Path) -> Seed | None:
    """The seed of the chains stored in a folder, if there are any."""
    for path in sorted(folder.glob("chain-*.arbora-chain")):
        number = path.name.split(".")[0].removeprefix("chain-")
        if number.isdigit():
            return Seed.from_json(Checkpoint(folder, int(number), {})._header()[0]["settings"]["seed"])
    return None
