"""What a user asks to run, checked against the files before anything is applied or opened."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.value import Definitions
from daybook.errors import Notice
from daybook.model.calendar import Period
from daybook.model.definition import Definition
from daybook.model.parameter import parameter_values
from daybook.model.project import Project
from daybook.resolve.calendars.periods import calendar_for, period_range
from daybook.resolve.project_files import CheckedFiles


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a user asks for: a project by id or file, a period or a range of them."""

    project: str
    period: str
    as_of: datetime.date | None = None
    is_draft: bool = False
    allow_empty: bool = False
    build_id: str | None = None
    # Whether a run is refused that would read something out of date.
    requires_fresh: bool = False
    # Whether a draft reads what other drafts of its user wrote into the sandbox.
    reads_sandbox: bool = True
    # Values for parameters of the project, as text or as values of Python.
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A request, the project it names in the files of the workspace, and what there is to say of other files."""

    request: RunRequest
    files: CheckedFiles
    definition: Definition[Project]
    notices: tuple[Notice, ...]
    # The value of every parameter, given or default.
    parameters: Mapping[str, Any]

    @property
    def workspace(self) -> LoadedWorkspace:
        return self.files.workspace

    def periods(self, definitions: Definitions) -> tuple[Period, ...]:
        """One period, or `2026-01..2026-12` in order."""
        return period_range(self.request.period, calendar_for(self.definition.model.calendar_id, definitions))


def check_request(files: CheckedFiles, request: RunRequest) -> CheckedRequest:
    """Raises what is wrong with anything the project reaches, with the values of parameters and with the period."""
    definition, notices = files.load_project(request.project)
    parameters = parameter_values(definition.id, definition.model.parameters, request.parameters)
    checked = CheckedRequest(request, files, definition, notices, parameters)
    calendar_id = definition.model.calendar_id
    if calendar_id is None or files.workspace.get("calendar", calendar_id) is not None:
        checked.periods(files.definitions)
    return checked
