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
    """Period tables by their period, or by the slice when Daybook wrote them; bitemporal ones as of a date."""
    match load.temporal_mode:
        case "period":
            column = RUN_PERIOD if RUN_PERIOD in frame.carried else "_period"
            _needs(frame, load, column)
            accepted = frame.periods or (context.period.identifier,)
            choices = ", ".join(quote_literal(identifier, STRING) for identifier in accepted)
            return frame.df.where(F.expr(f"{quote_identifier(column)} IN ({choices})"))
        case "bitemporal":
            _needs(frame, load, "_valid_from")
            _needs(frame, load, "_valid_to")
            as_of = quote_literal(context.as_of, DATE)
            return frame.df.where(
                F.expr(f"`_valid_from` <= {as_of} AND (`_valid_to` > {as_of} OR `_valid_to` IS NULL)")
            )
        case "snapshot" | None:
            return frame.df


def _needs(frame: SourceFrame, load: LoadStep, column: str) -> None:
    if column not in frame.carried:
        seq = load.operation_seq or None
        raise DaybookError("PROJECT_032", operation_seq=seq, dataset_id=load.dataset_id, column=column)
