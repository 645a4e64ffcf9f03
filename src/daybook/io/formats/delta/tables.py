"""Opening Delta tables, and refusing those with features Daybook does not know."""

import json
import re
from collections.abc import Iterator
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from daybook.errors import DaybookError
from daybook.io.place import child, local_path, readable, store_of

_KNOWN_READER_FEATURES = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
_KNOWN_WRITER_FEATURES = frozenset({"appendOnly", "invariants", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
_FEATURE_NAMES = {"deletionVectors": "deletion vectors", "columnMapping": "column mapping"}
# What the `deltalake` package decodes in the path of a table, however it is given.
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|\\")


def table_uri(uri: str) -> str:
    path = local_path(uri)
    return uri.rstrip("/") if path is None else str(path.absolute())


def commit_infos(table: DeltaTable, uri: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """What each commit says of itself, newest first, as far back as the log goes.

    Read from the log, since `DeltaTable.history` finds nothing in a folder with # or ? in its name.
    """
    for version in range(table.version(), -1, -1):
        place = store_of(child(table_uri(uri), "_delta_log", f"{version:020}.json"))
        try:
            with place.system.open_input_stream(place.path) as stream:
                actions = [json.loads(line) for line in stream.read().splitlines()]
        except FileNotFoundError:
            return
        for action in actions:
            if "commitInfo" in action:
                yield version, action["commitInfo"]


def open_table(uri: str, version: int | None = None) -> DeltaTable | None:
    """The table, at a version; None when there is none."""
    path = local_path(uri)
    if path is not None and (escape := _ESCAPE.search(str(path.absolute()))):
        reason = f"Delta tables cannot lie in a folder with {escape[0]} in its name, which would be read as an escape"
        raise DaybookError("IO_012", location=uri, reason=reason, hint="rename the folder, or write another format")
    with readable(uri):
        if path is not None and not (path / "_delta_log").is_dir():
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
