"""`daybook slices`: lists, drops and takes over what runs wrote into tables for each period."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from daybook.cli import completion
from daybook.cli.arguments import AsJson, ReasonOption
from daybook.cli.command_help import add_command
from daybook.cli.exit_codes import FAILED
from daybook.cli.maintenance import show_recovery
from daybook.cli.open_workspace import open_workspace, open_workspace_with_spark, with_proof
from daybook.cli.root_options import root_options
from daybook.cli.terminal import confirm, echo, echo_json, echo_note, is_attended, show_notice, show_table


class _ListByDefault(TyperGroup):
    """`daybook slices TABLE` is `daybook slices list TABLE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_command = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_command else ["list", *args])


app = typer.Typer(
    cls=_ListByDefault,
    help="List, drop and take over slices of tables: what runs wrote into them for each period.",
    short_help="List, drop and take over slices of tables",
    epilog="""\b
Examples:
  daybook slices
  daybook slices warehouse.sales --json
  daybook slices drop warehouse.sales 2026-Q1 --reason "run by mistake\"""",
    rich_markup_mode=None,
)

_TABLE_HELP = "A table by its destination (warehouse.sales), its name, its location or its dataset."


def list_slices(
    context: typer.Context,
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help=_TABLE_HELP, autocompletion=completion.tables_with_slices)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List slices with their owner, run, rows and time."""
    from daybook.workspace.maintenance import list_slices as found_slices

    slices = found_slices(open_workspace(context), table)
    if as_json:
        echo_json(slices)
        return
    if not slices:
        echo_note("no run has written to a table with slices")
        return
    rows = [
        (
            slice_.table,
            slice_.period,
            slice_.project_id or "all projects that append",
            slice_.run_id,
            "" if slice_.rows is None else f"{slice_.rows:,}",
            f"{slice_.written_at:%Y-%m-%d %H:%M}" if slice_.written_at else "",
        )
        for slice_ in slices
    ]
    show_table(("table", "period", "project", "run", "rows", "written"), rows, right=(4,), fixed=(1, 3, 4, 5))


def drop(
    context: typer.Context,
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help=_TABLE_HELP, autocompletion=completion.tables_with_slices)
    ],
    period: Annotated[
        str,
        typer.Argument(
            metavar="PERIOD", help="The period of the slice, such as 2026-Q1.", autocompletion=completion.slice_periods
        ),
    ],
    reason: ReasonOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove what runs wrote into a table for a period.

    Other periods stay. A locked period is refused. Datasets of the table get a new version; on Delta earlier versions
    stay readable as they were. Who dropped the slice, when and why is recorded permanently.
    """
    from daybook.errors import DaybookError
    from daybook.workspace.maintenance import drop_slice
    from daybook.workspace.maintenance import list_slices as found_slices

    if not (reason or "").strip():
        raise DaybookError("STORE_032", action="Dropping a slice")
    with open_workspace_with_spark(context) as workspace:
        chosen = next((slice_ for slice_ in found_slices(workspace, table) if slice_.period == period), None)
        # A slice that is not there is refused without a question.
        if chosen is not None and not yes:
            if as_json or not is_attended():
                raise DaybookError("STORE_039")
            rows = "its rows" if chosen.rows is None else f"{chosen.rows:,} rows"
            if not confirm(f"Remove {rows} of {chosen.period} from {chosen.location}?"):
                raise typer.Exit(FAILED)
        done = with_proof(workspace, lambda proven: drop_slice(proven, table, period, reason=reason or ""))
    if as_json:
        echo_json(done)
        return
    for notice in done.notices:
        show_notice(notice)
    echo(f"dropped {done.slice.period} of {done.slice.table}: {done.rows:,} rows")
    if not root_options(context).is_quiet:
        for dataset_id, version in done.datasets:
            echo(f"registered {dataset_id} version {version} without it")


def take_over(
    context: typer.Context,
    workspace: Annotated[
        str, typer.Argument(metavar="WORKSPACE", help="The id that STORE_016 shows, or the name if there is no id.")
    ],
    reason: ReasonOption = None,
    as_json: AsJson = False,
) -> None:
    """Make the slices of another workspace this one's.

    For a workspace whose store is lost, or that this one replaces. From then on projects here replace what that
    workspace wrote into the tables of the same projects, and its slices are listed here. Do not run the other workspace
    any more. Who took them over, when and why is recorded permanently.
    """
    from daybook.errors import DaybookError
    from daybook.workspace.maintenance import take_over_slices

    if not (reason or "").strip():
        raise DaybookError("STORE_032", action="Taking over the slices of a workspace")
    with open_workspace_with_spark(context) as opened:
        recovery = with_proof(opened, lambda proven: take_over_slices(proven, workspace, reason=reason or ""))
    if as_json:
        echo_json(recovery)
        return
    show_recovery(recovery)
    echo(f"the slices of workspace {workspace} now belong to this workspace")


add_command(app, "list", list_slices, "daybook slices list", "daybook slices list warehouse.sales --json")
add_command(app, "drop", drop, 'daybook slices drop warehouse.sales 2026-Q1 --reason "run by mistake"')
add_command(app, "take-over", take_over, 'daybook slices take-over 9f2c41d07be35a68 --reason "its store is lost"')
