"""Applies definitions, and changes the status of projects: draft, active, inactive, conflict.

The changes are computed once, then written or only shown.
"""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from daybook.errors import DaybookError, Notice, raise_all
from daybook.model.dataset import Dataset
from daybook.model.definition import Catalog, Definition
from daybook.model.operation import OutputOperation
from daybook.model.project import Project
from daybook.model.serialization import DefinitionModel, decode_definition, encode_definition
from daybook.model.source_map import SourceMap
from daybook.plan.plan_cache import PlanCache, RegisteredCatalog
from daybook.store.changes import (
    DefinitionChange,
    DefinitionHeads,
    ProspectiveCatalog,
    expected_catalog,
    find_changes,
    ownership_notices,
    text_difference,
)
from daybook.store.database.definitions import Definitions
from daybook.store.database.projects import ProjectVersion, find_active_project
from daybook.store.effects import ProjectEffect, ProjectEffects, TouchedColumns
from daybook.store.records import ProjectInput, ProjectState, ProjectValidation, Registration
from daybook.store.references import check_project, validated_inputs
from daybook.store.store import MetadataStore, Transaction


@dataclass(frozen=True, slots=True)
class ApplyBasis:
    """What of the store a difference was computed from."""

    heads: DefinitionHeads
    states: tuple[ProjectState, ...]


@dataclass(frozen=True, slots=True)
class StaleProject:
    """A project whose completed periods no longer are what a run would compute; `causes` are kinds and ids."""

    project_id: str
    periods: tuple[str, ...]
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApplyPlan:
    """What applying changes, and what that means for projects."""

    changes: tuple[DefinitionChange, ...]
    effects: tuple[ProjectEffect, ...]
    notices: tuple[Notice, ...]
    basis: ApplyBasis
    stale: tuple[StaleProject, ...] = ()
    touched: tuple[TouchedColumns, ...] = ()


def plan(
    store: MetadataStore,
    definitions: Iterable[Definition[DefinitionModel]],
    *,
    workspace: str,
    files: Iterable[Definition[DefinitionModel]] | None = None,
    is_looking_ahead: bool = True,
    prune: bool = False,
    plans: PlanCache | None = None,
) -> ApplyPlan:
    """What `apply` would do; the store is only read.

    `files` are all definitions of the workspace, by default those that are applied: projects are checked against what
    the projects among them will register; unless `is_looking_ahead`, only where it is not registered yet.
    """
    wanted = tuple(definitions)
    everything = wanted if files is None else tuple(files)
    with store.read() as transaction:
        found = _compute_plan(transaction, wanted, everything, workspace, is_looking_ahead, prune, plans or PlanCache())
        changes = tuple(_with_difference(transaction.definitions, change) for change in found.changes)
        return replace(found, changes=changes)


def apply(
    store: MetadataStore,
    definitions: Iterable[Definition[DefinitionModel]],
    *,
    workspace: str,
    now: datetime.datetime,
    files: Iterable[Definition[DefinitionModel]] | None = None,
    is_looking_ahead: bool = True,
    prune: bool = False,
    plans: PlanCache | None = None,
) -> ApplyPlan:
    """Everything in one transaction: all of it is stored, or nothing."""
    wanted, plans = tuple(definitions), plans or PlanCache()
    everything = wanted if files is None else tuple(files)
    # Checking projects takes a while, so the store is not kept from others meanwhile.
    with store.read() as transaction:
        difference = _compute_plan(transaction, wanted, everything, workspace, is_looking_ahead, prune, plans)
        if _is_applied(transaction, difference, workspace):
            return difference
    with store.write() as transaction:
        transaction.definitions.lock()
        if _read_basis(transaction) != difference.basis:
            difference = _compute_plan(transaction, wanted, everything, workspace, is_looking_ahead, prune, plans)
        for change in difference.changes:
            _write_change(transaction, change, difference.basis.heads, workspace, now)
        by_id = {change.id: change for change in difference.changes if change.kind == "project"}
        for effect in difference.effects:
            _write_effect(transaction, effect, by_id.get(effect.project_id), now)
        return difference


def _is_applied(transaction: Transaction, difference: ApplyPlan, workspace: str) -> bool:
    """Whether the store holds all of it already."""
    heads = difference.basis.heads
    is_same = all(
        change.action == "unchanged" and heads[change.kind, change.id].workspace == workspace
        for change in difference.changes
    )
    return is_same and all(_has_effect(transaction, effect) for effect in difference.effects)


def _has_effect(transaction: Transaction, effect: ProjectEffect) -> bool:
    """Whether a project is in the state that an effect gives it."""
    state = transaction.projects.find(effect.project_id)
    known = (state.status, state.conflict, state.warnings) if state else None
    return known == (effect.after, effect.conflict, tuple(str(error) for error in effect.findings))


def _with_difference(definitions: Definitions, change: DefinitionChange) -> DefinitionChange:
    if change.definition is None or change.previous_version is None or change.action == "unchanged":
        return change
    before: DefinitionModel = definitions.model(change.kind, change.id)
    if change.kind == "dataset":
        # A registration fills in what the file leaves open.
        before = definitions.contract(change.id) or before
    return replace(change, difference=text_difference(before, change.definition.model, change.kind))


def write_state(transaction: Transaction, effect: ProjectEffect, now: datetime.datetime) -> None:
    transaction.projects.set_state(
        effect.project_id,
        effect.after,
        active_version=effect.active_version,
        now=now,
        conflict=effect.conflict,
        warnings=[str(error) for error in effect.findings],
    )


def _read_basis(transaction: Transaction) -> ApplyBasis:
    return ApplyBasis(transaction.definitions.heads(), transaction.projects.all())


def _compute_plan(
    transaction: Transaction,
    definitions: tuple[Definition[DefinitionModel], ...],
    files: tuple[Definition[DefinitionModel], ...],
    workspace: str,
    is_looking_ahead: bool,
    prune: bool,
    plans: PlanCache,
) -> ApplyPlan:
    basis = _read_basis(transaction)
    changes = find_changes(definitions, basis.heads, workspace=workspace, prune=prune)
    catalog = ProspectiveCatalog(transaction.catalog(), changes)
    if len(defaults := catalog.default_resolver_ids()) > 1:
        raise DaybookError("STORE_011", ids=", ".join(defaults))
    expected = expected_catalog(transaction.catalog(), catalog, files, basis.heads, plans)
    effects = ProjectEffects(
        transaction.definitions,
        transaction.projects,
        catalog,
        plans,
        expected,
        is_looking_ahead=is_looking_ahead,
    ).of(changes)
    return ApplyPlan(changes, effects, tuple(ownership_notices(changes, basis.heads, workspace)), basis)


def _write_change(
    transaction: Transaction, change: DefinitionChange, heads: DefinitionHeads, workspace: str, now: datetime.datetime
) -> None:
    definitions = transaction.definitions
    if change.definition is None:
        definitions.set_status(change.kind, change.id, "disabled", now)
        return
    model = change.definition.model
    match change.action:
        case "added":
            definitions.add(change.kind, model, workspace=workspace, now=now)
        case "new_version":
            definitions.add_version(change.kind, model, workspace=workspace, now=now)
        case "retitled" | "enabled" | "disabled":
            definitions.retitle(change.kind, model, workspace=workspace, now=now)
        case "unchanged":
            if heads[change.kind, change.id].workspace != workspace:
                definitions.adopt(change.kind, change.id, workspace)


def _write_effect(
    transaction: Transaction, effect: ProjectEffect, change: DefinitionChange | None, now: datetime.datetime
) -> None:
    if not _has_effect(transaction, effect):
        write_state(transaction, effect, now)
    if change is not None and change.is_structural:
        transaction.projects.set_usage(effect.project_id, change.version, effect.validation.usage)
        transaction.projects.set_inputs(effect.project_id, change.version, effect.inputs)


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
    catalog, plans = transaction.catalog(), plans or PlanCache()
    # What no run has registered yet is awaited: a project that reads it too is not in conflict for that.
    awaited = RegisteredCatalog(catalog, _active_projects(transaction), plans)
    effects = ProjectEffects(
        transaction.definitions, transaction.projects, catalog, plans, awaited, is_looking_ahead=False
    ).of_datasets([dataset.id])
    for effect in effects:
        write_state(transaction, effect, now)
    return RegisteredDataset(dataset.id, version, effects)


def _active_projects(transaction: Transaction) -> tuple[Definition[Project], ...]:
    """The versions that run, or would once a conflict is resolved."""
    versions = (
        find_active_project(transaction.definitions, transaction.projects, state)
        for state in transaction.projects.all()
        if state.status in ("active", "conflict")
    )
    return tuple(
        Definition("project", version.project, SourceMap.empty()) for version in versions if version is not None
    )


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
