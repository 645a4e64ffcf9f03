"""The text files of a location, as they were when they were found."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from daybook.errors import DaybookError
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.hive import partition_values
from daybook.io.landing.rows import Given
from daybook.io.place import FileStat, list_files, readable, relative_to, store_of
from daybook.io.tables import carried_types, is_needed
from daybook.resolve.location import Location

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A text file to be landed."""

    stat: FileStat
    digest: str
    location: Location
    given: Given

    def verify(self) -> None:
        """IO_008 when the file has changed since it was found."""
        if list_files(self.stat.path) != (self.stat,):
            raise DaybookError("IO_008", file=self.stat.path)


def found_files(location: Location, slices: frozenset[str] | None) -> Iterator[FoundFile]:
    """Every file with its content's digest; those of slices nobody needs are left out."""
    uri = location.uri or ""
    found = list_files(uri)
    manifest = read_manifest(uri)
    if not found and manifest is None:
        raise DaybookError("IO_001", location=uri)
    promised = frozenset(manifest.columns) if manifest else frozenset[str]()
    for stat in found:
        values = partition_values(relative_to(stat.path, uri))
        if is_needed(values, slices):
            yield FoundFile(stat, _digest(stat.path), location, Given(values, promised))


def named_by_folders(locations: Iterable[Location]) -> set[str]:
    """System columns that folder names carry, those of slices nobody needs included."""
    found: set[str] = set()
    for location in locations:
        for stat in list_files(location.uri) if location.uri else ():
            found |= set(partition_values(relative_to(stat.path, location.uri)))
    return found & set(carried_types())


def _digest(path: str) -> str:
    place = store_of(path)
    digest = hashlib.blake2b(digest_size=20)
    with readable(path), place.system.open_input_stream(place.path, compression=None) as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
