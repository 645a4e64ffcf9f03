"""Measures, whose totals a run follows, and control totals, with which deliveries are compared."""

import re
from collections.abc import Iterator, Mapping
from decimal import Context, Decimal
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from daybook.model.declaration import (
    Declaration,
    NonEmptyText,
    Violation,
    find_repeated,
    raise_violations,
    validated_by,
    violation,
)
from daybook.model.types import ColumnType, DecimalType, FloatType, IntegerType

# A total: exact, but for floats.
Amount: TypeAlias = Decimal | float

# More digits than any total has: Python rounds to 28 otherwise.
EXACT = Context(prec=100)

# As programs write numbers: ASCII digits and a point, nothing between thousands. An exponent is one that fits EXACT.
_NUMBER = re.compile(r"[+-]?([0-9]{1,60}(\.[0-9]{0,38})?|\.[0-9]{1,38})([eE][+-]?[0-9]{1,2})?")


def zero_of(column_type: ColumnType) -> Amount:
    """Zero, with the scale of the other totals."""
    if isinstance(column_type, FloatType):
        return 0.0
    return Decimal(0).scaleb(-column_type.scale) if isinstance(column_type, DecimalType) else Decimal(0)


def plus(one: Amount, other: Amount) -> Amount:
    """The sum: exact, but where one of them is a float."""
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        return EXACT.add(one, other)
    return float(one) + float(other)


def minus(one: Amount, other: Amount) -> Amount:
    """The difference: exact, but where one of them is a float."""
    return plus(one, other.copy_negate() if isinstance(other, Decimal) else -other)


def exact_number(text: str) -> Decimal | None:
    """The number that a text is; None where it is none, or could be read in two ways."""
    if not _NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    # A zero has no sign.
    return number if number else abs(number)


def is_numeric(column_type: ColumnType) -> bool:
    return isinstance(column_type, IntegerType | DecimalType | FloatType)


def _check_distinct(columns: tuple[str, ...]) -> Iterator[Violation]:
    for index, column in find_repeated(columns):
        yield violation("TOTALS_003", index, column=column)


MeasureColumns = Annotated[tuple[NonEmptyText, ...], validated_by(_check_distinct)]


def _read_number(value: Any) -> Any:
    """An exact number; a float of Python is none."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise_violations([violation("TOTALS_005", reason=f"{value} is not an exact number")])
    number = exact_number(str(value))
    if number is None:
        raise_violations([violation("TOTALS_005", reason=f"{value} is not an exact number")])
    return number


ExactNumber = Annotated[
    Decimal, BeforeValidator(_read_number), WithJsonSchema({"type": ["number", "string"]}, mode="validation")
]


class ControlTotals(Declaration):
    """What a sender says was sent: in a file beside the data, or as figures."""

    path: NonEmptyText | None = Field(
        default=None,
        description="The control file, relative to the workspace; templates are allowed. It is CSV with one row and "
        "the columns rows and total_COLUMN.",
    )
    rows: int | None = Field(default=None, ge=0, description="How many rows there are.")
    totals: dict[NonEmptyText, ExactNumber] = Field(
        default_factory=dict, description="What columns add up to, by column."
    )
    tolerance: ExactNumber = Field(
        default=Decimal(0), description="By how much a total may differ; by default not at all."
    )

    @model_validator(mode="after")
    def _check(self) -> "ControlTotals":
        raise_violations(self._findings())
        return self

    @property
    def has_figures(self) -> bool:
        return self.rows is not None or bool(self.totals)

    def _findings(self) -> Iterator[Violation]:
        if self.path is not None and self.has_figures:
            yield violation("TOTALS_005", reason="it names a file and has figures")
        if self.path is None and not self.has_figures:
            yield violation("TOTALS_005", reason="it names no file and has no figures")
        if self.tolerance < 0:
            yield violation("TOTALS_005", "tolerance", reason="its tolerance is negative")


def find_measure_problems(
    measures: tuple[str, ...], control: ControlTotals | None, types: Mapping[str, ColumnType], *, is_timeless: bool
) -> Iterator[Violation]:
    """What is wrong with the measures and the control of a dataset whose columns have these types."""
    for index, column in enumerate(measures):
        if column not in types:
            yield violation("TOTALS_001", "measures", index, column=column)
        elif not is_numeric(types[column]):
            yield violation("TOTALS_002", "measures", index, column=column, type=types[column])
    if control is None:
        return
    for column in control.totals:
        if column not in types or not is_numeric(types[column]):
            yield violation("TOTALS_004", "control", "totals", column, column=column)
    if control.has_figures and not is_timeless:
        yield violation("TOTALS_006", "control")
