"""Everything a workspace declares and its projects compute, checked against the files and what the store knows."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from daybook.errors import DaybookError, Notice, flatten
from daybook.model.catalog import Catalog
from daybook.model.definition import Definition
from daybook.model.loading import Workspace
from daybook.model.project import Project
from daybook.model.workspace_catalog import WorkspaceCatalog
from daybook.plan.registered_catalog import RegisteredCatalog
from daybook.resolve.workspace_checks import problems
from daybook.store import open_store
from daybook.store.address import is_present
from daybook.store.checking import check_project
from daybook.store.validation import Validation


@dataclass(slots=True)
class Findings:
    errors: list[DaybookError] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)


def check_workspace(workspace: Workspace) -> Findings:
    """Everything that is wrong with well-formed definitions; a project is found fault with once."""
    structure = list(problems(workspace))
    projects = workspace.definitions["project"].values()
    wrong = frozenset(one.id for one in projects if any(_is_about(error, one) for error in structure))
    findings = check_projects(workspace, but=wrong)
    return Findings([*structure, *findings.errors], findings.notices)


def check_projects(workspace: Workspace, *, but: frozenset[str]) -> Findings:
    """What is wrong with the projects; those in `but` are in the wrong already and are left alone."""
    findings = Findings()

    def validate(definition: Definition[Project], catalog: Catalog) -> Validation:
        if definition.id in but:
            return Validation()
        return check_project(definition, RegisteredCatalog(catalog, workspace))

    if is_present(workspace.settings.store, workspace.root):
        # Without a store, validating needs no SQLAlchemy either.
        from daybook.store.apply import plan

        try:
            with open_store(workspace.settings.store, root=workspace.root) as store:
                planned = plan(store, workspace.all(), workspace=workspace.settings.name, validate=validate)
        except DaybookError as error:
            # Without the store the files are still worth checking.
            findings.notices += (_as_notice(single) for single in flatten(error))
        else:
            for effect in planned.effects:
                findings.errors += effect.findings
                findings.notices += (*effect.notices, *effect.validation.notices)
            return findings
    for validation in _against_files(workspace, but):
        findings.errors += validation.errors
        findings.notices += validation.notices
    return findings


def _against_files(workspace: Workspace, but: frozenset[str]) -> Iterator[Validation]:
    catalog = RegisteredCatalog(WorkspaceCatalog(workspace), workspace)
    for definition in workspace.definitions["project"].values():
        if definition.id not in but:
            yield check_project(definition, catalog)


def _as_notice(error: DaybookError) -> Notice:
    return Notice(error.code, error.message, error.hint, error.span, error.operation_seq)


def _is_about(error: "DaybookError", definition: "Definition[Project]") -> bool:
    """Whether a finding stands inside a definition."""
    place = definition.source.span()
    if error.span is None or place is None or error.span.file != definition.file:
        return False
    return place.line <= error.span.line <= place.line + place.text.count("\n", place.start, place.end)
