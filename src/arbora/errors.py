"""The errors and warnings Arbora raises; each message says where, what was found, what was wanted, what to do."""

import sys
import warnings


class ArboraError(Exception):
    """Anything Arbora refuses; the command line prints its message without a traceback."""


class ForestError(ArboraError, ValueError):
    """The trees, or the arrays that should describe them, break an invariant of Forest."""


class SettingError(ArboraError, ValueError):
    """A parameter of a model has a value it cannot have."""


class RowsError(ArboraError, ValueError):
    """The rows of an array are none that a model over vectors can take."""


class ReadError(ArboraError, ValueError):
    """A file cannot be read as trees."""


class ModelFileError(ArboraError, ValueError):
    """A saved forest or model is damaged, or of a version that this Arbora does not read."""


class ChainError(ArboraError, RuntimeError):
    """A chain of a sampler cannot start, go on, or be resumed."""


class DataNotFoundError(ArboraError, FileNotFoundError):
    """A data set that Arbora does not ship is not where it is looked for."""


class MissingDependencyError(ArboraError, ImportError):
    """An optional package is needed for this, and is not installed."""


class NotConvergedWarning(UserWarning):
    """The iteration budget ended before the stopping rule was met."""


class ChainsDisagreeWarning(UserWarning):
    """Chains that should have forgotten their starts still differ: run more sweeps, or look at each chain."""


class UnexplainedTreesWarning(UserWarning):
    """Some trees have probability zero under every component."""


class SkippedFilesWarning(UserWarning):
    """Some files could not be read and were left out, as asked."""


class NoveltyUnknownWarning(UserWarning):
    """Classes are too small to hold trees out of each, so novel trees cannot be recognised."""


class ContentWarning(UserWarning):
    """A column of content misleads a model: it has no value, a spike, or decides nearly alone."""


class InexactWarning(UserWarning):
    """A search ended at its budget: what it found is legal, but perhaps not the best."""


class StatesUsedUpWarning(UserWarning):
    """A model that learns its number of hidden states uses all that it may have."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside Arbora that led here, however many of our functions lie between."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "arbora":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
