"""What is known of the definitions while something is planned or resolved."""

from dataclasses import dataclass
from typing import Literal, Protocol

from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset
from daybook.model.datasource import DataSource
from daybook.model.resolver import Resolver

DefinitionStatus = Literal["active", "disabled"]

# What drafts register as datasets in the sandbox has ids that begin so.
SANDBOX_PREFIX = "sandbox."


@dataclass(frozen=True, slots=True)
class DataPin:
    """The data a registered dataset version stays readable as: a Delta table at a version."""

    uri: str
    delta_version: int


@dataclass(frozen=True, slots=True)
class DatasetVersion:
    dataset: Dataset
    version: int
    status: DefinitionStatus = "active"
    pin: DataPin | None = None


@dataclass(frozen=True, slots=True)
class ResolverVersion:
    resolver: Resolver
    version: int
    status: DefinitionStatus = "active"


class Catalog(Protocol):
    """Definitions by id; None where there is no such thing."""

    def dataset(self, dataset_id: str, version: int | None = None) -> DatasetVersion | None:
        """That version, or the latest active one (the latest of all when none is active)."""
        ...

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]: ...

    def datasource(self, datasource_id: str) -> DataSource | None: ...

    def is_datasource_disabled(self, datasource_id: str) -> bool: ...

    def resolver(self, resolver_id: str) -> ResolverVersion | None: ...

    def default_resolver(self) -> ResolverVersion | None: ...

    def calendar(self, calendar_id: str) -> Calendar | None: ...

    def ids(self, kind: Literal["dataset", "datasource", "resolver", "calendar"]) -> tuple[str, ...]:
        """All ids of a kind, for suggestions."""
        ...
