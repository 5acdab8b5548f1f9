"""What lists the formats by hand, made from them: ``python -m arbora.io.manual`` in a checkout writes it.

These are the part of docs/reading.md on formats, and the imports by which type checkers see the readers.
"""

from pathlib import Path

from .format import Format
from .option_words import default_told, wanted
from .registry import FORMATS, READERS

BEGIN = "<!-- The rest is made from the formats: python -m arbora.io.manual -->"


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


def imports() -> str:
    """Source of `arbora.io.formats`, with an import of every reader for type checkers."""
    lines = [f"    from .{name} import read_{name} as read_{name}\n" for name in READERS]
    return '''"""The formats that trees are read from, a file for each; `arbora.io.registry` finds them."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # what type checkers see, written by arbora.io.manual; names themselves are lazy
''' + "".join(lines)


if __name__ == "__main__":
    package = Path(__file__).parent
    page = package.parents[2] / "docs" / "reading.md"
    page.write_text(with_formats(page.read_text(encoding="utf-8")), encoding="utf-8")
    (package / "formats" / "__init__.py").write_text(imports(), encoding="utf-8")
