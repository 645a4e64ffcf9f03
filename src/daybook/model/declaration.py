"""What all declarations share: rules with error codes, tags of unions, names of columns and qualifiers."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from daybook.model.types import RESERVED_COLUMNS

ID_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"

Id = Annotated[str, StringConstraints(pattern=f"^{ID_PATTERN}$")]
NonEmptyText = Annotated[str, StringConstraints(min_length=1)]
# Fits the integers of every store.
MAX_STORED_INTEGER = 2_147_483_647

Expression = Annotated[str, StringConstraints(min_length=1), Field(json_schema_extra={"format": "daybook-expression"})]


class Declaration(BaseModel):
    """The base of all declarations: frozen; an unknown key is an error."""

    # Built when first used: the parts of a model are built again within it, and a command uses few models.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True, defer_build=True)


def _require_id_or_name(schema: dict[str, Any]) -> None:
    schema["required"] = [key for key in schema.get("required", ()) if key not in ("id", "name")]
    schema["anyOf"] = [{"required": ["id"]}, {"required": ["name"]}]


class NamedDeclaration(Declaration):
    """A definition: without an id it gets the slug of its name, without a name it is called by its id."""

    model_config = ConfigDict(json_schema_extra=_require_id_or_name)

    id: Id = Field(description="The id that references use; it never changes. By default the slug of the name.")
    name: NonEmptyText = Field(description="A display name; by default the id.")
    description: str | None = Field(default=None, description="A description.")

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        id_, name = data.get("id"), data.get("name")
        if id_ is None and isinstance(name, str) and (slug_of_name := slug(name)):
            return {**data, "id": slug_of_name}
        if name is None and isinstance(id_, str):
            return {**data, "name": id_}
        return data


def slug(name: str) -> str:
    """The id a definition without one gets from its name."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-._").lower()[:128]


T = TypeVar("T")

# The error type under which pydantic carries findings to the loader.
VIOLATIONS = "findings"


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule; `path` is relative to the value the rule looks at."""

    code: str
    path: tuple[str | int, ...] = ()
    hint: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)


def violation(code: str, *path: str | int, hint: str | None = None, **parameters: object) -> Violation:
    return Violation(code, path, hint, parameters)


def validated_by(*checks: Callable[[T], Iterable[Violation]]) -> AfterValidator:
    """A validator that runs every check on a value and reports all they find."""

    def validate(value: T) -> T:
        raise_violations(finding for check in checks for finding in check(value))
        return value

    return AfterValidator(validate)


def raise_violations(findings: Iterable[Violation]) -> None:
    """Fail validation with findings, if there are any."""
    violations = tuple(findings)
    if violations:
        context: dict[str, Any] = {"codes": ", ".join(item.code for item in violations), VIOLATIONS: violations}
        raise PydanticCustomError(VIOLATIONS, "breaks {codes}", context)


def find_repeated(values: Iterable[T]) -> Iterable[tuple[int, T]]:
    """Every value that was there before, with its position."""
    seen: set[T] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield index, value
        seen.add(value)


def tag_by_type() -> Discriminator:
    """By the value of `type`."""

    def tag(value: Any) -> str | None:
        type_ = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
        return f"<{type_}>" if type_ is not None else None

    return Discriminator(tag)


def tag_by_shape(tags: Mapping[str, str]) -> Discriminator:
    """By the first of some keys that is there."""

    def tag(value: Any) -> str | None:
        if isinstance(value, dict):
            return next((tag for key, tag in tags.items() if key in value), None)
        return next((tag for key, tag in tags.items() if hasattr(value, key)), None)

    return Discriminator(tag)


IDENTIFIER_PATTERN = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

# Columns that Spark, reading, the engine and writing carry beside the user's.
ENGINE_COLUMN_NAMES = re.compile(r"_metadata|__place|__ordinal|__file|__partition_file|__attempt|__daybook_.*")

# The qualifier under which expressions find the run's period.
PERIOD_QUALIFIER = "period"


def find_name_problem(name: str) -> str | None:
    """Why a text cannot name a column or a table, or None."""
    if not name.strip():
        return "it is empty"
    if "." in name:
        return "a dot separates table and column"
    if "`" in name:
        return "backticks quote names in expressions"
    if not name.isprintable():
        return "it has an invisible character"
    if name != name.strip():
        return "it begins or ends with a space"
    return None


def split_reference(reference: str) -> tuple[str, str]:
    """Qualifier and column of a reference such as `orders.region`; either may stand in backticks."""
    qualifier, _, name = reference.rpartition(".")
    return _without_backticks(qualifier), _without_backticks(name)


def _without_backticks(name: str) -> str:
    return name[1:-1] if len(name) > 2 and name[0] == name[-1] == "`" else name


def find_case_conflicts(names: Iterable[str], *reserved: str) -> Iterator[tuple[int, str, str]]:
    """Names that equal an earlier one but for their case: position, the earlier name, the name."""
    seen = {name.casefold(): name for name in reserved}
    for index, name in enumerate(names):
        first = seen.setdefault(name.casefold(), name)
        if first != name:
            yield index, first, name


def case_violations(names: Iterable[str], key: str) -> Iterator[Violation]:
    """Columns that differ from another, or from a system column, only in case."""
    for index, first, second in find_case_conflicts(names, *RESERVED_COLUMNS):
        yield violation("MODEL_043", index, key, first=first, second=second)
