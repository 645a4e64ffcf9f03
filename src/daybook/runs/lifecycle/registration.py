"""Makes what an output wrote a dataset version that others can read at once."""

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from daybook.definitions.activated import unpinned_inputs
from daybook.definitions.value import Definitions
from daybook.model.dataset import Dataset
from daybook.model.definition import Definition
from daybook.model.source_map import SourceMap
from daybook.plan.expected import as_expected
from daybook.plan.plan_cache import PlanCache
from daybook.runs.lifecycle.apply import write_state
from daybook.runs.lifecycle.effects import ProjectEffect, ProjectEffects
from daybook.store.database.projects import ProjectVersion, find_active_project
from daybook.store.records import ProjectState, Registration
from daybook.store.store import Transaction


@dataclass(frozen=True, slots=True)
class RegisteredDataset:
    """A dataset version an output made, and the projects it put into conflict."""

    dataset_id: str
    version: int
    effects: tuple[ProjectEffect, ...]


def register_output(
    transaction: Transaction,
    dataset: Dataset,
    registration: Registration,
    *,
    now: datetime.datetime,
    plans: PlanCache | None = None,
) -> RegisteredDataset:
    """Make what an output wrote a dataset version that others can read at once."""
    before = transaction.stored_dataset(dataset.id)
    version = transaction.definitions.register(dataset, registration, now=now)
    if before is not None and before.dataset == dataset and before.status == "active":
        # Newer data of the same columns in the same location changes nothing for the projects that read it.
        return RegisteredDataset(dataset.id, version, ())
    stored, plans = transaction.stored_definitions(), plans or PlanCache()
    effects = ProjectEffects(
        transaction.definitions,
        transaction.projects,
        stored,
        plans,
        _with_awaited_by_readers(transaction, stored, dataset.id, plans),
        is_looking_ahead=False,
    ).of_datasets([dataset.id])
    for effect in effects:
        write_state(transaction, effect, now)
    return RegisteredDataset(dataset.id, version, effects)


def _with_awaited_by_readers(
    transaction: Transaction, definitions: Definitions, dataset_id: str, plans: PlanCache
) -> Definitions:
    """What no run has registered yet is awaited: a project that reads it, too, is not in conflict for that."""
    awaited = {
        item.dataset_id
        for version in _active_projects(transaction, transaction.projects.reading([dataset_id]))
        for item in unpinned_inputs(version.inputs)
        if definitions.declared(item.dataset_id, item.version) is None
    }
    if not awaited:
        return definitions
    active = _active_projects(transaction, transaction.projects.all())
    projects = [Definition("project", version.project, SourceMap.empty()) for version in active]
    return as_expected(definitions, projects, plans, dataset_ids=awaited)


def _active_projects(transaction: Transaction, states: Iterable[ProjectState]) -> Iterator[ProjectVersion]:
    for state in states:
        if state.status in ("active", "conflict"):
            version = find_active_project(transaction.definitions, transaction.projects, state)
            if version is not None:
                yield version
