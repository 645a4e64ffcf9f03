"""Applies definitions: the changes are computed once, then written or only shown."""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast

from pydantic import computed_field

from daybook.definitions.activated import unpinned_inputs
from daybook.definitions.changes import (
    ChangeAction,
    DefinitionChange,
    DefinitionHead,
    DefinitionHeads,
    find_changes,
    is_changed_dataset,
    ownership_notices,
    text_difference,
    with_changes,
)
from daybook.definitions.reachable import stored_keys
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Notice, notice
from daybook.model.definition import Definition, DefinitionKind
from daybook.model.json_fields import Hidden, NoticeMessages, UnlessNone, named
from daybook.model.project import Project
from daybook.model.serialization import DefinitionModel, encode_definition
from daybook.plan.expected import awaited_datasets, expected_with_files
from daybook.plan.plan_cache import PlanCache
from daybook.runs.approvals.acts import Act, ShownChange, change_act
from daybook.runs.approvals.requests import request_if_needed
from daybook.runs.lifecycle.effects import ProjectEffect, ProjectEffects
from daybook.runs.lifecycle.touched_columns import TouchedColumns
from daybook.store.database.definition_rows import DefinitionRows
from daybook.store.database.projects import find_active_project
from daybook.store.records import ProjectState
from daybook.store.store import MetadataStore, Transaction


@dataclass(frozen=True, slots=True)
class ApplyBasis:
    """What of the store a difference was computed from."""

    heads: DefinitionHeads
    states: tuple[ProjectState, ...]
    # Whether what active projects compute changes only with approval.
    is_held: bool = False


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
    # Changes of what active projects compute, which are not made before they are approved.
    held: Hidden[tuple[DefinitionChange, ...]] = ()
    # The request for them, where one was made.
    request: UnlessNone[int | None] = None

    @property
    def held_notices(self) -> tuple[Notice, ...]:
        """That a change is in the files and not in force."""
        return tuple(notice("APPROVAL_010", kind=change.kind, id=change.id) for change in self.held)

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
        transaction.definitions.read_ahead()
        transaction.projects.read_ahead()
        computed = _compute_plan(
            transaction, applied, everything, workspace, is_looking_ahead, prune, plans or PlanCache()
        )
        changes = tuple(_with_difference(transaction.definitions, change) for change in computed.changes)
        return replace(computed, changes=changes, held=find_held(transaction, computed.changes))


# What a run applies; a build applies those of a whole close.
_FEW_DEFINITIONS = 50


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
    is_requesting: bool = False,
) -> ApplyPlan:
    """Everything in one transaction: all of it is stored, or nothing.

    What needs approval is held back; `is_requesting` makes a request for it.
    """
    applied, plans = tuple(definitions), plans or PlanCache()
    everything = applied if files is None else tuple(files)
    # Checking projects takes a while, so the store is not kept from others meanwhile.
    with store.read() as transaction:
        if len(applied) > _FEW_DEFINITIONS:
            transaction.definitions.read_ahead()
            transaction.projects.read_ahead()
        difference = _allowed_plan(transaction, applied, everything, workspace, is_looking_ahead, prune, plans)
        if _is_applied(transaction, difference, workspace) and not (is_requesting and difference.held):
            return difference
    with store.logged_refusal("apply", workspace), store.write() as transaction:
        if difference.basis.is_held:
            transaction.requests.lock()
        transaction.definitions.lock()
        if _read_basis(transaction) != difference.basis:
            difference = _allowed_plan(transaction, applied, everything, workspace, is_looking_ahead, prune, plans)
        _write_plan(transaction, difference, workspace, now)
        if is_requesting and difference.held:
            return replace(difference, request=_request_held(transaction, difference, workspace))
        return difference


def apply_in(
    transaction: Transaction,
    definitions: Iterable[Definition[DefinitionModel]],
    *,
    disabled: Iterable[tuple[DefinitionKind, str]],
    workspace: str,
    now: datetime.datetime,
) -> None:
    """Store definitions that were approved, and disable others, in a transaction that has the lock."""
    applied = tuple(definitions)
    difference = _compute_plan(
        transaction, applied, applied, workspace, True, False, PlanCache(), disabled=tuple(disabled)
    )
    _write_plan(transaction, difference, workspace, now)


def _write_plan(transaction: Transaction, difference: ApplyPlan, workspace: str, now: datetime.datetime) -> None:
    for change in difference.changes:
        _write_change(transaction, change, difference.basis.heads, workspace, now)
    by_id = {change.id: change for change in difference.changes if change.kind == "project"}
    for effect in difference.effects:
        _write_effect(transaction, effect, by_id.get(effect.project_id), now)
    written = [_logged_change(change) for change in difference.changes if change.action != "unchanged"]
    if written:
        transaction.log.append("apply", workspace, {"changes": written})


def _request_held(transaction: Transaction, difference: ApplyPlan, workspace: str) -> int | None:
    def describe() -> Act:
        return change_act(
            transaction,
            "apply",
            workspace,
            workspace=workspace,
            held=difference.held,
            changes=shown_changes(transaction, difference.held),
        )

    request = request_if_needed(transaction, "apply", describe)
    return request.number if request is not None else None


_CHANGE_WORDS: Mapping[ChangeAction, str] = {
    "added": "adds",
    "new_version": "changes",
    "retitled": "renames",
    "enabled": "enables",
    "disabled": "disables",
    "unchanged": "keeps",
}


def shown_changes(transaction: Transaction, changes: Iterable[DefinitionChange]) -> tuple[ShownChange, ...]:
    """Changes with their texts, as `daybook plan` shows them."""
    shown = (_with_difference(transaction.definitions, change) for change in changes)
    return tuple(
        ShownChange(f"{_CHANGE_WORDS[change.action]} {change.kind} {change.id}", change.difference) for change in shown
    )


def _allowed_plan(
    transaction: Transaction,
    definitions: tuple[Definition[DefinitionModel], ...],
    files: tuple[Definition[DefinitionModel], ...],
    workspace: str,
    is_looking_ahead: bool,
    prune: bool,
    plans: PlanCache,
) -> ApplyPlan:
    """What applying changes without approval; what needs one is held back."""
    whole = _compute_plan(transaction, definitions, files, workspace, is_looking_ahead, prune, plans)
    held = find_held(transaction, whole.changes)
    if not held:
        return whole
    left_out = frozenset((change.kind, change.id) for change in held)
    free = _compute_plan(transaction, definitions, files, workspace, is_looking_ahead, prune, plans, left_out=left_out)
    return replace(free, held=held)


def active_projects(transaction: Transaction) -> dict[str, Project]:
    """The version that was activated last of every project that was not deactivated, by id."""
    return {
        state.project_id: version.project
        for state in transaction.projects.all()
        if state.status != "inactive"
        and (version := find_active_project(transaction.definitions, transaction.projects, state)) is not None
    }


def find_held(transaction: Transaction, changes: tuple[DefinitionChange, ...]) -> tuple[DefinitionChange, ...]:
    """The changes that need approval: of what active projects reach, and of active projects that pruning disables.

    A project counts as active from its first activation until it is deactivated: one whose file was changed is active
    again as soon as the file is as it was.
    """
    if transaction.policies.in_force().activate is None:
        return ()
    active = active_projects(transaction)
    projects, active_ids = list(active.values()), set(active)
    stored = transaction.stored_definitions()
    # Both before and after: a change may lead to other definitions.
    reached = stored_keys(stored, projects) | stored_keys(with_changes(stored, changes), projects)
    return tuple(
        change
        for change in changes
        if change.action != "unchanged"
        and (
            change.id in active_ids and change.definition is None
            if change.kind == "project"
            else (change.kind, change.id) in reached
        )
    )


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


def allowed_changes(transaction: Transaction, changes: tuple[DefinitionChange, ...]) -> tuple[DefinitionChange, ...]:
    """The changes that are made without approval."""
    held = {(change.kind, change.id) for change in find_held(transaction, changes)}
    return tuple(change for change in changes if (change.kind, change.id) not in held)


def _read_basis(transaction: Transaction) -> ApplyBasis:
    is_held = transaction.policies.in_force().activate is not None
    return ApplyBasis(transaction.definitions.heads(), transaction.projects.all(), is_held)


def _compute_plan(
    transaction: Transaction,
    definitions: tuple[Definition[DefinitionModel], ...],
    files: tuple[Definition[DefinitionModel], ...],
    workspace: str,
    is_looking_ahead: bool,
    prune: bool,
    plans: PlanCache,
    *,
    left_out: frozenset[tuple[DefinitionKind, str]] = frozenset(),
    disabled: tuple[tuple[DefinitionKind, str], ...] = (),
) -> ApplyPlan:
    """`left_out` are changes that are not made, `disabled` definitions that no file of this plan has."""
    basis = _read_basis(transaction)
    changes = find_changes(definitions, basis.heads, workspace=workspace, prune=prune)
    changes = tuple(change for change in changes if (change.kind, change.id) not in left_out)
    changes += tuple(_disabling(basis.heads[key]) for key in disabled)
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


def _disabling(head: DefinitionHead) -> DefinitionChange:
    return DefinitionChange(head.kind, head.id, "disabled", head.version, head.version, None)


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
