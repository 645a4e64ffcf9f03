"""One thing a user declared, with where it was written."""

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, get_args

from pydantic import TypeAdapter

from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset
from daybook.model.datasource import DataSource
from daybook.model.project import Project
from daybook.model.resolver import Resolver
from daybook.model.source_map import SourceMap

Kind = Literal["dataset", "datasource", "resolver", "calendar", "project"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Model = TypeVar("Model", bound=Dataset | DataSource | Resolver | Calendar | Project, covariant=True)

# What is declared by each kind: a model, or a union of models.
TYPES: dict[Kind, Any] = {
    "dataset": Dataset,
    "datasource": DataSource,
    "resolver": Resolver,
    "calendar": Calendar,
    "project": Project,
}
ADAPTERS: dict[Kind, TypeAdapter[Any]] = {kind: TypeAdapter(type_) for kind, type_ in TYPES.items()}


@dataclass(frozen=True, slots=True)
class Definition(Generic[Model]):
    kind: Kind
    model: Model
    source: SourceMap

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def file(self) -> str | None:
        return self.source.file
