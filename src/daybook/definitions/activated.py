"""What an active project sees: datasets without the columns that they gained since it was activated."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from daybook.definitions.deferred import Deferred
from daybook.definitions.value import DatasetVersions, Definitions
from daybook.model.dataset import Dataset
from daybook.model.definition import DeclaredVersion
from daybook.model.json_fields import named
from daybook.model.project import Project


@dataclass(frozen=True, slots=True)
class ProjectInput:
    """A dataset version a project was validated against; unpinned ones go on following the latest."""

    dataset_id: Annotated[str, named("id")]
    version: int
    is_pinned: Annotated[bool, named("pinned")]


def validated_inputs(project: Project, definitions: Definitions) -> tuple[ProjectInput, ...]:
    """The current version of every reference of a project, without unknown datasets."""
    inputs: dict[ProjectInput, None] = {}
    for _, reference in project.reads():
        version = definitions.dataset(reference.dataset_id, reference.dataset_version)
        is_pinned = reference.dataset_version is not None
        while version is not None:
            inputs[ProjectInput(version.dataset.id, version.version, is_pinned)] = None
            is_pinned = is_pinned or (version.view is not None and version.view.of.dataset_version is not None)
            version = version.view.dataset if version.view is not None else None
    return tuple(sorted(inputs, key=lambda item: (item.dataset_id, item.version, item.is_pinned)))


def unpinned_inputs(inputs: Iterable[ProjectInput]) -> Iterator[ProjectInput]:
    return (item for item in inputs if not item.is_pinned)


def as_activated(definitions: Definitions, inputs: Iterable[ProjectInput]) -> Definitions:
    """The latest versions with the columns that a project was activated with.

    An output without `columns` writes all columns; a column that a dataset gained since would otherwise slip into it.
    """
    cut: dict[str, DatasetVersions] = {}
    for item in unpinned_inputs(inputs):
        versions = definitions.datasets.get(item.dataset_id)
        if isinstance(versions, DatasetVersions) and item.version in versions.numbered:
            cut[item.dataset_id] = _with_columns_of(versions, item.version)
    return definitions.with_datasets(cut)


def _with_columns_of(versions: DatasetVersions, validated_version: int) -> DatasetVersions:
    return replace(versions, latest=Deferred(lambda: _cut_latest(versions, validated_version)))


def _cut_latest(versions: DatasetVersions, validated_version: int) -> DeclaredVersion:
    latest = versions.latest.value
    if validated_version == latest.version:
        return latest
    validated = versions.find(validated_version)
    if validated is None:
        return latest
    if not isinstance(validated.dataset, Dataset) or not isinstance(latest.dataset, Dataset):
        return latest
    validated_names = {column.name for column in validated.dataset.main_table.columns}
    table = latest.dataset.main_table
    kept = tuple(column for column in table.columns if column.name in validated_names)
    if not kept or len(kept) == len(table.columns):
        return latest
    dataset = latest.dataset.model_copy(update={"main_table": table.model_copy(update={"columns": kept})})
    return replace(latest, dataset=dataset)
