"""Run the command line as ``python -m arbora``."""

from .cli import main

main()
