"""How a number of ours stands to a published one: matches, better, higher, differs."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

NUMBER = r"[-+]?\d+(?:\.\d+)?"
WORDS = ("matches", "better", "higher", "differs", "undefined")
COLLAPSED = r"\d+\*$"  # ends a cell some of whose runs have one cluster only

Wanted = Literal["high", "low", "same"]  # which side of the published number is better


class Interval(NamedTuple):
    """A published number with its spread, as printed."""

    low: float
    high: float
    unit: float  # of the last digit

    @classmethod
    def of(cls, text: str) -> "Interval | None":
        """From "0.12 (0.01)", mean (deviation), "20 to 25 %", or "7.5 %"; None where no number is printed."""
        found = re.match(rf"({NUMBER})(?: \(({NUMBER})\)| to ({NUMBER}))?", text)
        if found is None:
            return None
        first, deviation, last = found.groups()
        unit = 10.0 ** -len(first.partition(".")[2])
        if last:
            return cls(float(first), float(last), unit)
        spread = float(deviation or 0.0)
        return cls(float(first) - spread, float(first) + spread, unit)


def compare(published: str, ours: str, wanted: Wanted = "high", truth: float | None = None) -> str:
    """The verdict on a cell that begins with our mean, beside a published one; empty where either is.

    It matches within the published deviation or range, widened by a unit of its last digit.  Both are taken as printed.
    What lies beyond on the wanted side is better; it is no more than higher where `truth`, the figure of the true
    classes, lies between, or where some runs collapsed.
    """
    there = Interval.of(published)
    if there is None or not ours:
        return ""
    found = re.match(NUMBER, ours)
    if found is None:
        return "undefined"
    here, slack = float(found[0]), there.unit + 1e-9
    if there.low - slack <= here <= there.high + slack:
        return "matches"
    gap = here - (there.low + there.high) / 2
    better = wanted != "same" and (gap > 0) == (wanted == "high")
    doubtful = re.search(COLLAPSED, ours) is not None or (truth is not None and here > truth + there.unit + 1e-9)
    word = ("higher" if doubtful else "better") if better else "differs"
    digits = max(len(x.partition(".")[2]) for x in re.findall(NUMBER, f"{found[0]} {published}")[:2])
    return f"{word} ({gap:+.{digits}f})"


def holds(condition: bool, why: str = "") -> str:
    """The verdict on what is published in words."""
    word = "matches" if condition else "differs"
    return f"{word}: {why}" if why else word


def with_word(word: str, cell: str) -> str:
    """A cell that says why, with the verdict before it in place of an earlier one."""
    why = re.sub(rf"^(?:{'|'.join(WORDS)})(?: \([^)]*\))?(?:: |$)", "", cell)
    return f"{word}: {why}" if word and why else word or why


def tally(verdicts: Iterable[str]) -> str:
    """How many cells have each verdict; those without one do not count."""
    first = [re.split(r"[ :]", words)[0] for words in verdicts if words]
    return ", ".join(f"{word} {first.count(word)}" for word in WORDS if word in first)
