"""Updates without joins, and deletes."""

import contextlib
import datetime
import io
from decimal import Decimal
from typing import Any

import pytest

from daybook.engine.java.session_conf import temporary_settings
from tests.spark.engine.executed import OUTPUT, World, order, source
from tests.unit.plan.planned import TIMESTAMP, plan_of

THEN = datetime.datetime(2025, 12, 1, tzinfo=datetime.UTC)


def update(*pairs: tuple[str, str], selector: str | None = None) -> str:
    picked = f"  selector: '{selector}'\n" if selector else ""
    lines = "".join(f"    - {{column: {column}, expression: '{expression}'}}\n" for column, expression in pairs)
    return f"- type: update\n{picked}  arguments:\n    assignments:\n{lines}"


def delete(selector: str | None = None) -> str:
    return "- {type: delete}\n" if selector is None else f"- {{type: delete, selector: '{selector}'}}\n"


EVERYTHING = "- {type: output, arguments: {destination: {location: all.csv}, include_deleted: true}}\n"


def values(rows: dict[str, dict[str, Any]], column: str) -> dict[str, Any]:
    return {key: row[column] for key, row in sorted(rows.items())}


def test_only_picked_rows_change_and_null_picks_nothing(world: World) -> None:
    rows = [
        order("O-1", region="EMEA", amount="10.00", _updated_at=THEN),
        order("O-2", region="US", amount="10.00", _updated_at=THEN),
        order("O-3", region=None, amount="10.00", _updated_at=THEN),
    ]
    executed = world.run(update(("amount", "amount * 2"), selector='region = "EMEA"') + OUTPUT, rows)
    found = executed.by_id()
    assert values(found, "amount") == {"O-1": Decimal("20.00"), "O-2": Decimal("10.00"), "O-3": Decimal("10.00")}
    assert values(found, "_updated_at") == {"O-1": TIMESTAMP, "O-2": THEN, "O-3": THEN}
    assert executed.picked() == {1: (1, 0)}
    assert executed.counts[0].input_rows == 3


def test_assignments_see_the_row_as_it_was(world: World) -> None:
    swap = update(("region", "status"), ("status", "region"))
    (row,) = world.run(swap + OUTPUT, [order("O-1", region="r", status="s")]).rows
    assert (row["region"], row["status"]) == ("s", "r")


def test_later_updates_see_what_earlier_ones_did(world: World) -> None:
    operations = (
        update(("amount", "amount + 1"), selector="quantity = 1")
        + update(("amount", "amount * 10"), selector="amount > 5")
        + update(("quantity", "quantity + 1"))
        + update(("amount", "0"), selector="quantity = 3")
    )
    rows = [order("O-1", amount="5.00", quantity=1), order("O-2", amount="5.00", quantity=2)]
    executed = world.run(operations + OUTPUT, rows)
    assert values(executed.by_id(), "amount") == {"O-1": Decimal("60.00"), "O-2": Decimal("0.00")}
    assert executed.picked() == {1: (1, 0), 2: (1, 0), 3: (2, 0), 4: (1, 0)}


def test_the_last_of_two_updates_that_pick_a_row_wins(world: World) -> None:
    operations = update(("status", '"first"'), selector="quantity > 0") + update(
        ("status", '"second"'), selector="quantity > 1"
    )
    rows = [order("O-0", quantity=0), order("O-1", quantity=1), order("O-2", quantity=2)]
    assert values(world.run(operations + OUTPUT, rows).by_id(), "status") == {
        "O-0": None,
        "O-1": "first",
        "O-2": "second",
    }


def test_a_new_column_is_null_where_nothing_was_assigned(world: World) -> None:
    operations = update(("rate", "0.1"), selector="quantity = 1") + update(("rate", "0.25"), selector="quantity = 2")
    rows = [order("O-1", quantity=1), order("O-2", quantity=2), order("O-3", quantity=3)]
    executed = world.run(operations + OUTPUT, rows)
    found = values(executed.by_id(), "rate")
    assert found == {"O-1": Decimal("0.10"), "O-2": Decimal("0.25"), "O-3": None}
    assert found["O-1"].as_tuple().exponent == -2
    assert executed.columns[3].index("rate") == 7


def test_a_growing_column_keeps_every_digit(world: World) -> None:
    operations = update(("x", "amount")) + update(("x", "x * 0.9"), selector="quantity = 1")
    rows = [order("O-1", amount="0.33", quantity=1), order("O-2", amount="0.33", quantity=2)]
    found = values(world.run(operations + OUTPUT, rows).by_id(), "x")
    assert found == {"O-1": Decimal("0.297"), "O-2": Decimal("0.330")}


def test_values_are_rounded_half_away_from_zero_to_a_declared_scale(world: World) -> None:
    rows = [order("O-1", amount="0.05"), order("O-2", amount="-0.05")]
    found = values(
        world.run(update(("amount", "amount * 0.5"), ("quantity", "amount * 50")) + OUTPUT, rows).by_id(), "amount"
    )
    assert found == {"O-1": Decimal("0.03"), "O-2": Decimal("-0.03")}


def test_labels_are_the_one_system_column_that_can_be_assigned(world: World) -> None:
    rows = [order("O-1", region="EMEA"), order("O-2", region="US")]
    operations = update(("_labels", 'CONCAT(_labels, "{region:EMEA}")'), selector='region = "EMEA"') * 2
    found = values(world.run(operations + OUTPUT, rows).by_id(), "_labels")
    assert found == {"O-1": "{region:EMEA}{region:EMEA}", "O-2": ""}


BY_LABELS = "- {type: aggregate, arguments: {group_by: [_labels], aggregations: [{column: n, expression: COUNT(*)}]}}\n"


def test_rows_without_labels_are_one_group(world: World) -> None:
    rows = [order("O-1", region="EMEA"), order("O-2", region="US"), order("O-3", region="US")]
    operations = update(("_labels", "NULL"), selector='region = "EMEA"') + BY_LABELS
    found = [(row["_labels"], row["n"]) for row in world.run(operations + OUTPUT, rows).rows if row["_operation_seq"]]
    assert found == [("", 3)]


def test_deleted_rows_are_untouched_and_invisible(world: World) -> None:
    operations = (
        delete("quantity = 1")
        + update(("amount", "amount + 1"))
        + delete("quantity = 2")
        + delete("quantity <= 2")
        + update(("status", '"seen"'))
    )
    rows = [order(f"O-{n}", amount="1.00", quantity=n, _updated_at=THEN) for n in (1, 2, 3)]
    executed = world.run(operations + EVERYTHING, rows)
    found = executed.by_id()
    assert values(found, "_deleted") == {"O-1": True, "O-2": True, "O-3": False}
    assert values(found, "amount") == {"O-1": Decimal("1.00"), "O-2": Decimal("2.00"), "O-3": Decimal("2.00")}
    assert values(found, "status") == {"O-1": None, "O-2": None, "O-3": "seen"}
    assert executed.picked() == {1: (1, 0), 2: (2, 0), 3: (1, 0), 4: (0, 0), 5: (1, 0)}


def test_rows_that_were_deleted_in_the_source_stay_deleted(world: World) -> None:
    rows = [order("O-1", _deleted=True, _updated_at=THEN), order("O-2", _deleted=None, _updated_at=THEN)]
    found = world.run(delete() + update(("status", '"x"')) + EVERYTHING, rows).by_id()
    assert values(found, "_deleted") == {"O-1": True, "O-2": True}
    assert values(found, "_updated_at") == {"O-1": THEN, "O-2": TIMESTAMP}
    assert values(found, "status") == {"O-1": None, "O-2": None}


def test_a_delete_without_selector_deletes_all_live_rows(world: World) -> None:
    executed = world.run(delete() + OUTPUT, [order("O-1"), order("O-2")])
    assert executed.rows == []
    assert executed.picked() == {1: (2, 0)}


def test_a_selector_does_not_fail_on_deleted_rows(world: World) -> None:
    operations = delete('status = "text"') + update(("quantity", "1"), selector="TO_NUMBER(status) > 5")
    rows = [order("O-1", status="text"), order("O-2", status="7")]
    assert values(world.run(operations + OUTPUT, rows).by_id(), "quantity") == {"O-2": 1}


def test_an_expression_can_look_at_the_time_of_the_last_update(world: World) -> None:
    operations = update(("quantity", "1"), selector="quantity = 7") + update(
        ("status", '"fresh"'), selector="_updated_at = NOW()"
    )
    rows = [order("O-1", quantity=7, _updated_at=THEN), order("O-2", quantity=8, _updated_at=THEN)]
    found = world.run(operations + OUTPUT, rows).by_id()
    assert values(found, "status") == {"O-1": "fresh", "O-2": None}
    assert values(found, "_updated_at") == {"O-1": TIMESTAMP, "O-2": THEN}


def test_more_operations_than_fit_one_word_of_bits(world: World) -> None:
    operations = "".join(update(("quantity", "quantity + 1"), selector=f"quantity >= {n % 3}") for n in range(66))
    executed = world.run(operations + OUTPUT, [order("O-1", quantity=0), order("O-2", quantity=None)])
    # 0 is not >= 1 nor >= 2, so it becomes 1 at once, stays below 2 once, and counts up every time after that.
    count, picked = 0, {}
    for n in range(66):
        hit = count >= n % 3
        count += hit
        picked[n + 1] = (int(hit), 0)
    assert executed.by_id()["O-1"]["quantity"] == count
    assert executed.picked() == picked


@pytest.mark.usefixtures("product_settings")
def test_the_code_that_spark_compiles_is_the_same_whenever_a_run_begins(world: World) -> None:
    """Spark keeps what it has compiled, so that the next run of a session or a warm engine has it."""
    plan = plan_of(update(("status", '"x"'), selector='region = "EU"') + OUTPUT)
    began = TIMESTAMP - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    rows = [order("O-1", region="EU"), order("O-2", region="US")]
    sources = {load.key: source(world.spark, load, rows, partitions=2) for load in plan.loads}
    # An adaptive plan shows no code before it is executed.
    with (
        temporary_settings(world.spark, {"spark.sql.adaptive.enabled": "false"}),
        world.pipeline(plan, sources) as executing,
        contextlib.redirect_stdout(io.StringIO()) as shown,
    ):
        next(iter(executing.groups())).outputs[0].df.explain("codegen")
    assert "GeneratedIterator" in shown.getvalue()
    # As Java writes it; the plan, which is shown, too, has it as it is.
    assert f"{began // datetime.timedelta(microseconds=1)}L" not in shown.getvalue()
