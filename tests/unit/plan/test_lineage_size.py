"""Lineage of a project with a thousand operations over five hundred columns."""

from daybook.definitions.value import Definitions
from daybook.plan.lineage import PlanLineage, plan_lineage
from daybook.plan.steps import Plan
from tests.unit.plan.planned import datasets, plan_of


def _dataset(columns: int) -> Definitions:
    listed = "".join(f"      - {{name: c{number}, type: 'decimal(18,2)'}}\n" for number in range(columns))
    return datasets(f"dataset:\n  id: orders\n  name: O\n  main_table:\n    name: orders\n    columns:\n{listed}")


def _operation(number: int, columns: int) -> str:
    one, two, three = (f"c{place % columns}" for place in (number, number + columns // 2 + 1, number * 13 + 2))
    match number % 10:
        case 3:
            return f"- {{type: delete, selector: '{one} > 1000{number}'}}"
        case 6:
            values = f"[{{column: {two}, expression: 'SUM({three})'}}]"
            return (
                f"- {{type: aggregate, selector: '{two} > 0', "
                f"arguments: {{group_by: [{one}], aggregations: {values}}}}}"
            )
        case 7:
            values = f"[{{column: {one}, expression: {two}}}]"
            return f"- {{type: update, selector: '_operation_seq = {number}', arguments: {{assignments: {values}}}}}"
        case _:
            values = f"{{column: {one}, expression: 'IF({two} > 1, {three}, {one})'}}, "
            values += f"{{column: {two}, expression: {one}}}"
            return f"- {{type: update, selector: '{three} > 0', arguments: {{assignments: [{values}]}}}}"


def _plan(operations: int, columns: int) -> Plan:
    lines = [_operation(number, columns) for number in range(operations - 1)]
    lines.append("- {type: output, arguments: {destination: {location: out.csv}}}")
    return plan_of("\n".join(lines), definitions=_dataset(columns))


def _size(lineage: PlanLineage) -> int:
    return len(lineage.graph.nodes) + sum(len(node.edges) for node in lineage.graph.nodes)


def test_the_graph_grows_with_operations_times_columns_they_use() -> None:
    small, large = plan_lineage(_plan(250, 100)), plan_lineage(_plan(1000, 100))
    # Every operation here reads and writes at most six columns.
    assert _size(large) < 30 * 1000
    assert _size(large) < 5 * _size(small)


def test_a_thousand_operations_over_five_hundred_columns_need_no_more_than_over_a_hundred() -> None:
    narrow, wide = plan_lineage(_plan(1000, 100)), plan_lineage(_plan(1000, 500))
    assert _size(wide) < _size(narrow) + 10 * 400
    assert len([wide.inputs(*column) for column in wide.columns]) == 500 + 9


def test_a_total_over_every_operation_before_it_does_not_repeat_them() -> None:
    """Each aggregate reads all rows before it, those of the other aggregates included."""
    step = "- {{type: aggregate, arguments: {{group_by: [c1], aggregations: [{{column: c2, expression: SUM(c2)}}]}}}}"
    last = "- {type: output, arguments: {destination: {location: out.csv}}}"
    plans = [plan_of("\n".join([*[step.format()] * count, last]), definitions=_dataset(3)) for count in (50, 200)]
    small, large = (_size(plan_lineage(plan)) for plan in plans)
    assert large < 5 * small
