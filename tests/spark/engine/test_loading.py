"""The working dataset as it is loaded: system columns, time filter, checks."""

import datetime
import re

import pytest

from daybook.errors import DaybookError
from tests.spark.engine.executed import OUTPUT, World, order
from tests.unit.plan.planned import CUSTOMERS, ORDERS, TIMESTAMP, datasets

UUID_7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
ID = "019b76da-a800-7abc-8def-0123456789ab"


def test_system_columns_of_a_source_that_has_none(world: World) -> None:
    (row,) = world.run(OUTPUT, [order("O-1")]).rows
    assert UUID_7.fullmatch(row["_row_id"])
    # 2026-01-01T00:00:00Z is 1,767,225,600,000 milliseconds, 019b76da a800 in hex.
    assert row["_row_id"].startswith("019b76da-a800-7")
    expected = {
        "_deleted": False,
        "_period": "2026-01",
        "_valid_from": None,
        "_valid_to": None,
        "_source_dataset_id": "orders",
        "_source_table": "orders",
        "_operation_seq": 0,
        "_origin_seq": None,
        "_created_at": TIMESTAMP,
        "_updated_at": TIMESTAMP,
        "_labels": "",
    }
    assert {name: row[name] for name in expected} == expected


def test_system_columns_that_a_source_carries(world: World) -> None:
    then = datetime.datetime(2025, 12, 1, 8, tzinfo=datetime.UTC)
    carried = {
        "_row_id": ID,
        "_deleted": True,
        "_created_at": then,
        "_updated_at": None,
        "_labels": None,
        "_operation_seq": 4,
        "_source_dataset_id": "elsewhere",
        "_source_table": "elsewhere",
    }
    output = "- {type: output, arguments: {destination: {location: out.csv}, include_deleted: true}}\n"
    (row,) = world.run(output, [order("O-1", **carried)]).rows
    assert (row["_row_id"], row["_deleted"], row["_created_at"]) == (ID, True, then)
    assert (row["_updated_at"], row["_labels"]) == (TIMESTAMP, "")
    assert (row["_operation_seq"], row["_origin_seq"]) == (0, 4)
    assert (row["_source_dataset_id"], row["_source_table"]) == ("orders", "orders")


@pytest.mark.parametrize("bad", [None, "", "O-1", ID.replace("-7abc", "-4abc"), ID.replace("-8def", "-cdef"), f"{ID} "])
def test_a_malformed_row_id_stops_the_run(world: World, bad: str | None) -> None:
    with pytest.raises(DaybookError) as caught:
        world.run(OUTPUT, [order("O-1", _row_id=ID), order("O-2", _row_id=bad)])
    assert caught.value.code == "PROJECT_031"
    assert caught.value.parameters["ordinal"] == "1"


def test_a_null_that_may_not_be_stops_the_run_even_when_nobody_reads_it(world: World) -> None:
    output = (
        "- {type: output, selector: 'amount > 0', arguments: {destination: {location: o.csv}, columns: [amount]}}\n"
    )
    bad = order("O-2") | {"order_id": None}
    with pytest.raises(DaybookError) as caught:
        world.run(output, [order("O-1", amount="1"), bad])
    assert caught.value.code == "PROJECT_030"
    assert (caught.value.parameters["column"], caught.value.parameters["ordinal"]) == ("order_id", "1")


def test_a_null_outside_the_period_is_not_loaded_and_not_checked(world: World) -> None:
    bad = order("O-2", _period="2025-12") | {"order_id": None}
    assert len(world.run(OUTPUT, [order("O-1"), bad]).rows) == 1


def test_period_tables_are_filtered_by_their_period(world: World) -> None:
    rows = [order("O-1"), order("O-2", _period="2025-12"), order("O-3", _period=None)]
    assert list(world.run(OUTPUT, rows).by_id()) == ["O-1"]


def test_what_daybook_wrote_is_read_by_its_slice(world: World) -> None:
    rows = [
        order("O-1", _run_period="2026-01"),
        order("T-1", _period=None, _run_period="2026-01", _operation_seq=3),
        order("O-2", _run_period="2025-12"),
    ]
    found = world.run(OUTPUT, rows).by_id()
    assert sorted(found) == ["O-1", "T-1"]
    assert found["T-1"]["_origin_seq"] == 3
    assert "_run_period" not in found["T-1"]


BITEMPORAL = ORDERS.replace("temporal_mode: period", "temporal_mode: bitemporal")


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        (None, ["ended-later", "open"]),
        (datetime.date(2026, 1, 9), ["ended-later", "open"]),
        # A row ends on the day named by valid_to, and that day no longer belongs to it.
        (datetime.date(2026, 1, 10), ["open"]),
        (datetime.date(2026, 1, 20), ["begins-later", "open"]),
    ],
)
def test_bitemporal_tables_are_read_as_of_a_date(
    world: World, as_of: datetime.date | None, expected: list[str]
) -> None:
    def row(name: str, start: datetime.date, end: datetime.date | None) -> dict[str, object]:
        return {key: value for key, value in order(name).items() if key != "_period"} | {
            "_valid_from": start,
            "_valid_to": end,
        }

    rows = [
        row("open", datetime.date(2026, 1, 1), None),
        row("ended-later", datetime.date(2026, 1, 1), datetime.date(2026, 1, 10)),
        row("begins-later", datetime.date(2026, 1, 20), None),
        row("ended", datetime.date(2025, 1, 1), datetime.date(2026, 1, 1)),
    ]
    executed = world.run(OUTPUT, rows, definitions=datasets(BITEMPORAL), as_of=as_of)
    assert sorted(executed.by_id()) == expected


def test_a_table_without_temporal_mode_is_read_whole(world: World) -> None:
    definitions = datasets(ORDERS.replace("    temporal_mode: period\n", ""), CUSTOMERS)
    rows = [order("O-1"), order("O-2", _period="2020-01")]
    assert sorted(world.run(OUTPUT, rows, definitions=definitions).by_id()) == ["O-1", "O-2"]


def test_a_period_table_needs_its_period(world: World) -> None:
    with pytest.raises(DaybookError) as caught:
        world.run(OUTPUT, [{key: value for key, value in order("O-1").items() if key != "_period"}])
    assert (caught.value.code, caught.value.parameters["column"]) == ("PROJECT_032", "_period")


def test_no_rows_at_all(world: World) -> None:
    executed = world.run("- {type: delete}\n" + OUTPUT, [])
    assert executed.rows == []
    assert executed.counts[0].input_rows == 0
    assert executed.picked() == {1: (0, 0)}
