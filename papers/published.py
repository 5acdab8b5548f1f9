"""Figures printed in Bacciu and Castellana 2018 and 2019."""

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

# Figure 8: clusters in use on INEX 2005 in the best setting of each model.
FIGURE8 = {"finite": 4, "infinite": 6}

# What the text says of Figures 8 and 11: classes that share a cluster, by model and by number of states.
FIGURE8_CLASSES = {
    "finite": "{1, 2, 3} {4, 5} {6, 8, 11} {7, 9}",
    "infinite": "{1} {1} {2, 3} {4, 5} {6, 8, 11} {7, 9}",
}
FIGURE11_CLASSES = {2: "{1} {1}", 8: "{1, 2, 3, 4, 5}"}

# Bacciu and Castellana 2018, Table 1: silhouette on synthetic trees with labels at random.
TABLE1_OF_2018 = {
    Row("single", 3, 1): Published(0.01, 0.08),
    Row("single", 5, 1): Published(-0.01, 0.07),
    Row("single", 7, 1): Published(-0.11, 0.08),
    Row("finite", 2, 3): Published(0.18, 0.05),
    Row("finite", 2, 5): Published(0.16, 0.04),
    Row("finite", 2, 7): Published(0.15, 0.03),
    Row("finite", 4, 3): Published(0.15, 0.03),
    Row("finite", 4, 5): Published(0.12, 0.05),
    Row("finite", 4, 7): Published(0.14, 0.01),
    Row("finite", 6, 3): Published(0.14, 0.01),
    Row("finite", 6, 5): Published(0.13, 0.01),
    Row("finite", 6, 7): Published(0.15, 0.03),
}
