"""What commands add themselves to; each imports what it needs when it runs, so that help comes at once."""

from typing import Annotated

import typer

app = typer.Typer(
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
