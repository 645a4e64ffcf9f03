"""Which run wrote the file or folder at a location, as what lies there says itself."""

from daybook.errors import DaybookError
from daybook.io.filesystem import list_files, relative_to
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.formats.files.one_file import has_notes, run_that_wrote_file
from daybook.resolve.location import Location, is_one_file


def runs_that_wrote(location: Location) -> frozenset[str]:
    """The runs behind the files on this machine; none where another program wrote or changed some of them."""
    if location.local_path is None or location.uri is None:
        return frozenset()
    if is_one_file(location.format, location.uri):
        run_id = run_that_wrote_file(location.local_path)
        return frozenset({run_id}) if run_id is not None else frozenset()
    manifest = read_manifest(location.uri)
    if manifest is None:
        return frozenset()
    written = {name: entry.run_id for entry in manifest.entries for name in entry.files}
    present = {relative_to(file.path, location.uri) for file in list_files(location.uri)}
    return frozenset(written.values()) if present == written.keys() else frozenset()


def is_as_written(location: Location, run_id: str) -> bool | None:
    """Whether the files on this machine are still those that a run wrote; None where nothing was noted."""
    if location.local_path is None or location.uri is None:
        return None
    try:
        is_noted = (
            has_notes(location.local_path)
            if is_one_file(location.format, location.uri)
            else read_manifest(location.uri) is not None
        )
        return run_id in runs_that_wrote(location) if is_noted else None
    except DaybookError:
        # A note that is damaged says nothing of what lies beside it.
        return False
