"""What dead runs left behind, found and removed for `daybook doctor`."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from daybook.errors import DaybookError
from daybook.io.litter import Litter, find_landing_litter, find_litter, remove
from daybook.io.writing import Target
from daybook.model.loading import Workspace
from daybook.resolve.paths import is_remote
from daybook.runs.examining import Finding
from daybook.runs.living import abandoned_runs, dead_runs, live_runs
from daybook.runs.opening import state_folder
from daybook.runs.preparing import restore
from daybook.runs.snapshot import snapshot_from_json
from daybook.store import open_store
from daybook.store.store import Store


def examine_runs(workspace: Workspace, *, is_fixing: bool) -> Iterator[Finding]:
    """Runs that claim to be alive and what dead ones left behind; `is_fixing` ends and removes them."""
    with open_store(workspace.settings.store, root=workspace.root) as store:
        lost = end_abandoned(store) if is_fixing else tuple(run.id for run in abandoned_runs(store))
        litter = dead_litter(workspace, store)
    if is_fixing:
        remove_litter(workspace, litter)
    if lost:
        state: Literal["ok", "warning"] = "ok" if is_fixing else "warning"
        remedy = "`daybook retry` takes a run up again."
        yield Finding("Runs", state, f"{', '.join(lost)} lost the process that ran it", remedy)
    if not litter:
        yield Finding("Left behind", "ok", "nothing")
    elif is_fixing:
        yield Finding("Left behind", "ok", f"removed {len(litter)} staged things of dead runs")
    else:
        runs = ", ".join(sorted({each.run_id for each in litter}))
        yield Finding("Left behind", "warning", f"{len(litter)} staged things of {runs}", "`daybook doctor --fix`")


def end_abandoned(store: Store) -> tuple[str, ...]:
    """Runs whose process is gone become failed, so that they can be retried; their ids."""
    with store.write() as transaction:
        now = transaction.now()
        return tuple(run.id for run in transaction.runs.abandoned(now=now) if transaction.runs.give_up(run.id, now=now))


def dead_litter(workspace: Workspace, store: Store) -> tuple[Litter, ...]:
    """What dead runs left behind, wherever this workspace writes."""
    live = {run.id for run in live_runs(store)}
    state = state_folder(workspace)
    folders = {_searched(place) for place in _places(workspace, store)}
    staged = [*find_litter(_outermost(folders), (), live, workspace.root)]
    for definition in workspace.definitions["datasource"].values():
        # One that is out of reach is reported as such.
        with suppress(DaybookError):
            staged += find_litter((), [definition.model], live, workspace.root)
    # Others may write to the same places, and their runs are not known here.
    with store.read() as transaction:
        known = transaction.retention.run_ids()
    ours = [litter for litter in staged if litter.run_id in known]
    own_state = [*find_landing_litter(f"{state}/landing", live), *_dead_staging(state, live)]
    return tuple({(litter.place, litter.schema): litter for litter in (*ours, *own_state)}.values())


def remove_litter(workspace: Workspace, litter: tuple[Litter, ...]) -> None:
    for each in litter:
        remove(each, workspace.root)


def _places(workspace: Workspace, store: Store) -> Iterator[Target]:
    """Where runs that ended badly were to write; those that ended well cleaned up after themselves."""
    for run in dead_runs(store):
        with store.read() as transaction:
            text = transaction.runs.snapshot(run.id)
        # A snapshot that this version cannot read or plan any more says nothing about places.
        with suppress(DaybookError):
            yield from (output.target for output in restore(snapshot_from_json(text), workspace.root).outputs)


def _searched(target: Target) -> str | None:
    """The folder that holds what is staged for a target: the Delta table itself, otherwise the one around it."""
    if target.uri is None:
        return None
    return target.uri if target.format == "delta" else target.uri.rstrip("/").rpartition("/")[0]


def _outermost(folders: Collection[str | None]) -> list[str]:
    """Without those inside of another, which the search reaches anyway."""
    found: list[str] = []
    for folder in sorted(filter(None, folders)):
        if not any(folder == each or folder.startswith(f"{each}/") for each in found):
            found.append(folder)
    return found


def _dead_staging(state: str, live: set[str]) -> Iterator[Litter]:
    folder = Path(state) / "staging"
    if is_remote(state) or not folder.is_dir():
        return
    for each in sorted(folder.iterdir()):
        run_id = each.name.rpartition(".")[0]
        if run_id not in live:
            yield Litter(run_id, str(each))
