"""Finds the project that a user names and the definitions it uses, in files and in the store."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from daybook.errors import DaybookError, Notice, flatten, notice, raise_all
from daybook.errors.error import did_you_mean
from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset, TableLocation, View
from daybook.model.datasource import CatalogStrategy, DataSource, Resolver
from daybook.model.definition import (
    SANDBOX_PREFIX,
    Catalog,
    CatalogKind,
    CatalogLayer,
    DatasetCatalog,
    DeclaredVersion,
    Definition,
    DefinitionKind,
    DefinitionStatus,
    ResolverVersion,
)
from daybook.model.loading import LoadedWorkspace
from daybook.model.loading.workspace import WorkspaceCatalog
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.project import Project
from daybook.model.serialization import decode_definition
from daybook.resolve.checks import structural_errors, workspace_errors
from daybook.store import open_store
from daybook.store.address import store_exists
from daybook.store.database.definitions import Definitions
from daybook.store.records import ProjectInput, ProjectValidation, StoredColumnUsage

if TYPE_CHECKING:
    from daybook.plan.plan_cache import PlanCache


def find_project(workspace: LoadedWorkspace, name: str) -> Definition[Project]:
    """A project by its id or by the file that defines it."""
    projects = workspace.definitions["project"]
    if name in projects:
        return projects[name]
    path = Path(name)
    if path.is_file():
        there = [each for each in projects.values() if each.file and Path(each.file).resolve() == path.resolve()]
        if len(there) == 1:
            return there[0]
        if there:
            ids = ", ".join(each.id for each in there)
            raise DaybookError("RUN_001", project=name, hint=f"the file defines several: {ids}")
    raise DaybookError("RUN_001", project=name, hint=did_you_mean(name, tuple(projects)))


@dataclass(frozen=True, slots=True)
class ProjectReference:
    """`operation_seq` is 0 for the input."""

    dataset_id: str
    version: int | None
    operation_seq: int


def dataset_references(project: Project) -> Iterator[ProjectReference]:
    for path, reference in project.reads():
        seq = project.operations[int(path[1])].seq if path[0] == "operations" else 0
        yield ProjectReference(reference.dataset_id, reference.dataset_version, seq)


def validated_inputs(project: Project, catalog: Catalog) -> tuple[ProjectInput, ...]:
    """The current version of every reference of a project, without unknown datasets."""
    inputs: dict[ProjectInput, None] = {}
    for reference in dataset_references(project):
        found = catalog.dataset(reference.dataset_id, reference.version)
        is_pinned = reference.version is not None
        while found is not None:
            inputs[ProjectInput(found.dataset.id, found.version, is_pinned)] = None
            is_pinned = is_pinned or (found.view is not None and found.view.of.dataset_version is not None)
            found = found.view.dataset if found.view is not None else None
    return tuple(sorted(inputs, key=lambda item: (item.dataset_id, item.version, item.is_pinned)))


def mark_pinned_usage(project: Project, uses: Iterable[tuple[int, str, str]]) -> tuple[StoredColumnUsage, ...]:
    """Uses as (operation seq, dataset, column), marked pinned when only pinned references can be meant.

    An operation uses the columns of the input and of its own joins and sources.
    """
    known = tuple(dataset_references(project))
    usage = []
    for seq, dataset_id, column in uses:
        meant = [item for item in known if item.dataset_id == dataset_id and item.operation_seq in (0, seq)]
        is_pinned = bool(meant) and all(item.version is not None for item in meant)
        usage.append(StoredColumnUsage(seq, dataset_id, column, is_pinned))
    return tuple(usage)


DefinitionKey = tuple[DefinitionKind, str]


def reachable_definitions(workspace: LoadedWorkspace, project_id: str) -> tuple[Definition[Any], ...]:
    """The project and every definition it leads to, default resolver included; unknown ids are left out."""
    found = _reached_keys(workspace, project_id)
    return tuple(definition for definition in workspace.all() if (definition.kind, definition.id) in found)


def load_project(workspace: LoadedWorkspace, name: str) -> tuple[Definition[Project], tuple[Notice, ...]]:
    """A project by its id or file, when everything it reaches is right; errors elsewhere are a notice.

    Raises all that is wrong with what it reaches, with files that should define it or what it refers to included.
    """
    try:
        definition = find_project(workspace, name)
    except DaybookError:
        path = Path(name).resolve()
        raise_all(
            error
            for file in workspace.broken
            if file.path.resolve() == path or file.may_define("project", name)
            for error in file.errors
        )
        raise
    raise_all(reached_errors(workspace, definition.id))
    others = files_with_errors(workspace)
    if not others:
        return definition, ()
    return definition, (notice("MODEL_087", files=", ".join(others), project=definition.id),)


def reached_errors(workspace: LoadedWorkspace, project_id: str) -> list[DaybookError]:
    """What is wrong with a project and everything it leads to, with files that should define some of it included."""
    reached = _reached_keys(workspace, project_id)
    missing = [key for key in reached if workspace.get(*key) is None]
    needed = [
        file
        for file in workspace.broken
        if file.may_define_default_resolver or any(file.may_define(*key) for key in missing)
    ]
    errors = [error for file in needed for error in file.errors]
    errors += [one for one in workspace.duplicates if (one.parameters["kind"], one.parameters["id"]) in reached]
    errors += structural_errors(workspace, reachable_definitions(workspace, project_id))
    return errors


def files_with_errors(workspace: LoadedWorkspace) -> tuple[str, ...]:
    """The files that do not hold what they should, in order."""
    found = {file.path.as_posix() for file in workspace.broken}
    found |= {one.span.file or "" for one in (*workspace.duplicates, *structural_errors(workspace)) if one.span}
    return tuple(sorted(found))


def _reached_keys(workspace: LoadedWorkspace, project_id: str) -> set[DefinitionKey]:
    """What a project leads to, defined or not."""
    found: set[DefinitionKey] = set()
    waiting: list[DefinitionKey] = [("project", project_id)]
    waiting += [("resolver", one.id) for one in workspace.definitions["resolver"].values() if one.model.is_default]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            definition = workspace.get(*key)
            waiting += _referenced_definitions(definition.model) if definition is not None else []
    return found


def _referenced_definitions(model: object) -> list[DefinitionKey]:
    needs: list[DefinitionKey] = []
    match model:
        case Project():
            needs += [("dataset", reference.dataset_id) for _, reference in model.reads()]
            needs += [("resolver", resolver_id) for resolver_id in model.resolver_overrides.values()]
            if model.calendar_id is not None:
                needs.append(("calendar", model.calendar_id))
            for operation in model.operations:
                if isinstance(operation, OutputOperation):
                    if (registered := operation.arguments.registered_id) is not None:
                        needs.append(("dataset", registered))
                    destination = operation.arguments.destination
                    if isinstance(destination, TableDestination):
                        needs.append(("datasource", destination.datasource_id))
        case Dataset():
            if model.resolver_id is not None:
                needs.append(("resolver", model.resolver_id))
            if isinstance(location := model.main_table.location, TableLocation):
                needs.append(("datasource", location.datasource_id))
        case View():
            needs.append(("dataset", model.view.of))
        case Resolver():
            for rule in model.rules:
                if not isinstance(rule.strategy, CatalogStrategy):
                    needs.append(("datasource", rule.strategy.datasource_id))
        case _:
            pass
    return needs


def check_project(definition: Definition[Project], catalog: Catalog, plans: "PlanCache") -> ProjectValidation:
    from daybook.plan.references import registration_errors

    examined = plans.examine(definition, catalog)
    errors = (*examined.errors, *examined.location_errors)
    if errors or examined.plan is None:
        return ProjectValidation(errors)
    errors = tuple(registration_errors(examined.plan, definition.source, catalog))
    uses = ((use.operation_seq, use.dataset_id, use.column) for use in examined.plan.usage)
    usage = mark_pinned_usage(definition.model, uses)
    return ProjectValidation(errors, examined.plan.notices, usage, examined.plan.accepted)


# Codes for what does not exist, with the parameter that names it.
_MISSING_ID_PARAMETERS = {
    "MODEL_061": "id",
    "PROJECT_020": "dataset_id",
    "APPEND_001": "dataset_id",
    "OUTPUT_020": "datasource_id",
}
# What is wrong with a view itself, so that nothing needs to be said of projects that read it.
_WRONG_VIEWS = ("MODEL_061", "MODEL_083")


@dataclass(slots=True)
class WorkspaceFindings:
    errors: list[DaybookError] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    # How many warnings operations accept.
    accepted: int = 0


def check_workspace(workspace: LoadedWorkspace) -> WorkspaceFindings:
    """Everything that is wrong with well-formed definitions."""
    findings = check_projects(workspace)
    errors = sorted([*workspace_errors(workspace), *findings.errors], key=_span_key)
    wrong = {error.span.file for error in errors if error.code in _WRONG_VIEWS and error.span is not None}
    views = {key for key, each in workspace.definitions["dataset"].items() if each.file in wrong}
    errors = [error for error in errors if not (error.code == "PROJECT_061" and error.parameters["view"] in views)]
    first = [error for error in errors if not _is_consequence(error, workspace)]
    # Projects that read each other's outputs have nothing but such findings.
    shown = first if first or workspace.doubtful else errors
    return WorkspaceFindings(shown, findings.notices, findings.accepted)


def check_projects(workspace: LoadedWorkspace) -> WorkspaceFindings:
    """What is wrong with the projects."""
    from daybook.plan.plan_cache import PlanCache, RegisteredCatalog

    findings = WorkspaceFindings()
    plans = PlanCache()
    if store_exists(workspace.settings.store, workspace.root):
        # Without a store, validating needs no SQLAlchemy either.
        from daybook.store.apply import plan

        try:
            with open_store(workspace.settings.store, root=workspace.root) as store:
                planned = plan(store, workspace.all(), workspace=workspace.settings.name, plans=plans)
        except DaybookError as error:
            # Without the store the files are still worth checking.
            findings.notices += (_as_notice(single) for single in flatten(error))
        else:
            for effect in planned.effects:
                findings.errors += (*effect.findings, *effect.expected)
                findings.notices += (*effect.notices, *effect.validation.notices)
                findings.accepted += effect.validation.accepted
            return findings
    projects = workspace.definitions["project"].values()
    catalog = RegisteredCatalog(WorkspaceCatalog(workspace), projects, plans)
    for definition in projects:
        validation = check_project(definition, catalog, plans)
        findings.errors += validation.errors
        findings.notices += validation.notices
        findings.accepted += validation.accepted
    return findings


def _is_consequence(error: DaybookError, workspace: LoadedWorkspace) -> bool:
    """Whether something is missing only because what would define or register it is wrong itself."""
    if error.code not in _MISSING_ID_PARAMETERS:
        return False
    missing = str(error.parameters[_MISSING_ID_PARAMETERS[error.code]])
    return missing in workspace.doubtful or is_of_registered_dataset(error, workspace)


def is_of_registered_dataset(error: DaybookError, workspace: LoadedWorkspace) -> bool:
    """Whether something is missing that a project registers."""
    if error.code not in _MISSING_ID_PARAMETERS:
        return False
    missing = str(error.parameters[_MISSING_ID_PARAMETERS[error.code]])
    projects = (definition.model for definition in workspace.definitions["project"].values())
    outputs = (each for project in projects for each in project.operations if isinstance(each, OutputOperation))
    return any(each.arguments.registered_id == missing for each in outputs)


def _as_notice(error: DaybookError) -> Notice:
    return Notice(error.code, error.message, error.hint, error.span, error.operation_seq)


def _span_key(error: DaybookError) -> tuple[str, int, int]:
    span = error.span
    return (span.file or "", span.line, span.column) if span else ("", 0, 0)


class StoreCatalog(DatasetCatalog):
    """Reads within one transaction, so that everything planned with it sees one state of the store.

    What draft runs registered in the sandbox is visible only `with_sandbox`.
    """

    def __init__(self, definitions: Definitions, *, with_sandbox: bool = False) -> None:
        self._definitions = definitions
        self._with_sandbox = with_sandbox
        self._datasets: dict[tuple[str, int | None], DeclaredVersion | None] = {}
        # A year of folders asks for the same data source twelve times.
        self._models: dict[tuple[DefinitionKind, str], object | None] = {}

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        if not self._is_visible(dataset_id):
            return None
        key = (dataset_id, version)
        if key not in self._datasets:
            self._datasets[key] = self._read_dataset(dataset_id, version)
        return self._datasets[key]

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        return self._definitions.versions("dataset", dataset_id) if self._is_visible(dataset_id) else ()

    def datasource(self, datasource_id: str) -> DataSource | None:
        return cast("DataSource | None", self._model("datasource", datasource_id))

    def is_datasource_disabled(self, datasource_id: str) -> bool:
        head = self._definitions.head("datasource", datasource_id)
        return head is not None and head.status == "disabled"

    def resolver(self, resolver_id: str) -> ResolverVersion | None:
        head = self._definitions.head("resolver", resolver_id)
        if head is None:
            return None
        return ResolverVersion(cast(Resolver, self._model("resolver", resolver_id)), head.version, head.status)

    def default_resolver(self) -> ResolverVersion | None:
        ids = self._definitions.default_resolver_ids()
        return self.resolver(ids[0]) if ids else None

    def calendar(self, calendar_id: str) -> Calendar | None:
        head = self._definitions.head("calendar", calendar_id)
        if head is None or head.status == "disabled":
            return None
        return cast(Calendar, self._model("calendar", calendar_id))

    def ids(self, kind: CatalogKind) -> tuple[str, ...]:
        found = self._definitions.ids(kind)
        return tuple(item for item in found if kind != "dataset" or self._is_visible(item))

    def _is_visible(self, dataset_id: str) -> bool:
        return self._with_sandbox or not dataset_id.startswith(SANDBOX_PREFIX)

    def _model(self, kind: DefinitionKind, definition_id: str) -> object | None:
        key = (kind, definition_id)
        if key not in self._models:
            self._models[key] = self._read_model(kind, definition_id)
        return self._models[key]

    def _read_model(self, kind: DefinitionKind, definition_id: str) -> object | None:
        try:
            return self._definitions.model(kind, definition_id)
        except DaybookError as error:
            if error.code == "STORE_007":
                return None
            raise

    def _read_dataset(self, dataset_id: str, version: int | None) -> DeclaredVersion | None:
        try:
            stored = self._definitions.get("dataset", dataset_id, version)
        except DaybookError as error:
            if error.code in ("STORE_007", "STORE_008"):
                return None
            raise
        declared: Dataset | View = decode_definition("dataset", stored.body)
        status: DefinitionStatus = "disabled" if stored.status == "disabled" else "active"
        pin = self._definitions.pin(dataset_id, stored.version)
        contract = self._definitions.contract(dataset_id) if version is None else None
        return DeclaredVersion(declared, stored.version, status, pin, contract)


class ActivatedCatalog(CatalogLayer):
    """Latest versions without the columns they got after the project was activated.

    An output without `columns` writes all columns; a column that a dataset gained since would otherwise
    slip into it.
    """

    def __init__(self, base: Catalog, inputs: Iterable[ProjectInput]) -> None:
        super().__init__(base)
        self._validated = {item.dataset_id: item.version for item in inputs if not item.is_pinned}

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        latest = super().declared(dataset_id, version)
        if version is not None or latest is None or dataset_id not in self._validated:
            return latest
        validated = super().declared(dataset_id, self._validated[dataset_id])
        if validated is None or validated.version == latest.version:
            return latest
        if not isinstance(validated.dataset, Dataset) or not isinstance(latest.dataset, Dataset):
            return latest
        known = {column.name for column in validated.dataset.main_table.columns}
        table = latest.dataset.main_table
        kept = tuple(column for column in table.columns if column.name in known)
        if not kept or len(kept) == len(table.columns):
            return latest
        dataset = latest.dataset.model_copy(update={"main_table": table.model_copy(update={"columns": kept})})
        return replace(latest, dataset=dataset)
