"""Checks the definitions of a workspace or of a file, without Spark."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading.definition_texts import read_definitions
from daybook.definitions.loading.loaded_workspace import WORKSPACE_FILE, find_workspace, load_settings, read_workspace
from daybook.definitions.loading.text import read_text
from daybook.errors import DaybookError
from daybook.model.json_fields import Errors, Hidden, Notices, named
from daybook.workspace.open_workspace import workspace_root

if TYPE_CHECKING:
    from daybook.definitions.loading import LoadedWorkspace


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """How many definitions were checked, and everything that was found in them."""

    is_ok: Annotated[bool, named("ok")] = field(init=False, default=True)
    definition_count: Annotated[int, named("definitions")]
    errors: Errors = ()
    notices: Notices = ()
    # How many warnings operations accept.
    accepted: int = 0
    # The files that define nothing.
    skipped: Hidden[tuple[Path, ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_ok", not self.errors)


def validate_definitions(path: Path | None = None, *, workspace: Path | None = None) -> ValidationResult:
    """Check all definitions of a workspace and what projects compute; with a path, report only what is below it.

    Without `workspace` it is the one around the path; a file outside of any workspace is checked by itself.
    """
    from daybook.runs.permissions import own_file_errors
    from daybook.workspace.findings import check_workspace

    if path is not None and not path.exists():
        raise DaybookError("MODEL_064", path=path.as_posix())
    root = _root_around(path, workspace)
    if root is None:
        return _validate_file(path or Path())
    definitions, errors = read_workspace(root)
    findings = check_workspace(definitions)
    errors += [*_with_cycles(definitions, findings.errors), *own_file_errors(definitions)]
    if path is None:
        return ValidationResult(
            len(tuple(definitions.all())),
            tuple(errors),
            tuple(findings.notices),
            findings.accepted,
            definitions.skipped,
        )
    below = [definition for definition in definitions.all() if _is_within(definition.file, path)]
    concerned = [error for error in errors if error.span is None or _is_within(error.span.file, path)]
    if path.is_file() and not below and not concerned:
        # The workspace skips the file, so it is checked by itself.
        return _validate_file(path)
    notices = [finding for finding in findings.notices if finding.span is None or _is_within(finding.span.file, path)]
    skipped = tuple(file for file in definitions.skipped if _is_within(file.as_posix(), path))
    return ValidationResult(len(below), tuple(concerned), tuple(notices), skipped=skipped)


def _with_cycles(definitions: "LoadedWorkspace", errors: "list[DaybookError]") -> "list[DaybookError]":
    """The errors with those of projects that wait for each other, instead of what follows from that alone."""
    from daybook.graph.dependencies import cycle_errors, derive_graph
    from daybook.workspace.findings import is_of_registered_dataset

    projects = definitions.definitions["project"]
    graph = derive_graph(
        {key: definition.model for key, definition in projects.items()}, definitions_of_files(definitions)
    )
    cycles = list(cycle_errors(graph, span_of=lambda project_id: projects[project_id].source.span("input")))
    # A project that reads what it writes itself has been refused with the output to blame.
    if not cycles or any(error.code == "PROJECT_009" for error in errors):
        return errors
    return [*(error for error in errors if not is_of_registered_dataset(error, definitions)), *cycles]


def _root_around(path: Path | None, workspace: Path | None) -> Path | None:
    """None for a file outside of any workspace."""
    if path is None or workspace is not None:
        return workspace_root(workspace)
    try:
        return find_workspace(path)
    except DaybookError:
        if path.is_file():
            return None
        raise


def _validate_file(path: Path) -> ValidationResult:
    """One file by itself: its form, without what it refers to."""
    if path.name == WORKSPACE_FILE:
        return ValidationResult(0, tuple(load_settings(path.parent)[1]))
    definitions, errors = read_definitions(read_text(path), path.as_posix())
    if not definitions and not errors:
        raise DaybookError("MODEL_065", file=path.as_posix())
    return ValidationResult(len(definitions), tuple(errors))


def _is_within(file: str | None, path: Path) -> bool:
    return file is not None and Path(file).resolve().is_relative_to(path.resolve())
