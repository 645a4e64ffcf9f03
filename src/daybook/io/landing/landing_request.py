"""What is landed, in which folder, and what the landing depends on: the data, the declaration and the options."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daybook.errors import DaybookError
from daybook.io.bindings import Binding, carried_types, is_slice_needed, validity_types
from daybook.io.filesystem import (
    FileStat,
    content_digest,
    list_files,
    missing_files_error,
    partition_values,
    relative_to,
)
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.landing.area import IN_MEMORY_BYTES, LandingArea
from daybook.io.landing.batches import ImpliedColumns
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.model.datasource import DataSource
from daybook.model.definition import DatasetVersion
from daybook.resolve.location import Location


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file to be landed."""

    stat: FileStat
    digest: str
    location: Location
    given: ImpliedColumns
    storage: Storage = PROVIDER_STORAGE

    def verify(self) -> None:
        """IO_008 when the file has changed since it was found."""
        if list_files(self.stat.path, storage=self.storage) != (self.stat,):
            raise DaybookError("IO_008", file=self.stat.path)


def find_text_files(
    location: Location, slices: frozenset[str] | None, storage: Storage = PROVIDER_STORAGE
) -> Iterator[TextFile]:
    """Every file with the digest of its content, without files of slices that are not read."""
    uri = location.file_uri
    files = list_files(uri, location.root or uri, storage)
    manifest = read_manifest(uri)
    if not files and manifest is None:
        raise missing_files_error(uri)
    promised = frozenset(manifest.columns) if manifest else frozenset[str]()
    for stat in files:
        values = partition_values(relative_to(stat.path, uri))
        if is_slice_needed(values, slices):
            implied = ImpliedColumns(values, promised)
            yield TextFile(stat, content_digest(stat.path, storage), location, implied, storage)


def columns_in_folder_names(locations: Iterable[Location], storage: Storage = PROVIDER_STORAGE) -> set[str]:
    """System columns in folder names, including those of slices that are not read."""
    names: set[str] = set()
    for location in locations:
        for stat in list_files(location.uri, location.root or location.uri, storage) if location.uri else ():
            names |= set(partition_values(relative_to(stat.path, location.uri)))
    return names & set(carried_types())


@dataclass(frozen=True, slots=True)
class LandingRequest:
    """All locations of a dataset become one landing, so that occurrence numbers count across files."""

    locations: Sequence[Location]
    version: DatasetVersion
    area: LandingArea
    # The slices of tables that Daybook wrote which are needed; None for all.
    slices: frozenset[str] | None
    workspace: Path
    memory_limit: int = IN_MEMORY_BYTES

    @property
    def storage(self) -> Storage:
        return self.area.storage

    @property
    def names(self) -> tuple[str, ...]:
        """The locations as messages and pins name them."""
        return tuple(at.uri or f"{at.schema or ''}.{at.table}".lstrip(".") for at in self.locations)

    @property
    def columns(self) -> tuple[Binding, ...]:
        """Declared columns, and those that sources may carry."""
        table = self.version.dataset.main_table
        return (
            *(Binding(column.name, column.name, column.type, column.nullable) for column in table.columns),
            *(Binding(name, name, type_) for name, type_ in {**carried_types(), **validity_types(table)}.items()),
        )


_LAYOUT_VERSION = 2


def _described(datasource: DataSource) -> str:
    """How a data source's files are read; how its bucket is reached changes nothing of what they hold."""
    return datasource.model_dump_json(exclude={"options": {"endpoint", "region", "path_style"}})


def landing_key(request: LandingRequest, files: Sequence[TextFile], databases: Sequence[Location]) -> str:
    dataset = request.version.dataset
    content: dict[str, Any] = {
        "layout": _LAYOUT_VERSION,
        "columns": [[c.name, str(c.type), c.nullable] for c in dataset.main_table.columns],
        "temporal_mode": dataset.main_table.temporal_mode,
        "natural_key": list(dataset.natural_key_columns),
        "files": [
            [
                file.stat.path,
                file.stat.size,
                file.stat.modified_ns,
                file.digest,
                file.location.format,
                sorted(map(str, file.location.options.items())),
                _described(file.location.datasource) if file.location.datasource else None,
                file.location.period.identifier if file.location.period else None,
                sorted(file.given.promised),
                *filter(None, (file.location.null_period,)),
            ]
            for file in files
        ],
        "slices": sorted(request.slices or ()) if databases else [],
        "tables": [
            [
                at.datasource.id if at.datasource else None,
                at.schema,
                at.table,
                at.period.identifier if at.period else None,
            ]
            for at in databases
        ],
    }
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()
