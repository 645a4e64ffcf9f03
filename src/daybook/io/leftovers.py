"""Finds what killed runs left behind: the names of staged files and tables contain the id of the run."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from pyarrow import fs

from daybook.io.filesystem import arrow_path, join_uri, local_path
from daybook.io.format import Leftover
from daybook.io.registry import format_named
from daybook.io.target import parse_staged_name
from daybook.model.datasource import DataSource
from daybook.model.formats import file_formats


def find_staged_leftovers(
    folders: Iterable[str],
    datasources: Iterable[DataSource],
    live_runs: Collection[str],
    workspace: Path,
) -> tuple[Leftover, ...]:
    """Staged things of runs that no longer live, in folders that hold outputs and in data sources."""
    found = [litter for folder in folders for litter in search_folder(folder)]
    for datasource in datasources:
        found += format_named(datasource.type).find_leftovers(datasource, workspace)
    distinct = {litter.key: litter for litter in found}.values()
    return tuple(litter for litter in distinct if litter.run_id not in live_runs)


def find_landing_leftovers(landing_uri: str, live_runs: Collection[str]) -> tuple[Leftover, ...]:
    """Unpublished attempts of landings, and database landings of runs that are no longer known."""
    at = arrow_path(landing_uri)
    prefix = "" if local_path(landing_uri) is not None else landing_uri[: landing_uri.index("://") + 3]
    everything = at.system.get_file_info(fs.FileSelector(at.path, recursive=True, allow_not_found=True))
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


def remove_leftover(leftover: Leftover, workspace: Path) -> None:
    """Harmless when it is gone already."""
    if leftover.datasource is not None:
        format_named(leftover.datasource.type).remove_leftover(leftover, workspace)
    elif leftover.path is not None:
        at = arrow_path(leftover.path)
        if at.system.get_file_info(at.path).type == fs.FileType.Directory:
            at.system.delete_dir(at.path)


def search_folder(folder: str) -> Iterator[Leftover]:
    """Hidden staging folders beside outputs, and what formats stage inside of their tables."""
    items = list_folder(folder)
    for item in items:
        owner = parse_staged_name(item.base_name)
        if owner is not None and item.base_name.startswith(".") and item.type == fs.FileType.Directory:
            yield Leftover(owner[0], join_uri(folder, item.base_name))
    for name in file_formats():
        yield from format_named(name).leftovers_in_folder(folder)
    for item in items:
        name = item.base_name
        if item.type == fs.FileType.Directory and not name.startswith((".", "_")) and not parse_staged_name(name):
            yield from search_folder(join_uri(folder, name))


def list_folder(folder: str) -> list[fs.FileInfo]:
    """What a folder holds, by name; nothing when it is not there."""
    at = arrow_path(folder)
    if at.system.get_file_info(at.path).type != fs.FileType.Directory:
        return []
    found: list[fs.FileInfo] = at.system.get_file_info(fs.FileSelector(at.path))
    return sorted(found, key=lambda item: item.path)
