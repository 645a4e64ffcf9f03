"""Parameters of a project: declared with a type, and given a value by every run."""

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, TypeAlias, assert_never

from pydantic import Field, ValidationInfo, WithJsonSchema, field_validator

from daybook.errors import DaybookError, raise_all
from daybook.errors.error import did_you_mean
from daybook.model.dataset import TypeField
from daybook.model.declaration import (
    IDENTIFIER_PATTERN,
    Declaration,
    Violation,
    raise_violations,
    validated_by,
    violation,
)
from daybook.model.types import (
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
    Value,
    value_text,
)

# Values as they were written, by project and name.
ParametersByProject: TypeAlias = Mapping[str, Mapping[str, Any]]

# The qualifier under which expressions find parameters, in projects that declare some.
PARAMETER_QUALIFIER = "param"


def _check_parameter_name(name: str) -> Iterator[Violation]:
    if not IDENTIFIER_PATTERN.fullmatch(name):
        yield violation("PROJECT_047", name=name)


ParameterName = Annotated[str, validated_by(_check_parameter_name)]


class Parameter(Declaration):
    """A value that a run may be given; without a default every run must be."""

    type: TypeField
    default: Annotated[Any, WithJsonSchema({"type": ["string", "number", "boolean"]})] = Field(
        default=None, description="The value if a run gives none; without a default, every run must give one."
    )
    description: str | None = Field(default=None, description="A description.")

    @field_validator("default", mode="before")
    @classmethod
    def _read_default(cls, default: Any, info: ValidationInfo) -> Any:
        declared = info.data.get("type")
        if default is None or declared is None:
            return default
        try:
            return read_value(default, declared)
        except ValueError as error:
            raise_violations([violation("PROJECT_048", value=str(default), type=declared, reason=str(error))])


def parameter_values(
    project_id: str, declared: Mapping[str, Parameter], requested: Mapping[str, Any]
) -> dict[str, Value]:
    """A value for every parameter of a project: the requested one, else the default; raises all errors together."""
    values, errors = _read_requested(project_id, declared, requested)
    for name, parameter in declared.items():
        if name not in requested and parameter.default is None:
            errors.append(DaybookError("RUN_049", name=name, project=project_id, type=parameter.type))
    raise_all(errors)
    return {name: values.get(name, parameter.default) for name, parameter in declared.items()}


def given_values(project_id: str, declared: Mapping[str, Parameter], requested: Mapping[str, Any]) -> dict[str, Value]:
    """The requested values alone, whatever else a run needs; raises all their errors together."""
    values, errors = _read_requested(project_id, declared, requested)
    raise_all(errors)
    return values


def _read_requested(
    project_id: str, declared: Mapping[str, Parameter], written: Mapping[str, Any]
) -> tuple[dict[str, Value], list[DaybookError]]:
    values: dict[str, Value] = {}
    errors: list[DaybookError] = []
    for name, value in written.items():
        parameter = declared.get(name)
        if parameter is None:
            errors.append(_unknown_error(project_id, name, declared))
            continue
        try:
            values[name] = read_value(value, parameter.type)
        except ValueError as error:
            text, reason = str(value), str(error)
            errors.append(DaybookError("RUN_048", value=text, type=parameter.type, name=name, reason=reason))
    return values, errors


def parameter_texts(values: Mapping[str, Value]) -> dict[str, str]:
    """Values as they are recorded; `parameter_values` reads them again."""
    return {name: value_text(value) for name, value in values.items()}


def parse_settings(words: Iterable[str], form: str = "NAME=VALUE", *, option: str = "--set") -> dict[str, str]:
    """Parses NAME=VALUE of a command line, each name once."""
    settings: dict[str, str] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name:
            raise DaybookError("RUN_050", text=word, reason=f"it does not have the form {form}", option=option)
        if name in settings:
            raise DaybookError("RUN_050", text=word, reason=f"{name} is given twice", option=option)
        settings[name] = text
    return settings


def by_project(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Values by PROJECT.NAME, as a build is given them, for each project; the name is what follows the last dot."""
    values_by_project: dict[str, dict[str, Any]] = {}
    for written, value in settings.items():
        project_id, dot, name = written.rpartition(".")
        if not dot or not project_id:
            reason = "a build also needs the project"
            raise DaybookError("RUN_050", text=written, reason=reason, option="--set")
        values_by_project.setdefault(project_id, {})[name] = value
    return values_by_project


def _unknown_error(project_id: str, name: str, declared: Mapping[str, Parameter]) -> DaybookError:
    hint = did_you_mean(name, tuple(declared)) if declared else f"project {project_id} declares no parameters"
    return DaybookError("RUN_047", name=name, project=project_id, hint=hint)


_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?")
_FLOAT = re.compile(r"[+-]?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_TRUTH_VALUES = {"true": True, "false": False}
_INTEGER_BITS = 63


def read_value(written: object, type_: ColumnType) -> Value:
    """A text or a value of Python, exactly as a value of the type; ValueError says why it is none.

    Nothing is rounded or cut, and no value is converted from another kind.
    """
    match type_:
        case StringType():
            return _read_text(written)
        case IntegerType():
            return _read_integer(written)
        case DecimalType():
            return _read_decimal(written, type_)
        case FloatType():
            return _read_float(written)
        case BooleanType():
            truth = _TRUTH_VALUES.get(written.lower()) if isinstance(written, str) else written
            if not isinstance(truth, bool):
                raise ValueError("write true or false")
            return truth
        case DateType():
            return _read_date(written)
        case TimestampType():
            return _read_timestamp(written)
        case NullType():
            raise TypeError("no value has the type null")
        case _:
            assert_never(type_)


def _read_text(text: object) -> str:
    if not isinstance(text, str):
        raise ValueError("put text in quotes")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("it is not valid Unicode") from None
    return text


def _read_integer(value: object) -> int:
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("write a whole number such as 250")
    if not -(2**_INTEGER_BITS) <= value < 2**_INTEGER_BITS:
        raise ValueError("an integer has 64 bits")
    return value


def _read_decimal(value: object, type_: DecimalType) -> Decimal:
    if isinstance(value, float):
        raise ValueError("a float is not exact: give a Decimal or a text")
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = Decimal(value)
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        raise ValueError("write a number such as 250 or 99.95")
    number = Decimal(value)
    if not number.is_finite():
        raise ValueError("write a number such as 250 or 99.95")
    _, digits, exponent = number.as_tuple()
    places = -exponent if isinstance(exponent, int) else 0
    written = "".join(map(str, digits))
    # Zeros at the end are no digits that could be lost.
    while places > type_.scale and written.endswith("0"):
        written, places = written[:-1], places - 1
    if places > type_.scale and written.strip("0"):
        raise ValueError(f"a {type_} has {type_.scale} digits after the point")
    if number.adjusted() >= type_.precision - type_.scale and number:
        raise ValueError(f"a {type_} has {type_.precision - type_.scale} digits before the point")
    return number


def _read_float(value: object) -> float:
    if isinstance(value, str) and _FLOAT.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("write a number such as 0.5")
    number = float(value)
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError("write a number such as 0.5")
    return number


def _read_date(value: object) -> datetime.date:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    try:
        if isinstance(value, str) and _DATE.fullmatch(value):
            return datetime.date.fromisoformat(value)
    except ValueError:
        raise ValueError("there is no such day") from None
    raise ValueError("write a date such as 2026-01-31")


def _read_timestamp(value: object) -> datetime.datetime:
    """Without a time zone it is UTC."""
    try:
        if isinstance(value, str) and _TIMESTAMP.fullmatch(value):
            value = datetime.datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("there is no such time") from None
    if not isinstance(value, datetime.datetime):
        raise ValueError("write a timestamp such as 2026-01-31T12:00:00Z")
    aware = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
    return aware.astimezone(datetime.UTC)
