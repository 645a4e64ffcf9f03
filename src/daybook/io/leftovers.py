"""What dead runs left behind: everything staged carries the run's id in its name."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable
from pyarrow import fs

from daybook.io.filesystem import arrow_path, join_uri, local_path
from daybook.io.formats.delta.table import data_files, open_table, table_uri
from daybook.io.writer import STAGED_PREFIX, parse_staged_name, staged_key
from daybook.model.datasource import DataSource, FolderSource, JdbcSource, PostgresqlSource, SqliteSource


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something staged: `place` is the URI of a folder, or the name of a table of the data source."""

    run_id: str
    place: str
    datasource: DataSource | None = None
    schema: str | None = None


def find_staged_leftovers(
    folders: Iterable[str],
    datasources: Iterable[DataSource],
    live_runs: Collection[str],
    workspace: Path,
) -> tuple[Leftover, ...]:
    """Staged things of runs that no longer live, in folders that hold outputs and in the schemas of databases."""
    found: dict[tuple[str, str], Leftover] = {}
    for folder in folders:
        for litter in _leftovers_in_folder(folder):
            found[litter.run_id, litter.place] = litter
    for datasource in datasources:
        for litter in _leftovers_in_datasource(datasource, workspace):
            found[litter.run_id, litter.place] = litter
    return tuple(litter for litter in found.values() if litter.run_id not in live_runs)


def find_landing_leftovers(landing_uri: str, live_runs: Collection[str]) -> tuple[Leftover, ...]:
    """Unpublished attempts of landings, and database landings of runs that are no longer known."""
    place = arrow_path(landing_uri)
    prefix = "" if local_path(landing_uri) is not None else landing_uri[: landing_uri.index("://") + 3]
    everything = place.system.get_file_info(fs.FileSelector(place.path, recursive=True, allow_not_found=True))
    folders = {item.path for item in everything if item.type == fs.FileType.Directory}
    published = {item.path.rpartition("/")[0] for item in everything if item.base_name == "manifest.json"}
    found = []
    for folder in sorted(folders):
        parent, _, name = folder.rpartition("/")
        run_id, dot, attempt = name.rpartition(".")
        is_attempt = bool(dot) and len(attempt) == 32 and "/" not in run_id
        if is_attempt and parent not in published and run_id not in live_runs:
            found.append(Leftover(run_id, prefix + folder))
    return tuple(found)


def remove_leftover(litter: Leftover, workspace: Path) -> None:
    """Harmless when it is gone already."""
    match litter.datasource:
        case PostgresqlSource():
            from psycopg import sql

            from daybook.io.formats.postgresql.table import connect_postgresql

            with connect_postgresql(litter.datasource, workspace) as connection:
                name = sql.Identifier(litter.schema or litter.datasource.options.schema_name, litter.place)
                connection.execute(sql.SQL("drop table if exists {}").format(name))
        case _:
            place = arrow_path(litter.place)
            if place.system.get_file_info(place.path).type == fs.FileType.Directory:
                place.system.delete_dir(place.path)


def _leftovers_in_datasource(datasource: DataSource, workspace: Path) -> Iterator[Leftover]:
    match datasource:
        case FolderSource(options=options):
            root = options.path if local_path(options.path) is None else str(workspace / options.path)
            yield from _leftovers_in_folder(root)
        case SqliteSource(options=options):
            yield from _leftovers_in_folder(str((workspace / options.path).parent))
        case PostgresqlSource():
            yield from _leftovers_in_postgresql(datasource, workspace)
        case JdbcSource():
            # Only a Spark session can look; the writer removes its own with `discard`.
            return


def _leftovers_in_folder(folder: str) -> Iterator[Leftover]:
    """Staging beside files, and staged folders inside Delta tables that no version refers to."""
    for item in _list_folder(folder):
        name = item.base_name
        owner = parse_staged_name(name)
        if owner is not None and name.startswith(".") and item.type == fs.FileType.Directory:
            yield Leftover(owner[0], join_uri(folder, name))
    yield from _leftovers_in_delta_table(folder)
    for item in _list_folder(folder):
        if (
            item.type == fs.FileType.Directory
            and not item.base_name.startswith((".", "_"))
            and not parse_staged_name(item.base_name)
        ):
            yield from _leftovers_in_folder(join_uri(folder, item.base_name))


def _leftovers_in_delta_table(uri: str) -> Iterator[Leftover]:
    staged = {item.base_name: owner for item in _list_folder(uri) if (owner := parse_staged_name(item.base_name))}
    staged = {name: owner for name, owner in staged.items() if not name.startswith(".")}
    if not staged:
        return
    table = open_table(uri)
    referred = _referenced_folders(table, uri) if table else set()
    for name, (run_id, seq) in staged.items():
        is_committed = table is not None and table.transaction_version(staged_key(run_id, seq)) is not None
        if name not in referred and not is_committed:
            yield Leftover(run_id, join_uri(uri, name))


def _referenced_folders(table: DeltaTable, uri: str) -> set[str]:
    start = len(table_uri(uri)) + 1
    return {file.path[start:].split("/")[0] for file in data_files(table, uri)}


def _list_folder(folder: str) -> list[fs.FileInfo]:
    place = arrow_path(folder)
    if place.system.get_file_info(place.path).type != fs.FileType.Directory:
        return []
    found: list[fs.FileInfo] = place.system.get_file_info(fs.FileSelector(place.path))
    return sorted(found, key=lambda item: item.path)


def _leftovers_in_postgresql(datasource: PostgresqlSource, workspace: Path) -> Iterator[Leftover]:
    from daybook.io.formats.postgresql.table import connect_postgresql

    with connect_postgresql(datasource, workspace) as connection:
        query = "select schemaname, tablename from pg_tables where starts_with(tablename, %s) order by 1, 2"
        found = connection.execute(query, (STAGED_PREFIX,)).fetchall()
    for schema, table in found:
        owner = parse_staged_name(table.removesuffix(".ack"))
        if owner is not None:
            yield Leftover(owner[0], table, datasource, schema)
