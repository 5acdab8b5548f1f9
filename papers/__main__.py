"""``python -m papers``: the tables and figures of the papers, ours beside theirs."""

from pathlib import Path
from typing import Annotated

import typer

from arbora.cli.option_checks import MOST_JOBS
from arbora.cli.options import Json, Quiet
from arbora.cli.terminal import BAD_INPUT, INTERRUPTED, Teller, command, fail, print_json, usage

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _complete(incomplete: str) -> list[str]:
    from . import EXPERIMENTS

    return [name for name in ("all", *EXPERIMENTS) if name.startswith(incomplete)]


@app.command()
@command
def reproduce(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME]...",
            help="Experiments, or all; without a name they are listed.",
            default_factory=list,
            show_default=False,
            autocompletion=_complete,
        ),
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs and settings, to see that it works.")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for tables and pictures.")] = Path(
        "arbora-reproduction"
    ),
    again: Annotated[bool, typer.Option("--again", help="Run also what the folder already holds.")] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, max=MOST_JOBS, help="Processes for the fits; changes no result.")
    ] = 1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run experiments of the papers and lay our numbers beside the published ones.

    Tables are printed and written to the folder, with pictures, the numbers in them, and summary.md. What is finished
    is not run again; after Ctrl-C the same command goes on where it was, run by run. The data sets are found below
    $ARBORA_DATA.

    \b
    Examples:
      python -m papers
      python -m papers mixtures-table1 --jobs 2
      python -m papers all --quick
    """
    from arbora.errors import DataNotFoundError

    from . import EXPERIMENTS
    from .outputs import Outputs, as_dict
    from .runs import cpu_seconds, keeping, use_processes

    if not names:
        _list(as_json)
        return
    unknown = [name for name in names if name not in EXPERIMENTS and name != "all"]
    if unknown:
        raise usage("NAME", f"no experiment {unknown[0]!r}; wanted all, or of: {', '.join(EXPERIMENTS)}")
    outputs, records, absent = Outputs(output), [], []
    use_processes(jobs)
    with Teller(quiet).listening() as teller:
        for name in EXPERIMENTS if "all" in names else names:
            record = None if again else outputs.find(name, quick)
            if record is not None:
                record = outputs.judge_again(record)
                teller.say(f"{name}: done before, in {output}; --again runs it anew")
            else:
                teller.say(f"{name}: {_purpose(name)}")
                start = cpu_seconds()
                try:
                    with keeping(outputs.runs(name, quick)):
                        record = outputs.keep(name, quick, EXPERIMENTS[name](quick), cpu_seconds() - start)
                except DataNotFoundError as error:
                    absent.append(name)
                    teller.warn(f"{name}: {error}")
                    continue
                except KeyboardInterrupt:
                    where = f"what is finished is in {output}, and the same command goes on"
                    raise fail(f"interrupted; {where}", INTERRUPTED) from None
            records.append(record)
            if not as_json:
                typer.echo(outputs.text(name))
        if records:
            outputs.summarise(EXPERIMENTS)
    if as_json:
        print_json([as_dict(record) for record in records])
    if absent:
        raise fail(f"without data, not run: {', '.join(absent)}", BAD_INPUT)


def _purpose(name: str) -> str:
    from . import EXPERIMENTS

    return (EXPERIMENTS[name].__doc__ or "").splitlines()[0]


def _list(as_json: bool) -> None:
    from . import EXPERIMENTS

    if as_json:
        print_json({name: _purpose(name) for name in EXPERIMENTS})
        return
    width = max(map(len, EXPERIMENTS))
    for name in EXPERIMENTS:
        typer.echo(f"{name:<{width}}  {_purpose(name)}")


if __name__ == "__main__":
    app(prog_name="python -m papers")
