"""Removing what a Delta table no longer needs, for `daybook gc` alone."""

from collections.abc import Collection

from daybook.io.formats.delta.reading import data_files
from daybook.io.formats.delta.tables import open_table, refuse_unknown_features, table_uri
from daybook.io.place import FileStat, list_files, store_of


def vacuum_delta(
    uri: str, keep_versions: Collection[int], latest: int, modified_before_ns: int, *, is_dry_run: bool = False
) -> tuple[FileStat, ...]:
    """Data files that no kept version refers to and that are old enough to be no one's staging.

    `keep_versions` are those that registered datasets and live runs are pinned to; `latest` is how many of the newest
    stay readable besides.
    """
    table = open_table(uri)
    if table is None:
        return ()
    refuse_unknown_features(table, uri, is_write=True)
    newest = table.version()
    wanted = {version for version in keep_versions if version <= newest}
    wanted |= set(range(max(0, newest - latest + 1), newest + 1))
    needed: set[str] = set()
    for version in wanted:
        if (then := open_table(uri, version)) is not None:
            needed |= {file.path for file in data_files(then, uri)}
    base = table_uri(uri)
    found = tuple(
        file
        for file in list_files(base)
        if file.path.endswith(".parquet") and file.path not in needed and file.modified_ns < modified_before_ns
    )
    if not is_dry_run:
        for file in found:
            place = store_of(file.path)
            place.system.delete_file(place.path)
    return found
