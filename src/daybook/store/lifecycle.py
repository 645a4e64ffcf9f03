"""The statuses of a project: draft, active, inactive, conflict."""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from daybook.errors import DaybookError, Notice, raise_all
from daybook.model.dataset import Dataset
from daybook.model.definition import Catalog, Definition
from daybook.model.operation import OutputOperation
from daybook.model.project import Project
from daybook.model.source_map import SourceMap
from daybook.plan.plan_cache import PlanCache, RegisteredCatalog
from daybook.store.apply import write_state
from daybook.store.changes import expected_catalog
from daybook.store.database.projects import ProjectVersion, find_active_project
from daybook.store.definition_text import DefinitionModel, decode_definition, encode_definition
from daybook.store.effects import ProjectEffect, ProjectEffects, TouchedColumns
from daybook.store.records import ProjectInput, ProjectState, ProjectValidation, Registration
from daybook.store.references import check_project, validated_inputs
from daybook.store.store import MetadataStore, Transaction


@dataclass(frozen=True, slots=True)
class Activation:
    """`is_new` is False when the project was active just like this already."""

    project_id: str
    version: int
    inputs: tuple[ProjectInput, ...]
    notices: tuple[Notice, ...]
    is_new: bool
    touched: tuple[TouchedColumns, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisteredDataset:
    """A dataset version an output made, and the projects it put into conflict."""

    dataset_id: str
    version: int
    effects: tuple[ProjectEffect, ...]


def activate(
    store: MetadataStore,
    project_id: str,
    *,
    now: datetime.datetime,
    dataset_version: int | None = None,
    source: SourceMap | None = None,
    files: Iterable[Definition[DefinitionModel]] = (),
    plans: PlanCache | None = None,
) -> Activation:
    """Validate the latest version of a project and make it the one that runs.

    It is checked against what the store holds, and against what the projects of `files` will register.
    `dataset_version` is the version of the input that it reads from now on, where its text leaves that open.
    """
    (activation,) = activate_together(
        store, {project_id: source}, now=now, dataset_version=dataset_version, files=files, plans=plans
    )
    return activation


def activate_together(
    store: MetadataStore,
    sources: Mapping[str, SourceMap | None],
    *,
    now: datetime.datetime,
    dataset_version: int | None = None,
    files: Iterable[Definition[DefinitionModel]] = (),
    plans: PlanCache | None = None,
) -> tuple[Activation, ...]:
    """Activate several projects, all or none; `sources` are the texts of their files, by id."""
    with store.write() as transaction:
        transaction.definitions.lock()
        stored, plans = transaction.catalog(), plans or PlanCache()
        catalog = expected_catalog(stored, stored, files, transaction.definitions.heads(), plans)
        checked: list[tuple[Project, Project, ProjectValidation]] = []
        for project_id, source in sources.items():
            transaction.projects.get(project_id)
            written: Project = decode_definition("project", transaction.definitions.get("project", project_id).body)
            project = _with_input_version(written, dataset_version, catalog)
            definition = Definition("project", project, source or SourceMap.empty())
            checked.append((written, project, check_project(definition, catalog, plans)))
        raise_all(error for *_, validation in checked for error in validation.errors)
        return tuple(_activate(transaction, *each, stored, catalog, plans, now) for each in checked)


def _activate(
    transaction: Transaction,
    written: Project,
    project: Project,
    validation: ProjectValidation,
    stored: Catalog,
    catalog: RegisteredCatalog,
    plans: PlanCache,
    now: datetime.datetime,
) -> Activation:
    project_id = project.id
    state = transaction.projects.get(project_id)
    inputs = validated_inputs(project, catalog)
    active = find_active_project(transaction.definitions, transaction.projects, state)
    digest = encode_definition("project", written).structure_digest
    if active and state.status == "active" and active.structure_digest == digest and active.inputs == inputs:
        return Activation(project_id, active.version, inputs, validation.notices, is_new=False)
    version = transaction.definitions.add_activation(project, now=now)
    transaction.projects.set_inputs(project_id, version, inputs)
    transaction.projects.set_usage(project_id, version, validation.usage)
    transaction.projects.set_state(project_id, "active", active_version=version, now=now)
    effects = ProjectEffects(transaction.definitions, transaction.projects, stored, plans, catalog)
    broken = effects.of_datasets(_registered_ids(project))
    notices = (*validation.notices, *(each for effect in broken for each in effect.expected_notices))
    return Activation(project_id, version, inputs, notices, is_new=True)


def deactivate(store: MetadataStore, project_id: str, *, now: datetime.datetime) -> bool:
    """False when the project was inactive already."""
    with store.write() as transaction:
        transaction.definitions.lock()
        state = transaction.projects.get(project_id)
        if state.status == "inactive":
            return False
        if state.active_version is None:
            raise DaybookError("STORE_022", project_id=project_id)
        transaction.projects.set_state(project_id, "inactive", active_version=state.active_version, now=now)
        return True


def require_runnable(transaction: Transaction, project_id: str, written: Project | None = None) -> ProjectVersion:
    """The active version, if the project may run; `written` is its file's text, which must not differ from it."""
    state = transaction.projects.get(project_id)
    match state.status:
        case "conflict":
            raise conflict_error(state)
        case "inactive":
            raise DaybookError("STORE_020", project_id=project_id)
        case "draft" | "active":
            pass
    active = find_active_project(transaction.definitions, transaction.projects, state)
    if active is None:
        raise DaybookError("STORE_022", project_id=project_id)
    head = transaction.definitions.head("project", project_id)
    latest = head.structure_digest if head else None
    digest = latest if written is None else encode_definition("project", written).structure_digest
    if digest != active.structure_digest:
        # On a shared store the file may not even be known yet.
        before = "" if digest == latest else "`daybook apply`, then "
        hint = f"{before}`daybook activate {project_id}`, or `daybook run {project_id} --period PERIOD --draft`"
        raise DaybookError("STORE_021", project_id=project_id, version=active.version, hint=hint)
    for item in active.inputs:
        if item.version not in transaction.definitions.versions("dataset", item.dataset_id):
            raise DaybookError("STORE_034", project_id=project_id, dataset_id=item.dataset_id, version=item.version)
    return active


def conflict_error(state: ProjectState) -> DaybookError:
    """What `run` says of a project in conflict: the whole report."""
    return DaybookError("STORE_019", project_id=state.project_id, summary="; ".join(state.warnings))


def register_output(
    transaction: Transaction,
    dataset: Dataset,
    registration: Registration,
    *,
    now: datetime.datetime,
    plans: PlanCache | None = None,
) -> RegisteredDataset:
    """Make what an output wrote a dataset version that others can read at once."""
    before = transaction.catalog().declared(dataset.id)
    version = transaction.definitions.register(dataset, registration, now=now)
    if before is not None and before.dataset == dataset and before.status == "active":
        # Newer data of the same columns in the same location changes nothing for the projects that read it.
        return RegisteredDataset(dataset.id, version, ())
    catalog = transaction.catalog()
    effects = ProjectEffects(transaction.definitions, transaction.projects, catalog, plans or PlanCache()).of_datasets(
        [dataset.id]
    )
    for effect in effects:
        write_state(transaction, effect, now)
    return RegisteredDataset(dataset.id, version, effects)


def _registered_ids(project: Project) -> list[str]:
    outputs = (each for each in project.operations if isinstance(each, OutputOperation))
    return [name for each in outputs if (name := each.arguments.registered_id) is not None]


def _with_input_version(project: Project, version: int | None, catalog: Catalog) -> Project:
    dataset_id, pinned = project.input.dataset_id, project.input.dataset_version
    if version is None or version == pinned:
        return project
    if pinned is not None:
        raise DaybookError("STORE_024", project_id=project.id, dataset_id=dataset_id, pinned=pinned, asked=version)
    if catalog.dataset(dataset_id, version) is None:
        known = ", ".join(str(number) for number in catalog.dataset_versions(dataset_id))
        raise DaybookError("STORE_008", kind="Dataset", id=dataset_id, version=version, versions=known or "none")
    return project.model_copy(update={"input": project.input.model_copy(update={"dataset_version": version})})
