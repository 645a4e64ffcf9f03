"""Activates and deactivates projects: which version runs, and which dataset versions it was checked with."""

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, cast

from daybook.definitions.activated import ProjectInput, validated_inputs
from daybook.definitions.registration_owners import owner_errors
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, raise_all
from daybook.model.definition import Definition
from daybook.model.json_fields import NoticeMessages, named
from daybook.model.operation import OutputOperation
from daybook.model.project import Project
from daybook.model.serialization import DefinitionModel, decode_definition, encode_definition
from daybook.model.source_map import SourceMap
from daybook.plan.check_project import ProjectValidation, check_project
from daybook.plan.expected import expected_with_files
from daybook.plan.plan_cache import PlanCache
from daybook.runs.lifecycle.effects import ProjectEffect, ProjectEffects
from daybook.runs.lifecycle.touched_columns import TouchedColumns
from daybook.store.database.projects import find_active_project
from daybook.store.store import MetadataStore, Transaction


@dataclass(frozen=True, slots=True)
class Activation:
    """`is_new` is False when the project was active just like this already."""

    project_id: str
    version: int
    is_new: Annotated[bool, named("changed")]
    inputs: Annotated[tuple[ProjectInput, ...], named("datasets")]
    touched: tuple[TouchedColumns, ...] = ()
    notices: NoticeMessages = ()


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
        return activate_in(transaction, sources, now=now, dataset_version=dataset_version, files=files, plans=plans)


def activate_in(
    transaction: Transaction,
    sources: Mapping[str, SourceMap | None],
    *,
    now: datetime.datetime,
    dataset_version: int | None = None,
    files: Iterable[Definition[DefinitionModel]] = (),
    plans: PlanCache | None = None,
) -> tuple[Activation, ...]:
    """The same in a transaction that has the lock of definitions."""
    files = tuple(files)
    stored, plans = transaction.stored_definitions(), plans or PlanCache()
    expected = expected_with_files(stored, stored, files, transaction.definitions.heads(), plans)
    checked: list[_CheckedProject] = []
    for project_id, source in sources.items():
        transaction.projects.get(project_id)
        written: Project = decode_definition("project", transaction.definitions.get("project", project_id).body)
        project = _with_input_version(written, dataset_version, expected)
        definition = Definition("project", project, source or SourceMap.empty())
        validation = check_project(definition, expected, plans)
        inputs = validated_inputs(project, expected)
        checked.append(_CheckedProject(written, project, definition.source, validation, inputs))
    others = _other_projects(transaction, files, sources)
    owned = [*(Definition("project", project.model, project.source) for project in checked), *others]
    raise_all((*(error for project in checked for error in project.validation.errors), *owner_errors(owned, sources)))
    activations = tuple(_activate(transaction, project, now) for project in checked)
    registered = {
        project.model.id: frozenset(_registered_ids(project.model))
        for project, activation in zip(checked, activations, strict=True)
        if activation.is_new
    }
    effects = ProjectEffects(transaction.definitions, transaction.projects, stored, plans, expected)
    # Those that are activated together were checked against what they register.
    broken = effects.of_datasets(frozenset[str]().union(*registered.values()), but=registered)
    return tuple(
        _with_broken_readers(activation, broken, registered.get(activation.project_id, frozenset()))
        for activation in activations
    )


@dataclass(frozen=True, slots=True)
class _CheckedProject:
    """A project as it is written and as it will run: with the version of its input that was asked for."""

    written: Project
    model: Project
    source: SourceMap
    validation: ProjectValidation
    inputs: tuple[ProjectInput, ...]


def _other_projects(
    transaction: Transaction, files: Iterable[Definition[DefinitionModel]], activated: Collection[str]
) -> Iterator[Definition[Project]]:
    """The drafts and the active projects of the store and of the files, but for those that are activated."""
    states = {state.project_id: state for state in transaction.projects.all()}
    written = {
        definition.id: cast("Definition[Project]", definition) for definition in files if definition.kind == "project"
    }
    for project_id in dict.fromkeys((*states, *written)):
        state = states.get(project_id)
        if project_id in activated or (state is not None and state.status == "inactive"):
            continue
        active = None
        if state is not None:
            active = find_active_project(transaction.definitions, transaction.projects, state)
        if active is not None:
            yield Definition("project", active.project, SourceMap.empty())
        elif project_id in written:
            yield written[project_id]
        else:
            draft: Project = decode_definition("project", transaction.definitions.get("project", project_id).body)
            yield Definition("project", draft, SourceMap.empty())


def _activate(transaction: Transaction, project: _CheckedProject, now: datetime.datetime) -> Activation:
    project_id, validation, inputs = project.model.id, project.validation, project.inputs
    state = transaction.projects.get(project_id)
    active = find_active_project(transaction.definitions, transaction.projects, state)
    digest = encode_definition("project", project.written).structure_digest
    if active and state.status == "active" and active.structure_digest == digest and active.inputs == inputs:
        return Activation(project_id, active.version, is_new=False, inputs=inputs, notices=validation.notices)
    if _is_draft_of_active(transaction, project, digest):
        version = state.latest_version
    else:
        version = transaction.definitions.add_activation(project.model, now=now)
    transaction.projects.set_inputs(project_id, version, inputs)
    transaction.projects.set_usage(project_id, version, validation.usage)
    transaction.projects.set_state(project_id, "active", active_version=version, now=now)
    read = [{"dataset": item.dataset_id, "version": item.version} for item in inputs]
    transaction.log.append("activate", project_id, {"digest": digest, "reads": read, "version": version})
    return Activation(project_id, version, is_new=True, inputs=inputs, notices=validation.notices)


def _is_draft_of_active(transaction: Transaction, project: _CheckedProject, digest: str) -> bool:
    """Whether the change of an active project already has a version of its own, which then becomes the active one."""
    state = transaction.projects.get(project.model.id)
    if state.status != "draft" or state.active_version in (None, state.latest_version):
        return False
    # An input that is pinned by the activation makes another text.
    latest = transaction.definitions.written("project", project.model.id, state.latest_version)
    return latest.structure_digest == digest and project.model == project.written


def _with_broken_readers(
    activation: Activation, effects: Iterable[ProjectEffect], registered: frozenset[str]
) -> Activation:
    """With a warning for every project that will break by what the activated one registers."""
    notices = (
        expected
        for effect in effects
        if any(item.dataset_id in registered for item in effect.inputs)
        for expected in effect.expected_notices
    )
    return replace(activation, notices=(*activation.notices, *notices))


def deactivate(store: MetadataStore, project_id: str, *, now: datetime.datetime) -> bool:
    """False when the project was inactive already."""
    with store.write() as transaction:
        transaction.definitions.lock()
        return deactivate_in(transaction, project_id, now=now)


def deactivate_in(transaction: Transaction, project_id: str, *, now: datetime.datetime) -> bool:
    """The same in a transaction that has the lock of definitions."""
    state = transaction.projects.get(project_id)
    if state.status == "inactive":
        return False
    if state.active_version is None:
        raise DaybookError("STORE_022", project_id=project_id)
    transaction.projects.set_state(project_id, "inactive", active_version=state.active_version, now=now)
    transaction.log.append("deactivate", project_id, {"version": state.active_version})
    return True


def _registered_ids(project: Project) -> list[str]:
    outputs = (operation for operation in project.operations if isinstance(operation, OutputOperation))
    return [name for output in outputs if (name := output.arguments.registered_id) is not None]


def _with_input_version(project: Project, version: int | None, definitions: Definitions) -> Project:
    dataset_id, pinned = project.input.dataset_id, project.input.dataset_version
    if version is None or version == pinned:
        return project
    if pinned is not None:
        raise DaybookError("STORE_024", project_id=project.id, dataset_id=dataset_id, pinned=pinned, asked=version)
    if definitions.dataset(dataset_id, version) is None:
        versions = ", ".join(str(number) for number in definitions.dataset_versions(dataset_id))
        raise DaybookError("STORE_008", kind="Dataset", id=dataset_id, version=version, versions=versions or "none")
    return project.model_copy(update={"input": project.input.model_copy(update={"dataset_version": version})})
