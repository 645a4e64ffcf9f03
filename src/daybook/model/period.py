"""A period of a calendar."""

import datetime
from dataclasses import dataclass
from typing import Literal

PeriodStatus = Literal["open", "closed", "locked"]


@dataclass(frozen=True, slots=True)
class Period:
    """`end_date` is the last day of the period; status is kept by the store."""

    identifier: str
    level: str
    start_date: datetime.date
    end_date: datetime.date
    calendar_id: str = "gregorian"
