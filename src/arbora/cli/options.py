"""Options that commands share: their choices, their defaults from the models, and what is checked about them."""

import ast
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..io.registry import FORMATS
from ..models.registry import MODELS, typed

if TYPE_CHECKING:

    class Format(StrEnum):
        """Formats of trees."""

    class Kind(StrEnum):
        """Models that cluster, by the names that one types."""

    class HierarchyKind(StrEnum):
        """Models of hierarchies, by the names that one types."""

else:
    Format = StrEnum("Format", list(FORMATS))
    Kind = StrEnum("Kind", ["auto", *typed("cluster")])
    HierarchyKind = StrEnum("HierarchyKind", list(typed("hierarchy")))


def about_models(command: str) -> str:
    """The models of a command, a few words each, for its help."""
    return " ".join(f"{name}: {MODELS[model].about}." for name, model in typed(command).items())


class Search(StrEnum):
    """Searches for unions."""

    full = "full"
    greedy = "greedy"


class Absent(StrEnum):
    """Readings of absent children."""

    bottom = "bottom"
    slot = "slot"
    literal = "literal"
    renormalised = "renormalised"


class Structure(StrEnum):
    """Models of shape."""

    branching = "branching"
    state = "state"
    none = "none"


class Direction(StrEnum):
    """Ways that states go."""

    up = "up"
    down = "down"


class Update(StrEnum):
    """Ways through the infinite mixture."""

    gibbs = "gibbs"
    em = "em"


class Init(StrEnum):
    """Starts of EM."""

    patterns = "patterns"
    kmeans = "kmeans"
    random = "random"


def defaults(name: str) -> dict[str, Any]:
    """Defaults of a model, from the signature in its source: to import it would take seconds."""
    home = MODELS[name].module.replace(".", "/")
    source = (Path(__file__).parents[1] / "models" / f"{home}.py").read_text(encoding="utf-8")
    (model,) = (node for node in ast.parse(source).body if getattr(node, "name", "") == name)
    (made,) = (node for node in ast.walk(model) if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    given = made.args
    positional = zip(given.args[-len(given.defaults) :], given.defaults, strict=True)
    every = [*positional, *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return {name.arg: value.value for name, value in every if isinstance(value, ast.Constant)}


Acceleration = StrEnum("Acceleration", ["squarem"])  # ways to need fewer iterations of EM
DEFAULTS = defaults("HiddenTreeMixture")
INFINITE = defaults("InfiniteHiddenTreeMixture")


def setting(*names: str, of: str, help: str, unless: str = "", **more: Any) -> Any:
    """An option that sets a parameter of the model, with the model's own default in the help."""
    mine, other = DEFAULTS.get(of, INFINITE.get(of)), INFINITE.get(of)
    default = unless or (mine if other in (None, mine) else f"{mine}, infinite: {other}")
    return typer.Option(*names, help=f"{help} [default: {default}]", show_default=False, **more)


#: Groups of options in the help.
READING, RUNNING, WRITING = "Reading", "Running", "Results"
KNOWN, MODEL, TREES, EM, SAMPLERS, UNIONS = (
    "What is known", "Model", "Hidden trees", "Hidden trees by EM", "Samplers", "Unions"
)  # fmt: skip

Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH",
        help="Files, globs or directories of one format (arbora formats lists them), or of XML, HTML and JSON side by "
        "side; - for standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that --save wrote.")]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Format of the files, if their suffixes do not show it, as xml or json; in folders, only these are read. "
        "arbora formats lists all.",
        rich_help_panel=READING,
    ),
]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad", help="Leave out files that cannot be read, and report how many.", rich_help_panel=READING
    ),
]
ReadOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="KEY=VALUE",
        help="An option of the reader, as text=kind; see arbora formats.",
        rich_help_panel=READING,
    ),
]
Content = Annotated[
    str | None,
    typer.Option(
        "--content",
        metavar="COLUMN[:FAMILY],...",
        help="Columns of content that the model takes beside labels, as length:gaussian,words:bag; or all.",
        rich_help_panel=MODEL,
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="folder|FILE.csv",
        help="Known classes to compare with: the folder each file is in, or a table with the columns name and class.",
        rich_help_panel=KNOWN,
    ),
]
Known = Annotated[
    str | None,
    typer.Option(
        "--known",
        metavar="FILE.csv",
        help="Classes of some trees, a table with the columns name and class: trees of one class share a cluster, "
        "trees of two do not.",
        rich_help_panel=KNOWN,
    ),
]
Constraints = Annotated[
    str | None,
    typer.Option(
        "--constraints",
        metavar="FILE.json",
        help="Pairs of names of trees that share a cluster (must_link), and that do not (cannot_link).",
        rich_help_panel=KNOWN,
    ),
]
Steer = Annotated[
    str | None,
    typer.Option(
        "--steer",
        metavar="FILE",
        help="JSON with known classes, pairs, and clusters to merge and split, by names of trees; or a saved "
        "model, whose steps are taken again.",
        rich_help_panel=KNOWN,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No progress and no messages but warnings and errors.", rich_help_panel=RUNNING),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=WRITING)]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", help="Threads; -1 for all cores. Does not change the result.", rich_help_panel=RUNNING
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="A Dask scheduler, as tcp://host:8786, whose workers process a .store. Does not change the result.",
        rich_help_panel=RUNNING,
    ),
]
Memory = Annotated[
    int | None,
    typer.Option(
        "--memory",
        metavar="MB",
        min=0,
        help="Cache of a .store between passes. [default: 1024]",
        rich_help_panel=RUNNING,
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", min=0, max=2**32 - 1, help="The same seed gives the same result.", rich_help_panel=MODEL),
]
SaveModel = Annotated[Path | None, typer.Option("--save", help="The fitted model: .arbora.", rich_help_panel=WRITING)]
ReportPage = Annotated[
    Path | None, typer.Option("--report", help="Report of the results: .html.", rich_help_panel=WRITING)
]

# ---- options of cluster ---------------------------------------------------------------------------------------------

KindOption = Annotated[
    Kind,
    typer.Option(
        "--model",
        help=f"auto: the model that suits the trees, with the reason. {about_models('cluster')}",
        rich_help_panel=MODEL,
    ),
]
Components = Annotated[
    int | None,
    setting(
        "--components",
        "-k",
        of="n_components",
        unless="learnt; mixture: that of patterns",
        min=1,
        help="Number of clusters.",
        rich_help_panel=MODEL,
    ),
]
States = Annotated[
    int | None,
    setting("--states", of="n_states", min=1, help="Hidden states of each component.", rich_help_panel=TREES),
]
AbsentOption = Annotated[
    Absent | None,
    setting(
        "--absent",
        of="absent",
        help="What a node without a child in some slot says: bottom, being absent is a state like others; slot, it "
        "also multiplies the probability; literal, as the equation is printed; renormalised, it says nothing.",
        rich_help_panel=TREES,
    ),
]
StructureOption = Annotated[
    Structure | None,
    setting(
        "--structure",
        of="structure",
        help="Whether to model shapes: branching; state, by the states of --direction down; none for labels alone.",
        rich_help_panel=TREES,
    ),
]
DirectionOption = Annotated[
    Direction | None,
    setting(
        "--direction",
        of="direction",
        help="States depend on those of a child (up) or of the parent (down).",
        rich_help_panel=TREES,
    ),
]
Tied = Annotated[
    bool,
    typer.Option(
        "--tied",
        help="With --direction down: children in all places depend on their parent alike.",
        rich_help_panel=TREES,
    ),
]
Prior = Annotated[
    float | None,
    setting(
        "--prior", of="prior", min=1.0, help="Dirichlet prior; 1 is none, more is smoother.", rich_help_panel=TREES
    ),
]
InitOption = Annotated[
    Init | None,
    setting(
        "--init", of="init", help="Where EM starts: clusters of patterns, of slots, or at random.", rich_help_panel=EM
    ),
]
Starts = Annotated[
    int | None,
    setting(
        "--n-init",
        of="n_init",
        unless=f"{DEFAULTS['n_init']}, or 3 without --components",
        min=1,
        help="Starts; the best is kept.",
        rich_help_panel=EM,
    ),
]
MaxIter = Annotated[
    int | None, setting("--max-iter", of="max_iter", min=1, help="Most iterations of EM.", rich_help_panel=EM)
]
Tol = Annotated[
    float | None,
    setting(
        "--tol",
        of="tol",
        min=0.0,
        help="EM ends when an iteration gains less than this, in nats per tree.",
        rich_help_panel=EM,
    ),
]
AccelerationOption = Annotated[
    Acceleration | None,
    setting("--acceleration", of="acceleration", unless="none", help="Fewer iterations of EM.", rich_help_panel=EM),
]
Slots = Annotated[
    int | None,
    setting(
        "--n-slots",
        of="n_slots",
        unless="all",
        min=1,
        help="Number of distinct slots (slot: position of a child among its siblings); later ones count as the last.",
        rich_help_panel=TREES,
    ),
]
UpdateOption = Annotated[
    Update | None,
    setting(
        "--update",
        of="update",
        help="Infinite: sample the posterior (gibbs), or the paper's search (em).",
        rich_help_panel=SAMPLERS,
    ),
]
Sweeps = Annotated[
    int | None, setting("--sweeps", of="n_iter", min=1, help="Samplers: sweeps of a chain.", rich_help_panel=SAMPLERS)
]
Chains = Annotated[
    int | None, setting("--chains", of="n_chains", min=1, help="Samplers: chains to compare.", rich_help_panel=SAMPLERS)
]
Concentration = Annotated[
    float | None,
    setting(
        "--concentration",
        of="concentration",
        min=1e-9,
        help="Samplers: more means more groups a priori.",
        rich_help_panel=SAMPLERS,
    ),
]
Labels = Annotated[
    bool,
    typer.Option("--labels", help="Unions: use labels too; without this, structure alone.", rich_help_panel=UNIONS),
]
NoiseCost = Annotated[
    float | None,
    typer.Option(
        "--noise-cost",
        help="Unions: nats for a node that is described with its tree alone; inf: none. [default: 2]",
        rich_help_panel=UNIONS,
    ),
]
SearchOption = Annotated[
    Search | None,
    typer.Option(
        "--search", help="Unions: full, or greedy, which stops after merging; full if left out.", rich_help_panel=UNIONS
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        help="A file (of samplers a folder) to save the fit in as it runs; the same command then continues from it.",
        rich_help_panel=RUNNING,
    ),
]
ClusterTable = Annotated[
    Path | None, typer.Option("--output", "-o", help="Clusters: .csv, .json or .parquet.", rich_help_panel=WRITING)
]
Picture = Annotated[Path | None, typer.Option("--picture", help="The picture alone: .png.", rich_help_panel=WRITING)]
