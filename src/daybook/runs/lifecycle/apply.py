"""Applies definitions: the changes are computed once, then written or only shown."""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast

from pydantic import computed_field

from daybook.definitions.activated import unpinned_inputs
from daybook.definitions.changes import (
    DefinitionChange,
    DefinitionHeads,
    find_changes,
    is_changed_dataset,
    ownership_notices,
    text_difference,
    with_changes,
)
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Notice
from daybook.model.definition import Definition
from daybook.model.json_fields import Hidden, NoticeMessages, named
from daybook.model.project import Project
from daybook.model.serialization import DefinitionModel, encode_definition
from daybook.plan.expected import awaited_datasets, expected_with_files
from daybook.plan.plan_cache import PlanCache
from daybook.runs.lifecycle.effects import ProjectEffect, ProjectEffects
from daybook.runs.lifecycle.touched_columns import TouchedColumns
from daybook.store.database.definition_rows import DefinitionRows
from daybook.store.records import ProjectState
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
    effects: Annotated[tuple[ProjectEffect, ...], named("projects")]
    notices: Hidden[tuple[Notice, ...]]
    basis: Hidden[ApplyBasis]
    stale: tuple[StaleProject, ...] = ()
    touched: tuple[TouchedColumns, ...] = ()

    @computed_field(alias="notices")  # type: ignore[prop-decorator]
    @property
    def messages(self) -> NoticeMessages:
        return self.notices


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
    applied = tuple(definitions)
    everything = applied if files is None else tuple(files)
    with store.read() as transaction:
        transaction.projects.read_ahead()
        computed = _compute_plan(
            transaction, applied, everything, workspace, is_looking_ahead, prune, plans or PlanCache()
        )
        changes = tuple(_with_difference(transaction.definitions, change) for change in computed.changes)
        return replace(computed, changes=changes)


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
    applied, plans = tuple(definitions), plans or PlanCache()
    everything = applied if files is None else tuple(files)
    # Checking projects takes a while, so the store is not kept from others meanwhile.
    with store.read() as transaction:
        difference = _compute_plan(transaction, applied, everything, workspace, is_looking_ahead, prune, plans)
        if _is_applied(transaction, difference, workspace):
            return difference
    with store.write() as transaction:
        transaction.definitions.lock()
        if _read_basis(transaction) != difference.basis:
            difference = _compute_plan(transaction, applied, everything, workspace, is_looking_ahead, prune, plans)
        for change in difference.changes:
            _write_change(transaction, change, difference.basis.heads, workspace, now)
        by_id = {change.id: change for change in difference.changes if change.kind == "project"}
        for effect in difference.effects:
            _write_effect(transaction, effect, by_id.get(effect.project_id), now)
        written = [_logged_change(change) for change in difference.changes if change.action != "unchanged"]
        if written:
            transaction.log.append("apply", workspace, {"changes": written})
        return difference


def _logged_change(change: DefinitionChange) -> dict[str, Any]:
    digest = None
    if change.definition is not None:
        digest = encode_definition(change.kind, change.definition.model).text_digest
    named = {"action": change.action, "digest": digest, "id": change.id, "kind": change.kind}
    return named | {"version": change.version}


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
    stored = (state.status, state.conflict, state.warnings) if state else None
    return stored == (effect.after, effect.conflict, tuple(str(error) for error in effect.findings))


def _with_difference(rows: DefinitionRows, change: DefinitionChange) -> DefinitionChange:
    if change.definition is None or change.previous_version is None or change.action == "unchanged":
        return change
    before: DefinitionModel = rows.model(change.kind, change.id)
    if change.kind == "dataset":
        # A registration fills in what the file leaves open.
        before = rows.contract(change.id) or before
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
    stored = transaction.stored_definitions()
    applied = with_changes(stored, changes)
    if len(defaults := applied.default_resolver_ids()) > 1:
        raise DaybookError("STORE_011", ids=", ".join(defaults))
    awaited = None if is_looking_ahead else _awaited_datasets(transaction, changes, applied)
    expected = expected_with_files(stored, applied, files, basis.heads, plans, dataset_ids=awaited)
    effects = ProjectEffects(
        transaction.definitions,
        transaction.projects,
        applied,
        plans,
        expected,
        is_looking_ahead=is_looking_ahead,
    ).of(changes)
    return ApplyPlan(changes, effects, tuple(ownership_notices(changes, basis.heads, workspace)), basis)


def _awaited_datasets(
    transaction: Transaction, changes: Iterable[DefinitionChange], definitions: Definitions
) -> frozenset[str]:
    """What the projects that are checked read and no run has registered yet, also in the version of an input."""
    written = {change.id: change.definition for change in changes if change.kind == "project"}
    checked = set(written)
    if any(change.action == "disabled" or is_changed_dataset(change) for change in changes):
        checked |= {state.project_id for state in transaction.projects.all()}
    awaited: set[str] = set()
    for project_id in checked:
        if (definition := written.get(project_id)) is not None:
            project = cast(Project, definition.model)
            awaited |= {id_ for id_ in awaited_datasets(project, definitions) if definitions.declared(id_) is None}
        state = transaction.projects.find(project_id)
        if state is not None and state.active_version is not None:
            inputs = unpinned_inputs(transaction.projects.inputs(project_id, state.active_version))
            awaited |= {
                item.dataset_id for item in inputs if definitions.declared(item.dataset_id, item.version) is None
            }
    return frozenset(awaited)


def _write_change(
    transaction: Transaction, change: DefinitionChange, heads: DefinitionHeads, workspace: str, now: datetime.datetime
) -> None:
    rows = transaction.definitions
    if change.definition is None:
        rows.set_status(change.kind, change.id, "disabled", now)
        return
    model = change.definition.model
    match change.action:
        case "added":
            rows.add(change.kind, model, workspace=workspace, now=now)
        case "new_version":
            rows.add_version(change.kind, model, workspace=workspace, now=now)
        case "retitled" | "enabled" | "disabled":
            rows.retitle(change.kind, model, workspace=workspace, now=now)
        case "unchanged":
            if heads[change.kind, change.id].workspace != workspace:
                rows.adopt(change.kind, change.id, workspace)


def _write_effect(
    transaction: Transaction, effect: ProjectEffect, change: DefinitionChange | None, now: datetime.datetime
) -> None:
    if not _has_effect(transaction, effect):
        write_state(transaction, effect, now)
    if change is not None and change.is_structural:
        transaction.projects.set_usage(effect.project_id, change.version, effect.validation.usage)
        transaction.projects.set_inputs(effect.project_id, change.version, effect.inputs)
