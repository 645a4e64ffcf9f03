"""Which rows of a dataset changed between two states, and what each of them did to the measure."""

from dataclasses import replace

from daybook.compare.contributions import StagedContributions, key_of_rows
from daybook.compare.hybrid import HybridPlan
from daybook.compare.measured_state import HybridSources
from daybook.compare.result import Cause, CauseName, Number, RowCounts, RowEffect, subtract
from daybook.compare.row_comparison import ComparedColumn, ComparedSlices, Contributions, compare_rows
from daybook.compare.slices import SliceRows
from daybook.engine.context import RunContext
from daybook.engine.load_rows import load_source
from daybook.expression import common_type
from daybook.model.types import SYSTEM_COLUMNS
from daybook.plan.steps import LoadStep

SHOWN_ROWS = 10


def with_row_effects(
    cause: Cause,
    sources: HybridSources,
    before: HybridPlan,
    after: HybridPlan,
    contributions: tuple[StagedContributions | None, StagedContributions | None],
) -> Cause:
    """The cause with the rows of its dataset that were added, removed and changed, and the largest by their effect."""
    name = next((each for each in cause.members if each.kind == "data"), None)
    if name is None:
        return cause
    loads = _load(before, name), _load(after, name)
    if loads[0] is None or loads[1] is None:
        # The input is another dataset, so no row of it has a counterpart.
        return cause
    found = _compare(sources, (before, loads[0]), (after, loads[1]), _by_key(contributions, name))
    counts = RowCounts(found.counts.added, found.counts.removed, found.counts.changed)
    return replace(cause, rows=counts, largest=_largest(found, cause.share))


def _load(state: HybridPlan, name: CauseName) -> LoadStep | None:
    return next((load for load in state.plan.loads if load.dataset_id == name.name), None)


def _by_key(
    contributions: tuple[StagedContributions | None, StagedContributions | None], name: CauseName
) -> Contributions | None:
    before, after = (each.of(name.name) if each is not None else None for each in contributions)
    if before is None or after is None or before.columns != after.columns:
        return None
    return Contributions(before, after)


def _compare(
    sources: HybridSources,
    before: tuple[HybridPlan, LoadStep],
    after: tuple[HybridPlan, LoadStep],
    contributions: Contributions | None,
) -> ComparedSlices:
    types_a, types_b = ({**SYSTEM_COLUMNS, **load.types} for _, load in (before, after))
    key = key_of_rows(after[1]) if key_of_rows(before[1]) == key_of_rows(after[1]) else ("_row_id",)
    values = [name for name in after[1].types if name in before[1].types and name not in key]
    columns = {name: common_type((types_a[name], types_b[name])) or types_b[name] for name in (*key, *values)}
    return compare_rows(
        _rows(sources, *before, tuple(columns)),
        _rows(sources, *after, tuple(columns)),
        [ComparedColumn(name, columns[name]) for name in key],
        [ComparedColumn(name, columns[name]) for name in values],
        limit=SHOWN_ROWS,
        contributions=contributions,
    )


def _rows(sources: HybridSources, state: HybridPlan, load: LoadStep, columns: tuple[str, ...]) -> SliceRows:
    """The rows of a dataset as the state loads them."""
    context = RunContext.of(replace(state.plan, constants=state.constants), None)
    df = load_source(sources.frame(state.reads[load.key]), load, context, columns)
    types = {**SYSTEM_COLUMNS, **load.types}
    return SliceRows(df, {name: types[name] for name in columns}, False, lambda: None, lambda failure: failure)


def _largest(found: ComparedSlices, share: Number) -> tuple[RowEffect, ...]:
    """Effects are shown where those of all rows add up to the share; a row that is alone has all of it."""
    effects: list[Number | None] = [None] * len(found.changes)
    if found.effect is not None and not subtract(found.effect, share):
        effects = list(found.effects)
    elif len(found.changes) == 1:
        effects = [share]
    return tuple(
        RowEffect(change.key, change.before, change.after, effect)
        for change, effect in zip(found.changes, effects, strict=True)
    )
