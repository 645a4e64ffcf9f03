"""A dataset, a join and a run, as most tests of expressions need them."""

import datetime

from daybook.expression import Constants, Scope
from daybook.model.calendar import Period
from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, STRING, TIMESTAMP, ColumnType, DecimalType

COLUMNS: dict[str, ColumnType] = {
    "order_id": STRING,
    "status": STRING,
    "region": STRING,
    "amount": DecimalType(18, 2),
    "rate": DecimalType(5, 4),
    "big": DecimalType(38, 10),
    "fine": DecimalType(38, 30),
    "quantity": INTEGER,
    "weight": FLOAT,
    "is_open": BOOLEAN,
    "order_date": DATE,
    "created": TIMESTAMP,
    "net amount": DecimalType(18, 2),
    "_labels": STRING,
    "_source_dataset_id": STRING,
}
CUSTOMERS: dict[str, ColumnType] = {"customer_id": STRING, "tier": STRING, "discount": DecimalType(3, 2)}
SCOPE = Scope(COLUMNS, {"orders": COLUMNS, "customers": CUSTOMERS}, frozenset({"customers"}))
PERIOD = Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))
CONSTANTS = Constants(datetime.datetime(2026, 1, 31, 12, 30, tzinfo=datetime.UTC), PERIOD)
