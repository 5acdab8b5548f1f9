"""What the base install promises: several chains, compared and reported, without one optional package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import arbora

SOURCE = Path(arbora.__file__).parent
BLOCKED = ["matplotlib", "dask", "distributed", "pyarrow", "networkx", "pandas", "xarray", "arviz", "polars"]
pytestmark = pytest.mark.compiled

# As if nothing optional were installed, whatever is.
BLOCK = f"""
import sys
sys.path.insert(0, {str(SOURCE.parent)!r})
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
"""


def run(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + code], capture_output=True, text=True, check=False, cwd=folder, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_chains_are_fitted_compared_and_reported(tmp_path: Path) -> None:
    code = """
import warnings
import arbora as ab
from arbora.datasets import make_asymmetric_trees, make_bananas
warnings.simplefilter("ignore", ab.errors.ChainsDisagreeWarning)
trees = make_asymmetric_trees(4, random_state=0)
model = ab.InfiniteHiddenTreeMixture(2, n_chains=2, n_iter=10, random_state=0).fit(trees)
print(model.chain_report().verdict)
model.report(trees, "page.html")
rows = make_bananas(10, random_state=0)[0]
print(ab.DPGaussianMixture(n_chains=2, n_iter=10, random_state=0).fit(rows).chain_report().verdict)
"""
    told = run(code, tmp_path).splitlines()
    assert len(told) == 2
    assert all("chain" in line for line in told)
    assert "R-hat" in (tmp_path / "page.html").read_text()


def test_the_command_of_the_first_page_runs(tmp_path: Path) -> None:
    code = """
import arbora
from arbora.io import write_jsonl
write_jsonl(arbora.datasets.make_asymmetric_trees(4, random_state=0), "trees.jsonl")
from arbora.cli import main
sys.argv = ["arbora", *"cluster trees.jsonl --model infinite --chains 2 --sweeps 10 --seed 0 --json".split()]
main()
"""
    assert '"chains": ' in run(code, tmp_path)
