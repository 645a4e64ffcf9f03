"""What dead runs left behind: everything staged carries the run's id in its name."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable
from pyarrow import fs

from daybook.io.formats.delta.reading import data_files
from daybook.io.formats.delta.tables import open_table, table_uri
from daybook.io.place import child, local_path, store_of
from daybook.io.staged_names import PREFIX, run_of, staged_key
from daybook.model.datasource import DataSource, FolderSource, JdbcSource, PostgresqlSource, SqliteSource


@dataclass(frozen=True, slots=True)
class Litter:
    """Something staged: `place` is the URI of a folder, or the name of a table of the data source."""

    run_id: str
    place: str
    datasource: DataSource | None = None
    schema: str | None = None


def find_litter(
    folders: Iterable[str],
    datasources: Iterable[DataSource],
    live_runs: Collection[str],
    workspace: Path,
) -> tuple[Litter, ...]:
    """Staged things of runs that no longer live, in folders that hold outputs and in the schemas of databases."""
    found: dict[tuple[str, str], Litter] = {}
    for folder in folders:
        for litter in _in_folder(folder):
            found[litter.run_id, litter.place] = litter
    for datasource in datasources:
        for litter in _in_datasource(datasource, workspace):
            found[litter.run_id, litter.place] = litter
    return tuple(litter for litter in found.values() if litter.run_id not in live_runs)


def find_landing_litter(landing_uri: str, live_runs: Collection[str]) -> tuple[Litter, ...]:
    """Unpublished attempts of landings, and database landings of runs that are no longer known."""
    place = store_of(landing_uri)
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
            found.append(Litter(run_id, prefix + folder))
    return tuple(found)


def remove(litter: Litter, workspace: Path) -> None:
    """Harmless when it is gone already."""
    match litter.datasource:
        case PostgresqlSource():
            from psycopg import sql

            from daybook.io.formats.postgresql.connecting import connect

            with connect(litter.datasource, workspace) as connection:
                name = sql.Identifier(litter.schema or litter.datasource.options.schema_name, litter.place)
                connection.execute(sql.SQL("drop table if exists {}").format(name))
        case _:
            place = store_of(litter.place)
            if place.system.get_file_info(place.path).type == fs.FileType.Directory:
                place.system.delete_dir(place.path)


def _in_datasource(datasource: DataSource, workspace: Path) -> Iterator[Litter]:
    match datasource:
        case FolderSource(options=options):
            root = options.path if local_path(options.path) is None else str(workspace / options.path)
            yield from _in_folder(root)
        case SqliteSource(options=options):
            yield from _in_folder(str((workspace / options.path).parent))
        case PostgresqlSource():
            yield from _in_postgresql(datasource, workspace)
        case JdbcSource():
            # Only a Spark session can look; the writer removes its own with `discard`.
            return


def _in_folder(folder: str) -> Iterator[Litter]:
    """Staging beside files, and staged folders inside Delta tables that no version refers to."""
    for item in _children(folder):
        name = item.base_name
        owner = run_of(name)
        if owner is not None and name.startswith(".") and item.type == fs.FileType.Directory:
            yield Litter(owner[0], child(folder, name))
    yield from _in_table(folder)
    for item in _children(folder):
        if (
            item.type == fs.FileType.Directory
            and not item.base_name.startswith((".", "_"))
            and not run_of(item.base_name)
        ):
            yield from _in_folder(child(folder, item.base_name))


def _in_table(uri: str) -> Iterator[Litter]:
    staged = {item.base_name: owner for item in _children(uri) if (owner := run_of(item.base_name))}
    staged = {name: owner for name, owner in staged.items() if not name.startswith(".")}
    if not staged:
        return
    table = open_table(uri)
    referred = _referred(table, uri) if table else set()
    for name, (run_id, seq) in staged.items():
        is_committed = table is not None and table.transaction_version(staged_key(run_id, seq)) is not None
        if name not in referred and not is_committed:
            yield Litter(run_id, child(uri, name))


def _referred(table: DeltaTable, uri: str) -> set[str]:
    start = len(table_uri(uri)) + 1
    return {file.path[start:].split("/")[0] for file in data_files(table, uri)}


def _children(folder: str) -> list[fs.FileInfo]:
    place = store_of(folder)
    if place.system.get_file_info(place.path).type != fs.FileType.Directory:
        return []
    found: list[fs.FileInfo] = place.system.get_file_info(fs.FileSelector(place.path))
    return sorted(found, key=lambda item: item.path)


def _in_postgresql(datasource: PostgresqlSource, workspace: Path) -> Iterator[Litter]:
    from daybook.io.formats.postgresql.connecting import connect

    with connect(datasource, workspace) as connection:
        query = "select schemaname, tablename from pg_tables where starts_with(tablename, %s) order by 1, 2"
        found = connection.execute(query, (PREFIX,)).fetchall()
    for schema, table in found:
        owner = run_of(table.removesuffix(".ack"))
        if owner is not None:
            yield Litter(owner[0], table, datasource, schema)
