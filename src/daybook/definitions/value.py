"""What is declared and stored, as one immutable value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar, assert_never

from daybook.definitions.deferred import Deferred
from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset
from daybook.model.datasource import DataSource, Resolver
from daybook.model.definition import (
    DatasetVersion,
    DeclaredVersion,
    DefinitionStatus,
    ReferencedKind,
    ResolverVersion,
    view_version,
)

Model = TypeVar("Model", bound=DataSource | Resolver | Calendar, covariant=True)
Given = TypeVar("Given", bound=DataSource | Resolver | Calendar)
Key = TypeVar("Key")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class DatasetVersions:
    """The versions of a dataset as they were declared or registered; `latest` is what an open reference means.

    What is registered only by a run to come has a latest version that no reference can name. With
    `serves_every_version` the latest one stands for every version that a reference names.
    """

    latest: Deferred[DeclaredVersion]
    numbered: Mapping[int, Deferred[DeclaredVersion | None]] = field(default_factory=dict)
    status: DefinitionStatus = "active"
    serves_every_version: bool = False

    @classmethod
    def only(cls, version: DeclaredVersion) -> "DatasetVersions":
        declared = Deferred.of(version)
        return cls(declared, {version.version: declared}, version.status)

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(sorted(self.numbered)) or (self.latest.value.version,)

    def find(self, version: int | None) -> DeclaredVersion | None:
        if version is None:
            return self.latest.value
        if self.serves_every_version:
            return replace(self.latest.value, version=version)
        numbered = self.numbered.get(version)
        return numbered.value if numbered is not None else None


@dataclass(frozen=True, slots=True)
class RecordedVersions:
    """The versions of a dataset as runs read them, with their views resolved.

    With `serves_every_version` the latest one stands for versions that the runs did not read.
    """

    latest: DatasetVersion | None
    numbered: Mapping[int, DatasetVersion]
    serves_every_version: bool = False
    status: DefinitionStatus = "active"

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(sorted(self.numbered))

    def find(self, version: int | None) -> DatasetVersion | None:
        if version is None:
            return self.latest
        return self.numbered.get(version) or (self.latest if self.serves_every_version else None)


@dataclass(frozen=True, slots=True)
class LatestVersion(Generic[Model]):
    """A data source, a resolver or a calendar; references to them have no version."""

    model: Deferred[Model]
    version: int = 1
    status: DefinitionStatus = "active"
    is_default: bool = False

    @staticmethod
    def of(model: "Given", version: int = 1, status: DefinitionStatus = "active") -> "LatestVersion[Given]":
        return LatestVersion(Deferred.of(model), version, status, getattr(model, "is_default", False))


class Overlaid(Mapping[Key, Item]):
    """A mapping with some items changed or added; the others are asked for only when they are read."""

    def __init__(self, below: Mapping[Key, Item], changed: Mapping[Key, Item]) -> None:
        # Layers do not pile up.
        self._below: Mapping[Key, Item] = below._below if isinstance(below, Overlaid) else below
        changed_below: Mapping[Key, Item] = below._changed if isinstance(below, Overlaid) else {}
        self._changed: Mapping[Key, Item] = {**changed_below, **changed}

    def __getitem__(self, key: Key) -> Item:
        return self._changed[key] if key in self._changed else self._below[key]

    def __contains__(self, key: object) -> bool:
        return key in self._changed or key in self._below

    def __iter__(self) -> Iterator[Key]:
        yield from self._below
        yield from (key for key in self._changed if key not in self._below)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class Definitions:
    """Definitions by kind and id. Texts are decoded when a definition is first read.

    `makers` are the projects that register datasets, by dataset.
    """

    datasets: Mapping[str, DatasetVersions | RecordedVersions] = field(default_factory=dict)
    datasources: Mapping[str, LatestVersion[DataSource]] = field(default_factory=dict)
    resolvers: Mapping[str, LatestVersion[Resolver]] = field(default_factory=dict)
    calendars: Mapping[str, LatestVersion[Calendar]] = field(default_factory=dict)
    makers: Mapping[str, str] = field(default_factory=dict)

    def with_datasets(self, changed: Mapping[str, DatasetVersions | RecordedVersions]) -> "Definitions":
        """The same with some datasets changed or added."""
        return replace(self, datasets=Overlaid(self.datasets, changed)) if changed else self

    def with_makers(self, makers: Mapping[str, str]) -> "Definitions":
        """The same with more projects that register datasets."""
        return replace(self, makers={**self.makers, **makers} if self.makers else makers)

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        """A dataset as it was declared: a view is a view. Without a version the latest."""
        match self.datasets.get(dataset_id):
            case DatasetVersions() as versions:
                return versions.find(version)
            case RecordedVersions() | None:
                return None
            case versions:
                assert_never(versions)

    def dataset(self, dataset_id: str, version: int | None = None) -> DatasetVersion | None:
        """A dataset as it is read: a view has the table of the dataset that it ends at."""
        recorded = self.datasets.get(dataset_id)
        if isinstance(recorded, RecordedVersions):
            return recorded.find(version)
        return self._resolved(self.declared(dataset_id, version), ())

    def _resolved(self, declared: DeclaredVersion | None, readers: tuple[str, ...]) -> DatasetVersion | None:
        """None for a view of something unknown, and for views that only read each other."""
        if declared is None or declared.dataset.id in readers:
            return None
        if isinstance(declared.dataset, Dataset):
            is_timeless = declared.dataset.main_table.temporal_mode is None
            return DatasetVersion(
                declared.dataset,
                declared.version,
                declared.status,
                declared.pin,
                reads_one_slice=declared.is_registered and is_timeless,
            )
        view = declared.dataset
        viewed = self._resolved(self.declared(view.view.of, view.view.dataset_version), (*readers, view.id))
        return view_version(view, declared.version, viewed, declared.status) if viewed is not None else None

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        versions = self.datasets.get(dataset_id)
        return versions.numbers if versions is not None else ()

    def datasource(self, datasource_id: str) -> DataSource | None:
        latest = self.datasources.get(datasource_id)
        return latest.model.value if latest is not None else None

    def is_datasource_disabled(self, datasource_id: str) -> bool:
        latest = self.datasources.get(datasource_id)
        return latest is not None and latest.status == "disabled"

    def resolver(self, resolver_id: str) -> ResolverVersion | None:
        latest = self.resolvers.get(resolver_id)
        return ResolverVersion(latest.model.value, latest.version, latest.status) if latest is not None else None

    def default_resolver(self) -> ResolverVersion | None:
        default_ids = self.default_resolver_ids()
        return self.resolver(default_ids[0]) if default_ids else None

    def default_resolver_ids(self) -> tuple[str, ...]:
        """All that claim to be the default; more than one is refused where definitions are applied."""
        return tuple(
            sorted(id_ for id_, latest in self.resolvers.items() if latest.is_default and latest.status == "active")
        )

    def calendar(self, calendar_id: str) -> Calendar | None:
        """A disabled calendar is as if it were not there."""
        latest = self.calendars.get(calendar_id)
        return latest.model.value if latest is not None and latest.status == "active" else None

    def registering_project(self, dataset_id: str) -> str | None:
        """The project whose run registers a dataset, as far as that is known."""
        return self.makers.get(dataset_id)

    def ids(self, kind: ReferencedKind) -> tuple[str, ...]:
        """All ids in use of a kind, for suggestions; datasets that a run will register are among them."""
        versions: Mapping[str, DatasetVersions | RecordedVersions | LatestVersion[Any]]
        match kind:
            case "dataset":
                versions = self.datasets
            case "datasource":
                versions = self.datasources
            case "resolver":
                versions = self.resolvers
            case "calendar":
                versions = self.calendars
            case _:
                assert_never(kind)
        active = {id_ for id_, latest in versions.items() if latest.status == "active"}
        return tuple(sorted({*active, *self.makers} if kind == "dataset" else active))
