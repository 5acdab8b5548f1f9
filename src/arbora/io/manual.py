"""The formats as docs/reading.md has them: ``python -m arbora.io.manual docs/reading.md`` writes them into the page."""

import sys
from pathlib import Path

from .format import Format
from .option_words import default_told, wanted
from .registry import FORMATS

BEGIN = "<!-- The rest is made from the formats: python -m arbora.io.manual docs/reading.md -->"


def section(format: Format) -> str:
    """What the manual says of one format: prose, and a table of options."""
    rows = ["| option | values | default | meaning |", "|---|---|---|---|"]
    for option in format.options:
        cells = (wanted(format.name, option), default_told(format.name, option), option.meaning)
        rows.append(f"| `{option.name}` | {' | '.join(cells)} |")
    suffixes = ", ".join(f"`{suffix}`" for suffix in format.suffixes)
    return "\n".join([f"### {format.name}: {suffixes}", "", format.manual, "", *rows, ""])


def with_formats(page: str) -> str:
    """The page with the part on formats as they are now."""
    before, found, _ = page.partition(BEGIN)
    if not found:
        raise ValueError(f"the page has no line {BEGIN!r}; put it where the formats begin")
    return f"{before}{BEGIN}\n\n" + "\n".join(section(format) for format in FORMATS.values())


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.write_text(with_formats(where.read_text(encoding="utf-8")), encoding="utf-8")
