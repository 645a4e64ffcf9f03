"""Stores definitions and their versions."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Row, insert, select, text, update

from daybook.definitions.changes import DefinitionHead
from daybook.definitions.dataset_fit import carry_data, find_differences, fulfil_declaration, keep_nullable
from daybook.errors import DaybookError
from daybook.errors.error import closest_match
from daybook.model.dataset import Dataset, View
from daybook.model.definition import DeclaredVersion, DefinitionKind, DefinitionStatus, RegisteredDataPin
from daybook.model.project import Project
from daybook.model.serialization import (
    DefinitionModel,
    DefinitionText,
    decode_definition,
    encode_definition,
    encode_filled,
)
from daybook.store.database.row_records import to_record
from daybook.store.database.tables import (
    DEFINITION,
    DEFINITION_VERSION,
    OUTPUT_COMMIT,
    PROJECT_INPUT,
    PROJECT_STATE,
    RUN,
)
from daybook.store.records import Registration, StoredDefinition, VersionEntry


def find_head(connection: Connection, kind: DefinitionKind, definition_id: str) -> Row[Any] | None:
    query = select(DEFINITION).where(DEFINITION.c.kind == kind, DEFINITION.c.id == definition_id)
    return connection.execute(query).first()


def require_head(connection: Connection, kind: DefinitionKind, definition_id: str) -> Row[Any]:
    row = find_head(connection, kind, definition_id)
    if row is None:
        raise DaybookError("STORE_007", kind=kind, id=definition_id, hint=_suggest_id(connection, kind, definition_id))
    return row


def _suggest_id(connection: Connection, kind: DefinitionKind, definition_id: str) -> str | None:
    ids = connection.execute(select(DEFINITION.c.id).where(DEFINITION.c.kind == kind)).scalars()
    nearest = closest_match(definition_id, ids)
    return f"did you mean {nearest}?" if nearest else None


def find_version(connection: Connection, kind: DefinitionKind, definition_id: str, version: int) -> Row[Any] | None:
    query = select(DEFINITION_VERSION).where(
        DEFINITION_VERSION.c.kind == kind,
        DEFINITION_VERSION.c.id == definition_id,
        DEFINITION_VERSION.c.version == version,
    )
    return connection.execute(query).first()


def insert_head(
    connection: Connection,
    kind: DefinitionKind,
    model: DefinitionModel,
    content: DefinitionText,
    workspace: str | None,
    now: datetime.datetime,
) -> None:
    values = _current_values(model, content, workspace, now)
    connection.execute(insert(DEFINITION).values(kind=kind, id=model.id, latest_version=1, **values))


def update_head(
    connection: Connection,
    kind: DefinitionKind,
    model: DefinitionModel,
    content: DefinitionText,
    workspace: str | None,
    now: datetime.datetime,
    **more: object,
) -> None:
    values = _current_values(model, content, workspace, now)
    _update_definition(connection, kind, model.id, **values, **more)


def _update_definition(connection: Connection, kind: DefinitionKind, definition_id: str, **values: object) -> None:
    row = (DEFINITION.c.kind == kind) & (DEFINITION.c.id == definition_id)
    connection.execute(update(DEFINITION).where(row).values(**values))


def insert_version(
    connection: Connection,
    kind: DefinitionKind,
    definition_id: str,
    version: int,
    content: DefinitionText,
    now: datetime.datetime,
    registration: Registration | None = None,
    pin: RegisteredDataPin | None = None,
) -> None:
    connection.execute(
        insert(DEFINITION_VERSION).values(
            kind=kind,
            id=definition_id,
            version=version,
            body=content.body,
            structure_digest=content.structure_digest,
            created_at=now,
            project_id=registration.project_id if registration else None,
            run_id=registration.run_id if registration else None,
            operation_seq=registration.operation_seq if registration else None,
            pin_uri=pin.uri if pin else None,
            pin_version=pin.version if pin else None,
        )
    )


def _current_values(
    model: DefinitionModel, content: DefinitionText, workspace: str | None, now: datetime.datetime
) -> dict[str, Any]:
    """Everything that is written is enabled."""
    return {
        "name": model.name,
        "body": content.body,
        "text_digest": content.text_digest,
        "structure_digest": content.structure_digest,
        "status": "active",
        "workspace": workspace,
        "is_default": getattr(model, "is_default", False),
        "updated_at": now,
    }


def _without_filled_location(stored: Dataset | View, structure_digest: str) -> Dataset | View:
    """What the file said: a registration fills in the location that it left open, and keeps the file's digest."""
    if isinstance(stored, View):
        return stored
    table = stored.main_table.model_copy(update={"location": None})
    bare = stored.model_copy(update={"main_table": table})
    return bare if encode_definition("dataset", bare).structure_digest == structure_digest else stored


_HEAD_COLUMNS = (
    DEFINITION.c.kind,
    DEFINITION.c.id,
    DEFINITION.c.latest_version,
    DEFINITION.c.status,
    DEFINITION.c.text_digest,
    DEFINITION.c.structure_digest,
    DEFINITION.c.workspace,
    DEFINITION.c.is_default,
)


def _to_head(row: Any) -> DefinitionHead:
    return DefinitionHead(
        row.kind,
        row.id,
        row.latest_version,
        row.status,
        row.text_digest,
        row.structure_digest,
        row.workspace,
        row.is_default,
    )


_DEFINITION_LOCK = 4_021_994_218


@dataclass(frozen=True, slots=True)
class WrittenVersion:
    version: int
    body: str
    structure_digest: str


@dataclass(frozen=True, slots=True)
class _ReadAhead:
    """Every definition, its latest version, and those that active projects were checked with."""

    heads: Mapping[tuple[str, str], Row[Any]]
    versions: Mapping[tuple[str, str, int], Row[Any]]


class DefinitionRows:
    """`is_read_only` transactions see one state of the store, so nothing is asked for twice."""

    def __init__(self, connection: Connection, *, is_read_only: bool = False) -> None:
        self._connection = connection
        self.is_read_only = is_read_only
        self._ahead: _ReadAhead | None = None
        self._heads: dict[tuple[str, str], Row[Any] | None] = {}
        self._versions: dict[tuple[str, str, int], Row[Any] | None] = {}
        # By text: versions of a registered dataset mostly say the same.
        self._models: dict[tuple[DefinitionKind, str], DefinitionModel] = {}

    def read_ahead(self) -> None:
        """Answer from here on out of three queries, for transactions that only read and ask for most definitions."""
        latest = (
            (DEFINITION_VERSION.c.kind == DEFINITION.c.kind)
            & (DEFINITION_VERSION.c.id == DEFINITION.c.id)
            & (DEFINITION_VERSION.c.version == DEFINITION.c.latest_version)
        )
        heads = {(row.kind, row.id): row for row in self._connection.execute(select(DEFINITION))}
        checked = (
            (DEFINITION_VERSION.c.kind == "dataset")
            & (DEFINITION_VERSION.c.id == PROJECT_INPUT.c.dataset_id)
            & (DEFINITION_VERSION.c.version == PROJECT_INPUT.c.version)
        )
        active = (PROJECT_STATE.c.project_id == PROJECT_INPUT.c.project_id) & (
            PROJECT_STATE.c.active_version == PROJECT_INPUT.c.project_version
        )
        queries = (
            select(DEFINITION_VERSION).join(DEFINITION, latest),
            select(DEFINITION_VERSION).join(PROJECT_INPUT, checked).join(PROJECT_STATE, active),
        )
        rows = (row for query in queries for row in self._connection.execute(query))
        self._ahead = _ReadAhead(heads, {(row.kind, row.id, row.version): row for row in rows})

    def _find_head(self, kind: DefinitionKind, definition_id: str) -> Row[Any] | None:
        if self._ahead is not None:
            return self._ahead.heads.get((kind, definition_id))
        key = (kind, definition_id)
        if key not in self._heads or not self.is_read_only:
            self._heads[key] = find_head(self._connection, kind, definition_id)
        return self._heads[key]

    def _require_head(self, kind: DefinitionKind, definition_id: str) -> Row[Any]:
        head = self._find_head(kind, definition_id)
        return head if head is not None else require_head(self._connection, kind, definition_id)

    def _find_version(self, kind: DefinitionKind, definition_id: str, version: int) -> Row[Any] | None:
        key = (kind, definition_id, version)
        if self._ahead is not None and (row := self._ahead.versions.get(key)) is not None:
            return row
        if key not in self._versions or not self.is_read_only:
            self._versions[key] = find_version(self._connection, kind, definition_id, version)
        return self._versions[key]

    def lock(self) -> None:
        """Writers of definitions queue here, so that versions stay contiguous and each sees the last one's."""
        if self._connection.dialect.name == "postgresql":
            self._connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _DEFINITION_LOCK})

    def heads(self, *kinds: DefinitionKind) -> dict[tuple[DefinitionKind, str], DefinitionHead]:
        """Of these kinds, or of all."""
        if self._ahead is not None:
            rows = (row for row in self._ahead.heads.values() if not kinds or row.kind in kinds)
            return {(row.kind, row.id): _to_head(row) for row in rows}
        query = select(*_HEAD_COLUMNS)
        if kinds:
            query = query.where(DEFINITION.c.kind.in_(kinds))
        return {(row.kind, row.id): _to_head(row) for row in self._connection.execute(query)}

    def head(self, kind: DefinitionKind, definition_id: str) -> DefinitionHead | None:
        row = self._find_head(kind, definition_id)
        return _to_head(row) if row is not None else None

    def get(self, kind: DefinitionKind, definition_id: str, version: int | None = None) -> StoredDefinition:
        """That version as it was written; the latest with its present name and description."""
        head = self._require_head(kind, definition_id)
        chosen_version = head.latest_version if version is None else version
        row = self._find_version(kind, definition_id, chosen_version)
        if row is None:
            numbers = ", ".join(str(number) for number in self.versions(kind, definition_id))
            raise DaybookError("STORE_008", kind=kind.capitalize(), id=definition_id, version=version, versions=numbers)
        is_latest = chosen_version == head.latest_version
        body = head.body if is_latest else row.body
        return StoredDefinition(
            kind, definition_id, chosen_version, body, head.name, head.status, row.created_at, is_latest, head.workspace
        )

    def model(self, kind: DefinitionKind, definition_id: str, version: int | None = None) -> DefinitionModel:
        return self.decoded(kind, self.get(kind, definition_id, version).body)

    def decoded(self, kind: DefinitionKind, body: str) -> DefinitionModel:
        """What a stored text says; each text is decoded once."""
        if (kind, body) not in self._models:
            self._models[kind, body] = decode_definition(kind, body)
        return self._models[kind, body]

    def written(self, kind: DefinitionKind, definition_id: str, version: int) -> WrittenVersion:
        """A version exactly as it was made."""
        row = self._find_version(kind, definition_id, version)
        if row is None:
            self.get(kind, definition_id, version)
            raise AssertionError("a version that get() finds has a row")
        return WrittenVersion(row.version, row.body, row.structure_digest)

    def has_version(self, kind: DefinitionKind, definition_id: str, version: int) -> bool:
        return self._find_version(kind, definition_id, version) is not None

    def versions(self, kind: DefinitionKind, definition_id: str) -> tuple[int, ...]:
        query = (
            select(DEFINITION_VERSION.c.version)
            .where(DEFINITION_VERSION.c.kind == kind, DEFINITION_VERSION.c.id == definition_id)
            .order_by(DEFINITION_VERSION.c.version)
        )
        return tuple(self._connection.execute(query).scalars())

    def history(self, kind: DefinitionKind, definition_id: str) -> tuple[VersionEntry, ...]:
        """Every version, the first one first, with the run behind it as long as that is kept."""
        version = DEFINITION_VERSION
        commit = (OUTPUT_COMMIT.c.run_id == version.c.run_id) & (
            OUTPUT_COMMIT.c.operation_seq == version.c.operation_seq
        )
        query = (
            select(version, RUN.c.period, OUTPUT_COMMIT.c.rows)
            .outerjoin(RUN, RUN.c.id == version.c.run_id)
            .outerjoin(OUTPUT_COMMIT, commit)
            .where(version.c.kind == kind, version.c.id == definition_id)
            .order_by(version.c.version)
        )
        return tuple(
            to_record(VersionEntry, version, row, period=row.period, rows=row.rows)
            for row in self._connection.execute(query)
        )

    def pin(self, dataset_id: str, version: int) -> RegisteredDataPin | None:
        """The data of a version; that of other periods, where these have tables of their own, as it was then."""
        row = self._find_version("dataset", dataset_id, version)
        if row is None or row.pin_uri is None:
            return None
        table = DEFINITION_VERSION.c
        query = (
            select(table.pin_uri, table.pin_version)
            .where(table.kind == "dataset", table.id == dataset_id, table.version < version)
            .where(table.pin_uri.is_not(None), table.pin_uri != row.pin_uri)
            .order_by(table.version)
        )
        others = {row_before.pin_uri: row_before.pin_version for row_before in self._connection.execute(query)}
        return RegisteredDataPin(
            row.pin_uri,
            row.pin_version,
            tuple(RegisteredDataPin(*pin_of_period) for pin_of_period in sorted(others.items())),
        )

    def contract(self, dataset_id: str) -> Dataset | View | None:
        """What the file of a dataset says; None for one that is only registered."""
        head = self._require_head("dataset", dataset_id)
        if head.workspace is None:
            return None
        return _without_filled_location(
            cast("Dataset | View", self.decoded("dataset", head.body)), head.structure_digest
        )

    def add(
        self, kind: DefinitionKind, model: DefinitionModel, *, workspace: str | None, now: datetime.datetime
    ) -> int:
        """The first version of something new."""
        content = encode_definition(kind, model)
        insert_head(self._connection, kind, model, content, workspace, now)
        insert_version(self._connection, kind, model.id, 1, content, now)
        return 1

    def add_version(
        self, kind: DefinitionKind, model: DefinitionModel, *, workspace: str | None, now: datetime.datetime
    ) -> int:
        """The next version of something known, which is enabled by it; a dataset keeps data that fits it."""
        head = require_head(self._connection, kind, model.id)
        version: int = head.latest_version + 1
        filled, pin = self._carry_data(kind, model, head)
        content = encode_filled(kind, model, filled)
        insert_version(self._connection, kind, model.id, version, content, now, pin=pin)
        update_head(self._connection, kind, model, content, workspace, now, latest_version=version)
        return version

    def add_activation(self, activated: Project, *, now: datetime.datetime) -> int:
        """The version an activation makes: the same structure, with the input version it was activated for."""
        head = require_head(self._connection, "project", activated.id)
        version: int = head.latest_version + 1
        content = replace(encode_definition("project", activated), structure_digest=head.structure_digest)
        insert_version(self._connection, "project", activated.id, version, content, now)
        _update_definition(
            self._connection, "project", activated.id, latest_version=version, status="active", updated_at=now
        )
        return version

    def retitle(
        self, kind: DefinitionKind, model: DefinitionModel, *, workspace: str | None, now: datetime.datetime
    ) -> None:
        """New names or descriptions on the latest version, which is enabled by it."""
        filled, _ = self._carry_data(kind, model, require_head(self._connection, kind, model.id))
        update_head(self._connection, kind, model, encode_filled(kind, model, filled), workspace, now)

    def adopt(self, kind: DefinitionKind, definition_id: str, workspace: str) -> None:
        """Note which workspace defines something that is otherwise unchanged."""
        is_other = DEFINITION.c.workspace.is_distinct_from(workspace)
        self._connection.execute(
            update(DEFINITION)
            .where(DEFINITION.c.kind == kind, DEFINITION.c.id == definition_id, is_other)
            .values(workspace=workspace)
        )

    def set_status(
        self, kind: DefinitionKind, definition_id: str, status: DefinitionStatus, now: datetime.datetime
    ) -> None:
        _update_definition(self._connection, kind, definition_id, status=status, updated_at=now)

    def register(self, dataset: Dataset, registration: Registration, *, now: datetime.datetime) -> int:
        """The version under which an output's data is known; the same one when the run registers it again.

        Where a file declares the dataset, the version is what the file says, with the data of the output.
        """
        self.lock()
        if (again := self._registered(registration)) is not None:
            return again
        head = find_head(self._connection, "dataset", dataset.id)
        if head is None:
            content = encode_definition("dataset", dataset)
            insert_head(self._connection, "dataset", dataset, content, None, now)
            insert_version(self._connection, "dataset", dataset.id, 1, content, now, registration, registration.pin)
            return 1
        version: int = head.latest_version + 1
        declared: Dataset | View = decode_definition("dataset", head.body)
        if head.workspace is None or head.status == "disabled":
            registered = keep_nullable(dataset, declared)
            content = encode_definition("dataset", registered)
            insert_version(
                self._connection, "dataset", dataset.id, version, content, now, registration, registration.pin
            )
            update_head(self._connection, "dataset", registered, content, None, now, latest_version=version)
            return version
        contract = _without_filled_location(declared, head.structure_digest)
        if (differences := find_differences(contract, dataset)) or isinstance(contract, View):
            raise DaybookError("STORE_010", id=dataset.id, difference="; ".join(differences))
        filled = encode_definition("dataset", fulfil_declaration(contract, dataset))
        content = DefinitionText(filled.body, head.text_digest, head.structure_digest)
        # A resolver says where data lies, also what this run wrote.
        pin = registration.pin if contract.resolver_id is None else None
        insert_version(self._connection, "dataset", dataset.id, version, content, now, registration, pin)
        _update_definition(
            self._connection, "dataset", dataset.id, latest_version=version, body=content.body, updated_at=now
        )
        return version

    def _carry_data(
        self, kind: DefinitionKind, model: DefinitionModel, head: Row[Any]
    ) -> tuple[DefinitionModel, RegisteredDataPin | None]:
        if not isinstance(model, Dataset):
            return model, None
        stored = decode_definition(kind, head.body)
        return carry_data(
            model, DeclaredVersion(stored, head.latest_version, pin=self.pin(model.id, head.latest_version))
        )

    def default_resolver_ids(self) -> tuple[str, ...]:
        return self._active_ids("resolver", DEFINITION.c.is_default)

    def ids(self, kind: DefinitionKind) -> tuple[str, ...]:
        """Those in use."""
        if self._ahead is not None:
            heads = self._ahead.heads.values()
            return tuple(sorted(row.id for row in heads if row.kind == kind and row.status == "active"))
        return self._active_ids(kind)

    def _active_ids(self, kind: DefinitionKind, *conditions: ColumnElement[bool]) -> tuple[str, ...]:
        is_active = DEFINITION.c.status == "active"
        query = select(DEFINITION.c.id).where(DEFINITION.c.kind == kind, is_active, *conditions)
        return tuple(self._connection.execute(query.order_by(DEFINITION.c.id)).scalars())

    def _registered(self, registration: Registration) -> int | None:
        query = select(DEFINITION_VERSION.c.version).where(
            DEFINITION_VERSION.c.run_id == registration.run_id,
            DEFINITION_VERSION.c.operation_seq == registration.operation_seq,
        )
        version: int | None = self._connection.execute(query).scalar_one_or_none()
        return version
