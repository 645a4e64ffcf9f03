"""`daybook init`: writes a small workspace to start from."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from daybook.cli.root_options import root_options
from daybook.cli.terminal import echo, echo_note


def init(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to write it; created if it does not exist.")
    ] = Path(),
) -> None:
    """Write a small, commented workspace to start from.

    It has a dataset, a project and a scenario, and runs as it is. Nothing is overwritten.
    """
    from daybook.demo.workspace_files import write_workspace

    for path in write_workspace("starter", folder):
        echo((folder / path).as_posix())
    if root_options(context).is_quiet:
        return
    echo_note("\nA workspace with one dataset and one project. Next:\n")
    if folder.resolve() != Path.cwd():
        echo_note(f"  cd {shlex.quote(folder.as_posix())}")
    echo_note("  daybook validate                              check the definitions")
    echo_note("  daybook run monthly-sales --period 2026-01    write out/sales-2026-01.csv")
    echo_note("  daybook test                                  run tests/scenarios")
    echo_note("\nData may come from Excel (`location: {path: data/orders.xlsx}`) and go to it: write")
    echo_note("sales-{{identifier}}.xlsx in projects/monthly-sales.yaml for a workbook.")
