"""``arbora cluster``: which model, with which settings, and what it leaves."""

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..models.registry import MODELS, typed
from . import options as opt
from .option_checks import check_jobs, check_there, command_line, given, refuse
from .root import app
from .terminal import INTERRUPTED, Teller, command, usage

# Options, by the names of their parameters, that a model has; of several, ``auto`` takes the first.
OPTIONS = {name: MODELS[model].options for name, model in typed("cluster").items()}
WITH_CHAINS = ("auto", *(name for name in OPTIONS if "chains" in OPTIONS[name]))  # their checkpoint is a folder
AUTO = opt.Kind["auto"]
NOT_OF_MODELS = ("components", "memory", "scheduler")
NAMES = {"states": "n_states", "sweeps": "n_iter", "chains": "n_chains"}  # of the models, where they are others
ClusterNames = Annotated[
    Path | None,
    typer.Option(
        "--names",
        metavar="FILE.csv",
        help="Names for clusters, in place of those made from patterns: columns cluster and name.",
        rich_help_panel=opt.WRITING,
    ),
]


@app.command()
@command
def cluster(
    paths: opt.Paths,
    kind: opt.KindOption = AUTO,
    components: opt.Components = None,
    states: opt.States = None,
    direction: opt.DirectionOption = None,
    tied: opt.Tied = False,
    absent: opt.AbsentOption = None,
    structure: opt.StructureOption = None,
    prior: opt.Prior = None,
    init: opt.InitOption = None,
    n_init: opt.Starts = None,
    max_iter: opt.MaxIter = None,
    tol: opt.Tol = None,
    acceleration: opt.AccelerationOption = None,
    n_slots: opt.Slots = None,
    content: opt.Content = None,
    update: opt.UpdateOption = None,
    sweeps: opt.Sweeps = None,
    chains: opt.Chains = None,
    concentration: opt.Concentration = None,
    labels: opt.Labels = False,
    noise_cost: opt.NoiseCost = None,
    search: opt.SearchOption = None,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
    memory: opt.Memory = None,
    scheduler: opt.Scheduler = None,
    checkpoint: opt.Checkpoint = None,
    output: opt.ClusterTable = None,
    save: opt.SaveModel = None,
    report: opt.ReportPage = None,
    picture: opt.Picture = None,
    format: opt.FormatOption = None,
    skip_bad: opt.SkipBad = False,
    read: opt.ReadOptions = None,
    classes: opt.Classes = None,
    known: opt.Known = None,
    constraints: opt.Constraints = None,
    steer: opt.Steer = None,
    names: ClusterNames = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Cluster trees, and print what sets each cluster apart.

    Ctrl-C ends the fit: the result of the last finished iteration is written, and the exit code is 130.

    \b
    Examples:
      arbora cluster corpus/
      arbora cluster corpus/ -k 11 --output clusters.csv --save model.arbora
      arbora cluster trees.jsonl --report report.html --seed 7 --jobs -1
      arbora cluster corpus/ --classes folder --read text=kind
      arbora cluster corpus/ --known some.csv --constraints pairs.json
      arbora cluster corpus/ --steer steps.json --save model.arbora
      arbora cluster corpus/ --model mixture -k 11 --states 4
      arbora cluster corpus/ --model infinite --chains 4 --jobs -1
      arbora cluster corpus.store -k 11 --scheduler tcp://host:8786
      arbora cluster trees.nwk --model single --states 6 --json
      arbora cluster trees.nwk --model unions --picture archetypes.png
      arbora cluster trees.nwk --content length:gaussian -k 3
    """
    check_there(*paths)
    from . import content as columns
    from . import files, reading, results
    from . import known as steering

    asked = given(
        components=components, states=states, direction=direction, tied=tied or None, absent=absent,
        structure=structure, prior=prior, init=init, n_init=n_init, max_iter=max_iter, tol=tol,
        acceleration=acceleration, n_slots=n_slots, content=content, update=update, sweeps=sweeps, chains=chains,
        concentration=concentration, labels=labels or None, noise_cost=noise_cost, search=search, memory=memory,
        scheduler=scheduler, checkpoint=checkpoint, known=known, constraints=constraints, steer=steer,
    )  # fmt: skip
    kind = settle(kind, asked)
    check_jobs(jobs)
    with Teller(quiet).listening() as teller:
        inputs = reading.find(paths, format, read)
        if content is not None:
            inputs = reading.find(paths, format, columns.reading_options(content, inputs.format, inputs.typed()))
        targets = results.Outputs(output, save, report, picture)
        others = [files.table_of(classes), known, constraints, steer, None if names is None else str(names)]
        targets.check([*inputs.files, *others], checkpoint, kind in WITH_CHAINS)
        called = {} if names is None else files.read_names(names)
        forest = reading.open_trees(inputs, skip_bad, classes, quiet, memory)
        if content is not None:
            asked["content"] = columns.setting(content, forest)
        if known is not None:
            asked["known"] = steering.known_classes(known, forest, teller)
        if constraints is not None:
            asked["constraints"] = steering.known_pairs(constraints, forest)
        if asked.pop("steer", None) is not None:
            steps = steering.steps_of(str(steer), forest)
            refuse({name: steps.get(name) and asked.get(name) for name in steps}, f"{steer} holds such, too; use one")
            asked |= steps
        with reading.workers_of(scheduler, forest):
            fitted = fit(forest, kind, asked, jobs, seed, teller)
        fitted.model.provenance_["reading"] = inputs.remembered()
        fitted.facts["not_read"] = inputs.not_read
        told, warned, facts = columns.lines(fitted.model, forest)
        fitted = fitted._replace(
            told=[*fitted.told, *told], warned=[*fitted.warned, *warned], facts={**fitted.facts, **facts}
        )
        results.tell(forest, fitted, targets, command_line(), as_json, teller, called)
    if fitted.interrupted:
        raise typer.Exit(INTERRUPTED)


def settle(kind: opt.Kind, asked: dict[str, Any]) -> opt.Kind:
    """The model that the options belong to; refuse options that it does not have.

    With ``auto``, an option that only one model has chooses that model; if no option does, the trees choose.
    """
    if kind == "auto":
        fitting = [one for one in OPTIONS if set(asked) <= set(OPTIONS[one])]
        if "patterns" in fitting:  # a checkpoint belongs to one model
            return opt.Kind["patterns"] if "checkpoint" in asked else kind
        if not fitting:
            raise usage(f"--{min(asked)}", "no model has all of these options; choose one with --model")
        return opt.Kind[fitting[0]]
    for name in asked:
        if name not in OPTIONS[kind]:
            others = ", ".join(one for one in OPTIONS if name in OPTIONS[one])
            refuse({name: asked[name]}, f"--model {kind.value} has none; only {others}: leave this out")
    if kind == "mixture" and "checkpoint" in asked and "components" not in asked:
        raise usage("--checkpoint", "the search for the number of clusters has none; give --components")
    return kind


def fit(forest: Any, kind: opt.Kind, asked: dict[str, Any], jobs: int | None, seed: int, teller: Teller) -> Any:
    """The fitted model that was asked for, or that suits the trees."""
    from .fit_by_name import fit_as

    settings = {NAMES.get(name, name): _plain(value) for name, value in asked.items() if name not in NOT_OF_MODELS}
    settings |= given(n_jobs=jobs) | {"random_state": seed}
    components = asked.get("components")
    if kind != "auto":
        return fit_as(kind.value, forest, components, settings, teller)
    from ..models.choose import choose_model
    from ..models.hidden_tree.infinite import FLAT_PRIOR

    suited, reason = choose_model(forest)
    if suited != "sizes" and {"known", "constraints", "moves"} & set(asked):
        suited, reason = "patterns", "patterns, which take what is known"
    if suited == "sizes":
        settings["labels"] = "sizes"
    if suited == "infinite" and components is None:  # so few labels want no sharp groups, which part one kind of growth
        settings.setdefault("prior", FLAT_PRIOR)
    chosen = {"sizes": "patterns", "infinite": "infinite" if components is None else "mixture"}.get(suited, suited)
    fitted = fit_as(chosen, forest, components, settings, teller)
    return fitted._replace(how=f"{fitted.how} Arbora chose {reason}; --model sets another.")


def _plain(value: Any) -> Any:
    """What a model is given for what one types: no structure is None, and a path is text."""
    if value is opt.Structure.none:
        return None
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value
