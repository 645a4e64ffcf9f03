"""Results of scenarios for people and for machines."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from daybook.errors import DaybookError, render
from daybook.scenarios.comparing import Difference
from daybook.scenarios.running import ScenarioResult

_SHOWN = 10


def explain(result: ScenarioResult) -> Iterator[str]:
    """Why a scenario failed: expected, actual, and the columns in which they differ."""
    match result.error:
        case None:
            pass
        case DaybookError() as error:
            yield from render(error).split("\n")
        case error:
            yield f"Daybook itself failed: {type(error).__name__}: {error}"
    if result.expected_error is not None:
        yield f"expected the error {result.expected_error}, but the project ran"
    for difference in result.differences:
        yield from _explained(difference)


def junit(results: Sequence[ScenarioResult]) -> str:
    """The results as JUnit XML."""
    failed = sum(not result.is_passed for result in results)
    total = sum(result.duration for result in results)
    suite = Element(
        "testsuite", name="daybook", tests=str(len(results)), failures=str(failed), errors="0", time=f"{total:.3f}"
    )
    for result in results:
        case = SubElement(
            suite, "testcase", name=result.name, classname=result.file.as_posix(), time=f"{result.duration:.3f}"
        )
        if not result.is_passed:
            lines = list(explain(result))
            SubElement(case, "failure", message=_clean(lines[0])).text = _clean("\n".join(lines))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    """XML has no way to write most control characters."""
    return "".join(character for character in text if character >= " " or character in "\t\n")


def _explained(difference: Difference) -> Iterator[str]:
    yield f"{difference.output}: {_headline(difference)}"
    for mismatch in difference.missing[:_SHOWN]:
        if mismatch.nearest is None:
            yield f"  missing    {_row(mismatch.expected, tuple(mismatch.expected))}"
            continue
        yield f"  expected   {_row(mismatch.expected, tuple(mismatch.expected))}"
        yield f"  but        {', '.join(_found(name, mismatch.nearest) for name in mismatch.columns)}"
    for row in difference.unexpected[:_SHOWN]:
        yield f"  unexpected {_row(row, tuple(name for name in row if not name.startswith('_')))}"
    more = len(difference.missing[_SHOWN:]) + len(difference.unexpected[_SHOWN:])
    if more:
        yield f"  and {more} more"


def _headline(difference: Difference) -> str:
    if difference.is_only_order:
        return "the rows are right but in another order"
    missing = sum(mismatch.nearest is None for mismatch in difference.missing)
    counts = (
        (len(difference.missing) - missing, "row differs", "rows differ"),
        (missing, "row is missing", "rows are missing"),
        (len(difference.unexpected), "row is unexpected", "rows are unexpected"),
    )
    return ", ".join(f"{count} {one if count == 1 else several}" for count, one, several in counts if count)


def _row(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    return "{" + ", ".join(f"{name}: {_value(row.get(name))}" for name in columns) + "}"


def _found(name: str, actual: Mapping[str, Any]) -> str:
    return f"{name} is {_value(actual[name])}" if name in actual else f"there is no column {name}"


def _value(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"'
        case _:
            return str(value)
