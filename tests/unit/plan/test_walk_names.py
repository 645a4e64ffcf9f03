"""Named expressions: what they stand for, where, and where their errors point."""

import pytest

from daybook.definitions.loading import load_text
from daybook.errors import render
from daybook.model.serialization import encode_definition
from daybook.plan.steps import UpdateStep
from tests.unit.plan.planned import (
    CONSTANTS,
    DELETE,
    OUTPUT,
    UPDATE,
    aggregate,
    append,
    codes,
    findings,
    join,
    output,
    plan_of,
    project_text,
)

HEAD = """
selectors:
  large: "{{NET}} > 100"
expressions:
  NET: amount - 1
  TWICE: "{{NET}} * 2"
  TOTAL: "SUM({{NET}})"
  SHARE: amount / SUM(amount) OVER (region)
"""


def value_sql(expression: str, head: str = HEAD) -> str:
    step = plan_of(UPDATE % ("TRUE", expression) + OUTPUT, head=head).steps[0]
    assert isinstance(step, UpdateStep)
    return step.assignments[0].expression.sql(CONSTANTS)


def test_a_name_stands_for_its_expression_in_parentheses() -> None:
    assert value_sql("2 * {{NET}}") == "2BD * (`amount` - 1BD)"
    assert value_sql("{{TWICE}} - {{NET}}") == "((`amount` - 1BD) * 2BD) - (`amount` - 1BD)"


@pytest.mark.parametrize(
    "operations",
    [
        UPDATE % ("{{large}} AND {{NET}} > 5", "IF({{large}}, {{TWICE}}, 0)"),
        UPDATE % ("TRUE", "{{SHARE}}"),
        DELETE % "{{NET}} > 5",
        aggregate(expression="{{TOTAL}} / COUNT(*)", selector="{{NET}} > 5"),
        join(on="customer_id = c.id AND {{NET}} > 5"),
        append(more=", source_selector: '{{NET}} > 5'"),
        append(more=", aggregation: {group_by: [region], aggregations: [{column: amount, expression: '{{SUM_IT}}'}]}"),
        "- {type: check, arguments: {condition: '{{NET}} > 5'}}\n",
        "- {type: output, selector: '{{large}}', arguments: {destination: {location: other.csv}}}\n",
    ],
)
def test_a_name_may_stand_wherever_an_expression_may(operations: str) -> None:
    assert codes(operations + OUTPUT, head=HEAD + '  SUM_IT: "SUM({{RAW}})"\n  RAW: amount\n') == []


def test_where_an_aggregate_or_a_window_may_not_stand_neither_may_its_name() -> None:
    assert codes(DELETE % "{{TOTAL}} > 5" + OUTPUT, head=HEAD) == ["PROJECT_052"]
    assert codes(DELETE % "{{SHARE}} > 5" + OUTPUT, head=HEAD) == ["PROJECT_052"]


AGGREGATED = "aggregation: {group_by: [region], aggregations: [{column: amount, expression: 'SUM({{BAD}})'}]}"
# Every place where an expression may stand, with the errors for a name that is not there and for anything else.
PLACES: dict[str, tuple[str, str, str]] = {
    "selector of an update": (UPDATE % ("{{BAD}} > 5", "1"), "UPDATE_006", "UPDATE_004"),
    "value of an update": (UPDATE % ("TRUE", "1 + {{BAD}}"), "UPDATE_006", "UPDATE_005"),
    "argument of a window": (UPDATE % ("TRUE", "SUM({{BAD}}) OVER (region)"), "UPDATE_006", "UPDATE_005"),
    "group of a window": (UPDATE % ("TRUE", "COUNT(*) OVER ({{BAD}})"), "UPDATE_006", "UPDATE_005"),
    "order of a window": (
        UPDATE % ("TRUE", "RANK() OVER (region ORDER BY day, {{BAD}} DESC)"),
        "UPDATE_006",
        "UPDATE_005",
    ),
    "amount of an allocation": (UPDATE % ("TRUE", "ALLOCATE({{BAD}}, quantity) OVER ()"), "UPDATE_006", "UPDATE_005"),
    "weight of an allocation": (UPDATE % ("TRUE", "ALLOCATE(10.00, {{BAD}}) OVER ()"), "UPDATE_006", "UPDATE_005"),
    "condition of a join": (join(on="customer_id = c.id AND {{BAD}} > 5"), "UPDATE_006", "UPDATE_023"),
    "selector of an aggregate": (aggregate(selector="{{BAD}} > 5"), "AGGREGATE_004", "PROJECT_052"),
    "aggregation": (aggregate(expression="SUM({{BAD}})"), "AGGREGATE_004", "AGGREGATE_006"),
    "selector of an append": (append(more=", source_selector: '{{BAD}} > 5'"), "APPEND_006", "APPEND_004"),
    "mapped column of an append": (append(more=", columns: {amount: '{{BAD}}'}"), "APPEND_006", "APPEND_004"),
    "aggregation of an append": (append(more=f", {AGGREGATED}"), "APPEND_006", "APPEND_005"),
    "selector of a delete": (DELETE % "{{BAD}} > 5", "PROJECT_052", "PROJECT_052"),
    "selector of an output": (output(selector="{{BAD}} > 5"), "OUTPUT_001", "OUTPUT_001"),
    "condition of a check": (
        "- {type: check, arguments: {condition: '{{BAD}} > 5'}}\n",
        "CHECK_002",
        "CHECK_002",
    ),
    "selector of a check": (
        "- {type: check, selector: '{{BAD}} > 5', arguments: {condition: amount > 0}}\n",
        "PROJECT_052",
        "PROJECT_052",
    ),
}
WRONG = {
    "a column that is not there": ("amount - nothing", "nothing"),
    "a parameter that is not there": ("amount - param.limt", "param.limt"),
    "a kind that does not fit": ("amount - region", "amount - region"),
    "a function that is not there": ("amount - SUMM(amount)", "SUMM"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("place", PLACES)
def test_in_every_place_an_error_inside_a_name_points_to_its_definition_and_names_the_use(
    place: str, wrong: str
) -> None:
    expression, marked = WRONG[wrong]
    operations, unknown_code, other_code = PLACES[place]
    code = unknown_code if wrong == "a column that is not there" else other_code
    operations += "" if "type: output" in operations else OUTPUT
    head = f"parameters:\n  limit: {{type: decimal, default: 1}}\nexpressions:\n  BAD: {expression}\n"
    lines = project_text(operations, head).splitlines()
    (definition,) = [number for number, line in enumerate(lines, start=1) if line.startswith("    BAD: ")]
    ((number, column),) = [(n, line.index("{{BAD}}") + 1) for n, line in enumerate(lines, start=1) if "{{BAD}}" in line]
    found = findings(operations, head=head)
    assert [error.code for error in found] == [code]
    (error,) = found
    assert error.span is not None
    assert (error.span.line, error.span.column) == (definition, lines[definition - 1].index(marked) + 1)
    assert error.used_as == f"{{{{BAD}}}} at project.yaml:{number}:{column}"


def test_an_error_inside_a_name_points_to_its_definition_and_names_the_use() -> None:
    head = 'expressions:\n  NET: amount - COALESCE(quantity, "none")\n  TWICE: "{{NET}} * 2"\n'
    (error,) = findings(UPDATE % ("TRUE", "1 + {{TWICE}}") + OUTPUT, head=head)
    assert (error.code, error.causes[0].code) == ("UPDATE_005", "EXPR_023")
    assert error.span is not None
    # The sixth line is that of NET; the operation is below.
    assert (error.span.file, error.span.line, error.span.column) == ("project.yaml", 6, 19)
    assert error.used_as == "{{NET}} in {{TWICE}} at project.yaml:9:93"
    lines = render(error).splitlines()
    assert lines[1:5] == [
        "  at project.yaml:6:19",
        '    amount - COALESCE(quantity, "none")',
        "             ^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "  used as {{NET}} in {{TWICE}} at project.yaml:9:93",
    ]


def test_a_text_that_is_no_expression_points_to_its_definition_too() -> None:
    (error,) = findings(DELETE % "{{NET}} > 1" + OUTPUT, head="expressions: {NET: amount -}\n")
    assert error.span is not None
    assert error.span.line == 5
    assert error.used_as == "{{NET}} at project.yaml:7:31"


def test_a_name_that_is_not_there_has_the_one_that_was_meant() -> None:
    (error,) = findings(UPDATE % ("TRUE", "{{NETT}}") + OUTPUT, head=HEAD)
    assert (error.code, error.causes[0].code) == ("UPDATE_005", "EXPR_050")
    assert error.hint == "did you mean NET?"


def test_names_may_not_go_in_a_circle_through_selectors_and_expressions() -> None:
    head = "selectors: {a: '{{B}} > 1'}\nexpressions: {B: 'IF({{a}}, 1, 2)'}\n"
    (error,) = findings(DELETE % "{{a}}" + OUTPUT, head=head)
    assert error.causes[0].code == "EXPR_051"
    assert error.causes[0].parameters["path"] == "a → B → a"


def test_a_name_is_either_a_selector_or_an_expression() -> None:
    (error,) = findings(OUTPUT, head="selectors: {a: amount > 1}\nexpressions: {a: amount}\n")
    assert (error.code, error.span and error.span.line) == ("PROJECT_050", 6)


@pytest.mark.parametrize(
    ("expression", "is_right"),
    [
        ("amount * 2", True),
        ("SUM(amount) / COUNT(*)", True),
        ("RANK() OVER (region ORDER BY amount)", True),
        ("c.tier", True),
        ("nothing * 2", False),
        ("SUM(nothing)", False),
        ('amount > "x"', False),
    ],
)
def test_a_name_that_nobody_uses_is_checked_as_it_could_be_used(expression: str, is_right: bool) -> None:
    head = f"expressions:\n  UNUSED: '{expression}'\n"
    assert codes(join() + OUTPUT, head=head) == ([] if is_right else ["PROJECT_051"])


def test_another_expression_is_another_structure() -> None:
    text = "project: {{id: p, input: {{dataset_id: orders}}, expressions: {{description: {}}}, operations: [{}]}}"
    output = "{type: output, arguments: {destination: {location: out.csv}}}"
    digests = set()
    for expression in ("amount", "amount * 2"):
        (definition,) = load_text(text.format(expression, output), "p.yaml")
        digests.add(encode_definition("project", definition.model).structure_digest)
    assert len(digests) == 2


def test_a_system_column_cannot_be_mapped_and_the_hint_says_to_leave_it_out() -> None:
    (error,) = findings(append(more=", columns: {_row_id: region}") + OUTPUT)
    assert (error.code, error.hint) == ("APPEND_003", "every appended row has its own value; remove the column")
