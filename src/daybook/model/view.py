"""Views: the table of another dataset, read through a window that is relative to the run's period."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag

from daybook.errors.error import closest_match
from daybook.model.declaration import (
    MAX_STORED_INTEGER,
    Declaration,
    Id,
    NamedDeclaration,
    NonEmptyText,
    Violation,
    raise_violations,
    validated_by,
    violation,
)

# More periods than any close looks back on; a typing error must not list files for hours.
MAX_WINDOW_PERIODS = 1_000


class DaysAfterEnd(Declaration):
    """A day counted from the end of the period."""

    after_end: int = Field(ge=0, le=366, description="That many days after the period's last day.")


def _tag_by_key(value: Any) -> str | None:
    """A text is a name; a mapping is known by its only key."""
    if isinstance(value, str):
        return "<named>"
    key = next(iter(value), None) if isinstance(value, dict) else next(iter(type(value).model_fields), None)
    return f"<{str(key).replace('_', '')}>"


def _require_form(value: Any, names: tuple[str, ...], keys: tuple[str, ...], code: str) -> Any:
    """One of some names, or a mapping with one of some keys."""
    if isinstance(value, str) and value not in names:
        near = closest_match(value, (*names, *keys))
        raise_violations([violation(code, hint=f"did you mean {near}?" if near else None, value=value)])
    if isinstance(value, dict) and (len(value) != 1 or next(iter(value)) not in keys):
        raise_violations([violation(code, value=", ".join(map(str, value)) or "an empty mapping")])
    if not isinstance(value, str | dict | Declaration):
        raise_violations([violation(code, value=value)])
    return value


_AsOfName: TypeAlias = Literal["start", "end"]


def _require_as_of_form(value: Any) -> Any:
    return _require_form(value, get_args(_AsOfName), ("after_end",), "MODEL_082")


# The day at which bitemporal rows must be valid, seen from a period.
AsOfRule: TypeAlias = Annotated[
    Annotated[_AsOfName, Tag("<named>")] | Annotated[DaysAfterEnd, Tag("<afterend>")],
    Discriminator(_tag_by_key),
    BeforeValidator(_require_as_of_form, json_schema_input_type=_AsOfName | DaysAfterEnd),
]


def _check_offset(offset: int) -> Iterator[Violation]:
    if offset == 0:
        yield violation("MODEL_081")


class OffsetWindow(Declaration):
    """One period, counted from the run's."""

    offset: Annotated[int, validated_by(_check_offset)] = Field(
        ge=-MAX_WINDOW_PERIODS, le=MAX_WINDOW_PERIODS, description="Periods before (negative) or after the run's."
    )


class ToDateWindow(Declaration):
    """From the first period of a coarser one up to the run's."""

    to_date: NonEmptyText = Field(description="A calendar level, such as year or quarter.")


class LastWindow(Declaration):
    """The last periods, the run's included."""

    last: int = Field(ge=1, le=MAX_WINDOW_PERIODS, description="How many periods, including the run's period.")


class FirstPeriod(Declaration):
    """Where a window over all periods begins."""

    first: NonEmptyText = Field(alias="from", description="The identifier of the first period.")


class AllWindow(Declaration):
    """Every period from a first one up to the run's."""

    all: FirstPeriod = Field(description="The first period, for data that has a location for each period.")


NamedWindow: TypeAlias = Literal["previous", "same_last_year", "all"]


def _require_window_form(value: Any) -> Any:
    return _require_form(value, get_args(NamedWindow), ("offset", "to_date", "last", "all"), "MODEL_080")


Window: TypeAlias = Annotated[
    Annotated[NamedWindow, Tag("<named>")]
    | Annotated[OffsetWindow, Tag("<offset>")]
    | Annotated[ToDateWindow, Tag("<todate>")]
    | Annotated[LastWindow, Tag("<last>")]
    | Annotated[AllWindow, Tag("<all>")],
    Discriminator(_tag_by_key),
    BeforeValidator(
        _require_window_form, json_schema_input_type=NamedWindow | OffsetWindow | ToDateWindow | LastWindow | AllWindow
    ),
]

MissingPeriod: TypeAlias = Literal["error", "empty"]
RowPeriod: TypeAlias = Literal["source", "run"]


class ViewOf(Declaration):
    """Which dataset a view reads, and which of its periods."""

    of: Id = Field(description="The id of the dataset whose table is read.")
    dataset_version: int | None = Field(
        default=None, ge=1, le=MAX_STORED_INTEGER, description="Pins a version of it; by default the latest is read."
    )
    window: Window = Field(description="The periods to read, relative to the run's period.")
    missing: MissingPeriod = Field(
        default="error", description="What a period without data means: an error, or no rows."
    )
    period: RowPeriod = Field(
        default="source", description="The period of the rows: that of their source, or that of the run."
    )
    as_of: AsOfRule | None = Field(
        default=None, description="For a bitemporal table: the day on which rows must be valid."
    )


class View(NamedDeclaration):
    """A dataset without a table of its own."""

    view: ViewOf = Field(description="What is read, and through which window.")


def ends_before_run(window: Window) -> bool:
    """Whether a window never reads the run's period or a later one."""
    match window:
        case "previous" | "same_last_year":
            return True
        case OffsetWindow(offset=offset):
            return offset < 0
        case _:
            return False


def is_single_period(window: Window) -> bool:
    return window in ("previous", "same_last_year") or isinstance(window, OffsetWindow)
