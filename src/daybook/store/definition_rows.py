"""Statements on the rows of definitions and their versions."""

import datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from daybook.errors import DaybookError
from daybook.model.definition import Kind
from daybook.model.suggestion import nearest
from daybook.store.records import Registration
from daybook.store.tables import DEFINITION, DEFINITION_VERSION
from daybook.store.texts import DefinitionModel, DefinitionText


def find_head(connection: Connection, kind: Kind, definition_id: str) -> Row[Any] | None:
    query = select(DEFINITION).where(DEFINITION.c.kind == kind, DEFINITION.c.id == definition_id)
    return connection.execute(query).first()


def require_head(connection: Connection, kind: Kind, definition_id: str) -> Row[Any]:
    row = find_head(connection, kind, definition_id)
    if row is None:
        raise DaybookError("STORE_007", kind=kind, id=definition_id, hint=_meant(connection, kind, definition_id))
    return row


def _meant(connection: Connection, kind: Kind, definition_id: str) -> str | None:
    known = connection.execute(select(DEFINITION.c.id).where(DEFINITION.c.kind == kind)).scalars()
    found = nearest(definition_id, known)
    return f"did you mean {found}?" if found else None


def find_version(connection: Connection, kind: Kind, definition_id: str, version: int) -> Row[Any] | None:
    query = select(DEFINITION_VERSION).where(
        DEFINITION_VERSION.c.kind == kind,
        DEFINITION_VERSION.c.id == definition_id,
        DEFINITION_VERSION.c.version == version,
    )
    return connection.execute(query).first()


def insert_head(
    connection: Connection,
    kind: Kind,
    model: DefinitionModel,
    content: DefinitionText,
    workspace: str | None,
    now: datetime.datetime,
) -> None:
    values = _present(model, content, workspace, now)
    connection.execute(insert(DEFINITION).values(kind=kind, id=model.id, latest_version=1, **values))


def update_head(
    connection: Connection,
    kind: Kind,
    model: DefinitionModel,
    content: DefinitionText,
    workspace: str | None,
    now: datetime.datetime,
    **more: object,
) -> None:
    values = _present(model, content, workspace, now)
    connection.execute(
        update(DEFINITION).where(DEFINITION.c.kind == kind, DEFINITION.c.id == model.id).values(**values, **more)
    )


def insert_version(
    connection: Connection,
    kind: Kind,
    definition_id: str,
    version: int,
    content: DefinitionText,
    now: datetime.datetime,
    registration: Registration | None = None,
) -> None:
    pin = registration.pin if registration else None
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
            pin_delta_version=pin.delta_version if pin else None,
        )
    )


def _present(
    model: DefinitionModel, content: DefinitionText, workspace: str | None, now: datetime.datetime
) -> dict[str, Any]:
    """Whatever is written is in use."""
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
