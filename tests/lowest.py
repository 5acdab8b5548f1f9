"""Print the lowest versions that pyproject.toml admits, as constraints: every `>=` becomes `==`."""

import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lowest(extras: bool = True) -> list[str]:
    """Constraints of what the package needs, those of its extras included."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    wanted = list(project["dependencies"])
    if extras:
        wanted += [x for name, some in project["optional-dependencies"].items() if name != "all" for x in some]
    return [x.replace(">=", "==") for x in wanted]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lowest()) + "\n")
