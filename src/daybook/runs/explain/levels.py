"""Explains a number down to the rows of its sources: level by level, through operations and runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.model.types import COLUMN_SYNONYMS
from daybook.runs.environment import RunEnvironment
from daybook.runs.explain.operation import Explainer, OperationExplanation, RowsQuestion
from daybook.runs.explain.row_origins import RowOrigin, key_text

# Balances that go forward from month to month lead ever further back.
MOST_LEVELS = 12
# No sum of columns, which have at most 38 digits, needs more.
_SUM_DIGITS = 100


@dataclass(frozen=True, slots=True)
class ExplanationGap:
    """Rows whose own rows cannot be shown any more, such as those of data that has been removed."""

    run_id: str
    seq: int
    error: DaybookError


@dataclass(frozen=True, slots=True)
class ExplanationLevel:
    """The rows behind the shown rows of the level above, by the operations that picked them."""

    depth: int
    explanations: tuple[OperationExplanation, ...]
    gaps: tuple[ExplanationGap, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether all sums are those of the level above."""
        return all(each.is_equal for found in self.explanations for each in found.sums)


@dataclass(frozen=True, slots=True)
class NumberExplanation:
    """An operation's rows, and level by level the rows behind them.

    Where the question names several groups, `levels` begin with the first of them. `is_complete` is False where the
    levels end before the lines of the sources.
    """

    first: OperationExplanation
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
    it, one group is followed down to the lines of its sources, and rows that nobody named are not followed at all.
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
    _refuse_unknown(columns, (first, *(each for level in levels for each in level.explanations)))
    is_complete = (depth is None and not is_named) or not _next_questions(last.explanations)
    return NumberExplanation(first, tuple(levels), is_complete)


def _refuse_unknown(columns: Iterable[str], explanations: Iterable[OperationExplanation]) -> None:
    """A column may be there on some levels only, but must be on one."""
    shown = {name for found in explanations for name in found.rows.columns}
    for name in columns:
        if COLUMN_SYNONYMS.get(name, name) not in shown:
            raise DaybookError("RUN_045", column=name, hint=did_you_mean(name, shown))


def _first_group(question: RowsQuestion, found: OperationExplanation) -> RowsQuestion | None:
    """The first of several groups that a question names."""
    made = found.summary_rows
    if made is None or made.count <= 1:
        return None
    names = [name for name in found.group_by if name in made.columns]
    keys = {name: key_text(made.rows[0][name]) for name in names}
    return RowsQuestion(question.run_id, question.operation, (keys,))


def _next_questions(explanations: Iterable[OperationExplanation]) -> list[RowsQuestion]:
    """One question for all rows that an operation made."""
    followed: dict[tuple[str, int], list[RowOrigin]] = {}
    for found in explanations:
        for origin in found.origins:
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
    found: dict[str, Decimal | int] = {}
    with localcontext() as context:
        context.prec = _SUM_DIGITS
        for name in common:
            given = [origin.values[name] for origin in origins]
            found[name] = sum((value for value in given if value is not None), start=0)
    return found


def _answer(
    explainer: Explainer, questions: Iterable[RowsQuestion], depth: int, limit: int, columns: Sequence[str]
) -> ExplanationLevel:
    found: list[OperationExplanation] = []
    gaps: list[ExplanationGap] = []
    for question in questions:
        try:
            found.append(explainer.explain(question, limit=limit, columns=columns, is_strict=False))
        except DaybookError as error:
            gaps.append(ExplanationGap(question.run_id, int(question.operation or 0), error))
    return ExplanationLevel(depth, tuple(found), tuple(gaps))
