"""What readers see once projects have run as they are written now."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from daybook.definitions.activated import ProjectInput, unpinned_inputs
from daybook.definitions.dataset_fit import fulfil_declaration, has_same_schema
from daybook.definitions.deferred import Deferred
from daybook.definitions.files import makers_of
from daybook.definitions.value import DatasetVersions, Definitions
from daybook.model.dataset import Dataset, View
from daybook.model.definition import DeclaredVersion, Definition
from daybook.model.project import Project


def with_makers(definitions: Definitions, projects: Iterable[Definition[Project]]) -> Definitions:
    """The same datasets, and which project registers which."""
    return definitions.with_makers({dataset_id: project.id for dataset_id, project in makers_of(projects).items()})


def with_registrations(definitions: Definitions, registered: Mapping[str, Dataset]) -> Definitions:
    """With the datasets that runs will register.

    What a file declares stays as it is declared; a numbered version is what was registered then.
    """
    next_versions = {
        dataset_id: _with_registration(definitions.datasets.get(dataset_id), dataset)
        for dataset_id, dataset in registered.items()
    }
    return definitions.with_datasets(next_versions)


def awaits_registration(declared: DeclaredVersion | None) -> bool:
    """Whether a run may change how a dataset is seen: no file declares it, or leaves open where its data is."""
    if declared is None:
        return True
    if isinstance(declared.dataset, View):
        return False
    is_located = declared.dataset.resolver_id is not None or declared.dataset.main_table.location is not None
    return not (is_located and declared.contract is not None and declared.status == "active")


def with_awaited(definitions: Definitions, expected: Definitions) -> Definitions:
    """Datasets as they are, but as expected where no run has registered them yet."""
    awaited = {id_: versions for id_, versions in expected.datasets.items() if id_ not in definitions.datasets}
    return definitions.with_datasets(awaited).with_makers(expected.makers)


def with_awaited_versions(
    definitions: Definitions, expected: Definitions, inputs: Iterable[ProjectInput]
) -> Definitions:
    """Datasets as expected where no run has registered the version of an input yet."""
    awaited: dict[str, DatasetVersions] = {}
    for item in unpinned_inputs(inputs):
        versions, next_versions = definitions.datasets.get(item.dataset_id), expected.datasets.get(item.dataset_id)
        if (
            isinstance(versions, DatasetVersions)
            and isinstance(next_versions, DatasetVersions)
            and versions.find(item.version) is None
        ):
            awaited[item.dataset_id] = replace(versions, latest=next_versions.latest)
    return definitions.with_datasets(awaited)


def _with_registration(versions: object, registered: Dataset) -> DatasetVersions:
    if not isinstance(versions, DatasetVersions):
        return DatasetVersions(Deferred.of(DeclaredVersion(registered, 1, is_registered=True)))
    latest = _next_latest(versions.latest.value, registered)
    return replace(versions, latest=Deferred.of(latest))


def _next_latest(latest: DeclaredVersion, registered: Dataset) -> DeclaredVersion:
    if not awaits_registration(latest):
        return latest
    if isinstance(latest.contract, Dataset) and isinstance(latest.dataset, Dataset) and latest.status == "active":
        # The location that the file leaves open is where the output will write.
        return replace(latest, dataset=fulfil_declaration(latest.dataset, registered))
    if has_same_schema(latest.dataset, registered) and latest.status == "active":
        return latest
    return DeclaredVersion(registered, latest.version + 1, is_registered=True)
