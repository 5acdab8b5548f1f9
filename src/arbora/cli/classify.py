"""``arbora train-classifier`` and ``arbora classify``: classes of trees learnt from known ones, and how well."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as opt
from .commands import app
from .tell import INTERRUPTED, Interrupts, Teller, command, fail, print_json, usage

N_FOLDS = 3  # to estimate the error by, where classes are large enough


class Readout(StrEnum):
    """Ways to tell classes apart."""

    mlp = "mlp"
    logistic = "logistic"
    generative = "generative"


Components = Annotated[
    int | None,
    typer.Option(
        "--components",
        "-k",
        min=1,
        show_default=False,
        help="Components of the mixture, or of that of each class. [default: two for each class; generative: 1]",
    ),
]


@app.command("train-classifier")
@command
def train_classifier(
    paths: opt.Paths,
    readout: Annotated[
        Readout,
        typer.Option(
            "--readout",
            help="What tells classes apart: mlp, a neural network on the codes of a mixture; logistic, logistic "
            "regression on them; generative, a model of the trees of each class.",
        ),
    ] = Readout.mlp,
    components: Components = None,
    states: Annotated[int, typer.Option("--states", min=1, help="Hidden states of each component.")] = 4,
    encoding: Annotated[
        opt.Encoding | None,
        typer.Option("--encoding", help="How the mixture encodes trees. [default: score]", show_default=False),
    ] = None,
    hidden: Annotated[
        str | None,
        typer.Option(
            "--hidden",
            metavar="N[,N...]",
            help="Hidden units of the network; of several, the best by cross-validation. [default: 100]",
            show_default=False,
        ),
    ] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Let all classes weigh the same, however many trees they have.")
    ] = False,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Make probabilities as sure as held-out trees justify; takes longer.")
    ] = False,
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds",
            min=0,
            show_default=False,
            help="Parts held out in turn to estimate the error; 0 for no estimate. [default: 3, or fewer if a class "
            "has fewer trees]",
        ),
    ] = None,
    novelty: Annotated[
        float,
        typer.Option(
            "--novelty",
            min=0.0,
            max=1.0,
            help="classify flags trees more surprising than all but this share of the training trees.",
        ),
    ] = 0.01,
    max_iter: Annotated[int, typer.Option("--max-iter", min=1, help="Most iterations of EM.")] = 200,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
    save: Annotated[Path | None, typer.Option("--save", help="The fitted classifier: .arbora.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Class given to each tree when held out: .csv, .json or .parquet."),
    ] = None,
    format: opt.FormatOption = None,
    skip_bad: opt.SkipBad = False,
    read: opt.ReadOptions = None,
    classes: opt.Classes = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Learn to tell classes of trees apart, and say how well it works on trees held out.

    Classes come with the trees (JSON lines, elastic trees) or from --classes. Every tree is held out once; the
    classifier that is saved has seen them all.

    \b
    Examples:
      arbora train-classifier corpus/ --classes folder --save classifier.arbora
      arbora train-classifier trees.jsonl --readout logistic --balanced --calibrate
      arbora train-classifier trees.jsonl -k 22 --states 8 --encoding sum --hidden 20,40,60,80,100
      arbora train-classifier trees.jsonl --readout generative --states 6 --folds 5 --json
    """
    from . import files, reading, scores

    if readout is Readout.generative:
        for option, given in (("--encoding", encoding), ("--hidden", hidden), ("--balanced", balanced or None)):
            if given is not None:
                raise usage(option, "a generative classifier has none; leave this out, or choose another --readout")
    if readout is Readout.logistic and hidden is not None:
        raise usage("--hidden", "logistic regression has no hidden units; leave this out, or use --readout mlp")
    if output is not None and folds == 0:
        raise usage("--output", "it holds what held-out trees are given, and --folds 0 holds none out")
    sizes = _sizes(hidden)
    with Teller(quiet).listening() as teller:
        inputs = reading.find(paths, format, read)
        files.check_output("--save", save, (".arbora",), inputs.files)
        files.check_output("--output", output, files.TABLES, inputs.files)
        forest = reading.read_trees(inputs, skip_bad, classes, quiet)
        folds = _check_classes(forest, folds, teller)
        settings = {"max_iter": max_iter, "n_jobs": opt.check_jobs(jobs)}
        if readout is Readout.generative:
            model = _generative(components, states, settings)
        else:
            found = encoding.value if encoding is not None else "score"
            model = _neural(forest, readout.value, components, states, found, sizes, settings)
            model.set_params(class_weight="balanced" if balanced else None)
        model.set_params(calibration="temperature" if calibrate else None, novelty=novelty, random_state=seed)
        with Interrupts() as interrupts:
            held = _held_out(model, forest, folds, seed, teller, interrupts)
            with teller.working("fitting all trees"):
                model.fit(forest)
            _go_on(interrupts)
        model.provenance_["reading"] = inputs.remembered()
        facts: dict[str, Any] = {"n_trees": forest.n_trees, "n_classes": len(model.classes_), "folds": folds}
        if held is not None:
            facts |= scores.class_facts(held["known"], held["class"])
            if output is not None:
                files.write_table(output, {"name": held["name"], "class": held["class"], "known": held["known"]})
        if save is not None:
            model.save(save)
        written = [str(path) for path in (output, save) if path is not None]
        if written:
            teller.say(f"wrote {', '.join(written)}")
    if as_json:
        print_json({**facts, "provenance": model.provenance_})
    else:
        scores.show_training(facts)


@app.command()
@command
def classify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A classifier that train-classifier --save wrote.")],
    paths: opt.Paths,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Rows to .csv, .json or .parquet instead of stdout.")
    ] = None,
    novelty: Annotated[
        float | None,
        typer.Option(
            "--novelty",
            min=0.0,
            max=1.0,
            help="Flag trees more surprising than all but this share of the training trees. [default: the model's]",
            show_default=False,
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="One page on all that was found: .html.")] = None,
    format: opt.FormatOption = None,
    skip_bad: opt.SkipBad = False,
    read: opt.ReadOptions = None,
    classes: opt.Classes = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Give new trees their classes, and flag trees unlike any seen in training.

    A row a tree: class, its probability, how many of its nodes have a label never seen, whether the tree is novel, and
    its surprise in nats a node. If classes are known, a confusion matrix and scores of each class follow, with
    --output on stdout and else on stderr. Files are read as those of the training were, unless --format or --read say
    otherwise.

    \b
    Examples:
      arbora classify classifier.arbora new/ --output new.csv
      arbora classify classifier.arbora test/ --classes folder --output test.csv --report test.html
      arbora classify classifier.arbora new.jsonl --json
    """
    from . import files, reading, scores

    with Teller(quiet).listening() as teller:
        fitted = load_classifier(model)
        if novelty is not None:
            if not len(fitted.surprise_quantiles_):
                raise usage(
                    "--novelty", "this classifier cannot tell novel trees; train it with 3 or more of each class"
                )
            fitted.set_params(novelty=novelty)
        inputs = reading.find_like_training(fitted, paths, format, read, teller)
        files.check_output("--output", output, files.TABLES, [*inputs.files, model])
        files.check_output("--report", report, (".html",), [*inputs.files, model])
        files.check_distinct({"--output": output, "--report": report})
        forest = reading.read_trees(inputs, skip_bad, classes, quiet)
        with teller.working("classifying"):
            columns = classified(fitted, forest)
        if report is not None:
            from ..report import write_report

            write_report(fitted, forest, report, command=opt.command_line())
            teller.say(f"wrote {report}")
        facts = _classified_facts(columns, [str(name) for name in fitted.classes_.tolist()])
        if output is not None:
            files.write_table(output, columns)
            teller.say(f"wrote {output}")
    if output is not None:
        if as_json:
            print_json(facts)
        else:
            scores.show_classified(facts)
        return
    if as_json:
        print_json(files.records(columns))
    else:
        typer.echo(files.csv_text(columns), nl=False)
    for line in scores.remarks(facts):
        teller.say(line)


# ---- training -------------------------------------------------------------------------------------------------------


def _sizes(hidden: str | None) -> list[int]:
    try:
        sizes = [int(part) for part in (hidden or "100").split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise usage("--hidden", f"{hidden!r}; wanted a whole number of 1 or more, or several with commas between")
    return sizes


def _check_classes(forest: Any, folds: int | None, teller: Teller) -> int:
    """Into how many parts the trees are split; every class must have a tree in each."""
    from ..errors import ReadError
    from ..summary import counted

    if forest.target is None:
        raise ReadError("the classes of these trees are not known; name them by --classes folder or --classes FILE.csv")
    count: dict[Any, int] = {}
    for name in forest.target.tolist():
        count[name] = count.get(name, 0) + 1
    if len(count) < 2:
        raise ReadError(f"all trees are of the class {next(iter(count))}; wanted two classes or more")
    name, n = min(count.items(), key=lambda item: item[1])
    if folds is None:
        folds = min(N_FOLDS, n) if n > 1 else 0
        if n < N_FOLDS:
            told = f"{folds} parts are held out in turn" if folds else "no tree is held out to estimate the error"
            teller.say(f"the class {name} has {counted(n, 'tree')}, so {told}")
    elif folds == 1 or folds > n:
        some = {1: "", 2: "2, or "}.get(n, f"2 to {n}, or ")
        raise usage("--folds", f"{folds}; the class {name} has {counted(n, 'tree')}: wanted {some}0 for no estimate")
    return folds


def _neural(
    forest: Any,
    readout: str,
    components: int | None,
    states: int,
    encoding: str,
    sizes: Sequence[int],
    settings: Mapping[str, Any],
) -> Any:
    from ..models import HiddenTreeMixture, TreeClassifier

    n_classes = len(set(forest.target.tolist()))
    encoder = HiddenTreeMixture(components or 2 * n_classes, states, encoding=encoding, **settings)
    return TreeClassifier(encoder, readout, hidden_units=sizes[0] if len(sizes) == 1 else tuple(sizes))


def _generative(components: int | None, states: int, settings: Mapping[str, Any]) -> Any:
    from ..models import GenerativeTreeClassifier, HiddenTree, HiddenTreeMixture

    if components is None or components == 1:
        return GenerativeTreeClassifier(HiddenTree(states, **settings))
    return GenerativeTreeClassifier(HiddenTreeMixture(components, states, **settings))


def _held_out(
    model: Any, forest: Any, folds: int, seed: int, teller: Teller, interrupts: Interrupts
) -> dict[str, list[Any]] | None:
    """The class each tree is given by a classifier that has not seen it."""
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    from ..summary import tree_names
    from .files import encodable

    if not folds:
        return None
    target = np.asarray(forest.target).astype(str)
    found = np.empty(len(target), object)
    split = StratifiedKFold(folds, shuffle=True, random_state=seed).split(target, target)
    for number, (train, test) in enumerate(split, 1):
        with teller.working(f"held-out part {number} of {folds}"):
            fitted = clone(model).set_params(novelty=None).fit(forest.take(train))
            found[test] = fitted.predict(forest.take(test)).astype(str)
        _go_on(interrupts)
    return {
        "name": [encodable(name) for name in tree_names(forest)],
        "class": found.tolist(),
        "known": target.tolist(),
    }


def _go_on(interrupts: Interrupts) -> None:
    """End if Ctrl-C came: a fit that was cut short is no classifier."""
    if interrupts.heard:
        raise fail("interrupted; nothing was written", INTERRUPTED)


# ---- classifying ----------------------------------------------------------------------------------------------------


def load_classifier(path: Path) -> Any:
    """The classifier of a file, or a word on what the file holds instead."""
    from ..errors import ModelFileError

    model = opt.load_model(path)
    if not hasattr(model, "classes_"):
        raise ModelFileError(f"{path}: this is no classifier; arbora predict assigns trees to its clusters")
    return model


def classified(model: Any, forest: Any) -> dict[str, list[Any]]:
    """Columns about each tree: class, probability, whether it is novel, surprise, nodes with labels never seen."""
    import numpy as np

    from ..forest import UNSEEN
    from ..summary import tree_names
    from .files import encodable

    forest = forest.with_vocabulary(model.vocabulary_)
    probability = model.predict_proba(forest)
    best = probability.argmax(axis=1)
    columns: dict[str, list[Any]] = {
        "name": [encodable(name) for name in tree_names(forest)],
        "class": [str(name) for name in model.classes_[best].tolist()],
        "probability": probability[np.arange(len(best)), best].tolist(),
        "nodes_with_unseen_label": np.add.reduceat(
            (forest.label == UNSEEN).astype(np.int64), forest.tree_start[:-1]
        ).tolist(),
    }
    if len(model.surprise_quantiles_) and model.novelty is not None:
        columns |= {"novel": model.is_novel(forest).tolist(), "surprise": model.surprise(forest).tolist()}
    if forest.target is not None:
        columns["known"] = [str(name) for name in forest.target.tolist()]
    return columns


def _classified_facts(columns: Mapping[str, Sequence[Any]], known: Sequence[str]) -> dict[str, Any]:
    from .scores import class_facts

    facts: dict[str, Any] = {
        "n_trees": len(columns["name"]),
        "sizes": {name: columns["class"].count(name) for name in known},
        "n_novel": sum(columns["novel"]) if "novel" in columns else None,
        "n_nodes_with_unseen_label": sum(columns["nodes_with_unseen_label"]),
    }
    if "known" in columns:
        facts |= class_facts(columns["known"], columns["class"])
        facts["classes_never_trained"] = sorted(set(columns["known"]) - set(known))
    return facts
