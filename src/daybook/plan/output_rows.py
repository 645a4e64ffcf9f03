"""Which operations made the rows that an output writes, and what tells these rows apart."""

from daybook.plan.conditions import excludes, picks_all
from daybook.plan.steps import AggregateStep, AppendStep, DeleteStep, OutputStep, Plan, UpdateStep


def columns_assigned(plan: Plan, after: int, before: int) -> set[str]:
    """The columns that updates between two operations assign."""
    return {
        value.column
        for step in plan.steps
        if isinstance(step, UpdateStep) and after < step.seq < before
        for value in step.assignments
    }


def makers_of_output(plan: Plan, output: OutputStep) -> tuple[int, ...]:
    """The operations whose rows an output may write, 0 being the load of the input."""
    steps = [step for step in plan.steps if step.seq < output.seq]
    makers = [0, *(step.seq for step in steps if isinstance(step, AggregateStep | AppendStep))]
    deletes = () if output.arguments.include_deleted else tuple(s for s in steps if isinstance(s, DeleteStep))
    return tuple(
        seq
        for seq in makers
        if not excludes(output.selector, seq)
        and not any(delete.seq > seq and picks_all(delete.selector, seq) for delete in deletes)
    )


def key_of_output(plan: Plan, output: OutputStep) -> tuple[str, ...]:
    """The group-by columns, where an output writes the rows of one aggregate only and all of these columns as made."""
    makers = makers_of_output(plan, output)
    if len(makers) != 1 or makers[0] == 0:
        return ()
    maker = plan.step(makers[0])
    assert isinstance(maker, AggregateStep | AppendStep)
    changed = columns_assigned(plan, maker.seq, output.seq)
    is_whole = output.columns.keys() >= {*maker.group_by} and not changed.intersection(maker.group_by)
    return maker.group_by if is_whole else ()
