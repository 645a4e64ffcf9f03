"""Where the data of declared datasets without a location is: where the outputs that register them write.

That is known as soon as a project says so, before it has run.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from daybook.definitions.deferred import Deferred
from daybook.definitions.value import DatasetVersions, Definitions
from daybook.model.dataset import Dataset, PathLocation, TableLocation
from daybook.model.definition import DeclaredVersion
from daybook.model.operation import LocationDestination, OutputOperation, TableDestination
from daybook.model.project import Project

Targets = Mapping[str, PathLocation | TableLocation]


def registered_targets(projects: Iterable[Project]) -> Targets:
    """The location of every dataset that outputs of the projects register."""
    targets: dict[str, PathLocation | TableLocation] = {}
    for project in projects:
        for operation in project.operations:
            if isinstance(operation, OutputOperation) and (name := operation.arguments.registered_id) is not None:
                match operation.arguments.destination:
                    case TableDestination(datasource_id=datasource_id, table=table):
                        targets[name] = TableLocation(datasource_id=datasource_id, table=table)
                    case LocationDestination(location=location):
                        targets[name] = location
                    case destination:
                        assert_never(destination)
    return targets


def with_target(declared: DeclaredVersion, targets: Callable[[], Targets]) -> DeclaredVersion:
    """The dataset with the location that its file leaves open; targets are only asked for where it does."""
    dataset, contract = declared.dataset, declared.contract
    if not isinstance(dataset, Dataset) or not isinstance(contract, Dataset):
        return declared
    if dataset.resolver_id is not None or dataset.main_table.location is not None:
        return declared
    location = targets().get(dataset.id)
    if location is None:
        return declared
    table = dataset.main_table.model_copy(update={"location": location})
    return replace(declared, dataset=dataset.model_copy(update={"main_table": table}))


def with_targets(definitions: Definitions, projects: Iterable[Project]) -> Definitions:
    """The definitions with the locations that these projects give to declared datasets."""
    targets = registered_targets(projects)
    located = {
        dataset_id: _with_target(versions, targets)
        for dataset_id in targets
        if isinstance(versions := definitions.datasets.get(dataset_id), DatasetVersions)
    }
    return definitions.with_datasets(located)


def _with_target(versions: DatasetVersions, targets: Targets) -> DatasetVersions:
    return replace(versions, latest=Deferred(lambda: with_target(versions.latest.value, lambda: targets)))
