"""Stores the status of projects, their active versions, and the columns they use."""

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from daybook.definitions.activated import ProjectInput
from daybook.definitions.column_usage import StoredColumnUsage
from daybook.errors import DaybookError
from daybook.errors.error import closest_match
from daybook.model.project import Project
from daybook.store.database.definition_rows import DefinitionRows
from daybook.store.database.row_records import to_record, to_row
from daybook.store.database.tables import COLUMN_USE, DEFINITION, PROJECT_INPUT, PROJECT_STATE
from daybook.store.records import ProjectState, ProjectStatus

_INPUTS = select(PROJECT_INPUT).order_by(PROJECT_INPUT.c.dataset_id, PROJECT_INPUT.c.version)
_USAGE = select(COLUMN_USE).order_by(COLUMN_USE.c.operation_seq, COLUMN_USE.c.dataset_id, COLUMN_USE.c.column)


@dataclass(frozen=True, slots=True)
class _ReadAhead:
    """The state of every project, and what its versions were checked with, by project and version."""

    states: Mapping[str, ProjectState]
    inputs: Mapping[tuple[str, int], list[ProjectInput]]
    usage: Mapping[tuple[str, int], list[StoredColumnUsage]]


class Projects:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ahead: _ReadAhead | None = None

    def read_ahead(self) -> None:
        """Answer from here on out of three queries, for transactions that only read and ask for most projects."""
        inputs: dict[tuple[str, int], list[ProjectInput]] = defaultdict(list)
        usage: dict[tuple[str, int], list[StoredColumnUsage]] = defaultdict(list)
        for row in self._connection.execute(_INPUTS):
            inputs[row.project_id, row.project_version].append(to_record(ProjectInput, PROJECT_INPUT, row))
        for row in self._connection.execute(_USAGE):
            usage[row.project_id, row.project_version].append(to_record(StoredColumnUsage, COLUMN_USE, row))
        self._ahead = _ReadAhead({state.project_id: state for state in self.all()}, inputs, usage)

    def find(self, project_id: str) -> ProjectState | None:
        if self._ahead is not None:
            return self._ahead.states.get(project_id)
        states = self._states(project_id)
        return states[0] if states else None

    def get(self, project_id: str) -> ProjectState:
        state = self.find(project_id)
        if state is None:
            nearest = closest_match(project_id, (project.project_id for project in self.all()))
            hint = f"did you mean {nearest}?" if nearest else None
            raise DaybookError("STORE_007", kind="project", id=project_id, hint=hint)
        return state

    def all(self) -> tuple[ProjectState, ...]:
        return self._states(None)

    def reading(self, dataset_ids: Iterable[str]) -> tuple[ProjectState, ...]:
        """The projects whose active version was checked with one of the datasets."""
        of_active = PROJECT_INPUT.c.project_version == PROJECT_STATE.c.active_version
        reads = (PROJECT_INPUT.c.project_id == PROJECT_STATE.c.project_id) & of_active
        return self._states(None, select(1).where(reads, PROJECT_INPUT.c.dataset_id.in_(sorted(dataset_ids))).exists())

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
            "conflict": dict(conflict) if conflict else None,
            "warnings": list(warnings),
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
            to_row(PROJECT_INPUT, item, project_id=project_id, project_version=version)
            for item in dict.fromkeys(inputs)
        ]
        if rows:
            self._connection.execute(insert(PROJECT_INPUT), rows)

    def inputs(self, project_id: str, version: int) -> tuple[ProjectInput, ...]:
        if self._ahead is not None:
            return tuple(self._ahead.inputs.get((project_id, version), ()))
        query = _INPUTS.where(PROJECT_INPUT.c.project_id == project_id, PROJECT_INPUT.c.project_version == version)
        return tuple(to_record(ProjectInput, PROJECT_INPUT, row) for row in self._connection.execute(query))

    def set_usage(self, project_id: str, version: int, usage: Iterable[StoredColumnUsage]) -> None:
        self._connection.execute(
            delete(COLUMN_USE).where(COLUMN_USE.c.project_id == project_id, COLUMN_USE.c.project_version == version)
        )
        rows = [
            to_row(COLUMN_USE, item, project_id=project_id, project_version=version) for item in dict.fromkeys(usage)
        ]
        if rows:
            self._connection.execute(insert(COLUMN_USE), rows)

    def usage(self, project_id: str, version: int) -> tuple[StoredColumnUsage, ...]:
        if self._ahead is not None:
            return tuple(self._ahead.usage.get((project_id, version), ()))
        query = _USAGE.where(COLUMN_USE.c.project_id == project_id, COLUMN_USE.c.project_version == version)
        return tuple(to_record(StoredColumnUsage, COLUMN_USE, row) for row in self._connection.execute(query))

    def _states(self, project_id: str | None, condition: ColumnElement[bool] | None = None) -> tuple[ProjectState, ...]:
        query = (
            select(PROJECT_STATE, DEFINITION.c.latest_version)
            .join(DEFINITION, (DEFINITION.c.kind == "project") & (DEFINITION.c.id == PROJECT_STATE.c.project_id))
            .order_by(PROJECT_STATE.c.project_id)
        )
        if project_id is not None:
            query = query.where(PROJECT_STATE.c.project_id == project_id)
        if condition is not None:
            query = query.where(condition)
        return tuple(
            to_record(
                ProjectState,
                PROJECT_STATE,
                row,
                latest_version=row.latest_version,
                warnings=tuple(row.warnings or ()),
            )
            for row in self._connection.execute(query)
        )


@dataclass(frozen=True, slots=True)
class ProjectVersion:
    """A version that may run; an active one reads the input version it was activated for, where that named one.

    `inputs` and `usage` are what an active version was checked with; a draft is checked when it runs.
    """

    project: Project
    version: int
    structure_digest: str | None = None
    inputs: tuple[ProjectInput, ...] = ()
    usage: tuple[StoredColumnUsage, ...] = ()
    is_draft: bool = False


def find_active_project(rows: DefinitionRows, projects: Projects, state: ProjectState) -> ProjectVersion | None:
    """None when the project was never activated."""
    if state.active_version is None:
        return None
    written = rows.written("project", state.project_id, state.active_version)
    project = cast("Project", rows.decoded("project", written.body))
    head = rows.head("project", state.project_id)
    if head is not None and head.structure_digest == written.structure_digest:
        # Names and descriptions may be newer than the activation.
        current = cast("Project", rows.model("project", state.project_id))
        project = current.model_copy(update={"input": project.input})
    return ProjectVersion(
        project,
        written.version,
        written.structure_digest,
        projects.inputs(state.project_id, written.version),
        projects.usage(state.project_id, written.version),
    )
