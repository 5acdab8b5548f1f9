"""``arbora describe``: what can be copied of each cluster of a saved model."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as opt
from .option_checks import check_there, load_model
from .root import app
from .terminal import Teller, command, print_json, printable, usage


class Only(StrEnum):
    """Artefacts of a cluster."""

    skeleton = "skeleton"
    paths = "paths"
    schema = "schema"


TITLES = {"skeleton": "skeleton", "paths": "paths", "schema": "JSON Schema"}


@app.command(short_help="Print what to copy: skeleton, paths, JSON Schema.")
@command
def describe(
    model: opt.ModelFile,
    paths: opt.Paths,
    held_out: Annotated[
        Path | None,
        typer.Option("--held-out", help="Other trees, to measure coverage on. [default: cross-fitting]"),
    ] = None,
    cluster: Annotated[int | None, typer.Option("--cluster", min=0, help="This cluster alone.")] = None,
    only: Annotated[Only | None, typer.Option("--only", help="This artefact alone; with --cluster, bare.")] = None,
    names: Annotated[
        Path | None,
        typer.Option("--names", metavar="FILE.csv", help="Names for clusters: columns cluster and name."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="All artefacts: .json.")] = None,
    format: opt.FormatOption = None,
    skip_bad: opt.SkipBad = False,
    read: opt.ReadOptions = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Print what can be copied of each cluster: a skeleton, paths that select it, a JSON Schema.

    A model file holds no trees: give those that the model was fitted to, or others. The skeleton has the share of the
    trees that have each node. Paths are conditions in XPath, or in JSONPath for JSON. Each artefact comes with its
    coverage of trees that it was not made from.

    \b
    Examples:
      arbora describe model.arbora corpus/
      arbora describe model.arbora payloads/ --cluster 3 --only schema > schema.json
      arbora describe model.arbora corpus/ --held-out new/ --output artefacts.json
    """
    check_there(model, *paths, *([] if held_out is None else [held_out]))
    from ..artefacts import describe_clusters
    from . import files, reading

    with Teller(quiet).listening() as teller:
        fitted = load_model(model)
        if not {"clusters", "classes"} & fitted.page_parts():
            raise usage("MODEL", f"a {type(fitted).__name__} has no clusters of trees; name a model of trees")
        given = {} if names is None else files.read_names(names)
        inputs = reading.find_like_training(fitted, paths, format, read, teller)
        other_inputs = None
        if held_out is not None:
            other_inputs = reading.find_like_training(fitted, [held_out], format, read, teller)
        others_read = other_inputs.files if other_inputs else []
        reads = [*inputs.files, *others_read, model, names]
        files.check_outputs([files.Output("--output", output, (".json",))], reads)
        forest = reading.read_trees(inputs, skip_bad, None, quiet)
        others = None if other_inputs is None else reading.read_trees(other_inputs, skip_bad, None, quiet)
        with teller.working("looking for what clusters share"):
            labels = _numbered(fitted, forest)
            known = None if others is None else _numbered(fitted, others)
            found = describe_clusters(forest, labels, others, known)
            called = _names(forest, labels) | given
        if cluster is not None:
            found = [one for one in found if one.cluster == cluster]
            if not found:
                raise usage("--cluster", f"no tree is in cluster {cluster}; arbora predict lists where trees are")
        if only is Only.schema and any(one.json_schema is None for one in found):
            raise usage("--only", "a JSON Schema is for trees of JSON documents; these are others")
        records = [{"name": called.get(one.cluster, ""), **one.as_dict()} for one in found]
        if output is not None:
            files.write_text(output, json.dumps(records, indent=2, ensure_ascii=False) + "\n")
            teller.say(f"wrote {output}")
    if as_json:
        print_json(records)
    elif cluster is not None and only is not None:
        typer.echo(_text(found[0], only.value))
    elif output is None:
        for one in found:
            _show(one, called.get(one.cluster, ""), [only.value] if only else list(TITLES))


def _numbered(fitted: Any, forest: Any) -> Any:
    """Numbers of the clusters of the trees; of the classes in their order, for a classifier."""
    import numpy as np

    labels = np.asarray(fitted.predict(forest))
    return labels if labels.dtype.kind in "iu" else np.searchsorted(fitted.classes_, labels)


def _names(forest: Any, labels: Any) -> dict[int, str]:
    from ..models.patterns import name_groups

    return {number: one.name for number, one in enumerate(name_groups(forest, labels))}


def _text(one: Any, what: str) -> str:
    """An artefact as text to copy."""
    if what == "skeleton":
        return "\n".join(printable(line) for line in one.skeleton_text().splitlines())
    if what == "schema":
        return json.dumps(one.json_schema, indent=2, ensure_ascii=True)
    return "\n".join(printable(line) for line in one.paths.expression.splitlines())


def _show(one: Any, name: str, kinds: list[str]) -> None:
    from ..evaluate.wording import counted

    head = f"cluster {one.cluster}" + (f" \u00b7 {printable(name)}" if name else "")
    typer.echo(f"{head}: {counted(one.n_trees, 'tree')}")
    for what in kinds:
        if what == "schema" and one.json_schema is None:
            continue
        typer.echo(f"\n  {TITLES[what]}, {one.coverage_text(what)}")
        for line in _text(one, what).splitlines():
            typer.echo(f"    {line}")
    typer.echo()
