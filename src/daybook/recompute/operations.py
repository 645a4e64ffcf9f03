"""The operations, each over all rows of a run: update, aggregate, append, delete, check and output."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, TypeAlias, assert_never

from daybook.errors import DaybookError
from daybook.model.types import SYSTEM_COLUMNS, ColumnType, value_text
from daybook.recompute.aggregates import Aggregate, groups_of
from daybook.recompute.arithmetic import ValueFailureError, fitting
from daybook.recompute.identity import RowIds
from daybook.recompute.joins import aliases_in, conjuncts, prepare_join, used_columns
from daybook.recompute.program import (
    INPUT,
    Append,
    Check,
    ComputedValue,
    Condition,
    Delete,
    OperationName,
    Output,
    Program,
    Step,
    Summarise,
    TableKey,
    Update,
)
from daybook.recompute.stored_tables import SYSTEM, LoadedTable, RunFacts, StoredTable, layout_of, load
from daybook.recompute.tree import Column, Layout, Node, Row, RowFunction, Value
from daybook.recompute.windows import BadAllocationError, Window, sorted_by, window_values

DELETED, ROW_ID, UPDATED_AT = SYSTEM["_deleted"], SYSTEM["_row_id"], SYSTEM["_updated_at"]

# What a raw appended row brings along of the system columns its source carries.
APPEND_KEEPS = ("_period", "_valid_from", "_valid_to", "_origin_seq", "_created_at", "_updated_at", "_labels")


@dataclass(frozen=True)
class OperationCount:
    """Rows that an operation picked, and rows that it added."""

    seq: int
    picked: int
    added: int = 0


@dataclass(frozen=True)
class ComputedOutput:
    """What an output writes: its rows in order, as tuples of its columns."""

    name: OperationName
    columns: Mapping[str, ColumnType]
    rows: list[Row]
    step: Output


Picker: TypeAlias = Callable[[Row], bool]


@dataclass
class WorkingDataset:
    """All rows of a run, live and deleted; `types` are those of the business columns there are so far."""

    program: Program
    tables: Mapping[TableKey, StoredTable]
    facts: RunFacts
    with_ids: bool = True
    rows: list[Row] = field(default_factory=list)
    types: dict[str, ColumnType] = field(default_factory=dict)
    input_rows: int = 0
    counts: list[OperationCount] = field(default_factory=list)
    outputs: list[ComputedOutput] = field(default_factory=list)
    _loaded: dict[tuple[int, bool], LoadedTable] = field(default_factory=dict)

    def run(self) -> None:
        table = self.tables[INPUT]
        self.rows = load(table, self.facts, with_deleted=True, with_ids=self.with_ids).rows
        self.types = dict(table.columns)
        self.input_rows = len(self.rows)
        for index, step in enumerate(self.program.steps):
            try:
                self.apply(step, columns_read_after(self.program.steps, index))
            except DaybookError as error:
                if error.operation_seq is None:
                    error.operation_seq = step.name.seq
                raise

    @property
    def layout(self) -> Layout:
        return layout_of(self.types)

    def apply(self, step: Step, needed: "frozenset[str] | None" = None) -> None:
        """`needed` are the columns that something reads afterwards; None is all of them."""
        match step:
            case Update():
                self._update(step, needed)
            case Summarise():
                self._summarise(step, needed)
            case Append():
                self._append(step, needed)
            case Delete():
                self._delete(step)
            case Check():
                self._check(step)
            case Output():
                self._output(step)
            case _:
                assert_never(step)

    def _load_source(self, key: TableKey, *, with_ids: bool) -> LoadedTable:
        """The live rows of a join or an append source; a dataset that is read again is loaded once."""
        table = self.tables[key]
        loaded_as = (id(table), with_ids)
        if loaded_as not in self._loaded:
            self._loaded[loaded_as] = load(table, self.facts, with_deleted=False, with_ids=with_ids)
        return self._loaded[loaded_as]

    def _picker(self, step: Step, selector: Condition | None, layout: Layout, what: str = "its selector") -> Picker:
        """Whether a row is live and picked; a selector that is NULL does not pick."""
        if selector is None:
            return lambda row: not row[DELETED]
        condition = self._guarded(step.name, what, selector.text, selector.node.function(layout))
        return lambda row: not row[DELETED] and condition(row) is True

    @staticmethod
    def _guarded(name: OperationName, column: str, text: str, function: RowFunction) -> RowFunction:
        """A function whose failures name the operation and what was to be computed."""

        def compute(row: Row) -> Value:
            try:
                return function(row)
            except ValueFailureError as failure:
                raise _value_error(name, column, text, failure) from failure

        return compute

    def _add_columns(self, values: Sequence[ComputedValue]) -> None:
        """The columns that values make, NULL in all rows, and the wider types that others take."""
        conversions: list[tuple[int, Callable[[Value], Value]]] = []
        added = 0
        for value in values:
            if value.column in SYSTEM_COLUMNS:
                continue
            if value.column not in self.types:
                added += 1
            elif convert := fitting(self.types[value.column], value.type):
                conversions.append((self.layout[value.column], convert))
            self.types[value.column] = value.type
        if added:
            nothing = (None,) * added
            self.rows = [row + nothing for row in self.rows]
        for position, convert in conversions:
            self.rows = [(*row[:position], convert(row[position]), *row[position + 1 :]) for row in self.rows]

    def _update(self, step: Update, needed: frozenset[str] | None) -> None:
        picked, joined, layout = self._picked_with_joins(step)
        windows = list(
            dict.fromkeys(node for value in step.values for node in value.node.walk() if isinstance(node, Window))
        )
        if windows:
            joined = self._with_windows(step, windows, joined, layout)
            layout = {**layout, **{window: len(layout) + number for number, window in enumerate(windows)}}
        functions = [self._value_function(step, value, layout, needed) for value in step.values]
        computed = [[function(row) for function in functions] for row in joined]
        del joined
        self._add_columns(step.values)
        positions = [self.layout[value.column] for value in step.values]
        timestamp = self.facts.timestamp
        for index, values in zip(picked, computed, strict=True):
            changed = list(self.rows[index])
            changed[UPDATED_AT] = timestamp
            for position, value in zip(positions, values, strict=True):
                changed[position] = value
            self.rows[index] = tuple(changed)
        self.counts.append(OperationCount(step.name.seq, len(picked)))

    def _picked_with_joins(self, step: Update) -> tuple[list[int], list[Row], Layout]:
        """The picked rows by their index, each with the columns of its joins behind it, and where these stand.

        A picked row may match one row of each join. What is not picked may match more: the part of the selector that
        reads no join is looked at before.
        """
        layout = self.layout
        if not step.joins:
            is_picked = self._picker(step, step.selector, layout)
            picked = [index for index, row in enumerate(self.rows) if is_picked(row)]
            return picked, [self.rows[index] for index in picked], layout
        parts = list(conjuncts(step.selector.node)) if step.selector else []
        text = step.selector.text if step.selector else ""
        before = [part.function(layout) for part in parts if not aliases_in(part)]
        nodes = [*parts, *(join.on.node for join in step.joins), *(value.node for value in step.values)]
        joins = []
        for join in step.joins:
            used = used_columns(join.alias, nodes)
            width = len(layout)
            layout = {**layout, **{(join.alias, name): width + number for number, name in enumerate(used)}}
            loaded = self._load_source((step.name.seq, join.alias), with_ids=self.with_ids and ROW_ID_NAME in used)
            joins.append((join, prepare_join(join, loaded, layout, used)))
        after = [part.function(layout) for part in parts if aliases_in(part)]
        picked, rows = [], []
        for index, row in enumerate(self.rows):
            if row[DELETED]:
                continue
            try:
                if not all(condition(row) is True for condition in before):
                    continue
                matches = [row]
                for _, table in joins:
                    matches = [both for match in matches for both in table.matches(match)]
                chosen = [match for match in matches if all(condition(match) is True for condition in after)]
            except ValueFailureError as failure:
                raise _value_error(step.name, "its selector or joins", text, failure) from failure
            if chosen and len(matches) > 1:
                raise self._double_match(step, joins, row)
            if chosen:
                picked.append(index)
                rows.append(chosen[0])
        return picked, rows, layout

    def _double_match(self, step: Update, joins: Sequence[tuple[Any, Any]], row: Row) -> DaybookError:
        alias, matches = "", [row]
        for join, table in joins:
            matches = [both for match in matches for both in table.matches(match)]
            if len(matches) > 1:
                alias = join.alias
                break
        columns = {
            node.name: self.layout[node.name]
            for join in step.joins
            if join.alias == alias
            for node in join.on.node.walk()
            if isinstance(node, Column) and not node.alias
        }
        key = ", ".join(f"{name} = {value_text(row[position])}" for name, position in sorted(columns.items()))
        return _operation_error("UPDATE_024", step.name, alias=alias, key=key or "any")

    def _with_windows(self, step: Update, windows: Sequence[Window], rows: Sequence[Row], layout: Layout) -> list[Row]:
        """The rows with the values of windows behind them."""
        natural_key = self.tables[INPUT].natural_key
        ties = [layout[name] for name in (*natural_key, ROW_ID_NAME)]
        columns = []
        for window in windows:
            value = next(value for value in step.values if window in list(value.node.walk()))
            try:
                columns.append(window_values(window, rows, layout, ties))
            except BadAllocationError as bad:
                raise _operation_error(
                    "UPDATE_026", step.name, column=value.column, group=bad.group, problem=bad.problem
                ) from bad
            except ValueFailureError as failure:
                raise _value_error(step.name, value.column, value.text, failure) from failure
        return [(*row, *values) for row, values in zip(rows, zip(*columns, strict=True), strict=True)]

    def _value_function(
        self, step: Step, value: ComputedValue, layout: Layout, needed: frozenset[str] | None
    ) -> RowFunction:
        """A value in the type of its column. What nobody reads afterwards may fail without failing the run."""
        compute, convert = value.node.function(layout), fitting(value.node.type, value.type)
        is_needed = needed is None or value.column in needed

        def fitted_value(row: Row) -> Value:
            try:
                computed = compute(row)
            except ValueFailureError as failure:
                if not is_needed:
                    return None
                raise _value_error(step.name, value.column, value.text, failure) from failure
            if convert is None:
                return computed
            try:
                return convert(computed)
            except ValueFailureError as failure:
                if not is_needed:
                    return None
                raise _misfit_error(step, value, computed, failure) from failure

        return fitted_value

    def _summarise(self, step: Summarise, needed: frozenset[str] | None) -> None:
        layout = self.layout
        is_picked = self._picker(step, step.selector, layout)
        picked = [row for row in self.rows if is_picked(row)]
        summaries = self._summaries(step, step.group_by, step.values, picked, layout, needed)
        self._add_columns(step.values)
        ids = RowIds(self.facts.period.start_date, "summary", (self.facts.project_id, str(step.name.seq)))
        system = self._made_system_columns(step.name.seq, self.tables[INPUT])
        for key, values in summaries:
            columns = dict(zip(step.group_by, key, strict=True))
            columns |= {value.column: cell for value, cell in zip(step.values, values, strict=True)}
            self._add_row({**system, ROW_ID_NAME: ids.of(key), **columns})
        self.counts.append(OperationCount(step.name.seq, len(picked), len(summaries)))

    def _summaries(
        self,
        step: Step,
        group_by: Sequence[str],
        values: Sequence[ComputedValue],
        rows: Sequence[Row],
        layout: Layout,
        needed: frozenset[str] | None,
    ) -> list[tuple[Row, list[Value]]]:
        """For every group its key and its values; an expression is computed over the key and the aggregates in it."""
        aggregates: list[Aggregate] = list(
            dict.fromkeys(node for value in values for node in value.node.walk() if isinstance(node, Aggregate))
        )
        summary_layout: dict[Hashable, int] = {name: position for position, name in enumerate(group_by)}
        summary_layout |= {node: len(group_by) + number for number, node in enumerate(aggregates)}
        totals = [self._aggregate_function(step, node, values, layout) for node in aggregates]
        functions = [self._value_function(step, value, summary_layout, needed) for value in values]
        summaries = []
        for key, members in groups_of(rows, [layout[name] for name in group_by]).items():
            summary = (*key, *(total(members) for total in totals))
            summaries.append((key, [function(summary) for function in functions]))
        return summaries

    @staticmethod
    def _aggregate_function(
        step: Step, aggregate: Aggregate, values: Sequence[ComputedValue], layout: Layout
    ) -> Callable[[Sequence[Row]], Value]:
        compute = aggregate.of_group(layout)
        value = next(value for value in values if aggregate in list(value.node.walk()))

        def total(rows: Sequence[Row]) -> Value:
            try:
                return compute(rows)
            except ValueFailureError as failure:
                raise _value_error(step.name, value.column, value.text, failure) from failure

        return total

    def _made_system_columns(self, seq: int, table: StoredTable) -> dict[str, Value]:
        """Those of a row that an operation makes."""
        return {
            **dict.fromkeys(SYSTEM_COLUMNS),
            "_deleted": False,
            "_source_dataset_id": table.dataset_id,
            "_source_table": table.name,
            "_operation_seq": seq,
            "_created_at": self.facts.timestamp,
            "_updated_at": self.facts.timestamp,
            "_labels": "",
        }

    def _add_row(self, columns: Mapping[str, Value]) -> None:
        self.rows.append(tuple(map(columns.get, (*SYSTEM_COLUMNS, *self.types))))

    def _append(self, step: Append, needed: frozenset[str] | None) -> None:
        seq = step.name.seq
        try:
            source = self._load_source((seq, None), with_ids=self.with_ids)
        except DaybookError as error:
            dataset_id = self.tables[seq, None].dataset_id
            raise DaybookError("APPEND_008", operation_seq=seq, causes=(error,), dataset_id=dataset_id) from error
        layout = source.layout
        is_picked = self._picker(step, step.selector, layout)
        rows = [row for row in source.rows if is_picked(row)]
        self._add_columns(step.values)
        ids = RowIds(self.facts.period.start_date, "appended", (self.facts.project_id, str(seq)))
        system = self._made_system_columns(seq, source.table)
        if step.group_by:
            summaries = self._summaries(step, step.group_by, step.values, rows, layout, needed)
            for key, values in summaries:
                columns = {value.column: cell for value, cell in zip(step.values, values, strict=True)}
                if "_labels" in columns:
                    columns["_labels"] = columns["_labels"] or ""
                self._add_row({**system, ROW_ID_NAME: ids.of(("group", *key)), **columns})
            self.counts.append(OperationCount(seq, len(rows), len(summaries)))
            return
        functions = [self._value_function(step, value, layout, needed) for value in step.values]
        for row in rows:
            kept = {name: row[SYSTEM[name]] for name in APPEND_KEEPS}
            columns = {value.column: function(row) for value, function in zip(step.values, functions, strict=True)}
            row_id = ids.of(("row", row[ROW_ID])) if self.with_ids else None
            self._add_row({**system, **kept, ROW_ID_NAME: row_id, **columns})
        self.counts.append(OperationCount(seq, len(rows), len(rows)))

    def _delete(self, step: Delete) -> None:
        is_picked = self._picker(step, step.selector, self.layout)
        count = 0
        for index, row in enumerate(self.rows):
            if is_picked(row):
                changed = list(row)
                changed[DELETED], changed[UPDATED_AT] = True, self.facts.timestamp
                self.rows[index] = tuple(changed)
                count += 1
        self.counts.append(OperationCount(step.name.seq, count))

    def _check(self, step: Check) -> None:
        """The condition must hold for every picked row; NULL does not."""
        layout = self.layout
        is_picked = self._picker(step, step.selector, layout)
        condition = self._guarded(step.name, "its condition", step.condition.text, step.condition.node.function(layout))
        picked = [row for row in self.rows if is_picked(row)]
        for row in picked:
            if condition(row) is not True:
                shown = ", ".join(f"{name} = {value_text(row[layout[name]])}" for name in step.columns)
                raise _operation_error("CHECK_020", step.name, row=shown or "any")
        self.counts.append(OperationCount(step.name.seq, len(picked)))

    def _output(self, step: Output) -> None:
        layout = self.layout
        is_picked = self._picker(step, step.selector, layout)
        if step.arguments.include_deleted:
            condition = step.selector.node.function(layout) if step.selector else None
            rows = [row for row in self.rows if condition is None or condition(row) is True]
        else:
            rows = [row for row in self.rows if is_picked(row)]
        if step.order_by:
            keys = [(itemgetter(layout[name]), False) for name in step.order_by]
            rows = [rows[index] for index in sorted_by(keys, list(range(len(rows))), rows)]
        types = {**SYSTEM_COLUMNS, **self.types}
        conversions = [(layout[name], fitting(types[name], target) or _same) for name, target in step.columns.items()]
        if all(convert is _same for _, convert in conversions) and len(conversions) > 1:
            written = list(map(itemgetter(*(position for position, _ in conversions)), rows))
        else:
            written = [tuple(convert(row[position]) for position, convert in conversions) for row in rows]
        names = dict(zip(step.names, step.columns.values(), strict=True))
        self.outputs.append(ComputedOutput(step.name, names, written, step))


ROW_ID_NAME = "_row_id"


def _same(value: Value) -> Value:
    return value


def _operation_error(code: str, name: OperationName, **parameters: Any) -> DaybookError:
    return DaybookError(code, operation_seq=name.seq, seq=name.seq, name=name.name, **parameters)


def _value_error(name: OperationName, column: str, text: str, failure: ValueFailureError) -> DaybookError:
    return _operation_error("PROJECT_033", name, column=column, reason=str(failure), expression=text)


def _misfit_error(step: Step, value: ComputedValue, computed: Value, failure: ValueFailureError) -> DaybookError:
    """A value that was computed, and does not fit the type of its column."""
    error = _value_error(step.name, value.column, value.text, failure)
    if not isinstance(step, Update):
        return error
    return DaybookError(
        "UPDATE_007",
        operation_seq=step.name.seq,
        causes=(error,),
        column=value.column,
        expected=value.type,
        actual=value_text(computed),
    )


def columns_read_after(steps: Sequence[Step], index: int) -> frozenset[str]:
    """The working columns that an output writes in the end, by way of whatever operations follow."""
    needed: set[str] = set()
    for step in reversed(steps[index + 1 :]):
        needed |= set(_columns_read(step, needed))
    return frozenset(needed)


def _columns_read(step: Step, needed: set[str]) -> Iterator[str]:
    match step:
        case Update(selector=selector, joins=joins, values=values):
            yield from _names_in(*(join.on.node for join in joins), *_needed_nodes(values, needed))
            yield from _names_in(*([selector.node] if selector else []))
        case Summarise(selector=selector, group_by=group_by, values=values):
            yield from group_by
            yield from _names_in(*_needed_nodes(values, needed), *([selector.node] if selector else []))
        case Append():
            pass
        case Delete(selector=selector):
            yield from _names_in(*([selector.node] if selector else []))
        case Check(selector=selector, condition=condition, columns=columns):
            yield from (*columns, *_names_in(condition.node, *([selector.node] if selector else [])))
        case Output(selector=selector, columns=columns, order_by=order_by):
            yield from (*columns, *order_by, *_names_in(*([selector.node] if selector else [])))
        case _:
            assert_never(step)


def _needed_nodes(values: Sequence[ComputedValue], needed: set[str]) -> Iterator[Node]:
    return (value.node for value in values if value.column in needed or _has_allocation(value.node))


def _has_allocation(node: Node) -> bool:
    return any(isinstance(part, Window) and part.call == "ALLOCATE" for part in node.walk())


def _names_in(*nodes: Node) -> Iterator[str]:
    for node in nodes:
        yield from (part.name for part in node.walk() if isinstance(part, Column) and not part.alias)
