"""What a model of trees keeps of known classes and pairs of its fit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..patterns.constraints import Given, as_arrays


class KnownClasses:
    """Mixin of a mixture of trees whose fit may be given known classes and pairs."""

    labels_: NDArray[np.int64]
    constraints_: dict[str, NDArray[np.int64]]
    provenance_: dict[str, Any]

    def _keep_constraints(self, given: Given | None, n_trees: int) -> None:
        """What was known, for the model file; a fit without it clears that of the fit before."""
        self.__dict__.pop("constraints_", None)
        if given is not None:
            self.constraints_ = as_arrays(given, self.labels_, np.arange(n_trees))
            self.provenance_["known_classes"] = list(given.classes)

    @property
    def class_groups_(self) -> dict[str, int]:
        """Component of each class that was known for some trees of the fit."""
        check_is_fitted(self, "weight_")
        if not hasattr(self, "constraints_"):
            return {}
        return dict(zip(self.provenance_["known_classes"], self.constraints_["class_group"].tolist(), strict=True))
