"""One thing a user declared, with where it was written.

What is known of the definitions while something is planned or resolved.
"""

from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar, get_args

from pydantic import TypeAdapter

from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset
from daybook.model.datasource import DataSource
from daybook.model.project import Project
from daybook.model.resolver import Resolver
from daybook.model.source_map import SourceMap

DefinitionKind = Literal["dataset", "datasource", "resolver", "calendar", "project"]
DEFINITION_KINDS: tuple[DefinitionKind, ...] = get_args(DefinitionKind)

DefinedModel = TypeVar("DefinedModel", bound=Dataset | DataSource | Resolver | Calendar | Project, covariant=True)

# What is declared by each kind: a model, or a union of models.
MODEL_TYPES: dict[DefinitionKind, Any] = {
    "dataset": Dataset,
    "datasource": DataSource,
    "resolver": Resolver,
    "calendar": Calendar,
    "project": Project,
}
MODEL_ADAPTERS: dict[DefinitionKind, TypeAdapter[Any]] = {
    kind: TypeAdapter(type_) for kind, type_ in MODEL_TYPES.items()
}


@dataclass(frozen=True, slots=True)
class Definition(Generic[DefinedModel]):
    kind: DefinitionKind
    model: DefinedModel
    source: SourceMap

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def file(self) -> str | None:
        return self.source.file


DefinitionStatus = Literal["active", "disabled"]

# What drafts register as datasets in the sandbox has ids that begin so.
SANDBOX_PREFIX = "sandbox."


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a table in the words of its format, which alone can read the token."""

    format: str
    token: str


@dataclass(frozen=True, slots=True)
class RegisteredDataPin:
    """The data a registered dataset version stays readable as: a Delta table at a version."""

    uri: str
    delta_version: int


@dataclass(frozen=True, slots=True)
class DatasetVersion:
    dataset: Dataset
    version: int
    status: DefinitionStatus = "active"
    pin: RegisteredDataPin | None = None


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
