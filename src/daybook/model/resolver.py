"""Resolvers: rules that turn (table, period) into physical locations."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, Tag

from daybook.model.declaration import (
    Declaration,
    Expression,
    Id,
    NamedDeclaration,
    NonEmptyText,
    Violation,
    find_repeated,
    tag_by_type,
    validated_by,
    violation,
)


class PathStrategy(Declaration):
    """A file or folder below a data source."""

    type: Literal["path"]
    datasource_id: Id = Field(description="The id of a data source.")
    path: NonEmptyText = Field(description="A path below the data source, with templates such as {{YYYY}}-{{MM}}.")


class TableStrategy(Declaration):
    """A table of a data source."""

    type: Literal["table"]
    datasource_id: Id = Field(description="The id of a data source.")
    table: NonEmptyText = Field(description="A table of the data source, with templates such as {{table_name}}.")
    schema_name: str | None = Field(default=None, alias="schema", description="The database schema.")


class CatalogStrategy(Declaration):
    """An HTTP endpoint that answers with locations."""

    type: Literal["catalog"]
    endpoint: NonEmptyText = Field(description="Its address; the host must be among `catalogs.allowed_hosts`.")
    method: Literal["GET", "POST"] = Field(default="GET", description="How it is called.")
    auth: str | None = Field(default=None, description="Where the token is: env:// or file://.")
    params: dict[str, Any] = Field(default_factory=dict, description="What it is asked with; templates are allowed.")
    headers: dict[str, str] = Field(default_factory=dict, description="Further headers of the call.")


Strategy: TypeAlias = Annotated[
    Annotated[PathStrategy, Tag("<path>")]
    | Annotated[TableStrategy, Tag("<table>")]
    | Annotated[CatalogStrategy, Tag("<catalog>")],
    tag_by_type(),
]


class ResolverRule(Declaration):
    """One rule of a resolver."""

    name: NonEmptyText = Field(description="What messages call the rule.")
    when: Expression | None = Field(
        default=None, description="An expression over period.* and table.name; left out, the rule always matches."
    )
    data_level: NonEmptyText = Field(default="any", description="The calendar level one location holds, or any.")
    strategy: Strategy = Field(description="How the rule finds the data.")


def _check_distinct_names(resolver_rules: tuple[ResolverRule, ...]) -> Iterator[Violation]:
    for index, name in find_repeated(rule.name for rule in resolver_rules):
        yield violation("MODEL_053", index, "name", name=name)


class Resolver(NamedDeclaration):
    is_default: bool = Field(default=False, description="Used where nothing else says how data is found.")
    rules: Annotated[tuple[ResolverRule, ...], validated_by(_check_distinct_names)] = Field(
        min_length=1, description="Tried in order; the first whose condition holds is taken."
    )
