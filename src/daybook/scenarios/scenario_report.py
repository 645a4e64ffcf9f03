"""Reports results of scenarios for people and programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from daybook.errors import DaybookError, render
from daybook.scenarios.engines import EngineDisagreement
from daybook.scenarios.expected_rows import yaml_value
from daybook.scenarios.row_matching import ExpectationDifference
from daybook.scenarios.run_scenarios import ScenarioResult

_MAX_SHOWN_ROWS = 10


def failure_lines(result: ScenarioResult) -> Iterator[str]:
    """Why a scenario failed: expected, actual, and the columns in which they differ."""
    match result.error:
        case None:
            pass
        case DaybookError() as error:
            yield from render(error).split("\n")
        case error:
            yield f"internal error of Daybook: {type(error).__name__}: {error}"
    if result.expected_error is not None:
        yield f"expected the error {result.expected_error}, but the project ran"
    for difference in result.differences:
        yield from _difference_lines(difference)
    for count in result.count_differences:
        yield f"operation {count.operation}: expected {count.expected:,} rows, but it was {count.actual:,}"
    for disagreement in result.disagreements:
        yield from _disagreement_lines(disagreement)


def _disagreement_lines(disagreement: EngineDisagreement) -> Iterator[str]:
    """Where the two engines differ, cell by cell."""
    if not disagreement.differences:
        yield f"{disagreement.output}: Spark: {disagreement.spark}; the second engine: {disagreement.quick}"
    for cell in disagreement.differences[:_MAX_SHOWN_ROWS]:
        where = f"{disagreement.output}, {cell.row}" + (f", {cell.column}" if cell.column else "")
        yield f"{where}: Spark has {cell.written}, the second engine {cell.computed}"


def render_junit(results: Sequence[ScenarioResult]) -> str:
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
            lines = list(failure_lines(result))
            SubElement(case, "failure", message=_xml_text(lines[0])).text = _xml_text("\n".join(lines))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def _xml_text(text: str) -> str:
    """XML has no way to write most control characters."""
    return "".join(character for character in text if character >= " " or character in "\t\n")


def _difference_lines(difference: ExpectationDifference) -> Iterator[str]:
    yield f"{difference.output}: {_headline(difference)}"
    for mismatch in difference.missing[:_MAX_SHOWN_ROWS]:
        if mismatch.nearest is None:
            yield f"  missing    {_row_text(mismatch.expected, tuple(mismatch.expected))}"
            continue
        yield f"  expected   {_row_text(mismatch.expected, tuple(mismatch.expected))}"
        yield f"  but        {', '.join(_actual_text(name, mismatch.nearest) for name in mismatch.columns)}"
    for row in difference.unexpected[:_MAX_SHOWN_ROWS]:
        yield f"  unexpected {_row_text(row, tuple(name for name in row if not name.startswith('_')))}"
    more = len(difference.missing[_MAX_SHOWN_ROWS:]) + len(difference.unexpected[_MAX_SHOWN_ROWS:])
    if more:
        yield f"  and {more} more"


def _headline(difference: ExpectationDifference) -> str:
    if difference.is_only_order:
        return "the rows are right but in another order"
    missing = sum(mismatch.nearest is None for mismatch in difference.missing)
    counts = (
        (len(difference.missing) - missing, "row differs", "rows differ"),
        (missing, "row is missing", "rows are missing"),
        (len(difference.unexpected), "row is unexpected", "rows are unexpected"),
    )
    return ", ".join(f"{count} {singular if count == 1 else plural}" for count, singular, plural in counts if count)


def _row_text(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    return "{" + ", ".join(f"{name}: {yaml_value(row.get(name))}" for name in columns) + "}"


def _actual_text(name: str, actual: Mapping[str, Any]) -> str:
    return f"{name} is {yaml_value(actual[name])}" if name in actual else f"there is no column {name}"
