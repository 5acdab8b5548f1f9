"""Check that public names are documented in numpydoc's form: ``python docs/check_docstrings.py``.

Every public class and function lists its parameters and what it returns, and shows an example.  Every public method has
a docstring, and lists its parameters if it takes more than data.
"""

import inspect
import re
import sys

from numpydoc.validate import validate

import arbora

# All parameters listed (PR01) and no others (PR02), each described (PR07); a Returns section (RT01); an example (EX01).
CHECKS = {"GL08", "PR01", "PR02", "PR07", "RT01", "EX01"}
DATA = ("self", "cls", "X", "y", "input_features")  # what every estimator takes
MODULES = ("datasets", "plot")
# Need a cluster, files that are not shipped, or eyes; the pages and the gallery show them.
SHOWN_ELSEWHERE = ("arbora.distributed", "arbora.plot.", "arbora.datasets.load_", "arbora.datasets.LabelledRows")


def public_names() -> list[str]:
    """Full names of the public classes and functions."""
    names = [f"arbora.{name}" for name in arbora.__all__]
    for module in MODULES:
        found = vars(__import__(f"arbora.{module}", fromlist=["__all__"]))
        names += [f"arbora.{module}.{name}" for name in found["__all__"] if callable(found[name])]
    return [name for name in names if callable(resolve(name))]


def resolve(name: str) -> object:
    """The object of a full name."""
    found: object = arbora
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def faults(name: str) -> list[str]:
    """What is missing from the docstring of one name and from those of its methods."""
    found = resolve(name)
    if inspect.isclass(found) and issubclass(found, Exception):
        return [] if found.__doc__ else [f"{name}: no docstring"]
    checks = CHECKS - ({"EX01"} if name.startswith(SHOWN_ELSEWHERE) else set())
    missing = [f"{name}: {code} {text}" for code, text in validate(name)["errors"] if code in checks]
    if inspect.isclass(found):
        missing += [fault for method in dir(found) for fault in method_faults(found, method)]
    return missing


def method_faults(kind: type, name: str) -> list[str]:
    """What is missing from the docstring of a public method: its text, or one of its parameters."""
    found = inspect.getattr_static(kind, name)
    function = getattr(found, "__func__", found)
    if name.startswith("_") or not inspect.isfunction(function) or not function.__module__.startswith("arbora"):
        return []
    where = f"{function.__module__}.{function.__qualname__}"
    words = inspect.getdoc(getattr(kind, name))  # its own, or that of the method it overrides
    if not words:
        return [f"{where}: no docstring"]
    taken = [parameter for parameter in inspect.signature(function).parameters if parameter not in DATA]
    listed = "Parameters\n" in words
    if taken and not listed:
        return [f"{where}: no Parameters section"]
    return [f"{where}: {each} is not listed" for each in taken if not re.search(rf"\b{each}\b", words)]


def main() -> int:
    """Print every fault; the exit code is 1 if there is any."""
    missing = sorted({line for name in public_names() for line in faults(name)})
    sys.stdout.write("".join(f"{line}\n" for line in missing))
    return min(len(missing), 1)


if __name__ == "__main__":
    sys.exit(main())
