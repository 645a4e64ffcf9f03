"""Shows and lists definitions of the store, and compares their versions."""

import datetime
import difflib
import json
from dataclasses import dataclass
from typing import Annotated, Any

from daybook.definitions.activated import ProjectInput
from daybook.definitions.column_usage import StoredColumnUsage
from daybook.model.definition import DEFINITION_KINDS, SANDBOX_PREFIX, DefinitionKind, RegisteredDataPin, TableVersion
from daybook.model.json_fields import Hidden, Merged, ShownAs, UnlessNone, named
from daybook.model.serialization import decode_definition, to_yaml
from daybook.store.records import (
    ProjectState,
    StoredDefinition,
    VersionEntry,
)
from daybook.workspace.open_workspace import OpenedWorkspace


@dataclass(frozen=True, slots=True)
class ProjectDetails:
    """Status of a project, and what the shown version reads."""

    state: Merged[ProjectState]
    inputs: Annotated[tuple[ProjectInput, ...], named("datasets")]
    usage: Annotated[tuple[StoredColumnUsage, ...], named("column_usage")]


@dataclass(frozen=True, slots=True)
class RegisteredData:
    """Where the data of a dataset version is, and at which version."""

    uri: str
    table_version: TableVersion
    delta_version: int | None


def _show_data(pin: RegisteredDataPin) -> RegisteredData:
    return RegisteredData(pin.uri, pin.version, pin.version.number)


@dataclass(frozen=True, slots=True)
class DefinitionDetails:
    """One version of a definition; `project` is set for projects, `pin` for registered data at a fixed version."""

    kind: DefinitionKind
    id: str
    version: int
    versions: tuple[int, ...]
    status: str
    created_at: datetime.datetime
    workspace: str | None
    body: Annotated[str, ShownAs(json.loads, dict[str, Any]), named("definition")]
    definition: Hidden[StoredDefinition]
    project: Merged[ProjectDetails | None] = None
    # Of datasets.
    history: UnlessNone[tuple[VersionEntry, ...] | None] = None
    pin: UnlessNone[Annotated[RegisteredDataPin | None, ShownAs(_show_data, RegisteredData), named("data")]] = None

    @property
    def yaml(self) -> str:
        """A text that loads again."""
        return to_yaml(self.kind, decode_definition(self.kind, self.body))


@dataclass(frozen=True, slots=True)
class DefinitionSummary:
    """A definition in its latest version; `active_version` is that of a project that has been activated."""

    kind: DefinitionKind
    id: str
    version: int
    status: str
    active_version: int | None
    workspace: str | None


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """`lines` begin with a blank, + or -; none where the versions read the same."""

    kind: DefinitionKind
    id: str
    before: int
    after: int
    lines: tuple[str, ...]


def show_definition(
    workspace: OpenedWorkspace, kind: DefinitionKind, identifier: str, *, version: int | None = None
) -> DefinitionDetails:
    """A version of a definition, by default the latest."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        stored = transaction.definitions.get(kind, identifier, version)
        versions = transaction.definitions.versions(kind, identifier)
        project, pin, history = None, None, None
        if kind == "project":
            project = ProjectDetails(
                transaction.projects.get(identifier),
                transaction.projects.inputs(identifier, stored.version),
                transaction.projects.usage(identifier, stored.version),
            )
        elif kind == "dataset":
            pin = transaction.definitions.pin(identifier, stored.version)
            history = transaction.definitions.history(kind, identifier)
    return DefinitionDetails(
        kind=kind,
        id=stored.id,
        version=stored.version,
        versions=versions,
        status=project.state.status if project else stored.status,
        created_at=stored.created_at,
        workspace=stored.workspace,
        body=stored.body,
        definition=stored,
        project=project,
        history=history,
        pin=pin,
    )


def list_definitions(workspace: OpenedWorkspace) -> tuple[DefinitionSummary, ...]:
    """Every definition of the store with its status, by kind and id; sandboxes are left out."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        heads = transaction.definitions.heads()
        projects = {state.project_id: state for state in transaction.projects.all()}
    summaries = [
        DefinitionSummary(
            head.kind,
            head.id,
            head.version,
            projects[head.id].status if head.kind == "project" and head.id in projects else head.status,
            projects[head.id].active_version if head.kind == "project" and head.id in projects else None,
            head.workspace,
        )
        for head in heads.values()
        if not head.id.startswith(SANDBOX_PREFIX)
    ]
    return tuple(sorted(summaries, key=lambda summary: (DEFINITION_KINDS.index(summary.kind), summary.id)))


def compare_versions(
    workspace: OpenedWorkspace, kind: DefinitionKind, identifier: str, version_a: int, version_b: int
) -> VersionDifference:
    """What differs between two versions of a definition, as YAML, line by line."""
    first = show_definition(workspace, kind, identifier, version=version_a)
    second = show_definition(workspace, kind, identifier, version=version_b)
    names = f"version {version_a}", f"version {version_b}"
    lines = difflib.unified_diff(first.yaml.splitlines(), second.yaml.splitlines(), *names, lineterm="", n=3)
    return VersionDifference(kind, identifier, version_a, version_b, tuple(lines))
