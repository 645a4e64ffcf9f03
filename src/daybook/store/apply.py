"""Applies definitions: computes the changes once, then writes or only shows them."""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, replace

from daybook.errors import DaybookError, Notice
from daybook.model.definition import Definition
from daybook.plan.plan_cache import PlanCache
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
from daybook.store.definition_text import DefinitionModel
from daybook.store.effects import ProjectEffect, ProjectEffects, TouchedColumns
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
    the projects among them will register; unless `is_looking_ahead`, only where nobody has registered it yet.
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
    state = transaction.projects.find(effect.project_id)
    warnings = tuple(str(error) for error in effect.findings)
    known = (state.status, state.conflict, state.warnings) if state else None
    if known != (effect.after, effect.conflict, warnings):
        write_state(transaction, effect, now)
    if change is not None and change.is_structural:
        transaction.projects.set_usage(effect.project_id, change.version, effect.validation.usage)
        transaction.projects.set_inputs(effect.project_id, change.version, effect.inputs)
