"""Joins at their edges: rows that match twice, picked or not, and NULL where none may be."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.model.types import INTEGER, STRING, ColumnType
from tests.reference.evaluate import FanOutError, parse
from tests.reference.generated import GeneratedProject
from tests.reference.operations import Append, Delete, Join, Operation, Output, Summarise, Table, Update
from tests.spark.reference.running import run

TYPES: dict[str, ColumnType] = {
    "k": INTEGER,
    "note": STRING,
    "_operation_seq": INTEGER,
    **{
        f"{alias}.{name}": type_ for alias in ("other", "limits") for name, type_ in (("key", INTEGER), ("tag", STRING))
    },
}
ORDERS = Table("orders", "orders_table", {"k": INTEGER}, [{"k": 1}, {"k": 2}, {"k": None}])
EMPTY = Table("orders", "orders_table", {"k": INTEGER}, [])
HALF_DELETED = Table(
    "orders",
    "orders_table",
    {"k": INTEGER},
    [{"k": 1, "_deleted": True}, {"k": 2, "_deleted": False}],
    carried=("_deleted",),
)


def side(dataset_id: str, *rows: tuple[int | None, str | None], required: Sequence[str] = ()) -> Table:
    columns: dict[str, ColumnType] = {"key": INTEGER, "tag": STRING}
    return Table(
        dataset_id, f"{dataset_id}_table", columns, [{"key": k, "tag": t} for k, t in rows], None, frozenset(required)
    )


TWICE = side("customers", (1, "gold"), (1, "silver"), (2, "gold"), (None, "none"))
ONCE = side("customers", (1, "gold"))
LIMITS = side("bounds", (1, "a"), (1, "b"))


def on(alias: str, table: Table, condition: str) -> Join:
    return Join(alias, table, parse(condition, TYPES))


def project(input_: Table, operations: Sequence[Operation]) -> GeneratedProject:
    joined = [join.table for each in operations if isinstance(each, Update) for join in each.joins]
    appended = [each.source for each in operations if isinstance(each, Append)]
    return GeneratedProject(1, input_, [*joined, *appended], {}, operations)


def update(selector: str | None, *joins: Join, value: str = "other.tag") -> Update:
    return Update(5, [("x", parse(value, TYPES))], parse(selector, TYPES) if selector else None, joins)


EQUAL = on("other", TWICE, "k = other.key")
BOTH = (on("other", ONCE, "k = other.key"), on("limits", LIMITS, "k = limits.key"))
AGREEING = {
    "only a row that matches once is picked": [update("k = 2", EQUAL), Output(6)],
    "no match is picked": [update("other.tag = 'bronze'", EQUAL), Output(6)],
    "conditions on both sides": [update("other.tag = 'silver' AND k = 2", EQUAL), Output(6)],
    "rows without a match": [update("other.tag IS NULL", EQUAL), Output(6)],
    "a deleted row matches twice": [Delete(1, parse("k = 1", TYPES)), update("k > 0", EQUAL), Output(6)],
    "the second join matches twice but nothing is picked": [
        update("other.tag = 'z'", *BOTH, value="limits.tag"),
        Output(6),
    ],
    "every row matches the same one": [update("k = 2", on("other", side("customers", (7, "g")), "TRUE")), Output(6)],
    "the selector is NULL": [update("NULL", EQUAL), Output(6)],
}
FANNING_OUT = {
    "all rows are picked": [update(None, EQUAL), Output(6)],
    "one of two matches is picked": [update("other.tag = 'gold'", EQUAL), Output(6)],
    "picked by the row or by the match": [update("other.tag = 'gold' OR k = 1", EQUAL), Output(6)],
    "nobody reads what the join brings": [update(None, EQUAL), Output(6, columns=["k"])],
    "nothing is taken from the join": [update(None, EQUAL, value="'c'"), Output(6, columns=["k"])],
    "the output leaves the row out": [update(None, EQUAL), Output(6, parse("k = 2", TYPES))],
    "by inequality": [update("k = 2", on("other", TWICE, "k >= other.key")), Output(6)],
    "in the second join": [update("k = 1", *BOTH), Output(6)],
    "through the first join": [
        update("k = 1", BOTH[0], on("limits", LIMITS, "other.key = limits.key"), value="limits.tag"),
        Output(6),
    ],
}


@pytest.mark.parametrize("operations", AGREEING.values(), ids=list(AGREEING))
def test_rows(spark: SparkSession, tmp_path: Path, operations: list[Operation]) -> None:
    each = project(ORDERS, operations)
    shown = [
        Counter((row["k"], row["x"]) for row in rows)
        for rows in (each.expected()[6], run(spark, each, str(tmp_path)).rows[6])
    ]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("operations", FANNING_OUT.values(), ids=list(FANNING_OUT))
def test_fan_out(spark: SparkSession, tmp_path: Path, operations: list[Operation]) -> None:
    each = project(ORDERS, operations)
    with pytest.raises(FanOutError):
        each.expected()
    with pytest.raises(DaybookError) as failure:
        run(spark, each, str(tmp_path))
    assert failure.value.code.startswith("UPDATE_")
    assert failure.value.operation_seq == 5


def test_deleted_input_rows_do_not_join(spark: SparkSession, tmp_path: Path) -> None:
    rows = run(spark, project(HALF_DELETED, [update(None, EQUAL), Output(6)]), str(tmp_path)).rows[6]
    assert [(row["k"], row["x"]) for row in rows] == [(2, "gold")]


NULL_SIDE = side("customers", (1, None), required=["tag"])
UNMATCHED = side("customers", (9, None), required=["tag"])
SOURCE = Table(
    "more", "more_table", {"k": INTEGER, "note": STRING}, [{"k": 1, "note": None}], None, frozenset({"note"})
)
NOTES = Table("orders", "orders_table", {"k": INTEGER, "note": STRING}, [{"k": 1, "note": "a"}, {"k": 2, "note": "b"}])
BAD = Table(
    "orders",
    "orders_table",
    {"k": INTEGER, "note": STRING},
    [{"k": 1, "note": None}, {"k": 2, "note": "b"}],
    None,
    frozenset({"note"}),
)
COUNT = [("n", parse("COUNT(*)", TYPES))]
NULLS = {
    "joined and read": (ORDERS, [update(None, on("other", NULL_SIDE, "k = other.key")), Output(6)]),
    "joined, not picked": (ORDERS, [update("k = 2", on("other", NULL_SIDE, "k = other.key")), Output(6)]),
    "joined, nothing picked": (ORDERS, [update("FALSE", on("other", NULL_SIDE, "k = other.key")), Output(6)]),
    "joined to nothing": (EMPTY, [update(None, on("other", NULL_SIDE, "k = other.key")), Output(6)]),
    "joined, no match": (ORDERS, [update(None, on("other", UNMATCHED, "k = other.key")), Output(6)]),
    "joined, not read": (ORDERS, [update(None, on("other", NULL_SIDE, "k = other.key"), value="'c'"), Output(6)]),
    "appended": (NOTES, [Append(1, SOURCE), Output(6)]),
    "appended, not picked": (NOTES, [Append(1, SOURCE, parse("k = 2", TYPES)), Output(6)]),
    "appended, aggregated": (NOTES, [Append(1, SOURCE, None, ["note"], [("k", parse("COUNT(*)", TYPES))]), Output(6)]),
    "appended, not written": (NOTES, [Append(1, SOURCE), Output(6, parse("k = 2", TYPES), ["k"])]),
    "loaded, not written": (BAD, [Output(6, parse("k = 2", TYPES), ["k"])]),
    "loaded, then overwritten": (BAD, [Update(1, [("note", parse("'x'", TYPES))]), Output(6)]),
    "loaded, then deleted": (BAD, [Delete(1), Output(6)]),
    "loaded, only the summary written": (
        BAD,
        [Summarise(1, ["k"], COUNT), Output(6, parse("_operation_seq = 1", TYPES), ["n"])],
    ),
}


@pytest.mark.parametrize(("input_", "operations"), NULLS.values(), ids=list(NULLS))
def test_null_where_none_may_be(
    spark: SparkSession, tmp_path: Path, input_: Table, operations: list[Operation]
) -> None:
    """The check holds for every row that is loaded, whatever becomes of it."""
    with pytest.raises(DaybookError) as failure:
        run(spark, project(input_, operations), str(tmp_path))
    found = failure.value
    # Inside an append its own code wins.
    (found,) = found.causes if found.code == "APPEND_008" else (found,)
    assert found.code == "PROJECT_030"
    assert (failure.value is not found) == any(isinstance(operation, Append) for operation in operations)
