"""What commands add themselves to; each imports what it needs when it runs, so that help comes at once."""

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

OTHER = "Other options"
WRITTEN = dict.fromkeys(("output", "save", "report", "picture"), "Results")  # what any command writes


class GroupedCommand(TyperCommand):
    """A command whose help lists options in groups, plainly, so that it can be piped and needs no colours."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments first, then each group of options in the order in which the command has them."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                is_argument = param.param_type_name == "argument"
                panel = getattr(param, "rich_help_panel", None) or WRITTEN.get(str(param.name), OTHER)
                group = "Arguments" if is_argument else panel
                name, told = record
                groups.setdefault(group, []).append((name.partition(" <")[0] if is_argument else name, told))
        if set(groups) <= {"Arguments", OTHER}:
            groups = {"Options" if group == OTHER else group: records for group, records in groups.items()}
        for group in sorted(groups, key=lambda group: group == OTHER):
            with formatter.section(group):
                formatter.write_dl(groups[group])


class _Commands(typer.Typer):
    """Commands that group their options."""

    def command(self, *args: Any, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # type: ignore[override]
        return super().command(*args, **{"cls": GroupedCommand, **more})


app = _Commands(
    help="Probabilistic clustering of labelled trees.",
    epilog="Exit codes: 0 done, 1 bad input, 2 wrong usage, 130 interrupted, 141 output closed by its reader.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"arbora {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
