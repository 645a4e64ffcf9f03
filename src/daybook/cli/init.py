"""`daybook init`: a small workspace that runs."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from daybook.cli.invocation import invocation
from daybook.cli.terminal import remark, say


def init(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to write it; made if it is not there.")
    ] = Path(),
) -> None:
    """Write a small, commented workspace to start from.

    It has a dataset, a project and a scenario, and runs as it is. Nothing is overwritten.
    """
    from daybook.demo.folders import write_workspace

    for path in write_workspace("starter", folder):
        say((folder / path).as_posix())
    if invocation(context).is_quiet:
        return
    remark("\nA workspace with one dataset and one project. Next:\n")
    if folder.resolve() != Path.cwd():
        remark(f"  cd {shlex.quote(folder.as_posix())}")
    remark("  daybook validate                              check the definitions")
    remark("  daybook run monthly-sales --period 2026-01    write out/sales-2026-01.csv")
    remark("  daybook test                                  run tests/scenarios")
