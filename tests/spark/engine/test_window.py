"""Windows in an update: values of a row among the rows that the update picks, worked out by hand."""

import contextlib
import datetime
import io
import re
from decimal import Decimal
from typing import Any

import pytest

from daybook.expression.functions.function import Function
from daybook.expression.functions.function_table import FUNCTIONS
from tests.spark.engine.executed import OUTPUT, World, customer, order, source
from tests.unit.plan.planned import CUSTOMERS, ORDERS, datasets, plan_of

pytestmark = pytest.mark.usefixtures("product_settings")

D = Decimal


def day(number: int) -> datetime.date:
    return datetime.date(2026, 1, number)


ROWS = [
    order("O-1", region="EMEA", status="a", amount="10.00", quantity=1, day=day(3)),
    order("O-2", region="EMEA", status="b", amount="30.00", quantity=2, day=day(1)),
    order("O-3", region="EMEA", status="a", amount="60.00", quantity=2, day=day(2)),
    order("O-4", region="US", status="a", amount="5.00", quantity=None, day=None),
    order("O-5", region="US", status="a", amount=None, quantity=7, day=day(9)),
    order("O-6", region=None, status="b", amount="1.00", quantity=4, day=day(5)),
    order("O-7", region=None, status="a", amount="2.00", quantity=4, day=day(5)),
]


def update(expression: str, selector: str = "", column: str = "x") -> str:
    picked = f"selector: '{selector}', " if selector else ""
    return (
        f"- {{type: update, {picked}arguments: {{assignments: [{{column: {column}, expression: '{expression}'}}]}}}}\n"
    )


def values(world: World, operations: str, column: str = "x", **options: Any) -> dict[str, Any]:
    return {key: row[column] for key, row in world.run(operations + OUTPUT, ROWS, **options).by_id().items()}


KEYED = datasets(ORDERS.replace("  name: Orders\n", "  name: Orders\n  natural_key_columns: [order_id]\n"), CUSTOMERS)

# O-1 … O-7; NULL is a group, and NULL days come last.
EXPECTED: dict[str, list[Any]] = {
    "SUM(amount) OVER (region)": [D("100.00")] * 3 + [D("5.00")] * 2 + [D("3.00")] * 2,
    "SUM(amount) OVER ()": [D("108.00")] * 7,
    "COUNT(*) OVER (region)": [3, 3, 3, 2, 2, 2, 2],
    "COUNT(amount) OVER (region)": [3, 3, 3, 1, 1, 2, 2],
    "MIN_AGG(day) OVER (region)": [day(1)] * 3 + [day(9)] * 2 + [day(5)] * 2,
    "AVG(amount) OVER (region, status)": [D("35"), D("30"), D("35"), D("5"), D("5"), D("1"), D("2")],
    "ROUND(amount / SUM(amount) OVER (region), 4)": [
        D("0.1"),
        D("0.3"),
        D("0.6"),
        D("1"),
        None,
        D("0.3333"),
        D("0.6667"),
    ],
    "SUM(amount) OVER (region ORDER BY day)": [
        D("100.00"),
        D("30.00"),
        D("90.00"),
        D("5.00"),
        None,
        D("1.00"),
        D("3.00"),
    ],
    "SUM(amount) OVER (region ORDER BY day DESC)": [
        D("10.00"),
        D("100.00"),
        D("70.00"),
        D("5.00"),
        None,
        D("1.00"),
        D("3.00"),
    ],
    "ROW_NUMBER() OVER (region ORDER BY amount DESC)": [3, 2, 1, 1, 2, 2, 1],
    "ROW_NUMBER() OVER (region)": [1, 2, 3, 1, 2, 1, 2],
    "RANK() OVER (region ORDER BY quantity)": [1, 2, 2, 2, 1, 1, 1],
    "RANK() OVER (ORDER BY region, quantity DESC)": [3, 1, 1, 5, 4, 6, 6],
    "PREVIOUS(amount) OVER (region ORDER BY day)": [D("60.00"), None, D("30.00"), None, None, None, D("1.00")],
    "NEXT(order_id) OVER (region ORDER BY day)": [None, "O-3", "O-1", None, "O-4", "O-7", None],
    "amount - COALESCE(PREVIOUS(amount) OVER (YEAR(day) ORDER BY day, order_id), 0)": [
        D("-50.00"),
        D("30.00"),
        D("30.00"),
        D("5.00"),
        None,
        D("-9.00"),
        D("1.00"),
    ],
}


def test_windows_over_all_rows(world: World) -> None:
    names = {f"x{number}": text for number, text in enumerate(EXPECTED)}
    operations = "".join(update(text, column=name) for name, text in names.items())
    found = world.run(operations + OUTPUT, ROWS, definitions=KEYED, partitions=3).by_id()
    assert {text: [found[f"O-{n}"][name] for n in range(1, 8)] for name, text in names.items()} == EXPECTED


def test_several_windows_of_one_update_see_the_rows_as_they_were(world: World) -> None:
    both = (
        "- type: update\n"
        "  arguments:\n"
        "    assignments:\n"
        "      - {column: amount, expression: 'SUM(amount) OVER (region)'}\n"
        "      - {column: x, expression: 'COUNT(amount) OVER (region) + RANK() OVER (region ORDER BY amount)'}\n"
    )
    executed = world.run(both + OUTPUT, ROWS)
    found = {key: (row["amount"], row["x"]) for key, row in executed.by_id().items()}
    assert found == {
        "O-1": (D("100.00"), 4),
        "O-2": (D("100.00"), 5),
        "O-3": (D("100.00"), 6),
        "O-4": (D("5.00"), 2),
        "O-5": (D("5.00"), 3),
        "O-6": (D("3.00"), 3),
        "O-7": (D("3.00"), 4),
    }
    assert executed.picked() == {1: (7, 0)}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("SUM(amount) OVER (region)", {"O-1": "70.00", "O-3": "70.00", "O-4": "5.00", "O-5": "5.00", "O-7": "2.00"}),
        ("SUM(amount) OVER ()", dict.fromkeys(("O-1", "O-3", "O-4", "O-5", "O-7"), "77.00")),
        (
            "SUM(amount) OVER (ORDER BY order_id)",
            {"O-1": "10.00", "O-3": "70.00", "O-4": "75.00", "O-5": "75.00", "O-7": "77.00"},
        ),
    ],
)
def test_the_rows_of_a_window_are_those_that_the_operation_picks(
    world: World, expression: str, expected: dict[str, str]
) -> None:
    found = values(world, update(expression, 'status = "a"'))
    assert found == {f"O-{n}": D(expected[f"O-{n}"]) if f"O-{n}" in expected else None for n in range(1, 8)}


def test_deleted_rows_are_in_no_window(world: World) -> None:
    gone = "- {type: delete, selector: 'order_id = \"O-3\"'}\n"
    found = values(world, gone + update("SUM(amount) OVER (region)"))
    assert (found["O-1"], found["O-2"]) == (D("40.00"), D("40.00"))
    assert "O-3" not in found


def test_rows_that_are_not_picked_cannot_fail_in_a_window(world: World) -> None:
    found = values(world, update("SUM(TO_NUMBER(status)) OVER (region)", 'order_id = "none"'))
    assert set(found.values()) == {None}


def test_summary_rows_and_later_operations_see_what_a_window_computed(world: World) -> None:
    total = "- {type: aggregate, arguments: {group_by: [status], aggregations: [{column: x, expression: 'SUM(x)'}]}}\n"
    share = update("amount / SUM(amount) OVER (region)", 'region = "EMEA"')
    executed = world.run(share + total + OUTPUT, ROWS)
    assert {row["status"]: row["x"] for row in executed.summaries()} == {"a": D("0.7"), "b": D("0.3")}


def test_a_window_over_joined_columns(world: World) -> None:
    joined = (
        "- type: update\n"
        "  selector: 'c.tier IS NOT NULL'\n"
        "  arguments:\n"
        "    joins: [{alias: c, dataset_id: customers, on: status = c.id}]\n"
        "    assignments: [{column: x, expression: 'SUM(amount * c.discount) OVER (c.tier)'}]\n"
    )
    found = values(world, joined, customers=[customer("a", "gold", "0.50"), customer("c", "gold", "0.10")])
    assert found == {f"O-{n}": D("38.50") if n in (1, 3, 4, 5, 7) else None for n in range(1, 8)}


def test_ties_go_by_the_natural_key_however_the_rows_are_spread(world: World) -> None:
    rows = [order(f"O-{number:03d}", region="EMEA", amount="1.00") for number in range(60)]
    for partitions in (1, 7):
        executed = world.run(
            update("SUM(amount) OVER (region ORDER BY status)") + OUTPUT, rows, definitions=KEYED, partitions=partitions
        )
        found = executed.by_id()
        assert [found[f"O-{number:03d}"]["x"] for number in range(60)] == [D(number + 1) for number in range(60)]


def physical_plan(world: World, operations: str) -> str:
    """What `explain` shows of the first output."""
    plan = plan_of(operations + OUTPUT, definitions=KEYED)
    sources = {load.key: source(world.spark, load, ROWS, 2) for load in plan.loads}
    shown = io.StringIO()
    with world.pipeline(plan, sources) as pipeline, contextlib.redirect_stdout(shown):
        next(iter(pipeline.groups())).outputs[0].df.explain()
    return shown.getvalue()


def exchanges(world: World, operations: str) -> int:
    """How often the rows are shuffled."""
    return physical_plan(world, operations).count("Exchange hashpartitioning")


def operators(world: World, operations: str) -> list[str]:
    """The operators of Spark from the output down to `Rows`, the rows as any version of Spark reads them."""
    lines = physical_plan(world, operations).splitlines()
    found = (re.search(r"^[-+:| ]*(?:\*\(\d+\) )?([A-Z]\w+)", line) for line in lines)
    names = [each[1] for each in found if each and each[1] != "AdaptiveSparkPlan"]
    shown = " ".join(names)
    return re.sub("(Project )?(Filter Scan|LocalTableScan)", "Rows", shown).split()


# From the output down: the columns that are written of live rows, what is counted and checked, two updates and a delete
# folded into one projection, and the rows as they are loaded. The repartition is what the test reads its rows from.
# None of them is there for windows.
FOLDED = ["Project", "Filter", "CollectMetrics", "Project", "Project", "Exchange", "Rows"]
SUMMED = ["HashAggregate", "Exchange", "HashAggregate", "Project", "Exchange", "Rows"]


def test_a_project_without_windows_has_the_plan_that_it_had_before_there_were_any(world: World) -> None:
    folded = update("amount * 2") + "- {type: delete, selector: 'x > 100'}\n" + update("x + 1", 'status = "a"')
    assert operators(world, folded) == FOLDED
    total = (
        "- {type: aggregate, arguments: {group_by: [region], aggregations: [{column: y, expression: SUM(amount)}]}}\n"
    )
    # What is written of a detail row is made of what the update computed, in a projection of its own.
    details = ["Project", "Project", "Exchange", "Rows"]
    assert operators(world, update("amount * 2") + total) == ["Union", *details, "Project", "CollectMetrics", *SUMMED]
    windowed = operators(world, folded + update("SUM(x) OVER (region)"))
    assert [each for each in windowed if each in ("Window", "Sort")] == ["Window", "Sort"]


def test_windows_of_one_group_share_one_shuffle(world: World) -> None:
    texts = [
        "SUM(amount) OVER (region)",
        "AVG(quantity) OVER (region)",
        "SUM(amount) OVER (region ORDER BY day)",
        "RANK() OVER (region ORDER BY amount DESC)",
        "PREVIOUS(amount) OVER (region ORDER BY day)",
    ]
    listed = ", ".join(f"{{column: x{n}, expression: '{text}'}}" for n, text in enumerate(texts))
    for picked in ("", "selector: 'status = \"a\"', "):
        assert exchanges(world, f"- {{type: update, {picked}arguments: {{assignments: [{listed}]}}}}\n") == 1
    assert exchanges(world, update("amount * 2")) == 0
    assert exchanges(world, update("SUM(amount) OVER (region) + SUM(amount) OVER (status)")) == 2
    assert exchanges(world, update("amount / SUM(amount) OVER ()")) == 0


@pytest.mark.parametrize(
    "function", [each for each in FUNCTIONS.values() if each.is_window], ids=lambda each: each.name
)
def test_every_example_of_a_window_function_gives_its_value(world: World, function: Function) -> None:
    rows = [order(f"O-{number}", quantity=value) for number, value in enumerate(function.example.rows)]
    text = re.sub(r"\bx\b", "quantity", function.example.text)
    assert world.run(update(text) + OUTPUT, rows).by_id()["O-0"]["x"] == function.example.value
