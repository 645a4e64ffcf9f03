"""The datasets that projects will register once they have run as they are written now."""

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from daybook.definitions.changes import DefinitionHeads, find_changes, with_changes
from daybook.definitions.files import makers_of
from daybook.definitions.registered import awaits_registration, with_makers, with_registrations
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.model.dataset import Dataset, View
from daybook.model.definition import Definition
from daybook.model.project import Project
from daybook.model.serialization import DefinitionModel
from daybook.plan.plan_cache import PlanCache
from daybook.plan.registered_datasets import registered_dataset


def as_expected(
    definitions: Definitions,
    projects: Iterable[Definition[Project]],
    plans: PlanCache,
    *,
    seen: Definitions | None = None,
    dataset_ids: Iterable[str] | None = None,
) -> Definitions:
    """The definitions with what the projects will register: all of it, or only what these datasets need.

    `seen` is what the projects are planned with, by default the definitions themselves.
    """
    written = tuple(projects)
    makers = makers_of(written)
    requested_ids = makers if dataset_ids is None else dataset_ids
    needed = [id_ for id_ in requested_ids if id_ in makers and awaits_registration(definitions.declared(id_))]
    registered = find_registered_datasets(definitions if seen is None else seen, written, plans, needed)
    named = with_makers(definitions, written)
    return with_registrations(named, {id_: registered[id_] for id_ in needed if id_ in registered})


def find_registered_datasets(
    definitions: Definitions, projects: Iterable[Definition[Project]], plans: PlanCache, dataset_ids: Iterable[str]
) -> Mapping[str, Dataset]:
    """What the runs of projects register: these datasets, and those that their projects read.

    A project is planned after those it reads from, with what they register; of projects that wait for each other, the
    first one is planned with what is registered now. What a project with errors registers is left out: the errors are
    reported where that project is checked.
    """
    written = tuple(projects)
    makers = makers_of(written)
    registered: dict[str, Dataset] = {}
    expected = with_makers(definitions, written)
    for project in _makers_first(definitions, makers, dataset_ids):
        own = tuple(_registrations_of(project, expected, plans))
        registered.update(own)
        awaited = {id_: dataset for id_, dataset in own if awaits_registration(definitions.declared(id_))}
        expected = with_registrations(expected, awaited)
    return registered


def _registrations_of(
    project: Definition[Project], definitions: Definitions, plans: PlanCache
) -> Iterator[tuple[str, Dataset]]:
    try:
        plan = plans.examine(project, definitions).checked_plan(with_locations=False)
    except DaybookError:
        return
    for step in plan.outputs:
        if (dataset_id := step.arguments.registered_id) is not None:
            try:
                yield dataset_id, registered_dataset(plan, step)
            except DaybookError:
                continue


def _makers_first(
    definitions: Definitions, makers: Mapping[str, Definition[Project]], dataset_ids: Iterable[str]
) -> Iterator[Definition[Project]]:
    """The projects behind datasets, each after those that it waits for; without recursion, as chains may be long."""
    waiting = [makers[dataset_id] for dataset_id in reversed(tuple(dataset_ids))]
    begun: set[str] = set()
    ended: set[str] = set()
    while waiting:
        project = waiting[-1]
        if project.id not in begun:
            begun.add(project.id)
            awaited = (makers[id_] for id_ in awaited_datasets(project.model, definitions) if id_ in makers)
            waiting += [maker for maker in awaited if maker.id not in begun]
            continue
        waiting.pop()
        if project.id not in ended:
            ended.add(project.id)
            yield project


def awaited_datasets(project: Project, definitions: Definitions) -> Iterator[str]:
    """The datasets behind the open references of a project that a run may change."""
    for _, reference in project.reads():
        dataset_id, version = reference.dataset_id, reference.dataset_version
        declared = definitions.declared(dataset_id, version)
        views = {dataset_id}
        while declared is not None and isinstance(declared.dataset, View):
            dataset_id, version = declared.dataset.view.of, declared.dataset.view.dataset_version
            if dataset_id in views:
                break
            views.add(dataset_id)
            declared = definitions.declared(dataset_id, version)
        if version is None and awaits_registration(declared):
            yield dataset_id


def expected_with_files(
    stored: Definitions,
    applied: Definitions,
    files: Iterable[Definition[DefinitionModel]],
    heads: DefinitionHeads,
    plans: PlanCache,
    *,
    dataset_ids: Iterable[str] | None = None,
) -> Definitions:
    """`applied` with what the projects of the files will register, planned with everything that the files say."""
    written = tuple(files)
    seen = with_changes(stored, find_changes(written, heads, workspace="", prune=False))
    projects = [cast("Definition[Project]", definition) for definition in written if definition.kind == "project"]
    return as_expected(applied, projects, plans, seen=seen, dataset_ids=dataset_ids)
