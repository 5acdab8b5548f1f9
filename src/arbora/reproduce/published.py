"""Figures printed in paper 000, and those of the prototype that came before this library."""

from typing import Literal, NamedTuple


class Row(NamedTuple):
    """A line of a table: a model, its hidden states, and its components (finite) or Dirichlet parameter (infinite)."""

    model: Literal["single", "finite", "infinite"]
    n_states: int
    size: float

    @property
    def name(self) -> str:
        """How the tables call it."""
        if self.model == "single":
            return "single"
        return f"{self.size:g} components" if self.model == "finite" else f"alpha {self.size:g}"


class Published(NamedTuple):
    """Mean and standard deviation of five runs."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.deviation:.2f})"


# Table 1: silhouette on the synthetic trees.
TABLE1 = {
    Row("single", 3, 1): Published(0.03, 0.00),
    Row("single", 5, 1): Published(-0.02, 0.03),
    Row("single", 7, 1): Published(-0.08, 0.02),
    Row("finite", 2, 3): Published(0.41, 0.01),
    Row("finite", 2, 5): Published(0.43, 0.03),
    Row("finite", 2, 7): Published(0.46, 0.05),
    Row("finite", 4, 3): Published(0.45, 0.05),
    Row("finite", 4, 5): Published(0.47, 0.08),
    Row("finite", 4, 7): Published(0.47, 0.05),
    Row("finite", 6, 3): Published(0.46, 0.05),
    Row("finite", 6, 5): Published(0.45, 0.05),
    Row("finite", 6, 7): Published(0.47, 0.06),
    Row("infinite", 2, 1.0): Published(0.36, 0.23),
    Row("infinite", 2, 1.5): Published(0.45, 0.08),
    Row("infinite", 2, 2.0): Published(0.45, 0.07),
    Row("infinite", 4, 1.0): Published(0.43, 0.08),
    Row("infinite", 4, 1.5): Published(0.51, 0.00),
    Row("infinite", 4, 2.0): Published(0.51, 0.00),
    Row("infinite", 8, 1.0): Published(0.33, 0.00),
    Row("infinite", 8, 1.5): Published(0.51, 0.00),
    Row("infinite", 8, 2.0): Published(0.51, 0.00),
}

# Table 2: silhouette on INEX 2005.
TABLE2 = {
    Row("finite", 2, 6): Published(0.12, 0.01),
    Row("finite", 2, 11): Published(0.13, 0.07),
    Row("finite", 2, 22): Published(0.20, 0.04),
    Row("finite", 4, 6): Published(0.13, 0.09),
    Row("finite", 4, 11): Published(0.17, 0.02),
    Row("finite", 4, 22): Published(0.15, 0.02),
    Row("finite", 8, 6): Published(0.08, 0.00),
    Row("finite", 8, 11): Published(0.11, 0.05),
    Row("finite", 8, 22): Published(0.17, 0.06),
    Row("infinite", 2, 1.0): Published(0.15, 0.02),
    Row("infinite", 2, 1.2): Published(0.15, 0.05),
    Row("infinite", 2, 1.5): Published(0.19, 0.02),
    Row("infinite", 2, 2.0): Published(0.21, 0.04),
    Row("infinite", 4, 1.0): Published(0.07, 0.04),
    Row("infinite", 4, 1.2): Published(0.20, 0.04),
    Row("infinite", 4, 1.5): Published(0.16, 0.07),
    Row("infinite", 4, 2.0): Published(0.18, 0.03),
    Row("infinite", 8, 1.0): Published(0.05, 0.10),
    Row("infinite", 8, 1.2): Published(0.15, 0.05),
    Row("infinite", 8, 1.5): Published(0.13, 0.02),
    Row("infinite", 8, 2.0): Published(0.15, 0.06),
}

# Table 3: clusters in use on INEX 2005.
TABLE3 = {
    Row("finite", 2, 6): Published(1.60, 0.55),
    Row("finite", 2, 11): Published(2.00, 0.71),
    Row("finite", 2, 22): Published(3.40, 0.55),
    Row("finite", 4, 6): Published(2.00, 1.00),
    Row("finite", 4, 11): Published(2.20, 0.84),
    Row("finite", 4, 22): Published(1.80, 0.45),
    Row("finite", 8, 6): Published(1.20, 0.45),
    Row("finite", 8, 11): Published(2.00, 0.00),
    Row("finite", 8, 22): Published(2.80, 0.45),
    Row("infinite", 2, 1.0): Published(44.20, 14.79),
    Row("infinite", 2, 1.2): Published(33.00, 13.69),
    Row("infinite", 2, 1.5): Published(8.80, 3.11),
    Row("infinite", 2, 2.0): Published(4.60, 1.95),
    Row("infinite", 4, 1.0): Published(23.80, 26.36),
    Row("infinite", 4, 1.2): Published(11.60, 4.83),
    Row("infinite", 4, 1.5): Published(3.20, 1.30),
    Row("infinite", 4, 2.0): Published(2.40, 1.67),
    Row("infinite", 8, 1.0): Published(45.80, 35.81),
    Row("infinite", 8, 1.2): Published(5.80, 3.03),
    Row("infinite", 8, 1.5): Published(2.40, 0.55),
    Row("infinite", 8, 2.0): Published(1.80, 0.84),
}

# The prototype's Table 1, in the order of the paper's: silhouette, deviation, adjusted Rand index and, if any, the
# number of runs with one cluster only.  The authors' procedure on their file; then the readings slot, literal, bottom,
# renormalised and bottom + branching, all on trees of our generator.
_PROTOTYPE1 = """
0.07 0.00 0.06 | 0.06 0.00 0.05 | 0.05 0.02 0.04 1 | 0.06 0.00 0.04 1 | 0.07 0.00 0.06 1 | 0.06 0.00 0.04 1
0.01 0.04 0.05 | -0.02 0.03 0.05 | 0.06 0.06 0.13 | 0.02 0.03 0.05 | 0.04 0.03 0.10 | 0.01 0.05 0.04
-0.01 0.02 0.05 | -0.05 0.04 0.04 | -0.04 0.05 0.08 | -0.03 0.03 0.05 | -0.05 0.03 0.08 | -0.06 0.05 0.04
0.48 0.03 0.83 | 0.50 0.01 0.95 | 0.51 0.00 1.00 | 0.21 0.06 0.48 | 0.17 0.06 0.49 | 0.37 0.10 0.59
0.38 0.06 0.89 | 0.36 0.08 0.88 | 0.51 0.00 1.00 | 0.21 0.06 0.48 | 0.20 0.07 0.49 | 0.39 0.07 0.90
0.32 0.10 0.84 | 0.32 0.12 0.85 | 0.34 0.12 0.93 | 0.09 0.10 0.46 | 0.17 0.06 0.48 | 0.41 0.05 0.88
0.52 0.00 0.99 | 0.46 0.09 0.91 | 0.51 0.00 0.99 | 0.18 0.11 0.48 | 0.21 0.10 0.54 | 0.50 0.00 0.96
0.38 0.10 0.91 | 0.38 0.01 0.93 | 0.42 0.14 0.96 | 0.20 0.07 0.55 | 0.10 0.07 0.44 | 0.42 0.07 0.84
0.37 0.09 0.89 | 0.27 0.08 0.92 | 0.27 0.11 0.96 | 0.10 0.05 0.44 | 0.16 0.17 0.55 | 0.40 0.12 0.94
0.50 0.04 0.90 | 0.51 0.00 0.99 | 0.51 0.00 1.00 | 0.26 0.05 0.46 | 0.18 0.03 0.45 | 0.49 0.04 0.89
0.32 0.06 0.83 | 0.37 0.08 0.88 | 0.41 0.06 0.96 | 0.09 0.08 0.41 | 0.14 0.08 0.51 | 0.42 0.12 0.93
0.27 0.02 0.84 | 0.26 0.09 0.91 | 0.34 0.07 0.90 | 0.11 0.12 0.49 | -0.05 0.14 0.43 | 0.32 0.07 0.88
0.42 0.06 0.85 | 0.43 0.06 0.94 | 0.49 0.04 0.71 1 | 0.21 0.07 0.19 2 | 0.25 0.00 0.19 3 | 0.40 0.05 0.82
0.48 0.06 0.94 | 0.47 0.04 0.94 | 0.51 0.00 1.00 | 0.22 0.06 0.40 | 0.23 0.03 0.31 1 | 0.50 0.00 0.95
0.49 0.04 0.87 | 0.49 0.04 0.90 | 0.51 0.00 1.00 | 0.25 0.00 0.29 2 | 0.26 0.00 0.30 2 | 0.50 0.01 0.95
0.45 0.06 0.86 | 0.48 0.05 0.97 | 0.47 0.08 0.97 | 0.22 0.02 0.30 1 | 0.34 0.04 0.41 1 | 0.40 0.05 0.85
0.49 0.04 0.70 1 | 0.47 0.05 0.82 | 0.49 0.04 0.91 | 0.22 0.00 0.27 2 | 0.29 0.09 0.48 | 0.49 0.04 0.89
0.52 0.00 0.79 1 | 0.49 0.04 0.90 | 0.47 0.05 0.82 | 0.21 0.01 0.25 2 | 0.29 0.11 0.25 2 | 0.50 0.01 0.95
0.47 0.05 0.68 1 | 0.37 0.02 0.73 1 | 0.48 0.06 0.99 | 0.19 0.08 0.43 | 0.35 0.04 0.49 | 0.46 0.06 0.90
0.50 0.04 0.90 | 0.44 0.05 0.42 2 | 0.51 0.00 1.00 | 0.23 0.01 0.36 1 | 0.30 0.10 0.39 1 | 0.46 0.05 0.61 1
0.49 0.04 0.70 1 | 0.48 0.04 0.70 1 | 0.49 0.04 0.91 | 0.21 0.02 0.24 2 | 0.28 0.08 0.25 2 | 0.50 0.00 0.96
"""


def prototype1(row: Row) -> list[str]:
    """Cells of the prototype's Table 1, as ours are written."""
    lines = dict(zip(TABLE1, _PROTOTYPE1.strip().splitlines(), strict=True))
    return [_cell(*cell.split()) for cell in lines[row].split("|")]


def _cell(silhouette: str, deviation: str, ari: str, n_collapsed: str = "") -> str:
    return f"{silhouette} ({deviation}) / {ari}" + (f" {n_collapsed}*" if n_collapsed else "")
