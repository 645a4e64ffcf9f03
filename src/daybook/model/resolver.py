"""Resolvers: rules that turn (table, period) into physical locations."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from daybook.model.base import Declaration, Expression, Id, Text


class PathStrategy(Declaration):
    type: Literal["path"]
    datasource_id: Id
    path: Text


class TableStrategy(Declaration):
    type: Literal["table"]
    datasource_id: Id
    table: Text
    schema_name: str | None = Field(default=None, alias="schema")


class CatalogStrategy(Declaration):
    """An HTTP endpoint that answers with locations."""

    type: Literal["catalog"]
    endpoint: Text
    method: Literal["GET", "POST"] = "GET"
    auth: str | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)


Strategy: TypeAlias = Annotated[PathStrategy | TableStrategy | CatalogStrategy, Field(discriminator="type")]


class ResolverRule(Declaration):
    name: Text
    when: Expression | None = None
    data_level: Text = "any"
    strategy: Strategy


class Resolver(Declaration):
    id: Id
    name: Text
    description: str | None = None
    is_default: bool = False
    rules: tuple[ResolverRule, ...] = Field(min_length=1)
