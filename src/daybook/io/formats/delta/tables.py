"""Opening Delta tables, and refusing those with features Daybook does not know."""

from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from daybook.errors import DaybookError
from daybook.io.place import local_path

_KNOWN_READER_FEATURES = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
_KNOWN_WRITER_FEATURES = frozenset({"appendOnly", "invariants", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
_FEATURE_NAMES = {"deletionVectors": "deletion vectors", "columnMapping": "column mapping"}


def table_uri(uri: str) -> str:
    path = local_path(uri)
    return uri.rstrip("/") if path is None else str(path.absolute())


def open_table(uri: str, version: int | None = None) -> DeltaTable | None:
    """The table, at a version; None when there is none."""
    path = local_path(uri)
    if path is not None and not (Path(path) / "_delta_log").is_dir():
        return None
    try:
        return DeltaTable(table_uri(uri), version=version)
    except TableNotFoundError:
        return None
    except DeltaError as failure:
        if version is not None:
            raise DaybookError("IO_009", location=uri, reason=str(failure)) from failure
        raise DaybookError("IO_012", location=uri, reason=str(failure)) from failure


def refuse_unknown_features(table: DeltaTable, uri: str, *, is_write: bool) -> None:
    protocol = table.protocol()
    mapping = (table.metadata().configuration or {}).get("delta.columnMapping.mode", "none")
    if mapping != "none":
        raise DaybookError("IO_010", location=uri, feature=_FEATURE_NAMES["columnMapping"])
    features = [name for name in protocol.reader_features or () if name not in _KNOWN_READER_FEATURES]
    if is_write:
        features += [name for name in protocol.writer_features or () if name not in _KNOWN_WRITER_FEATURES]
    # Column mapping may be supported by a table that does not use it.
    features = [name for name in features if name != "columnMapping"]
    if features:
        # The best known one explains most.
        worst = min(features, key=lambda name: name not in _FEATURE_NAMES)
        raise DaybookError("IO_010", location=uri, feature=_FEATURE_NAMES.get(worst, worst))
