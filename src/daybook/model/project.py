"""Projects: an input dataset, named selectors, ordered operations."""

from pydantic import Field

from daybook.model.base import Declaration, Expression, Id, Text
from daybook.model.dataset import DatasetRef
from daybook.model.operation import Operation


class Project(Declaration):
    """`operations` are kept in the order they execute."""

    id: Id
    name: Text
    description: str | None = None
    input: DatasetRef
    calendar_id: Id | None = None
    selectors: dict[Text, Expression] = Field(default_factory=dict)
    resolver_overrides: dict[Id, Id] = Field(default_factory=dict)
    operations: tuple[Operation, ...] = Field(min_length=1)
