"""The structural rules of the seeds on what operations take."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from daybook.model.base import ID_PATTERN
from daybook.model.column_names import IDENTIFIER, PERIOD, case_findings, name_problem, unqualified
from daybook.model.findings import Finding, finding, refuse, repeated
from daybook.model.system_columns import ASSIGNABLE, GROUPABLE, RESERVED

if TYPE_CHECKING:
    from daybook.model.operation import Aggregation, Assignment, RuntimeJoin


def check_assignments(assignments: "Sequence[Assignment]") -> Iterator[Finding]:
    if not assignments:
        yield finding("UPDATE_001")
    names = [assignment.column for assignment in assignments]
    for index, name in enumerate(names):
        if not IDENTIFIER.fullmatch(name):
            yield finding("UPDATE_002", index, "column", name=name)
        elif name in RESERVED and name not in ASSIGNABLE:
            yield finding("UPDATE_011", index, "column", column=name)
    for index, name in repeated(names):
        yield finding("UPDATE_010", index, "column", column=name)
    yield from case_findings(names, "column")


def check_joins(joins: "Sequence[RuntimeJoin]") -> Iterator[Finding]:
    aliases = [join.alias for join in joins]
    for index, alias in enumerate(aliases):
        if reason := name_problem(alias):
            yield finding("UPDATE_013", index, "alias", alias=alias, reason=reason)
        elif alias.casefold() == PERIOD:
            yield finding("UPDATE_013", index, "alias", alias=alias, reason="it names the run's period")
    for index, _ in repeated(alias.casefold() for alias in aliases):
        yield finding("UPDATE_012", index, "alias", alias=aliases[index])


def check_group_by(group_by: Sequence[str]) -> Iterator[Finding]:
    yield from _grouping(group_by, empty="AGGREGATE_001", twice="AGGREGATE_003", system="AGGREGATE_011")


def check_append_group_by(group_by: Sequence[str]) -> Iterator[Finding]:
    yield from _grouping(group_by, empty="APPEND_011", twice="APPEND_013", system="APPEND_016")


def _grouping(group_by: Sequence[str], *, empty: str, twice: str, system: str) -> Iterator[Finding]:
    if not group_by:
        yield finding(empty)
    names = [unqualified(reference) for reference in group_by]
    for index, name in repeated(names):
        yield finding(twice, index, column=name)
    for index, name in enumerate(names):
        if name in RESERVED and name not in GROUPABLE:
            yield finding(system, index, column=name)


def check_aggregations(aggregations: "Sequence[Aggregation]") -> Iterator[Finding]:
    if not aggregations:
        yield finding("AGGREGATE_002")
    names = [aggregation.column for aggregation in aggregations]
    for index, name in enumerate(names):
        if name in RESERVED:
            yield finding("AGGREGATE_005", index, "column", column=name)
        elif reason := name_problem(name):
            yield finding("AGGREGATE_012", index, "column", name=name, reason=reason)
    for index, name in repeated(names):
        yield finding("AGGREGATE_007", index, "column", column=name)
    yield from case_findings(names, "column")


def check_append_aggregations(aggregations: "Sequence[Aggregation]") -> Iterator[Finding]:
    if not aggregations:
        yield finding("APPEND_012")
    names = [aggregation.column for aggregation in aggregations]
    for index, name in enumerate(names):
        if name in RESERVED:
            yield finding("APPEND_015", index, "column", column=name)
    for index, name in repeated(names):
        yield finding("APPEND_014", index, "column", column=name)


def check_results(group_by: Sequence[str], aggregations: "Sequence[Aggregation]", code: str) -> Iterator[Finding]:
    """A result never takes the place of a group's own value."""
    grouped = {unqualified(reference) for reference in group_by}
    for index, aggregation in enumerate(aggregations):
        if aggregation.column in grouped:
            yield finding(code, "aggregations", index, "column", column=aggregation.column)


def check_output_columns(columns: Sequence[str]) -> Iterator[Finding]:
    if not columns:
        yield finding("OUTPUT_010")
    for index, name in repeated(unqualified(column) for column in columns):
        yield finding("OUTPUT_011", index, key="columns", column=name)


def check_order_by(order_by: Sequence[str]) -> Iterator[Finding]:
    for index, name in repeated(order_by):
        yield finding("OUTPUT_011", index, key="order_by", column=name)


def check_dataset_name(name: str) -> Iterator[Finding]:
    if not re.fullmatch(ID_PATTERN, name):
        yield finding("OUTPUT_004", name=name)


def one_destination(value: Any) -> Any:
    """Refuses a destination that has not exactly one form, before its members are looked at."""
    if isinstance(value, dict):
        reason = _destination_problem(value)
        if reason:
            refuse([finding("OUTPUT_003", reason=reason)])
    return value


def _destination_problem(value: dict[str, Any]) -> str | None:
    has_location = value.get("location") is not None
    has_source, has_table = value.get("datasource_id") is not None, value.get("table") is not None
    if has_location and (has_source or has_table):
        return "a table and a location are given at once"
    if has_location:
        return None
    if not has_source and not has_table:
        return "neither a table nor a location is given"
    if not has_source:
        return "a table needs the datasource_id it belongs to"
    if not has_table or value["table"] == "":
        return "a datasource_id needs a table"
    return None


def accepts_no_arguments(value: Any) -> Any:
    if value is None:
        return {}
    if isinstance(value, dict) and value:
        refuse(finding("DELETE_001", key, key=key) for key in value)
    return value
