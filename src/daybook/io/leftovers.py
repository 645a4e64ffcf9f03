"""Finds and removes what killed runs staged in data sources, folders and landings."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from pyarrow import fs

from daybook.io.filesystem import absolute_uri, arrow_path, join_uri, list_folder, remove_folder
from daybook.io.format import Leftover
from daybook.io.registry import format_named
from daybook.io.storage import PROVIDER_STORAGE, Storage, bucket_of
from daybook.io.target import parse_staged_name
from daybook.model.datasource import DataSource
from daybook.model.formats import file_formats


def find_staged_leftovers(
    folders: Iterable[str],
    datasources: Iterable[DataSource],
    live_runs: Collection[str],
    workspace: Path,
    storage: Storage = PROVIDER_STORAGE,
) -> tuple[Leftover, ...]:
    """Staged things of runs that no longer live, in folders that hold outputs and in data sources."""
    leftovers = [litter for folder in folders for litter in search_folder(folder, storage)]
    for datasource in datasources:
        leftovers += format_named(datasource.type).find_leftovers(datasource, workspace, storage)
    distinct = {litter.key: litter for litter in leftovers}.values()
    dead = (litter for litter in distinct if litter.run_id not in live_runs)
    return tuple(litter for litter in dead if not _is_empty_prefix(litter, storage))


def _is_empty_prefix(leftover: Leftover, storage: Storage) -> bool:
    """Whether nothing is left of a folder that an object store still lists."""
    if leftover.path is None or bucket_of(leftover.path) is None:
        return False
    at = arrow_path(leftover.path, storage)
    items = at.system.get_file_info(fs.FileSelector(at.path, recursive=True, allow_not_found=True))
    return all(item.type == fs.FileType.Directory for item in items)


def find_landing_leftovers(
    landing_uri: str, live_runs: Collection[str], storage: Storage = PROVIDER_STORAGE
) -> tuple[Leftover, ...]:
    """Unpublished attempts of landings, and database landings of runs that are no longer known."""
    at, base = arrow_path(landing_uri, storage), absolute_uri(landing_uri)
    everything = at.system.get_file_info(fs.FileSelector(at.path, recursive=True, allow_not_found=True))
    folders = {item.path for item in everything if item.type == fs.FileType.Directory}
    published = {item.path.rpartition("/")[0] for item in everything if item.base_name == "manifest.json"}
    leftovers = []
    for folder in sorted(folders):
        parent, _, name = folder.rpartition("/")
        run_id, dot, attempt = name.rpartition(".")
        is_attempt = bool(dot) and len(attempt) == 32 and "/" not in run_id
        if is_attempt and parent not in published and run_id not in live_runs:
            leftovers.append(Leftover(run_id, base + folder[len(at.path) :]))
    return tuple(leftovers)


def remove_leftover(leftover: Leftover, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> None:
    """Harmless when it is gone already."""
    if leftover.datasource is not None:
        format_named(leftover.datasource.type).remove_leftover(leftover, workspace)
    elif leftover.path is not None:
        remove_folder(leftover.path, storage)


def search_folder(folder: str, storage: Storage = PROVIDER_STORAGE) -> Iterator[Leftover]:
    """Hidden staging folders beside outputs, and what formats stage inside of their tables."""
    items = list_folder(folder, storage)
    for item in items:
        owner = parse_staged_name(item.base_name)
        if owner is not None and item.base_name.startswith(".") and item.type == fs.FileType.Directory:
            yield Leftover(owner[0], join_uri(folder, item.base_name))
    for name in file_formats():
        yield from format_named(name).leftovers_in_folder(folder, storage)
    for item in items:
        name = item.base_name
        if item.type == fs.FileType.Directory and not name.startswith((".", "_")) and not parse_staged_name(name):
            yield from search_folder(join_uri(folder, name), storage)
