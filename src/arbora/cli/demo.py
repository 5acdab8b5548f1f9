"""``arbora demo``: documents that come with Arbora, clustered."""

from pathlib import Path
from typing import Annotated

import typer

from .option_checks import command_line
from .options import Json, Quiet, Seed
from .root import app
from .terminal import INTERRUPTED, Teller, command


@app.command(short_help="Cluster 300 example documents of known kinds.")
@command
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results; created if absent.")] = Path(
        "arbora-demo"
    ),
    documents: Annotated[
        Path | None, typer.Option("--documents", help="Also write the documents here, as XML in folders by kind.")
    ] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Cluster 300 example documents, and compare with their known kinds.

    Leaves report.html, clusters.csv, clusters.png and model.arbora in the folder.

    \b
    Examples:
      arbora demo
      arbora demo --output demo-results --seed 1
      arbora demo --documents corpus
    """
    from ..datasets import load_demo
    from ..datasets.documents import write_documents
    from ..errors import ReadError
    from . import files, results, sampled

    with Teller(quiet).listening() as teller:
        if output.exists() and not output.is_dir():
            raise ReadError(f"{output}: this is a file; name a folder with --output")
        files.check_outputs([files.Output("--documents", documents, is_folder=True)], [])
        output.mkdir(parents=True, exist_ok=True)
        picture = output / "clusters.png" if files.has_package("matplotlib") else None
        targets = results.Outputs(output / "clusters.csv", output / "model.arbora", output / "report.html", picture)
        targets.check([], None, False)
        forest = load_demo()
        if documents is not None:
            teller.say(f"{documents}: {write_documents(forest, documents)} documents")
        fitted = sampled.fit_patterns(forest, None, {"random_state": seed}, teller)
        results.tell(forest, fitted, targets, command_line(), as_json, teller)
    if fitted.interrupted:
        raise typer.Exit(INTERRUPTED)
