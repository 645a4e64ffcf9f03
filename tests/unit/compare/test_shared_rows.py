"""What states between two runs have in common, and when it is written down once for all of them."""

import datetime
from dataclasses import replace
from typing import cast

import pytest

from daybook.compare.hybrid import HybridPlan, HybridRead, Side
from daybook.compare.measured_state import Measure, measured_rows
from daybook.compare.shared_rows import SharedRows, StatePass
from daybook.engine.pipeline import KeptRows
from daybook.errors import DaybookError
from daybook.plan.steps import OutputStep, Plan
from tests.unit.plan.planned import CONSTANTS, plan_of


def operations(joins: int = 4, first: str = "1", second: str = "1", names: str = "a") -> Plan:
    lookups = "".join(
        f"""
    - type: update
      name: {names}{number}
      arguments:
        joins: [{{alias: c{number}, dataset_id: customers, on: orders.customer_id = c{number}.id}}]
        assignments: [{{column: tier{number}, expression: c{number}.tier}}]"""
        for number in range(joins)
    )
    return plan_of(
        f"""{lookups}
    - {{type: update, arguments: {{assignments: [{{column: amount, expression: amount + {first}}}]}}}}
    - {{type: update, arguments: {{assignments: [{{column: amount, expression: amount * {second}}}]}}}}
    - type: aggregate
      arguments: {{group_by: [region], aggregations: [{{column: total, expression: SUM(amount)}}]}}
    - {{type: output, arguments: {{destination: {{location: out.csv}}}}}}
    """
    )


def state_pass(plan: Plan, *, data: Side = "a", joined: Side = "a") -> StatePass:
    state = hybrid_plan(plan, data=data, joined=joined)
    return StatePass.of(state, state.written(("total",)))


def hybrid_plan(plan: Plan, *, data: Side = "a", joined: Side = "a") -> HybridPlan:
    reads = {
        load.key: HybridRead(
            load.dataset_id,
            load.key,
            data if load.role == "input" else joined,
            "a",
            load.version,
            datetime.date(2026, 1, 1),
        )
        for load in plan.loads
    }
    (output,) = plan.outputs
    return HybridPlan(plan, output, output.seq - 1, reads, CONSTANTS)


def kept(length: int) -> KeptRows:
    return cast(KeptRows, f"rows before stage {length}")


def test_states_begin_alike_up_to_the_operation_that_changed() -> None:
    before = state_pass(operations())

    assert before.common_length(state_pass(operations(first="2"))) == 4
    assert before.common_length(state_pass(operations(second="2"))) == 5
    # The last stage gives the rows that are measured.
    assert before.common_length(state_pass(operations())) == 7


def test_what_operations_are_called_makes_no_difference() -> None:
    assert state_pass(operations(names="a")) == state_pass(operations(names="b"))


def test_other_data_is_another_beginning() -> None:
    before = state_pass(operations())

    assert before.common_length(state_pass(operations(), data="b")) == 0
    assert before.common_length(state_pass(operations(), joined="b")) == 0


def test_the_first_state_writes_down_what_the_others_begin_with() -> None:
    states = [
        state_pass(operations()),
        state_pass(operations(first="2")),
        state_pass(operations(first="2", second="2")),
    ]
    shared = SharedRows()
    shared.plan([[each] for each in states])

    assert shared.start(states[0]) is None
    # Operation 5 is the first that changed; what it adds is too little to be written down.
    assert list(shared.forks(states[0])) == [5]
    columns = shared.forks(states[0])[5]
    assert {"amount", "region", "_operation_seq"} <= columns
    assert "quantity" not in columns
    assert "_row_id" not in columns

    shared.keep(states[0], {5: kept(5)})
    for each in states[1:]:
        assert shared.start(each) == (5, kept(5))
        assert shared.forks(each) == {}


def test_a_cheap_beginning_is_computed_again() -> None:
    states = [state_pass(operations(joins=1)), state_pass(operations(joins=1, first="2"))]
    shared = SharedRows()
    shared.plan([[each] for each in states])

    assert shared.forks(states[0]) == {}


def test_many_states_make_a_cheap_beginning_worth_it() -> None:
    states = [state_pass(operations(joins=1, first=str(number))) for number in range(4)]
    shared = SharedRows()
    shared.plan([[each] for each in states])

    assert list(shared.forks(states[0])) == [2]


def test_two_passes_over_one_state_always_share_it() -> None:
    plan = operations(joins=0)
    wide, narrow = state_pass(plan), state_pass(plan)
    last = wide.stages[-1]
    assert isinstance(last, OutputStep)
    narrow = replace(narrow, stages=(*narrow.stages[:-1], replace(last, selector=None)))
    shared = SharedRows()
    shared.plan([[wide, narrow]])

    (seq,) = shared.forks(wide)
    shared.keep(wide, {seq: kept(seq)})

    assert shared.start(narrow) == (seq, kept(seq))


@pytest.mark.parametrize(("column", "name"), [("nothing", "nothing"), ("region", "region that is a number")])
def test_a_state_without_the_measure_is_refused(column: str, name: str) -> None:
    state = hybrid_plan(operations())
    with pytest.raises(DaybookError) as caught:
        measured_rows(state, Measure(column))
    assert (caught.value.code, caught.value.parameters["column"]) == ("RUN_077", name)
