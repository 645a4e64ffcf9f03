"""Explains a number down to the rows of its sources: level by level, through operations and runs.

The rows that an operation selected are computed again. Nothing is committed, no lease is taken, and temporary files
are removed.
"""

import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Annotated

from pydantic import computed_field

from daybook.engine.context import POSITION_COLUMN
from daybook.engine.jobs import carry_tags, wait_for
from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.io.filesystem import remove_folder
from daybook.model.json_fields import ExactRow, ExactRows, Hidden, Merged, OneError, OptionalExactAmount, named
from daybook.model.operation import Operation
from daybook.model.types import COLUMN_SYNONYMS, DecimalType
from daybook.plan.conditions import summands
from daybook.plan.partial_plan import TRACE_COLUMNS, RowKeys, key_columns, selectable_columns
from daybook.plan.steps import AggregateStep, AppendStep, OutputStep, Plan, Step
from daybook.runs.environment import RunEnvironment
from daybook.runs.explain.row_origins import (
    ROW_ID,
    RestoredRuns,
    Row,
    RowOrigin,
    RowOrigins,
    group_columns,
    key_text,
    typed_keys,
)
from daybook.runs.explain.selected_rows import FoundRows, RowsComputation
from daybook.runs.snapshot import RunSnapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Beside the columns of a row: the file, and the cells or line, that it was read from.
ROW_POSITION = "_row_position"

# What the rows are that an operation of a type picked.
ROWS_TITLES = {
    "update": "the rows it changed, as they were before",
    "aggregate": "the rows it summed up, as they were before",
    "append": "the rows it read",
    "delete": "the rows it deleted, as they were before",
    "check": "the rows that fail it",
    "output": "the rows it wrote",
}


@dataclass(frozen=True, slots=True)
class ShownRows:
    """The first of `count` rows, by column."""

    count: int
    columns: tuple[str, ...]
    rows: Annotated[ExactRows, named("shown")]


@dataclass(frozen=True, slots=True)
class PickedRows(ShownRows):
    """Rows that an operation picked; `origins` says where each comes from, and what to ask for that."""

    origins: tuple[RowOrigin, ...] = ()


@dataclass(frozen=True, slots=True)
class ExplainedSum:
    """A total in three ways: as the rows above have it, as it is computed again, and as its rows sum up to.

    `above` is None where no rows stand above, `value` where an operation makes no totals. `tolerance` is what rounding
    the total of each group can make of a difference.
    """

    column: str
    above: OptionalExactAmount = None
    value: OptionalExactAmount = None
    rows: OptionalExactAmount = None
    tolerance: Hidden[Decimal] = Decimal(0)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def is_equal(self) -> bool:
        totals = [total for total in (self.above, self.value, self.rows) if total is not None]
        return max(totals, default=0) - min(totals, default=0) <= self.tolerance


@dataclass(frozen=True, slots=True)
class ExplainedOperation:
    seq: int
    id: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class OperationExplanation:
    """The rows that one operation picked, and the summary rows it made of them where it groups.

    `keys` are the values that were asked for; where rows of several keys were asked for, they are in `groups`.
    `leads` are the operations that made some of the picked rows, each with those of the question's texts by column
    that name rows there as well.
    """

    run_id: str
    project_id: str
    period: str
    # The run's values of the project's parameters.
    parameters: Mapping[str, str]
    operation: ExplainedOperation
    keys: ExactRow
    groups: ExactRows
    summary_rows: ShownRows | None
    rows: PickedRows
    sums: tuple[ExplainedSum, ...] = ()
    # Of the shown rows, those that cannot be followed.
    gaps: "tuple[ExplanationGap, ...]" = ()
    leads: Hidden[Mapping[int, Mapping[str, str | None]]] = field(default_factory=dict)
    group_by: Hidden[tuple[str, ...]] = ()

    @property
    def seq(self) -> int:
        return self.operation.seq

    @property
    def operation_id(self) -> str:
        return self.operation.id

    @property
    def name(self) -> str:
        return self.operation.name

    @property
    def type(self) -> str:
        return self.operation.type

    @property
    def origins(self) -> tuple[RowOrigin, ...]:
        return self.rows.origins


@dataclass(frozen=True, slots=True)
class RowsQuestion:
    """Rows of an operation, by its id or seq, that have all texts of one of the keys, None being NULL.

    Without keys, all rows are meant. `above` are the amounts of the rows that the question comes from.
    """

    run_id: str
    operation: str | None
    keys: tuple[Mapping[str, str | None], ...] = ()
    above: Mapping[str, Decimal | int] = field(default_factory=dict)


def explain(
    environment: RunEnvironment,
    run_id: str,
    operation: str | None,
    keys: Mapping[str, str | None],
    *,
    limit: int,
    columns: Sequence[str] = (),
) -> OperationExplanation:
    """The rows of an operation that have these texts in these columns; `columns` are shown beside the usual ones."""
    question = RowsQuestion(run_id, operation, (keys,) if keys else ())
    return Explainer(environment).explain(question, limit=limit, columns=columns)


class Explainer:
    """Answers questions about rows of runs; what it restored of a run is kept for the next question."""

    def __init__(self, environment: RunEnvironment) -> None:
        self._environment = environment
        self._runs = RestoredRuns(environment)

    @property
    def session(self) -> "SparkSession":
        """The session that answered the question before."""
        return self._environment.session()

    def explain(
        self, question: RowsQuestion, *, limit: int, columns: Sequence[str] = (), is_strict: bool = True
    ) -> OperationExplanation:
        """All that can be wrong with the question is raised before Spark is asked for.

        Unless it is strict, columns that are not there are left out.
        """
        run = self._runs.get(question.run_id)
        operation = find_operation(run.snapshot, question.operation)
        step = run.plan.step(operation.seq)
        ids = _group_ids(step, question.keys)
        is_all = bool(ids) or not all(question.keys)
        keys: RowKeys = () if is_all else [typed_keys(run.plan, step, key_texts) for key_texts in question.keys]
        columns = _known_columns(run.plan, step, columns, is_strict=is_strict)
        if not run.pins:
            raise DaybookError("RUN_027", run_id=run.run_id, status=run.record.status)
        origins = RowOrigins(self._runs, run, step)
        staging = f"{self._environment.state}/staging/{run.run_id}.explain-{secrets.token_hex(4)}"
        try:
            with self._environment.spark(run.snapshot) as spark:
                computing = RowsComputation(self._environment, spark, run, staging, limit)
                if ids:
                    keys = computing.groups_with_ids(step, ids)
                summary, picked = computing.rows_and_summary(step, keys, origins, (*columns, *question.above))
        finally:
            remove_folder(staging, self._environment.storage)
        traced = origins.find(picked.rows, computing.frame(origins.load.key), picked.stored)
        traced, gaps = self._with_row_ids(traced)
        values = [{key.column: key.value for key in row_keys} for row_keys in keys]
        return OperationExplanation(
            run_id=run.run_id,
            project_id=run.snapshot.project.id,
            period=run.snapshot.period.identifier,
            parameters=run.snapshot.parameters,
            operation=ExplainedOperation(operation.seq, operation.id, operation.name, operation.type),
            keys=values[0] if len(values) == 1 else {},
            rows=_shown_rows(picked, traced, columns),
            summary_rows=ShownRows(summary.count, summary.columns, summary.rows) if summary else None,
            leads=_makers_of_rows(run.plan, picked.rows, question.keys[0] if len(question.keys) == 1 else {}),
            groups=tuple(values) if len(values) > 1 else (),
            sums=tuple(_sums(step, picked, summary, question.above)),
            group_by=group_columns(step),
            gaps=gaps,
        )

    def _with_row_ids(
        self, origins: tuple[RowOrigin, ...]
    ) -> tuple[tuple[RowOrigin, ...], "tuple[ExplanationGap, ...]"]:
        """Rows that are named by their values are named by the ids that the run which wrote them gave them.

        Rows whose values more rows of the output have than are shown here cannot be followed.
        """
        by_output: dict[tuple[str, int, tuple[str, ...]], list[int]] = {}
        for place, origin in enumerate(origins):
            if origin.is_by_content and origin.next is not None:
                output = (origin.next.run_id, origin.next.seq, tuple(origin.next.keys))
                by_output.setdefault(output, []).append(place)
        followed = list(origins)
        gaps: list[ExplanationGap] = []
        for (run_id, seq, _), places in by_output.items():
            try:
                ids = self._row_ids(run_id, seq, [_asked_keys(origins[place]) for place in places])
            except DaybookError:
                # The next level has the same error, and says so.
                continue
            lost = 0
            for place, row_id in zip(places, ids, strict=True):
                origin = origins[place]
                assert origin.next is not None
                lost += row_id is None
                question = None if row_id is None else replace(origin.next, keys={ROW_ID: row_id})
                followed[place] = replace(origin, next=question, is_by_content=False)
            if lost:
                gaps.append(ExplanationGap(run_id, seq, DaybookError("RUN_053", seq=seq, run_id=run_id, rows=lost)))
        return tuple(followed), tuple(gaps)

    def _row_ids(self, run_id: str, seq: int, texts: Sequence[Mapping[str, str | None]]) -> list[str | None]:
        """For each row of an output the id of the one that has these values; None where others have them as well."""
        run = self._runs.get(run_id)
        step = run.plan.step(seq)
        assert isinstance(step, OutputStep)
        keys = [typed_keys(run.plan, step, row) for row in texts]
        if not keys[0]:
            return [None] * len(keys)
        staging = f"{self._environment.state}/staging/{run_id}.explain-{secrets.token_hex(4)}"
        try:
            with self._environment.spark(run.snapshot) as spark:
                ids = RowsComputation(self._environment, spark, run, staging, 0).ids_by_content(step, keys)
        finally:
            remove_folder(staging, self._environment.storage)
        contents = [tuple(key_text(key.value) for key in row) for row in keys]
        counts = Counter(contents)
        unused = {content: iter(ids.get(content, ())) for content in counts}
        return [next(unused[content]) if len(ids.get(content, ())) == counts[content] else None for content in contents]


def _asked_keys(origin: RowOrigin) -> Mapping[str, str | None]:
    return origin.next.keys if origin.next is not None else {}


def _shown_rows(picked: FoundRows, origins: tuple[RowOrigin, ...], columns: Sequence[str]) -> PickedRows:
    """What people know rows by comes first; columns that only origins are found by are left out."""
    key_names = dict.fromkeys(name for origin in origins for name, value in origin.key.items() if value is not None)
    usual = [name for name in picked.columns if name not in TRACE_COLUMNS]
    first = [name for name in key_names if name not in usual]
    names = [*dict.fromkeys((*first, *usual, *columns)), *TRACE_COLUMNS]
    positions = {row_id: row[POSITION_COLUMN] for row_id, row in picked.stored.items() if row.get(POSITION_COLUMN)}
    if positions:
        names.append(ROW_POSITION)
    rows = [{**row, ROW_POSITION: positions.get(row[ROW_ID])} for row in picked.rows]
    shown = tuple({name: row[name] for name in names} for row in rows)
    return PickedRows(picked.count, tuple(names), shown, origins)


def _sums(
    step: Step, picked: FoundRows, summary: FoundRows | None, above: Mapping[str, Decimal | int]
) -> Iterable[ExplainedSum]:
    """Totals that are no sums over rows, such as averages, are compared with the rows above only."""
    values = summary.sums if summary else {}
    for column in dict.fromkeys((*values, *picked.sums)):
        tolerance = _rounding(step, column, summary.count if summary else 0)
        yield ExplainedSum(column, above.get(column), values.get(column), picked.sums.get(column), tolerance)


def _rounding(step: Step, column: str, groups: int) -> Decimal:
    """How far totals that are rounded, one per group, can be from the sum over all rows."""
    if not isinstance(step, AggregateStep | AppendStep):
        return Decimal(0)
    type_ = next((value.type for value in step.aggregations if value.column == column), None)
    part = summands(step).get(column)
    scale = type_.scale if isinstance(type_, DecimalType) else 0
    if part is None or not isinstance(part.type, DecimalType) or part.type.scale <= scale:
        return Decimal(0)
    return groups * Decimal(5).scaleb(-scale - 1)


def _makers_of_rows(
    plan: Plan, rows: Iterable[Row], keys: Mapping[str, str | None]
) -> dict[int, dict[str, str | None]]:
    makers = sorted({row["_operation_seq"] for row in rows} - {0})
    columns_by_maker = {seq: key_columns(plan, plan.step(seq)) for seq in makers}
    return {seq: {name: text for name, text in keys.items() if name in columns_by_maker[seq]} for seq in makers}


def _group_ids(step: Step, keys: Iterable[Mapping[str, str | None]]) -> list[str]:
    """The ids of summary rows, where groups are named by them alone."""
    if not group_columns(step) or any(key.keys() != {ROW_ID} for key in keys):
        return []
    return [key[ROW_ID] or "" for key in keys]


def _known_columns(plan: Plan, step: Step, columns: Iterable[str], *, is_strict: bool) -> tuple[str, ...]:
    seen = selectable_columns(plan, step)
    names = [COLUMN_SYNONYMS.get(name, name) for name in columns]
    unknown = [name for name in names if name not in seen]
    if unknown and is_strict:
        hint = did_you_mean(unknown[0], seen)
        raise DaybookError("RUN_023", operation_seq=step.seq, seq=step.seq, column=unknown[0], hint=hint)
    return tuple(name for name in names if name in seen)


def find_operation(snapshot: RunSnapshot, named: str | None) -> Operation:
    """By its id, else by its seq."""
    operations = snapshot.project.operations
    by_seq = {str(operation.seq): operation for operation in operations}
    by_id = {operation.id: operation for operation in operations}
    if named is None:
        listed = ", ".join(f"{operation.seq} ({operation.name})" for operation in operations)
        raise DaybookError("RUN_028", run_id=snapshot.run_id, hint=f"name one of {listed}")
    if (named_operation := by_id.get(named) or by_seq.get(named)) is not None:
        return named_operation
    hint = f"its operations are {', '.join(by_seq)}" if named.isdigit() else did_you_mean(named, by_id)
    raise DaybookError("RUN_022", run_id=snapshot.run_id, operation=named, hint=hint)


# Balances that are carried forward lead back through all months.
MOST_LEVELS = 12
# No sum of columns, which have at most 38 digits, needs more.
_SUM_DIGITS = 100
_QUESTIONS_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class ExplanationGap:
    """Rows whose own rows cannot be shown any more, such as those of data that has been removed."""

    run_id: str
    seq: int
    error: Annotated[OneError, named("errors")]


@dataclass(frozen=True, slots=True)
class ExplanationLevel:
    """The rows behind the shown rows of the level above, by the operations that picked them."""

    depth: int
    explanations: tuple[OperationExplanation, ...]
    gaps: tuple[ExplanationGap, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether all sums are those of the level above."""
        return all(total.is_equal for explanation in self.explanations for total in explanation.sums)


@dataclass(frozen=True, slots=True)
class NumberExplanation:
    """An operation's rows, and level by level the rows behind them.

    Where the question names several groups, `levels` begin with the first of them. `is_complete` is False where the
    levels end before the lines of the sources.
    """

    first: Merged[OperationExplanation]
    levels: tuple[ExplanationLevel, ...]
    is_complete: bool


def explain_number(
    environment: RunEnvironment,
    question: RowsQuestion,
    *,
    limit: int,
    depth: int | None = None,
    columns: Sequence[str] = (),
) -> NumberExplanation:
    """Explain an operation, and then the operations that made its rows, in whichever run they are.

    Of every level the shown rows are followed. `depth` is the number of levels, 1 for the operation alone; without
    it, one group is followed down to the lines of its sources, and rows that were not named are not followed.
    """
    explainer = Explainer(environment)
    first = explainer.explain(question, limit=limit, columns=columns, is_strict=depth == 1)
    is_named = bool(question.keys) or first.summary_rows is not None
    most = depth or (MOST_LEVELS if is_named else 1)
    levels: list[ExplanationLevel] = []
    last = ExplanationLevel(1, (first,))
    if (group := _first_group(question, first)) is not None and most > 1:
        last = _answer(explainer, [group], 1, limit, columns)
        levels.append(last)
    while last.depth < most and (questions := _next_questions(last.explanations)):
        last = _answer(explainer, questions, last.depth + 1, limit, columns)
        levels.append(last)
    _refuse_unknown(columns, (first, *(explanation for level in levels for explanation in level.explanations)))
    is_complete = (depth is None and not is_named) or not _next_questions(last.explanations)
    return NumberExplanation(first, tuple(levels), is_complete)


def _refuse_unknown(columns: Iterable[str], explanations: Iterable[OperationExplanation]) -> None:
    """A column may be there on some levels only, but must be on one."""
    shown = {name for explanation in explanations for name in explanation.rows.columns}
    for name in columns:
        if COLUMN_SYNONYMS.get(name, name) not in shown:
            raise DaybookError("RUN_045", column=name, hint=did_you_mean(name, shown))


def _first_group(question: RowsQuestion, explanation: OperationExplanation) -> RowsQuestion | None:
    """The first of several groups that a question names."""
    summary = explanation.summary_rows
    if summary is None or summary.count <= 1:
        return None
    names = [name for name in explanation.group_by if name in summary.columns]
    keys = {name: key_text(summary.rows[0][name]) for name in names}
    return RowsQuestion(question.run_id, question.operation, (keys,))


def _next_questions(explanations: Iterable[OperationExplanation]) -> list[RowsQuestion]:
    """One question for all rows that an operation made."""
    followed: dict[tuple[str, int], list[RowOrigin]] = {}
    for explanation in explanations:
        for origin in explanation.rows.origins:
            if origin.next is not None:
                followed.setdefault((origin.next.run_id, origin.next.seq), []).append(origin)
    questions: list[RowsQuestion] = []
    for (run_id, seq), origins in followed.items():
        keys = {tuple(origin.next.keys.items()): origin.next.keys for origin in origins if origin.next}
        questions.append(RowsQuestion(run_id, str(seq), tuple(keys.values()), _amounts_above(origins)))
    return questions


def _amounts_above(origins: Sequence[RowOrigin]) -> dict[str, Decimal | int]:
    """What the rows above sum up to, for columns that all of them have; NULL adds nothing."""
    common = [name for name in origins[0].values if all(name in origin.values for origin in origins)]
    amounts: dict[str, Decimal | int] = {}
    with localcontext() as context:
        context.prec = _SUM_DIGITS
        for name in common:
            values = [origin.values[name] for origin in origins]
            amounts[name] = sum((value for value in values if value is not None), start=0)
    return amounts


def _answer(
    explainer: Explainer, questions: Sequence[RowsQuestion], depth: int, limit: int, columns: Sequence[str]
) -> ExplanationLevel:
    def answer(question: RowsQuestion) -> OperationExplanation | ExplanationGap:
        try:
            return explainer.explain(question, limit=limit, columns=columns, is_strict=False)
        except DaybookError as error:
            return ExplanationGap(question.run_id, int(question.operation or 0), error)

    if len(questions) == 1:
        answers = [answer(questions[0])]
    else:
        # At the same time: Spark is idle for a good part of each.
        tagged = carry_tags(explainer.session, answer)
        with ThreadPoolExecutor(_QUESTIONS_AT_ONCE, thread_name_prefix="daybook-level") as pool:
            answers = [wait_for(pending) for pending in [pool.submit(tagged, question) for question in questions]]
    explanations = tuple(result for result in answers if isinstance(result, OperationExplanation))
    gaps = tuple(result for result in answers if isinstance(result, ExplanationGap))
    return ExplanationLevel(depth, explanations, gaps)
