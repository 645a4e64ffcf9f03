"""Which rows of a table belong to the run's period."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.engine.context import RunContext
from daybook.engine.source import SourceFrame
from daybook.errors import DaybookError
from daybook.expression import quote_identifier, quote_literal
from daybook.model.system_columns import RUN_PERIOD
from daybook.model.types import DATE, STRING
from daybook.plan.steps import LoadStep


def filter_by_time(frame: SourceFrame, load: LoadStep, context: RunContext) -> DataFrame:
    """Period tables by their period, bitemporal ones as of a date; both by the slice when Daybook wrote them."""
    match load.temporal_mode:
        case "period":
            column = RUN_PERIOD if RUN_PERIOD in frame.carried else "_period"
            _needs(frame, load, column)
            return frame.df.where(F.expr(_is_of_period(column, frame, context)))
        case "bitemporal":
            _needs(frame, load, "_valid_from")
            _needs(frame, load, "_valid_to")
            as_of = quote_literal(context.as_of, DATE)
            is_valid = f"`_valid_from` <= {as_of} AND (`_valid_to` > {as_of} OR `_valid_to` IS NULL)"
            if RUN_PERIOD in frame.carried:
                # Summary rows are valid for the slice they stand in.
                is_summary = "`_valid_from` IS NULL AND `_valid_to` IS NULL"
                is_valid = f"{_is_of_period(RUN_PERIOD, frame, context)} AND (({is_valid}) OR ({is_summary}))"
            return frame.df.where(F.expr(is_valid))
        case "snapshot" | None:
            return frame.df


def _is_of_period(column: str, frame: SourceFrame, context: RunContext) -> str:
    accepted = frame.periods or (context.period.identifier,)
    choices = ", ".join(quote_literal(identifier, STRING) for identifier in accepted)
    return f"{quote_identifier(column)} IN ({choices})"


def _needs(frame: SourceFrame, load: LoadStep, column: str) -> None:
    if column not in frame.carried:
        seq = load.operation_seq or None
        raise DaybookError("PROJECT_032", operation_seq=seq, dataset_id=load.dataset_id, column=column)
