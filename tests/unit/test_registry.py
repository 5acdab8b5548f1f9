"""One row of the registry makes a model: a toy one is added in a fresh Python and looked for wherever models are."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import arbora
from arbora.models import registry
from arbora.models.type_imports import with_imports

SOURCE = Path(arbora.__file__).parent

TOY = '''
"""Trees by the label of their root: a model as small as can be."""

import numpy as np
from sklearn.base import ClusterMixin

from arbora.models.forest_estimator import ForestEstimator


class RootLabels(ClusterMixin, ForestEstimator):
    """Group trees by the label of their root."""

    _saved = ("vocabulary_", "labels_", "provenance_")

    def __init__(self, n_components: int | None = None, random_state: object = None):
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X, y=None):
        forest = self._check_forest(X)
        self.vocabulary_ = forest.vocabulary
        self.labels_ = self.predict(forest)
        self._record_provenance(forest)
        return self

    def predict(self, X):
        forest = self._in_training_terms(X)
        return np.unique(forest.label[forest.tree_start[1:] - 1], return_inverse=True)[1].astype(np.int64)
'''

SETUP = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("arbora.models.registry", {registry!r})
registry = importlib.util.module_from_spec(spec)
sys.modules["arbora.models.registry"] = registry
spec.loader.exec_module(registry)
registry.MODELS["RootLabels"] = registry.Model(
    "toy", ("clusters",), cluster="roots", about="the label of the root", options=("components",), warm_up=({{}},)
)
import arbora
import arbora.models
arbora.models.__path__.append({folder!r})
"""

LOOK = """
import json
from pathlib import Path
from typer.testing import CliRunner
from arbora.cli import app
from arbora.cli.warmup import _parts

assert "RootLabels" in arbora.__all__ and "RootLabels" in dir(arbora.models)
trees = [("a", ["b"]), ("a", ["b", "c"]), ("d", ["c"])]
model = arbora.RootLabels().fit(trees)
model.save("toy.arbora")
assert type(arbora.load("toy.arbora")) is arbora.RootLabels
assert model.page_parts() == {"clusters"}
assert model.assign(trees).labels.tolist() == [0, 0, 1] and model.assign(trees).proba is None
model.report(trees, "page.html")
assert "3 trees in 2 clusters" in Path("page.html").read_text()
lines = [json.dumps({"label": root, "children": [{"label": "y"}]}) for root in "xz"]
Path("trees.jsonl").write_text("\\n".join(lines))
run = CliRunner().invoke
done = run(app, ["cluster", "--help"], env={"COLUMNS": "200"})
assert "roots: the label of the root." in done.stdout, done.stdout
done = run(app, "cluster trees.jsonl --model roots --report toy.html -o toy.csv --json".split())
assert done.exit_code == 0, (done.output, done.exception)
assert json.loads(done.stdout)["model"] == "RootLabels"
assert [line.split(",")[1] for line in Path("toy.csv").read_text().splitlines()] == ["cluster", "0", "1"]
assert run(app, "cluster trees.jsonl --model roots --states 3".split()).exit_code == 2
_parts()["roots"]()
print("everywhere")
"""


def test_a_toy_model_is_everywhere(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(TOY)
    setup = f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r})\n"
    setup += SETUP.format(registry=str(SOURCE / "models" / "registry.py"), folder=str(tmp_path))
    command = [sys.executable, "-W", "ignore", "-c", setup + LOOK]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == "everywhere\n", done.stderr


@pytest.mark.parametrize("name", registry.MODELS)
def test_rows_name_parts_and_options_that_there_are(name: str) -> None:
    from arbora.cli.cluster import cluster

    row = registry.MODELS[name]
    assert set(row.page) <= set(registry.PARTS)
    assert set(row.options) <= set(cluster.__annotations__)
    kind = getattr(arbora, name)
    assert kind.__name__ == name
    for settings in row.warm_up:
        kind(**settings)
    assert all(hasattr(kind, call) for call in row.warm_calls if row.warm_up)


def test_type_checkers_see_every_model() -> None:
    source = (SOURCE / "models" / "__init__.py").read_text()
    assert with_imports(source) == source, "run python -m arbora.models.type_imports"
    tree = ast.parse(source)
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen - {None} == {*registry.MODELS, *registry.OTHERS}
