"""``arbora label-nodes``: outputs at the nodes of trees, learnt from nodes that people annotated."""

from pathlib import Path
from typing import Annotated, Any

import typer

from . import option_checks as checks
from . import options as opt
from .root import app
from .terminal import Teller, command, print_json, usage

N_FOLDS = 3


@app.command("label-nodes", short_help="Give every node an output, learnt from examples.")
@command
def label_nodes(
    paths: opt.Paths,
    known: Annotated[
        Path | None,
        typer.Option("--known", help="Annotated nodes: .csv, .json, .jsonl or .parquet with tree, node and output."),
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", help="Column of content of the trees that holds the known outputs.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="A saved model to label with, in place of learning one.")
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option("--template", help="Write a row per node with an empty output to fill in, and nothing else."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Rows to .csv, .json or .parquet instead of stdout.")
    ] = None,
    save: Annotated[Path | None, typer.Option("--save", help="Keep the model: a file that ends in .arbora.")] = None,
    states: Annotated[
        int | None, typer.Option("--states", min=1, max=1000, help="Hidden states. [default: 8]", show_default=False)
    ] = None,
    max_iter: Annotated[
        int | None,
        typer.Option("--max-iter", min=1, max=10**6, help="Iterations of EM. [default: 30]", show_default=False),
    ] = None,
    seed: opt.Seed = 0,
    format: opt.FormatOption = None,
    skip_bad: opt.SkipBad = False,
    read: opt.ReadOptions = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Give every node of the trees an output, learnt from nodes whose output people gave.

    --template writes a table of all nodes; fill in the column output at some of them, as many or few as you like, and
    give the table back as --known. One row per node: tree, node, label, path from the root, output, its probability,
    and whether it was given. Given outputs also change the probabilities of other nodes of their tree. The share of
    annotated nodes whose output is found with their tree held out follows, beside that of the most frequent output of
    each label. Nodes are numbered from 0 in each tree, children before their parents.

    \b
    Examples:
      arbora label-nodes corpus/ --template nodes.csv
      arbora label-nodes corpus/ --known nodes.csv --output labelled.csv --save roles.arbora
      arbora label-nodes new/ --model roles.arbora --output new.csv
      arbora label-nodes pages.jsonl --column role --output labelled.parquet
    """
    checks.check_there(*paths, *(path for path in (known, model) if path is not None))
    from . import files, reading
    from .annotations import SUFFIXES, read_annotations

    outputs = [
        files.Output("--output", output, files.TABLES),
        files.Output("--template", template, files.TABLES),
        files.Output("--save", save, (".arbora",)),
    ]
    files.check_outputs(outputs, [*paths, known, model])
    _check(known, column, model, template, {"--output": output, "--save": save, "--states": states}, max_iter)
    if known is not None and known.suffix.lower() not in SUFFIXES:
        raise usage("--known", f"{known}: wanted a table that ends in {', '.join(SUFFIXES)}")
    with Teller(quiet).listening() as teller:
        fitted = None if model is None else _load(model)
        inputs = (
            reading.find(paths, format, read)
            if fitted is None
            else reading.find_like_training(fitted, paths, format, read, teller)
        )
        files.check_outputs(outputs, [*inputs.files, known, model])
        forest = reading.read_trees(inputs, skip_bad, None, quiet)
        if template is not None:
            _write_template(template, forest, teller)
            return
        given: Any = column if known is None else read_annotations(known, forest, teller)
        facts: dict[str, Any] = {"n_trees": forest.n_trees, "n_nodes": forest.n_nodes}
        if fitted is None:
            fitted = _new(states, max_iter, seed)
            facts |= _held_out(fitted, forest, given, teller)
            with teller.working("fitting all annotated nodes"):
                fitted.fit(forest, given)
            fitted.provenance_["reading"] = inputs.remembered()
        with teller.working("labelling"):
            columns = _labelled(fitted, forest, given)
        facts |= {"n_known": sum(columns["known"]), "outputs": [str(x) for x in fitted.outputs_.tolist()]}
        if save is not None:
            fitted.save(save)
        if output is not None:
            files.write_table(output, columns)
        written = [str(path) for path in (output, save) if path is not None]
        if written:
            teller.say(f"wrote {', '.join(written)}")
    if as_json:
        print_json(facts if output is not None else files.records(columns))
    elif output is None:
        files.print_csv(columns)
    for line in _lines(facts):
        typer.echo(line) if output is not None and not as_json else teller.say(line)


def _check(
    known: Path | None,
    column: str | None,
    model: Path | None,
    template: Path | None,
    asked: dict[str, Any],
    max_iter: int | None,
) -> None:
    """Refuse options that do not go together."""
    if template is not None:
        checks.refuse(
            checks.given(known=known, column=column, model=model) | {k: v for k, v in asked.items() if v is not None},
            "--template only writes the table to fill in; leave this out",
        )
        return
    if known is not None and column is not None:
        raise usage("--column", "--known names a table of the outputs already; give one of them")
    if model is not None:
        learning = {"--states": asked["--states"], "--max-iter": max_iter, "--save": asked["--save"]}
        checks.refuse(
            {k: v for k, v in learning.items() if v is not None}, "a saved model is not learnt again; leave this out"
        )
        return
    if known is None and column is None:
        raise usage("--known", "nothing to learn from; give --known, --column or --model, or --template to begin with")


def _load(path: Path) -> Any:
    from ..errors import ModelFileError
    from ..models import TreeTransducer

    model = checks.load_model(path)
    if not isinstance(model, TreeTransducer):
        raise ModelFileError(
            f"{path}: a {type(model).__name__} gives nodes no outputs; name one that label-nodes saved"
        )
    return model


def _new(states: int | None, max_iter: int | None, seed: int) -> Any:
    from ..models import TreeTransducer

    return TreeTransducer(random_state=seed, **checks.given(n_states=states, max_iter=max_iter))


def _write_template(path: Path, forest: Any, teller: Teller) -> None:
    from . import files
    from .nodes import label_columns

    files.write_table(path, {**label_columns(forest), "output": [""] * forest.n_nodes})
    teller.say(f"wrote {path}: fill in the column output at some nodes, and give it back by --known")


def _labelled(model: Any, forest: Any, given: Any) -> dict[str, list[Any]]:
    """A row per node."""
    import numpy as np

    from ..models.transducer.node_outputs import known_outputs
    from .nodes import label_columns

    proba = model.predict_proba(forest, given)
    best = proba.argmax(axis=1)
    known = np.zeros(forest.n_nodes, bool) if given is None else known_outputs(given, forest, "label-nodes")[1]
    return {
        **label_columns(forest),
        "output": [str(x) for x in model.outputs_[best].tolist()],
        "probability": proba[np.arange(len(best)), best].tolist(),
        "known": known.tolist(),
    }


def _held_out(model: Any, forest: Any, given: Any, teller: Teller) -> dict[str, Any]:
    """Share of annotated nodes whose output is found by a model that saw no annotation of their tree."""
    import numpy as np
    from sklearn.base import clone

    from ..models.transducer.node_outputs import known_outputs

    values, known = known_outputs(given, forest, "label-nodes")
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
    annotated = np.unique(tree[known])
    if len(annotated) < N_FOLDS:
        teller.say(f"{len(annotated)} trees have annotated nodes: too few to hold some out, so the error is not known")
        return {}
    texts = values.astype(str).astype(object)
    found, plain = texts.copy(), texts.copy()
    fold = np.full(forest.n_trees, -1)
    fold[annotated] = np.random.default_rng(0).permutation(len(annotated)) % N_FOLDS
    for number in range(N_FOLDS):
        with teller.working(f"held-out part {number + 1} of {N_FOLDS}"):
            test = known & (fold[tree] == number)
            learnt = [value if keep else None for value, keep in zip(texts, known & ~test, strict=True)]
            found[test] = clone(model).fit(forest, learnt).predict(forest)[test]
            plain[test] = _most_frequent(forest.label, texts, known & ~test, test)
    right, by_label = (float(np.mean(x[known] == texts[known])) for x in (found, plain))
    return {"n_annotated_trees": len(annotated), "found": right, "found_by_label_alone": by_label}


def _most_frequent(label: Any, texts: Any, learnt: Any, test: Any) -> list[str]:
    """The most frequent output of each node's label, or of all where its label has none."""
    from collections import Counter

    counts: dict[int, Counter[str]] = {}
    for m, text in zip(label[learnt].tolist(), texts[learnt].tolist(), strict=True):
        counts.setdefault(m, Counter())[text] += 1
    every = Counter(texts[learnt].tolist()).most_common(1)[0][0]
    return [counts[m].most_common(1)[0][0] if m in counts else every for m in label[test].tolist()]


def _lines(facts: dict[str, Any]) -> list[str]:
    from ..evaluate.wording import counted

    known = f", {facts['n_known']:,} of them given" if facts["n_known"] else ""
    nodes, trees = counted(facts["n_nodes"], "node"), counted(facts["n_trees"], "tree")
    lines = [f"{nodes} of {trees} labelled{known}; {counted(len(facts['outputs']), 'output')}."]
    if "found" in facts:
        lines.append(
            f"Of annotated nodes, {facts['found']:.1%} have their output found with their tree held out; the most "
            f"frequent output of each label finds {facts['found_by_label_alone']:.1%}."
        )
        if facts["found"] <= facts["found_by_label_alone"]:
            lines.append("The label alone does as well: annotate more nodes, or use a table of labels instead.")
    return lines
