"""List the slices of tables that collect periods, and drop one."""

from daybook.errors import DaybookError
from daybook.runs.slices import SliceDrop, SliceEntry, find_slice, slices_of_table
from daybook.runs.slices import drop_slice as drop
from daybook.runs.slices import list_slices as list_all
from daybook.workspace.open_workspace import OpenedWorkspace


def list_slices(workspace: OpenedWorkspace, table: str | None = None) -> tuple[SliceEntry, ...]:
    """The slices of all tables, or of the one that `table` names: its destination, name, location or dataset."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        found = list_all(transaction)
    return found if table is None else slices_of_table(found, table)


def drop_slice(workspace: OpenedWorkspace, table: str, period: str, *, reason: str) -> SliceDrop:
    """Remove the rows of a slice from its table; who did it and why is recorded permanently."""
    if not reason.strip():
        raise DaybookError("STORE_032", action="Dropping a slice")
    entry = find_slice(list_slices(workspace), table, period)
    with workspace.open_run_environment() as environment:
        return drop(environment, entry, reason=reason, user=workspace.user)
