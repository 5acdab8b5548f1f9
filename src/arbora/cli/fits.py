"""How each model is fitted from the command line, by its name for ``--model``."""

from .fitting import fit_mixture, fit_single
from .sampled import fit_grammar, fit_infinite, fit_patterns
from .unions import fit_unions

FITS = {
    "patterns": fit_patterns,
    "grammar": fit_grammar,
    "mixture": fit_mixture,
    "infinite": fit_infinite,
    "single": fit_single,
    "unions": fit_unions,
}
