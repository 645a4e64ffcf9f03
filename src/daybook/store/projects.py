"""The state of projects and what their versions use."""

import datetime
import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from daybook.errors import DaybookError
from daybook.model.suggestion import nearest
from daybook.store.records import ColumnUsage, ProjectInput, ProjectState, ProjectStatus
from daybook.store.tables import COLUMN_USE, DEFINITION, PROJECT_INPUT, PROJECT_STATE


class Projects:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, project_id: str) -> ProjectState | None:
        found = self._states(project_id)
        return found[0] if found else None

    def get(self, project_id: str) -> ProjectState:
        state = self.find(project_id)
        if state is None:
            found = nearest(project_id, (known.project_id for known in self.all()))
            hint = f"did you mean {found}?" if found else None
            raise DaybookError("STORE_007", kind="project", id=project_id, hint=hint)
        return state

    def all(self) -> tuple[ProjectState, ...]:
        return self._states(None)

    def set_state(
        self,
        project_id: str,
        status: ProjectStatus,
        *,
        active_version: int | None,
        now: datetime.datetime,
        conflict: Mapping[str, Any] | None = None,
        warnings: Iterable[str] = (),
    ) -> None:
        values = {
            "status": status,
            "active_version": active_version,
            "conflict": json.dumps(conflict, ensure_ascii=False) if conflict else None,
            "warnings": json.dumps(list(warnings), ensure_ascii=False),
            "updated_at": now,
        }
        changed = self._connection.execute(
            update(PROJECT_STATE).where(PROJECT_STATE.c.project_id == project_id).values(**values)
        )
        if changed.rowcount == 0:
            self._connection.execute(insert(PROJECT_STATE).values(project_id=project_id, **values))

    def set_inputs(self, project_id: str, version: int, inputs: Iterable[ProjectInput]) -> None:
        self._connection.execute(
            delete(PROJECT_INPUT).where(
                PROJECT_INPUT.c.project_id == project_id, PROJECT_INPUT.c.project_version == version
            )
        )
        rows = [
            {
                "project_id": project_id,
                "project_version": version,
                "dataset_id": item.dataset_id,
                "dataset_version": item.version,
                "is_pinned": item.is_pinned,
            }
            for item in dict.fromkeys(inputs)
        ]
        if rows:
            self._connection.execute(insert(PROJECT_INPUT), rows)

    def inputs(self, project_id: str, version: int) -> tuple[ProjectInput, ...]:
        query = (
            select(PROJECT_INPUT)
            .where(PROJECT_INPUT.c.project_id == project_id, PROJECT_INPUT.c.project_version == version)
            .order_by(PROJECT_INPUT.c.dataset_id, PROJECT_INPUT.c.dataset_version)
        )
        return tuple(
            ProjectInput(row.dataset_id, row.dataset_version, row.is_pinned) for row in self._connection.execute(query)
        )

    def set_usage(self, project_id: str, version: int, usage: Iterable[ColumnUsage]) -> None:
        self._connection.execute(
            delete(COLUMN_USE).where(COLUMN_USE.c.project_id == project_id, COLUMN_USE.c.project_version == version)
        )
        rows = [
            {
                "project_id": project_id,
                "project_version": version,
                "operation_seq": item.operation_seq,
                "dataset_id": item.dataset_id,
                "column_name": item.column,
                "is_pinned": item.is_pinned,
            }
            for item in dict.fromkeys(usage)
        ]
        if rows:
            self._connection.execute(insert(COLUMN_USE), rows)

    def usage(self, project_id: str, version: int) -> tuple[ColumnUsage, ...]:
        query = (
            select(COLUMN_USE)
            .where(COLUMN_USE.c.project_id == project_id, COLUMN_USE.c.project_version == version)
            .order_by(COLUMN_USE.c.operation_seq, COLUMN_USE.c.dataset_id, COLUMN_USE.c.column_name)
        )
        return tuple(
            ColumnUsage(row.operation_seq, row.dataset_id, row.column_name, row.is_pinned)
            for row in self._connection.execute(query)
        )

    def _states(self, project_id: str | None) -> tuple[ProjectState, ...]:
        query = (
            select(PROJECT_STATE, DEFINITION.c.latest_version)
            .join(DEFINITION, (DEFINITION.c.kind == "project") & (DEFINITION.c.id == PROJECT_STATE.c.project_id))
            .order_by(PROJECT_STATE.c.project_id)
        )
        if project_id is not None:
            query = query.where(PROJECT_STATE.c.project_id == project_id)
        return tuple(
            ProjectState(
                row.project_id,
                row.status,
                row.latest_version,
                row.active_version,
                json.loads(row.conflict) if row.conflict else None,
                tuple(json.loads(row.warnings or "[]")),
            )
            for row in self._connection.execute(query)
        )
