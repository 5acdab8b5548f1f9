"""What Bacciu and Castellana 2018 conclude of the input-output tree and the topographic map, beside our errors."""

from .judging import claims, fill, first
from .table import Table
from .verdict import holds

NEAR = 2.0  # points within which errors are comparable


def errors(table: Table) -> None:
    """Errors beside errors, and what the paper says of them in words."""
    fill(table)
    ours = {(row[0].split()[0], row[1]): first(row[3]) for row in table.rows}
    listed = []
    for data in dict.fromkeys(row[1] for row in table.rows):
        transducer, plane, mixture = (ours[name, data] for name in ("input-output", "topographic", "mixture"))
        listed += [
            (
                f"{data}: the input-output tree errs over 2 points more than the mixture",
                f"{transducer:.2f} and {mixture:.2f}",
                holds(transducer - mixture > NEAR),
            ),
            (
                f"{data}: the error of the map is comparable to that of the mixture",
                f"{plane:.2f} and {mixture:.2f}",
                holds(abs(plane - mixture) <= NEAR),
            ),
        ]
    points = [int(first(row[5])) ** 2 for row in table.rows if row[0].startswith("topographic")]
    listed.append(
        (
            "the map takes 400 states where the mixture takes 44 and 72",
            f"{' and '.join(map(str, points))} points; 88 and 144 states (11 and 18 components of 8)",
            holds(min(points) >= 400),
        )
    )
    found = claims(table, listed, [f"Comparable: within {NEAR:g} points."])
    table.verdict = f"{table.verdict}; {found}"
