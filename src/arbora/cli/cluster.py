"""``arbora cluster``: which model, with which settings, and what it leaves."""

from enum import Enum
from pathlib import Path
from typing import Any

import typer

from . import options as opt
from .root import app
from .terminal import INTERRUPTED, Teller, command, usage

# Names of options, as parameters, that some models only have.
OF_EM = ("components", "init", "n_init", "max_iter", "tol")
OF_SWEEPS = ("update", "sweeps", "chains", "concentration")
OF_UNIONS = ("labels", "noise_cost", "search")
NOT_OF_UNIONS = ("states", "absent", "structure", "prior", "init", "n_init", "max_iter", "tol", "n_slots")
IN_PASSES = ("memory", "scheduler", "checkpoint")
NAMES = {"states": "n_states", "sweeps": "n_iter", "chains": "n_chains"}  # of the models, where they are others


@app.command()
@command
def cluster(
    paths: opt.Paths,
    kind: opt.KindOption = opt.Kind.mixture,
    components: opt.Components = None,
    states: opt.States = None,
    absent: opt.AbsentOption = None,
    structure: opt.StructureOption = None,
    prior: opt.Prior = None,
    init: opt.InitOption = None,
    n_init: opt.Starts = None,
    max_iter: opt.MaxIter = None,
    tol: opt.Tol = None,
    n_slots: opt.Slots = None,
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
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Cluster trees, and say what sets each cluster apart.

    Ctrl-C ends the fit: what its last finished iteration gave is written,
    and the exit code is 130.

    \b
    Examples:
      arbora cluster corpus/
      arbora cluster corpus/ -k 11 --states 4 --output clusters.csv --save model.arbora
      arbora cluster trees.jsonl --report report.html --seed 7 --jobs -1
      arbora cluster corpus/ --classes folder --read text=kind
      arbora cluster corpus/ --model infinite --chains 4 --jobs -1
      arbora cluster corpus.store -k 11 --scheduler tcp://host:8786
      arbora cluster trees.nwk --model single --states 6 --json
      arbora cluster trees.nwk --model unions --picture archetypes.png
    """
    from . import files, reading, results

    asked = opt.given(
        components=components, states=states, absent=absent, structure=structure, prior=prior, init=init,
        n_init=n_init, max_iter=max_iter, tol=tol, n_slots=n_slots, update=update, sweeps=sweeps, chains=chains,
        concentration=concentration, labels=labels or None, noise_cost=noise_cost, search=search, memory=memory,
        scheduler=scheduler, checkpoint=checkpoint,
    )  # fmt: skip
    check(kind, asked)
    opt.check_jobs(jobs)
    with Teller(quiet).listening() as teller:
        inputs = reading.find(paths, format, read)
        targets = results.Outputs(output, save, report, picture)
        targets.check([*inputs.files, files.table_of(classes)], checkpoint, kind is opt.Kind.infinite)
        if kind is opt.Kind.unions:
            forest = reading.read_trees(inputs, skip_bad, classes, quiet)
            interrupted = _unions(forest, inputs, asked, jobs, targets, as_json, teller)
        else:
            forest = reading.open_trees(inputs, skip_bad, classes, quiet, memory)
            with reading.workers_of(scheduler, forest):
                fitted = _fit(forest, kind, asked, jobs, seed, teller)
            fitted.model.provenance_["reading"] = inputs.remembered()
            fitted.facts["not_read"] = inputs.not_read
            results.tell(forest, fitted, targets, opt.command_line(), as_json, teller)
            interrupted = fitted.interrupted
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def check(kind: opt.Kind, asked: dict[str, Any]) -> None:
    """Refuse options that the model does not have."""

    def none_of(names: tuple[str, ...], why: str) -> None:
        opt.refuse({name: asked.get(name) for name in names}, why)

    if kind is opt.Kind.unions:
        none_of(NOT_OF_UNIONS, "a mixture of unions has none; leave this out, or use --model mixture")
        none_of(IN_PASSES, "unions are found in memory and in one go; leave this out")
    else:
        none_of(OF_UNIONS, "only a mixture of unions has it; add --model unions")
    if kind is opt.Kind.infinite:
        none_of(OF_EM, "the infinite mixture has none; leave this out, or use --model mixture")
    else:
        none_of(OF_SWEEPS, "only the infinite mixture has one; leave this out, or use --model infinite")
    if kind is opt.Kind.single:
        none_of(("components", "init"), "a single model has none; leave this out, or use --model mixture")
    if kind is opt.Kind.mixture and "checkpoint" in asked and "components" not in asked:
        raise usage("--checkpoint", "the search for the number of clusters has none; give --components")


def _fit(forest: Any, kind: opt.Kind, asked: dict[str, Any], jobs: int | None, seed: int, teller: Teller) -> Any:
    """The fitted model that was asked for."""
    from . import fitting

    others = ("components", "memory", "scheduler", *OF_UNIONS)
    settings = {NAMES.get(name, name): _plain(value) for name, value in asked.items() if name not in others}
    settings |= opt.given(n_jobs=jobs) | {"random_state": seed}
    if kind is opt.Kind.single:
        return fitting.fit_single(forest, settings, teller)
    if kind is opt.Kind.infinite:
        return fitting.fit_infinite(forest, settings, teller)
    return fitting.fit_mixture(forest, asked.get("components"), settings, teller)


def _plain(value: Any) -> Any:
    """What a model is given for what one types: no structure is None, and a path is text."""
    if value is opt.Structure.none:
        return None
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value


def _unions(
    forest: Any, inputs: Any, asked: dict[str, Any], jobs: int | None, targets: Any, as_json: bool, teller: Teller
) -> bool:
    """Fit a mixture of unions and tell of it; whether Ctrl-C ended the search."""
    from . import unions

    settings = {name: _plain(value) for name, value in asked.items() if name in OF_UNIONS}
    found = unions.fit(forest, asked.get("components"), settings | opt.given(n_jobs=jobs), teller)
    found.model.provenance_["reading"] = inputs.remembered()
    unions.tell(forest, found, targets, opt.command_line(), as_json, teller)
    return found.interrupted
