"""Check that public names are documented in numpydoc's form: ``python docs/check_docstrings.py``.

Every public class and function lists its parameters and what it returns, and shows an example.  Every public method has
a docstring.
"""

import inspect
import sys

from numpydoc.validate import validate

import arbora

# All parameters listed (PR01) and no others (PR02), each described (PR07); a Returns section (RT01); an example (EX01).
CHECKS = {"GL08", "PR01", "PR02", "PR07", "RT01", "EX01"}
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
        methods = inspect.getmembers(found, inspect.isfunction)
        missing += [
            f"{name}.{method}: no docstring"
            for method, function in methods
            if not method.startswith("_") and function.__module__.startswith("arbora") and not function.__doc__
        ]
    return missing


def main() -> int:
    """Print every fault; the exit code is 1 if there is any."""
    missing = [line for name in public_names() for line in faults(name)]
    sys.stdout.write("".join(f"{line}\n" for line in missing))
    return min(len(missing), 1)


if __name__ == "__main__":
    sys.exit(main())
