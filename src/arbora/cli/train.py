"""``arbora train-classifier``: classes of trees learnt from known ones, and how well."""

from pathlib import Path
from typing import Any

from . import class_options as class_opt
from . import options as opt
from .class_options import Encoder, Readout
from .option_checks import check_jobs, check_there, given, refuse
from .root import app
from .terminal import INTERRUPTED, Interrupts, Teller, command, fail, print_json, usage

N_FOLDS = 3  # to estimate the error by, where classes are large enough


@app.command("train-classifier", short_help="Train a classifier of trees, and estimate its error.")
@command
def train_classifier(
    paths: opt.Paths,
    encoder: class_opt.EncoderOption = None,
    readout: class_opt.ReadoutOption = None,
    components: class_opt.ClassComponents = None,
    states: class_opt.ClassStates = None,
    encoding: class_opt.ClassEncoding = None,
    hidden: class_opt.Hidden = None,
    balanced: class_opt.Balanced = False,
    calibrate: class_opt.Calibrate = False,
    folds: class_opt.Folds = None,
    novelty: class_opt.Novelty = 0.01,
    max_iter: class_opt.ClassMaxIter = None,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
    save: class_opt.SaveClassifier = None,
    output: class_opt.HeldOutTable = None,
    format: opt.FormatOption = None,
    skip_bad: opt.SkipBad = False,
    read: opt.ReadOptions = None,
    classes: opt.Classes = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Train a classifier of trees, and estimate its error on held-out trees.

    Classes come with the trees (JSON lines, elastic trees) or from --classes. Every tree is held out once; the saved
    classifier is fitted to all trees. The default is logistic regression on the patterns that trees contain.
    --components, --states, --encoding and --max-iter belong to a mixture of hidden trees, and select it.

    \b
    Examples:
      arbora train-classifier corpus/ --classes folder --save classifier.arbora
      arbora train-classifier trees.jsonl --balanced --calibrate
      arbora train-classifier trees.jsonl --encoder mixture --readout logistic
      arbora train-classifier trees.jsonl -k 22 --states 8 --encoding sum --hidden 20,40,60,80,100
      arbora train-classifier trees.jsonl --readout generative --states 6 --folds 5 --json
    """
    check_there(*paths)
    from . import files, reading, scores

    asked = given(encoding=encoding and encoding.value, hidden=hidden, balanced=balanced or None)
    of_mixture = given(components=components, states=states, max_iter=max_iter, encoding=asked.get("encoding"))
    encoder = _check(encoder, readout, asked, of_mixture)
    sizes = _sizes(hidden)
    if output is not None and folds == 0:
        raise usage("--output", "it holds what held-out trees are given, and --folds 0 holds none out")
    with Teller(quiet).listening() as teller:
        inputs = reading.find(paths, format, read)
        files.check_outputs(
            [files.Output("--save", save, (".arbora",)), files.Output("--output", output, files.TABLES)],
            [*inputs.files, files.table_of(classes)],
        )
        forest = reading.read_trees(inputs, skip_bad, classes, quiet)
        folds = _check_classes(forest, folds, teller)
        mixture = {"n_states": states or 4, "max_iter": max_iter or 200, "n_jobs": check_jobs(jobs)}
        mixture |= given(n_components=components)
        model = _model(forest, encoder, readout, mixture, asked, sizes)
        model.set_params(calibration="temperature" if calibrate else None, novelty=novelty, random_state=seed)
        with Interrupts() as interrupts:
            held = _held_out(model, forest, folds, seed, teller, interrupts)
            with teller.working("fitting all trees"):
                model.fit(forest)
            _go_on(interrupts)
        model.provenance_["reading"] = inputs.remembered()
        _write(model, held, save, output, teller)
    facts: dict[str, Any] = {"n_trees": forest.n_trees, "n_classes": len(model.classes_), "folds": folds}
    if held is not None:
        facts |= scores.class_facts(held["known"], held["class"])
    if as_json:
        print_json({**facts, "provenance": model.provenance_})
    else:
        scores.show_training(facts)


def _check(
    encoder: Encoder | None, readout: Readout | None, asked: dict[str, Any], of_mixture: dict[str, Any]
) -> Encoder | None:
    """Refuse options that encoder or read-out do not have; the encoder, None for a generative classifier."""
    if readout is Readout.generative:
        refuse(
            given(encoder=encoder) | asked,
            "a generative classifier has none; leave this out, or choose another --readout",
        )
        return None
    if encoder is Encoder.patterns:
        refuse(of_mixture, "patterns have none; leave this out, or use --encoder mixture")
    if encoder is None:
        encoder = Encoder.mixture if of_mixture else Encoder.patterns
    if "hidden" in asked and (readout or _own_readout(encoder)) is Readout.logistic:
        raise usage("--hidden", "logistic regression has no hidden units; leave this out, or use --readout mlp")
    return encoder


def _own_readout(encoder: Encoder | None) -> Readout:
    """The read-out that goes with an encoder unless another is asked for."""
    return Readout.logistic if encoder is Encoder.patterns else Readout.mlp


def _sizes(hidden: str | None) -> list[int]:
    try:
        sizes = [int(part) for part in (hidden or "100").split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise usage("--hidden", f"{hidden!r}; wanted a whole number of 1 or more, or several separated by commas")
    return sizes


def _check_classes(forest: Any, folds: int | None, teller: Teller) -> int:
    """Into how many parts the trees are split; every class must have a tree in each."""
    from ..errors import ReadError
    from ..evaluate.wording import counted

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


def _model(
    forest: Any,
    encoder: Encoder | None,
    readout: Readout | None,
    mixture: dict[str, Any],
    asked: dict[str, Any],
    sizes: list[int],
) -> Any:
    """The classifier that was asked for, not fitted."""
    from ..models import GenerativeTreeClassifier, HiddenTree, HiddenTreeMixture, TreeClassifier

    if readout is Readout.generative:
        if mixture.get("n_components", 1) > 1:
            return GenerativeTreeClassifier(HiddenTreeMixture(**mixture))
        return GenerativeTreeClassifier(HiddenTree(**{k: v for k, v in mixture.items() if k != "n_components"}))
    units = sizes[0] if len(sizes) == 1 else tuple(sizes)
    weight = "balanced" if "balanced" in asked else None
    given = None
    if encoder is Encoder.mixture:
        n_components = 2 * len(set(forest.target.tolist()))
        encoding = asked.get("encoding", "score")
        given = HiddenTreeMixture(**{"n_components": n_components, "encoding": encoding, **mixture})
    name = "auto" if readout is None else readout.value
    return TreeClassifier(given, name, hidden_units=units, class_weight=weight)


def _held_out(
    model: Any, forest: Any, folds: int, seed: int, teller: Teller, interrupts: Interrupts
) -> dict[str, list[Any]] | None:
    """The class each tree is given by a classifier that has not seen it."""
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    from ..evaluate.summary import tree_names
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
        raise fail("interrupted; no result was written", INTERRUPTED)


def _write(
    model: Any, held: dict[str, list[Any]] | None, save: Path | None, output: Path | None, teller: Teller
) -> None:
    from . import files

    if held is not None and output is not None:
        files.write_table(output, {"name": held["name"], "class": held["class"], "known": held["known"]})
    if save is not None:
        model.save(save)
    written = [str(path) for path in (output, save) if path is not None]
    if written:
        teller.say(f"wrote {', '.join(written)}")
