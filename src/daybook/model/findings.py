"""Rules on what users declare: checked by pydantic where the field stands, reported with a code of ours."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

T = TypeVar("T")

# The error type under which pydantic carries findings to the loader.
FINDINGS = "findings"


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule; `path` is relative to the value the rule looks at."""

    code: str
    path: tuple[str | int, ...] = ()
    hint: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)


def finding(code: str, *path: str | int, hint: str | None = None, **parameters: object) -> Finding:
    return Finding(code, path, hint, parameters)


def checked_by(*checks: Callable[[T], Iterable[Finding]]) -> AfterValidator:
    """A validator that runs every check on a value and reports all they find."""

    def validate(value: T) -> T:
        refuse(found for check in checks for found in check(value))
        return value

    return AfterValidator(validate)


def refuse(findings: Iterable[Finding]) -> None:
    """Fail validation with findings, if there are any."""
    found = tuple(findings)
    if found:
        context: dict[str, Any] = {"codes": ", ".join(one.code for one in found), FINDINGS: found}
        raise PydanticCustomError(FINDINGS, "breaks {codes}", context)


def repeated(values: Iterable[T]) -> Iterable[tuple[int, T]]:
    """Every value that was there before, with its position."""
    seen: set[T] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield index, value
        seen.add(value)
