"""The drawing of docs/design.md holds: a room imports only from the rooms below it."""

import ast
from pathlib import Path

import arbora

SOURCE = Path(arbora.__file__).parent
# From the bottom up; rooms of one line do not import each other.
LAYERS = (
    ("errors",),
    ("frames", "jit", "notebook", "progress", "seeds"),
    ("files",),
    ("inference",),
    ("forest",),
    ("evaluate", "io"),
    ("models",),
    ("models.patterns",),
    ("models.bhmc", "models.edit", "models.gaussian", "models.grammar", "models.hidden_tree"),
    ("models.transducer", "artefacts"),
    ("models.classifiers", "models.unions"),
    ("models.translation",),
    ("datasets", "watch"),
    ("plot",),
    ("report",),
    ("cli",),
)
RANK = {room: rank for rank, layer in enumerate(LAYERS) for room in layer}
# Upward imports inside functions: methods that draw or write a page, and the loader, which finds a model by its name.
LAZY = {("models", "report"), ("models.unions", "plot"), ("forest", "io")}


def room_of(module: tuple[str, ...]) -> str:
    """The room of a module given by its parts below the package."""
    if module[:1] == ("models",) and len(module) > 1 and (SOURCE / "models" / module[1]).is_dir():
        return f"models.{module[1]}"
    return module[0] if module else "arbora"


def imports() -> list[tuple[str, str, bool, str]]:
    """(room, imported room, whether at the top of the module, where) of every relative import."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        package = parts[:-1]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        typing_only = {
            id(node)
            for block in ast.walk(tree)
            if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
            for node in ast.walk(block)
        }
        for node in ast.walk(tree):
            if id(node) in typing_only or not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            base = (*package[: len(package) + 1 - node.level], *(node.module or "").split("."))
            base = tuple(part for part in base if part)
            for alias in node.names:
                target = base if base else (alias.name,)
                if target == ("models",) and (SOURCE / "models" / alias.name).is_dir():
                    target = ("models", alias.name)
                mine = room_of(parts if len(parts) > 1 else (parts[0],))
                found.append((mine, room_of(target), node.col_offset == 0, f"{path.name}:{node.lineno}"))
    return found


def test_rooms_import_downwards_only() -> None:
    wrong = []
    for mine, other, at_top, where in imports():
        if mine == other or "__init__" in (mine, other) or other not in RANK or mine not in RANK:
            continue
        if RANK[other] >= RANK[mine] and (at_top or (mine, other) not in LAZY):
            wrong.append(f"{mine} imports {other} ({where})")
    assert not wrong


def test_every_room_is_drawn() -> None:
    rooms = {
        room_of(path.relative_to(SOURCE).parts)
        for path in SOURCE.rglob("*.py")
        if len(path.relative_to(SOURCE).parts) > 1
    }
    assert rooms <= set(RANK)
