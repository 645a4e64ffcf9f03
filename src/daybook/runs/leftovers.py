"""Finds and removes what killed runs left behind: staged files and tables, and unfinished landings."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyarrow import fs

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading import LoadedWorkspace
from daybook.errors import DaybookError
from daybook.io.filesystem import (
    join_uri,
    list_folder,
)
from daybook.io.format import Leftover
from daybook.io.leftovers import find_landing_leftovers, find_staged_leftovers, remove_leftover
from daybook.io.registry import format_named
from daybook.io.state_tables import StateTables, require_tables
from daybook.io.storage import Storage, storage_of
from daybook.io.target import TableTarget, Target
from daybook.model.datasource import DataSource, SparkCatalogSource
from daybook.model.settings import SchemaLocation
from daybook.runs.attempt.prepare import restore_run
from daybook.runs.environment import state_folder, stored_storage
from daybook.runs.live_runs import live_runs_in, unsuccessful_runs
from daybook.runs.snapshot import snapshot_from_json
from daybook.store.store import MetadataStore


def declared_storage(workspace: LoadedWorkspace) -> Storage:
    return storage_of(workspace.root, workspace.settings, definitions_of_files(workspace))


def find_workspace_leftovers(workspace: LoadedWorkspace, store: MetadataStore) -> tuple[Leftover, ...]:
    """What killed runs left behind in all locations that this workspace writes."""
    before = _RunsNow.read(store)
    live = before.live
    state, storage = state_folder(workspace), declared_storage(workspace)
    targets = tuple(_targets_of_unsuccessful_runs(workspace, store, storage))
    folders = {_staging_folder(target) for target in targets}
    staged = [*find_staged_leftovers(_outermost_folders(folders), (), live, workspace.root, storage)]
    for datasource in _searched_sources(workspace, targets):
        # `doctor` reports a data source that is out of reach.
        with suppress(DaybookError):
            staged += find_staged_leftovers((), [datasource], live, workspace.root, storage)
    # Other workspaces may write to the same places; this store does not know their runs.
    ours = [leftover for leftover in staged if leftover.run_id in before.tokens]
    own_state: list[Leftover] = []
    if isinstance(workspace.settings.state, SchemaLocation):
        # Only a session can list tables; `doctor` has one.
        with suppress(DaybookError):
            own_state += _leftover_tables(require_tables(stored_storage(workspace, store)), live)
    else:
        own_state += find_landing_leftovers(f"{state}/landing", live, storage)
        own_state += _staging_of_dead_runs(state, live, storage)
    # A run may have begun, or been continued, while folders were searched; what it stages is no leftover.
    after = _RunsNow.read(store)
    at_rest = [leftover for leftover in (*ours, *own_state) if before.is_at_rest(leftover.run_id, after)]
    return tuple({leftover.key: leftover for leftover in at_rest}.values())


@dataclass(frozen=True, slots=True)
class _RunsNow:
    """Every run with the token of its last attempt, and those that live."""

    tokens: Mapping[str, int]
    live: frozenset[str]

    @classmethod
    def read(cls, store: MetadataStore) -> "_RunsNow":
        with store.read() as transaction:
            return cls(transaction.retention.run_tokens(), frozenset(run.id for run in live_runs_in(transaction)))

    def is_at_rest(self, run_id: str, later: "_RunsNow") -> bool:
        """Whether nothing executed a run between two reads of the store."""
        is_live = run_id in self.live or run_id in later.live
        return not is_live and self.tokens.get(run_id) == later.tokens.get(run_id)


def remove_workspace_leftovers(workspace: LoadedWorkspace, leftovers: tuple[Leftover, ...]) -> None:
    for leftover in leftovers:
        remove_leftover(leftover, workspace.root, declared_storage(workspace))


def _targets_of_unsuccessful_runs(
    workspace: LoadedWorkspace, store: MetadataStore, storage: Storage
) -> Iterator[Target]:
    """The targets of runs that failed, were cancelled or lost their process; completed runs leave nothing behind."""
    for run in unsuccessful_runs(store):
        with store.read() as transaction:
            text = transaction.runs.snapshot(run.id)
        # This version may not be able to read or plan an old snapshot.
        with suppress(DaybookError):
            restored = restore_run(snapshot_from_json(text), workspace.root, storage)
            yield from (output.target for output in restored.outputs)


def _searched_sources(workspace: LoadedWorkspace, targets: Iterable[Target]) -> tuple[DataSource, ...]:
    """The data sources of the workspace; for tables by name one for each schema that runs may have written into."""
    declared = [definition.model for definition in workspace.definitions["datasource"].values()]
    others = tuple(source for source in declared if not isinstance(source, SparkCatalogSource))
    catalogs = [source for source in declared if isinstance(source, SparkCatalogSource)]
    if (sandbox := schema_source(workspace, workspace.settings.sandbox)) is not None:
        catalogs.append(sandbox)
    tables = (target for target in targets if isinstance(target, TableTarget) and target.schema)
    catalogs += [
        table.datasource.in_schema(str(table.schema))
        for table in tables
        if isinstance(table.datasource, SparkCatalogSource)
    ]
    by_schema = {(source.options.catalog, source.options.schema_name): source for source in catalogs}
    return (*others, *by_schema.values())


def schema_source(workspace: LoadedWorkspace, place: object) -> SparkCatalogSource | None:
    """The data source of a state or sandbox that is a schema, with that schema."""
    if not isinstance(place, SchemaLocation):
        return None
    definition = workspace.definitions["datasource"].get(place.datasource_id)
    source = definition.model if definition is not None else None
    return source.in_schema(place.schema_name) if isinstance(source, SparkCatalogSource) else None


def _staging_folder(target: Target) -> str | None:
    return format_named(target.format).staging_folder(target.location)


def _outermost_folders(folders: Collection[str | None]) -> list[str]:
    """The folders that are not inside of another one."""
    outermost: list[str] = []
    for folder in sorted(filter(None, folders)):
        if not any(folder == outer or folder.startswith(f"{outer}/") for outer in outermost):
            outermost.append(folder)
    return outermost


def _staging_of_dead_runs(state: str, live: Collection[str], storage: Storage) -> Iterator[Leftover]:
    folder = join_uri(state, "staging")
    for name in list_subfolders(folder, storage):
        run_id = name.rpartition(".")[0]
        if run_id not in live:
            yield Leftover(run_id, join_uri(folder, name))


def _leftover_tables(tables: StateTables, live: Collection[str]) -> Iterator[Leftover]:
    """Tables of the state that no manifest lists, of runs that have ended."""
    source, listed = tables.find_source(), tables.listed()
    for name in tables.names():
        run_id = tables.run_of(name)
        if run_id is not None and run_id not in live and name not in listed:
            yield Leftover(run_id, datasource=source, table=name.table, schema=name.schema)


def list_subfolders(uri: str, storage: Storage) -> list[str]:
    return [item.base_name for item in list_folder(uri, storage) if item.type == fs.FileType.Directory]
