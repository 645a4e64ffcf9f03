"""Lineage held against Spark where the reference has nothing: ordered windows, shares, sorted files, two projects."""

from collections.abc import Sequence
from typing import Any

import pytest

from daybook.workspace.lineage import LineageResult, trace_columns
from daybook.workspace.open_workspace import open_workspace
from tests.workspaces import Folder, to_path, to_table

LINES = [
    {"id": "1", "team": "a", "day": "2026-01-05", "weight": "1", "amount": "10.00", "note": "x", "flag": "y"},
    {"id": "2", "team": "a", "day": "2026-01-05", "weight": "2", "amount": "20.00", "note": "y", "flag": "y"},
    {"id": "3", "team": "a", "day": "2026-01-02", "weight": "3", "amount": "30.00", "note": "z", "flag": "y"},
    {"id": "4", "team": "b", "day": "2026-01-04", "weight": "1", "amount": "40.00", "note": "u", "flag": "y"},
    {"id": "5", "team": "b", "day": "2026-01-03", "weight": "6", "amount": "50.00", "note": "v", "flag": "n"},
    {"id": "6", "team": "b", "day": "2026-01-01", "weight": "2", "amount": "60.00", "note": "w", "flag": "y"},
]
# Other values for each column, so that something of what depends on it must change.
OTHERS: dict[str, list[str]] = {
    "id": ["6", "5", "4", "3", "2", "1"],
    "team": ["a", "b", "a", "b", "a", "b"],
    "day": [f"2026-01-0{number}" for number in range(1, 7)],
    "weight": ["5", "1", "1", "4", "1", "7"],
    "amount": ["1.00", "2.00", "4.00", "8.00", "16.00", "32.00"],
    "note": list("pqrstu"),
    "flag": list("ynynyy"),
}
# Each is a run, or two.
FEW = ("day",)
ALL = pytest.param(tuple(OTHERS), marks=pytest.mark.slow)
TYPES = {"id": "string", "team": "string", "day": "date", "weight": "integer", "amount": "decimal(18,2)"}
WINDOWS = {
    "share": "ALLOCATE(100.00, weight) OVER (team)",
    "position": "ROW_NUMBER() OVER (team ORDER BY day)",
    "running": "SUM(amount) OVER (team ORDER BY day)",
    "before": "PREVIOUS(note) OVER (team ORDER BY day DESC)",
}


def update(values: dict[str, str], **more: Any) -> dict[str, Any]:
    assignments = [{"column": column, "expression": expression} for column, expression in values.items()]
    return {"type": "update", "arguments": {"assignments": assignments}, **more}


def declare(folder: Folder) -> None:
    columns = [{"name": name, "type": TYPES.get(name, "string")} for name in LINES[0]]
    table = {"name": "lines", "columns": columns, "location": {"path": "data/lines.csv"}}
    folder.define("dataset", {"id": "lines", "natural_key_columns": ["id"], "main_table": table})


def written(folder: Folder, rows: list[dict[str, str]], path: str, *projects: str) -> dict[str, list[str]]:
    """The columns of a file once projects have run over these rows."""
    folder.write_csv("data/lines.csv", rows)
    for project in projects:
        folder.run("2026-01", project)
    found = folder.csv_rows(path)
    return {name: [row[name] for row in found] for name in found[0]}


def check(folder: Folder, changed: Sequence[str], lineage: LineageResult, path: str, *projects: str) -> set[str]:
    """The inputs with which columns changed; each of those columns names them."""
    (output,) = lineage.outputs
    named = {column.column: {each.column for each in column.inputs} for column in output.columns}
    before, effective = written(folder, LINES, path, *projects), set[str]()
    for column in changed:
        rows = [{**row, column: value} for row, value in zip(LINES, OTHERS[column], strict=True)]
        for name, found in written(folder, rows, path, *projects).items():
            if found != before[name]:
                effective.add(column)
                assert column in named[name], f"{name} changes with {column}"
    return effective


@pytest.mark.parametrize("changed", [FEW, ALL], ids=len)
def test_windows_and_sorted_rows_change_only_with_what_their_lineage_names(
    folder: Folder, changed: Sequence[str]
) -> None:
    declare(folder)
    output = to_path("out.csv", columns=[*WINDOWS, "note"], order_by=["day", "id"])
    folder.project(update(WINDOWS, selector='flag = "y"'), output, input_="lines")
    lineage = trace_columns(open_workspace(folder.root), "p")
    named = {
        column.column: {(each.column, each.how) for each in column.inputs} for column in lineage.outputs[0].columns
    }
    order, group = {("day", "order_by"), ("id", "order_by")}, {("team", "window"), ("flag", "selector")}
    assert named == {
        "share": {("weight", "window"), ("id", "window"), *group, *order},
        "position": {("day", "window"), ("id", "window"), *group, *order},
        "running": {("amount", "aggregation"), ("day", "window"), ("id", "window"), *group, *order},
        "before": {("note", "transformation"), ("day", "window"), ("id", "window"), *group, *order},
        "note": {("note", "identity"), *order},
    }
    assert check(folder, changed, lineage, "out.csv", "p") == set(changed)


@pytest.mark.parametrize("changed", [FEW, ALL], ids=len)
def test_what_changes_a_number_two_projects_later_is_named(folder: Folder, changed: Sequence[str]) -> None:
    declare(folder)
    register = to_table("shares", register_as_dataset="shares", columns=["team", "day", "share"])
    folder.project(update({"share": WINDOWS["share"]}, selector='flag = "y"'), register, id_="first", input_="lines")
    total = {"group_by": ["team"], "aggregations": [{"column": "total", "expression": "SUM(share)"}]}
    output = {**to_path("out.csv", columns=["team", "total"], order_by=["team"]), "selector": "_operation_seq = 1"}
    first_days = {"type": "aggregate", "selector": 'day < DATE("2026-01-04")', "arguments": total}
    folder.project(first_days, output, id_="second", input_="shares")
    lineage = trace_columns(open_workspace(folder.root), "second", to_start=True)
    assert check(folder, changed, lineage, "out.csv", "first", "second") >= {"day", "weight", "flag"} & set(changed)
