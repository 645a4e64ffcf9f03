"""What Daybook knows of Delta tables: read by the files of a version, committed through the log."""

from collections.abc import Iterator
from functools import cached_property

from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession

from daybook.io.filesystem import FileStat
from daybook.io.format import Format, Leftover, ReadRequest, VacuumRequest, VersionHolder
from daybook.io.formats.delta.maintenance import (
    hold_version,
    release_version,
    staged_leftovers,
    vacuum_table,
    versions_held_by,
)
from daybook.io.formats.delta.rows import committed_rows
from daybook.io.formats.delta.table import (
    has_data_commits_since,
    numbered_version,
    open_table,
    read_delta,
    verify_table,
    version_number,
)
from daybook.io.formats.delta.writer import DeltaWriter
from daybook.io.formats.files.format import FolderFormat
from daybook.io.pins import ReadPart, TablePin
from daybook.io.rows.stored import StoredRows
from daybook.io.target import FileTarget
from daybook.io.writer import Commit
from daybook.model.definition import TableVersion
from daybook.resolve.locations.location import Location


class DeltaFormat(FolderFormat):
    name = "delta"
    is_landed = False

    @cached_property
    def writer(self) -> DeltaWriter:
        return DeltaWriter()

    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        return (*super().storage_errors, DeltaError)

    def exists(self, location: Location) -> bool:
        return open_table(location.file_uri, version_number(location.version)) is not None

    def read(self, spark: SparkSession, request: ReadRequest) -> Iterator[ReadPart]:
        for each in request.locations:
            pin = each.pin if isinstance(each.pin, TablePin) else None
            part = read_delta(spark, each.location, request.version, request.slices, pin)
            yield part.with_period(each.location)

    def committed_rows(self, target: FileTarget, commit: Commit) -> StoredRows:
        return committed_rows(target, commit)

    def has_changed(self, pin: TablePin) -> bool:
        return has_data_commits_since(pin)

    def newest_version(self, uri: str, known: TableVersion) -> TableVersion:
        table = open_table(uri)
        now = table.version() if table is not None else None
        before = version_number(known)
        return known if now is None or before is None or now <= before else numbered_version(now)

    def verify_pin(self, pin: TablePin) -> None:
        verify_table(pin)

    def fingerprint(self, spark: SparkSession, target: FileTarget, commit: Commit) -> str:
        return self.writer.fingerprint(spark, target, commit)

    def hold_version(self, uri: str, version: TableVersion, holder: VersionHolder) -> None:
        hold_version(uri, version, holder)

    def release_version(self, uri: str, version: TableVersion, holder: VersionHolder) -> None:
        release_version(uri, version, holder)

    def versions_held_by(self, uri: str, store: str) -> tuple[tuple[TableVersion, VersionHolder], ...]:
        return versions_held_by(uri, store)

    def vacuum(self, request: VacuumRequest) -> tuple[FileStat, ...]:
        return vacuum_table(request)

    def staging_folder(self, location: Location) -> str | None:
        return location.uri

    def leftovers_in_folder(self, folder: str) -> Iterator[Leftover]:
        return staged_leftovers(folder)


FORMAT: Format = DeltaFormat()
