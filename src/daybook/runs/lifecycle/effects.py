"""The effects of changed definitions on projects."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, cast

from pydantic import computed_field

from daybook.definitions.activated import ProjectInput, as_activated, unpinned_inputs, validated_inputs
from daybook.definitions.breaking_changes import BreakingChange, find_breaking_changes
from daybook.definitions.changes import DefinitionChange, is_changed_dataset
from daybook.definitions.column_changes import added_columns
from daybook.definitions.registered import with_awaited, with_awaited_versions
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Notice, error_to_json, notice
from daybook.errors.render import Finding, findings_of
from daybook.model.definition import Definition
from daybook.model.json_fields import Errors, Hidden, NoticeMessages, ShownAs, named
from daybook.model.project import Project
from daybook.model.serialization import encode_definition
from daybook.model.source_map import SourceMap
from daybook.plan.check_project import ProjectValidation, check_project
from daybook.plan.plan_cache import PlanCache
from daybook.store.database.definition_rows import DefinitionRows
from daybook.store.database.projects import Projects, ProjectVersion, find_active_project
from daybook.store.records import ProjectState, ProjectStatus


def _show_breaks(breaks: tuple[BreakingChange, ...]) -> list[dict[str, Any]]:
    return [item.as_data() for item in breaks]


def _show_errors(validation: ProjectValidation) -> list[Finding]:
    return findings_of(validation.errors)


@dataclass(frozen=True, slots=True)
class ProjectEffect:
    """The state a project gets; `before` is None for a new one."""

    project_id: Annotated[str, named("id")]
    before: ProjectStatus | None
    after: ProjectStatus
    active_version: Hidden[int | None]
    breaks: Annotated[tuple[BreakingChange, ...], ShownAs(_show_breaks, list[dict[str, Any]])] = ()
    notices: Hidden[tuple[Notice, ...]] = ()
    validation: Annotated[ProjectValidation, ShownAs(_show_errors, list[Finding]), named("errors")] = field(
        default_factory=ProjectValidation
    )
    # The dataset versions that the text as it is now was checked against.
    inputs: Hidden[tuple[ProjectInput, ...]] = ()
    # What else will be wrong once the projects before it have run as they are written now, and which those are.
    expected: Errors = ()
    makers: tuple[str, ...] = ()

    @computed_field(alias="notices")  # type: ignore[prop-decorator]
    @property
    def messages(self) -> NoticeMessages:
        return self.notices

    @property
    def is_broken_now(self) -> bool:
        return self.after == "conflict" and self.before != "conflict"

    @property
    def conflict(self) -> dict[str, Any] | None:
        """The report kept with a project in conflict."""
        if self.after != "conflict":
            return None
        return {
            "breaks": [item.as_data() for item in self.breaks],
            "errors": [error_to_json(error) for error in self.validation.errors],
        }

    @property
    def expected_notices(self) -> tuple[Notice, ...]:
        """That it will break, as far as that is known."""
        if not self.expected:
            return ()
        makers = " and ".join(self.makers)
        summary = "; ".join(error.message for error in self.expected)
        return (notice("STORE_033", project_id=self.project_id, makers=makers, summary=summary),)

    @property
    def findings(self) -> tuple[DaybookError, ...]:
        return (*(item.as_error() for item in self.breaks), *self.validation.errors)


class ProjectEffects:
    """Computes them against the definitions as they will be; nothing is written.

    Drafts are checked against what the projects before them will register; for active ones that is only `expected`,
    since they go on running with what is registered now. Without looking ahead as few projects as possible are
    planned: only what is not registered yet is computed.
    """

    def __init__(
        self,
        rows: DefinitionRows,
        projects: Projects,
        definitions: Definitions,
        plans: PlanCache,
        expected: Definitions | None = None,
        *,
        is_looking_ahead: bool = True,
    ) -> None:
        self._rows = rows
        self._projects = projects
        self._definitions = definitions
        self._plans = plans
        self._expected = definitions if expected is None else expected
        self._awaiting = with_awaited(definitions, self._expected)
        self._is_looking_ahead = is_looking_ahead

    def of(self, changes: Iterable[DefinitionChange]) -> tuple[ProjectEffect, ...]:
        changes = tuple(changes)
        mine = [change for change in changes if change.kind == "project"]
        others = self._touched({change.id for change in mine}, changes)
        return (*(self._of_change(change) for change in mine), *others)

    def of_datasets(self, dataset_ids: Iterable[str], *, but: Collection[str] = ()) -> tuple[ProjectEffect, ...]:
        """After new versions of datasets, for the projects that read them, but for some."""
        changed = set(dataset_ids)
        return tuple(
            self._of_active(state, active, None)
            for state, active in self._runnable(self._projects.reading(changed))
            if state.project_id not in but and changed & {item.dataset_id for item in active.inputs}
        )

    def _of_change(self, change: DefinitionChange) -> ProjectEffect:
        state = self._projects.find(change.id)
        if change.definition is None:
            active_version = state.active_version if state else None
            return ProjectEffect(change.id, state.status if state else None, "inactive", active_version)
        definition = cast("Definition[Project]", change.definition)
        if state is None:
            return self._drafted(definition, None, "draft", None)
        active = find_active_project(self._rows, self._projects, state)
        digest = encode_definition("project", definition.model).structure_digest
        if state.status != "inactive" and active is not None and active.structure_digest == digest:
            return self._of_active(state, active, definition)
        after: ProjectStatus = "inactive" if state.status == "inactive" else "draft"
        return self._drafted(definition, state.status, after, state.active_version)

    def _drafted(
        self,
        definition: Definition[Project],
        before: ProjectStatus | None,
        after: ProjectStatus,
        active_version: int | None,
    ) -> ProjectEffect:
        seen = self._expected if self._is_looking_ahead else self._awaiting
        validation = check_project(definition, seen, self._plans)
        inputs = validated_inputs(definition.model, seen)
        return ProjectEffect(definition.id, before, after, active_version, (), (), validation, inputs)

    def _of_active(
        self, state: ProjectState, active: ProjectVersion, written: Definition[Project] | None
    ) -> ProjectEffect:
        project = active.project
        if written is not None:
            project = written.model.model_copy(update={"input": active.project.input})
        definition = Definition("project", project, written.source if written else SourceMap.empty())
        current = with_awaited_versions(self._awaiting, self._expected, active.inputs)
        validation = check_project(definition, as_activated(current, active.inputs), self._plans)
        breaks = tuple(_find_breaks(active, current))
        after: ProjectStatus = "conflict" if breaks or validation.errors else "active"
        effect = ProjectEffect(
            state.project_id,
            state.status,
            after,
            state.active_version,
            breaks,
            tuple(self._offers(active)),
            validation,
            active.inputs,
        )
        inputs = sorted({item.dataset_id for item in unpinned_inputs(active.inputs)})
        changed = [dataset_id for dataset_id in inputs if self._is_expected_to_change(dataset_id)]
        if not changed:
            return effect
        seen = check_project(definition, as_activated(self._expected, active.inputs), self._plans)
        later = (*(item.as_error() for item in _find_breaks(active, self._expected)), *seen.errors)
        reported = {str(error) for error in effect.findings}
        expected = tuple(error for error in later if str(error) not in reported)
        makers = tuple(sorted(set(filter(None, map(self._expected.registering_project, changed)))))
        return replace(effect, expected=expected, makers=makers)

    def _is_expected_to_change(self, dataset_id: str) -> bool:
        """Whether readers of a dataset will see it otherwise than now."""
        is_registered = self._is_looking_ahead and dataset_id in self._expected.makers
        return is_registered and self._expected.declared(dataset_id) != self._definitions.declared(dataset_id)

    def _touched(self, mine: set[str], changes: tuple[DefinitionChange, ...]) -> Iterator[ProjectEffect]:
        """Active projects that other files define, when something they read changes."""
        datasets = {change.id for change in changes if is_changed_dataset(change)}
        is_anything_disabled = any(change.action == "disabled" for change in changes)
        for state, active in self._runnable(self._projects.all()):
            if state.project_id in mine:
                continue
            inputs = {item.dataset_id for item in active.inputs}
            is_awaited = any(map(self._is_expected_to_change, inputs))
            if is_anything_disabled or datasets & inputs or is_awaited:
                yield self._of_active(state, active, None)

    def _runnable(self, states: Iterable[ProjectState]) -> Iterator[tuple[ProjectState, ProjectVersion]]:
        for state in states:
            if state.status in ("active", "conflict"):
                active = find_active_project(self._rows, self._projects, state)
                if active is not None:
                    yield state, active

    def _offers(self, active: ProjectVersion) -> Iterator[Notice]:
        for item in unpinned_inputs(active.inputs):
            validated = self._definitions.dataset(item.dataset_id, item.version)
            latest = self._definitions.dataset(item.dataset_id)
            if validated and latest and (columns := added_columns(validated, latest)):
                yield notice(
                    "STORE_026",
                    dataset_id=item.dataset_id,
                    version=latest.version,
                    columns=", ".join(columns),
                    project_id=active.project.id,
                    hint=f"to read them, run `daybook activate {active.project.id}`",
                )


def _find_breaks(active: ProjectVersion, definitions: Definitions) -> Iterator[BreakingChange]:
    for item in unpinned_inputs(active.inputs):
        validated = definitions.dataset(item.dataset_id, item.version)
        latest = definitions.dataset(item.dataset_id)
        if validated is not None and latest is not None:
            yield from find_breaking_changes(validated, latest, active.usage)
