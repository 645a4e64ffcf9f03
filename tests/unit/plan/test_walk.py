"""Every compile-time rule, with the operation it belongs to and the place it points at."""

import pytest

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.plan.steps import AggregateStep, OutputStep
from tests.unit.plan.planned import (
    BUDGET,
    CUSTOMERS,
    DELETE,
    ORDERS,
    OUTPUT,
    UPDATE,
    aggregate,
    append,
    codes,
    datasets,
    findings,
    join,
    output,
    plan_of,
)


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        (UPDATE % ("{{missing}}", "1"), "UPDATE_003"),
        (UPDATE % ("amount >", "1"), "UPDATE_004"),
        (UPDATE % ("amount", "1"), "UPDATE_004"),
        (UPDATE % ("SUM(amount) > 1", "1"), "UPDATE_004"),
        (UPDATE % ("TRUE", "1 +"), "UPDATE_005"),
        (UPDATE % ("TRUE", "SUM(amount)"), "UPDATE_005"),
        (UPDATE % ("nothing = 1", "1"), "UPDATE_006"),
        (UPDATE % ("TRUE", "nothing"), "UPDATE_006"),
        (UPDATE % ("TRUE", "customers.tier"), "UPDATE_006"),
        (join(dataset="nobody"), "PROJECT_020"),
        (join(more=", dataset_version: 7"), "PROJECT_021"),
        (join(on="customer_id"), "UPDATE_023"),
        (join(on="customer_id = c.nothing"), "UPDATE_006"),
        (join(alias="orders"), "UPDATE_013"),
        (join(alias="Orders"), "UPDATE_013"),
        (aggregate(group_by="[nothing]"), "AGGREGATE_004"),
        (aggregate(expression="SUM(nothing)"), "AGGREGATE_004"),
        (aggregate(expression="amount"), "AGGREGATE_006"),
        (aggregate(expression="SUM(SUM(amount))"), "AGGREGATE_006"),
        (aggregate(selector="amount"), "PROJECT_052"),
        (aggregate(column="day"), "AGGREGATE_021"),
        (append("nobody"), "APPEND_001"),
        (append("budget, dataset_version: 5"), "APPEND_002"),
        (append("customers"), "APPEND_003"),
        (append(more=", source_selector: 'amount'"), "APPEND_004"),
        (append(more=", source_selector: 'amount ='"), "APPEND_004"),
        (append(more=", source_selector: 'order_id = \"1\"'"), "APPEND_006"),
        (DELETE % "amount", "PROJECT_052"),
        (DELETE % "nothing = 1", "PROJECT_052"),
        (DELETE % "COUNT(*) = 1", "PROJECT_052"),
        (output(selector="amount"), "OUTPUT_001"),
        (output(selector="nothing = 1"), "OUTPUT_001"),
        (output(selector="SUM(amount) = 1"), "OUTPUT_001"),
        (output(more=", columns: [amount, nothing]"), "OUTPUT_002"),
        (output(more=", order_by: [nothing]"), "OUTPUT_002"),
    ],
)
def test_a_broken_rule_has_its_code_and_its_operation(operations: str, code: str) -> None:
    found = findings(DELETE % "amount = 0" + operations + OUTPUT.replace("out.csv", "last.csv"))
    assert {error.code for error in found} == {code}
    assert {error.operation_seq for error in found} == {2}
    assert all(error.span is not None and error.span.file == "project.yaml" for error in found)


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        (aggregate(group_by="[region, orders.region]"), "AGGREGATE_003"),
        (aggregate(group_by="[_row_id]"), "AGGREGATE_011"),
        (aggregate(group_by="[orders.region]", column="region", expression="MAX_AGG(status)"), "AGGREGATE_010"),
        (output(more=", columns: [amount, orders.amount]"), "OUTPUT_011"),
    ],
)
def test_names_are_compared_without_their_qualifier(operations: str, code: str) -> None:
    assert codes(operations) == [code]


def aggregation(group_by: str = "[region]", column: str = "amount", expression: str = "SUM(amount)") -> str:
    results = f"[{{column: {column}, expression: '{expression}'}}]"
    return append(more=f", aggregation: {{group_by: {group_by}, aggregations: {results}}}")


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        (aggregation(expression="MEDIAN(amount)"), "APPEND_005"),
        (aggregation(expression="SUM(amount) / COUNT(*)"), "APPEND_005"),
        (aggregation(expression="amount"), "APPEND_005"),
        (aggregation(expression="SUM(nothing)"), "APPEND_006"),
        (aggregation(group_by="[nothing]"), "APPEND_006"),
        (aggregation(group_by="[region, budget.region]"), "AGGREGATE_003"),
        (aggregation(group_by="[budget.region]", column="region", expression="MAX_AGG(region)"), "AGGREGATE_010"),
        (aggregation(group_by="[_created_at]"), "AGGREGATE_011"),
        (aggregation(column="total"), "APPEND_003"),
        (aggregation(column="day"), "APPEND_003"),
    ],
)
def test_the_aggregation_of_an_append(operations: str, code: str) -> None:
    assert codes(operations + OUTPUT) == [code]


def test_count_of_rows_is_a_legal_aggregation_of_an_append() -> None:
    assert codes(aggregation(column="quantity", expression="COUNT(*)") + OUTPUT) == []


def test_an_operation_cannot_see_the_aliases_of_another() -> None:
    assert codes(join() + UPDATE % ("TRUE", "c.tier") + OUTPUT) == ["UPDATE_006"]


def test_a_join_sees_earlier_joins_and_not_later_ones() -> None:
    first = "{alias: a, dataset_id: customers, on: 'customer_id = a.id'}"
    second = "{alias: b, dataset_id: customers, on: 'a.id = b.id'}"
    shape = "- {type: update, arguments: {joins: [%s, %s], assignments: [{column: x, expression: b.tier}]}}\n"
    assert codes(shape % (first, second) + OUTPUT) == []
    assert codes(shape % (second, first) + OUTPUT) == ["UPDATE_006"]


def test_everything_is_reported_at_once_in_order() -> None:
    operations = (
        UPDATE % ("nothing = 1", "1 +")
        + aggregate(group_by="[nowhere]")
        + DELETE % "amount"
        + output(more=", columns: [no]")
    )
    found = findings(operations)
    assert [(error.operation_seq, error.code) for error in found] == [
        (1, "UPDATE_006"),
        (1, "UPDATE_005"),
        (2, "AGGREGATE_004"),
        (3, "PROJECT_052"),
        (4, "OUTPUT_002"),
    ]


def test_the_finding_of_the_expression_is_the_cause_and_gives_the_place() -> None:
    (found,) = findings("- {type: delete, selector: 'orders.amout = 0'}\n" + OUTPUT)
    assert [cause.code for cause in found.causes] == ["EXPR_012"]
    assert found.span is not None
    assert found.span.text[found.span.start : found.span.end] == "orders.amout"
    assert (found.span.line, found.span.column) == (6, 31)


def test_a_missing_dataset_of_a_join_is_not_repeated_for_its_columns() -> None:
    (found,) = findings(join(dataset="customer") + OUTPUT)
    assert (found.code, found.hint) == ("PROJECT_020", "did you mean customers?")


@pytest.mark.parametrize(
    ("definitions", "code"),
    [
        (datasets(CUSTOMERS, BUDGET), "PROJECT_020"),
        (datasets(ORDERS, disabled=frozenset({"orders"})), "PROJECT_022"),
    ],
)
def test_the_input_must_exist_and_be_active(definitions: Definitions, code: str) -> None:
    assert codes(OUTPUT, definitions=definitions) == [code]


def test_disabled_datasets_are_neither_joined_nor_appended() -> None:
    definitions = datasets(ORDERS, CUSTOMERS, BUDGET, disabled=frozenset({"customers", "budget"}))
    assert codes(join() + append() + OUTPUT, definitions=definitions) == ["PROJECT_022", "PROJECT_022"]


def test_a_pinned_version_is_the_one_that_is_read() -> None:
    wider = CUSTOMERS.replace("tier, type: string", "tier, type: integer")
    definitions = datasets(ORDERS, CUSTOMERS, wider)
    plan = plan_of(join(more=", dataset_version: 1") + OUTPUT, definitions=definitions)
    assert [(load.dataset_id, load.version.version) for load in plan.loads] == [("orders", 1), ("customers", 1)]
    assert str(plan.types["x"]) == "string"
    assert str(plan_of(join() + OUTPUT, definitions=definitions).types["x"]) == "integer"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("amount >", "EXPR_002"),
        ("amout > 1", "EXPR_012"),
        ("nobody.amount > 1", "EXPR_013"),
        ("amount", "EXPR_024"),
        ("amount > 'a'", "EXPR_022"),
        ("SUM(amount) > 1", "EXPR_040"),
        ("{{nobody}}", "EXPR_050"),
        ("NOT {{broken}}", "EXPR_051"),
    ],
)
def test_a_selector_that_nobody_uses_is_checked_like_the_others(text: str, code: str) -> None:
    (found,) = findings(OUTPUT, head=f'selectors: {{fine: "amount > 1", broken: "{text}"}}\n')
    assert (found.code, found.parameters["name"]) == ("PROJECT_028", "broken")
    assert [cause.code for cause in found.causes] == [code]
    assert found.span is not None
    assert found.span.line == 5


def test_a_mistake_in_selectors_that_nobody_uses_is_one_finding() -> None:
    head = 'selectors: {a: "NOT {{b}}", b: "amout > 1", c: "{{a}} OR {{b}}"}\n'
    assert codes(OUTPUT, head=head) == ["PROJECT_028"]


def test_selectors_that_name_each_other_and_that_nobody_uses_are_a_circle() -> None:
    (found,) = findings(OUTPUT, head='selectors: {a: "NOT {{b}}", b: "NOT {{a}}"}\n')
    assert [cause.code for cause in found.causes] == ["EXPR_051"]


@pytest.mark.parametrize("text", ["budget.amount > 1", "c.tier = 'gold'", "x = 'gold'", "_operation_seq = 0"])
def test_a_selector_that_nobody_uses_may_fit_any_rows_of_the_project(text: str) -> None:
    operations = join() + append() + OUTPUT
    assert codes(operations, head=f'selectors: {{spare: "{text}"}}\n') == []


@pytest.mark.parametrize("name", ["__place", "__ordinal", "__daybook_fault"])
def test_a_dataset_cannot_be_read_whose_columns_the_engine_would_overwrite(name: str) -> None:
    taken = CUSTOMERS.replace("tier", name)
    for definitions, operations in (
        (datasets(taken.replace("customers", "orders")), ""),
        (datasets(ORDERS, taken), join()),
    ):
        (found,) = findings(operations + OUTPUT, definitions=definitions)
        assert (found.code, found.parameters) == ("PROJECT_027", {"column": name})


@pytest.mark.parametrize(
    "operations",
    [
        UPDATE % ("TRUE", "IF({{big}}, 1, 2)"),
        join(on="{{big}} AND customer_id = c.id"),
        aggregate(expression="SUM(IF({{big}}, amount, 0))"),
    ],
)
def test_a_named_selector_may_stand_in_every_expression(operations: str) -> None:
    assert findings(operations + OUTPUT, head="selectors: {big: 'amount > 1'}\n") == []


@pytest.mark.parametrize("name", ["`region`", "orders.`region`", "`orders`.`region`", "`orders`.region"])
def test_columns_may_stand_in_backticks_wherever_they_are_listed(name: str) -> None:
    plan = plan_of(aggregate(f'["{name}"]') + output(f', columns: ["{name}", x], order_by: ["{name}"]'))
    step, written = plan.steps
    assert isinstance(step, AggregateStep)
    assert isinstance(written, OutputStep)
    assert step.group_by == ("region",)
    assert (tuple(written.columns), written.order_by) == (("region", "x"), ("region",))


@pytest.mark.parametrize("name", ["`region", "region`", "``", "customers.`region`"])
def test_a_name_in_half_a_pair_of_backticks_is_unknown(name: str) -> None:
    assert codes(aggregate(f'["{name}"]') + OUTPUT) == ["AGGREGATE_004"]
    assert codes(
        append(
            more=f', aggregation: {{group_by: ["{name}"], aggregations: [{{column: amount, expression: SUM(amount)}}]}}'
        )
        + OUTPUT
    ) == ["APPEND_006"]


@pytest.mark.parametrize("repeated", ["region, `region`", "region, orders.region"])
def test_the_same_column_in_other_spelling_is_twice_in_a_grouping(repeated: str) -> None:
    with pytest.raises(DaybookError) as refused:
        plan_of(aggregate(f"[{', '.join(chr(34) + name + chr(34) for name in repeated.split(', '))}]") + OUTPUT)
    assert refused.value.code == "AGGREGATE_003"


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        ("planned", "add the column with an update first"),
        ("amout", "add the column with an update first, or did you mean amount?"),
    ],
)
def test_a_column_that_is_not_there_to_append_to_can_be_added(column: str, hint: str) -> None:
    grouping = f"{{group_by: [region], aggregations: [{{column: {column}, expression: SUM(amount)}}]}}"
    (found,) = findings(append(more=f", aggregation: {grouping}") + OUTPUT)
    assert (found.code, found.hint) == ("APPEND_003", hint)


WINDOW = "SUM(amount) OVER (region)"


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        (UPDATE % (f"{WINDOW} > 1", "1"), "UPDATE_004"),
        (UPDATE % ("TRUE", "SUM(amount)"), "UPDATE_005"),
        (join(on=f"{WINDOW} = c.id"), "UPDATE_023"),
        (aggregate(expression=WINDOW), "AGGREGATE_006"),
        (aggregate(selector=f"{WINDOW} > 1"), "PROJECT_052"),
        (DELETE % f"{WINDOW} > 1", "PROJECT_052"),
        (f"- {{type: check, arguments: {{condition: '{WINDOW} > 1'}}}}\n", "CHECK_002"),
        (output(selector=f"{WINDOW} > 1"), "OUTPUT_001"),
        (append(more=f", source_selector: '{WINDOW} > 1'"), "APPEND_004"),
    ],
)
def test_a_window_stands_in_the_assignments_of_an_update_only(operations: str, code: str) -> None:
    assert codes(UPDATE % ("TRUE", WINDOW) + OUTPUT) == []
    (found,) = findings(operations + OUTPUT.replace("out.csv", "other.csv"))
    assert found.code == code
    assert [cause.code for cause in found.causes] == ["EXPR_074" if code == "AGGREGATE_006" else "EXPR_040"]
