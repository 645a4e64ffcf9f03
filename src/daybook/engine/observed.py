"""Rows that are counted while something else is done with them."""

import contextlib
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

_PATIENCE_SECONDS = 120.0


class Observed:
    """A frame and what to aggregate of it, by name and SQL, in the action that uses the frame.

    The frame is made when it is used, because what it is made of counts as used from then on. `origin` makes the
    rows it comes from.
    """

    def __init__(
        self, rows: Callable[[], DataFrame], metrics: Mapping[str, str], origin: Callable[[], DataFrame]
    ) -> None:
        self._rows = rows
        self._origin = origin
        self._aggregates = [F.expr(sql).alias(name) for name, sql in metrics.items()]
        self._observation: Observation | None = None
        self._found: Mapping[str, Any] = {}

    @property
    def is_used(self) -> bool:
        return self._observation is not None

    @cached_property
    def frame(self) -> DataFrame:
        """The rows, for a frame that is going to be written."""
        self._observation = Observation()
        return self._rows().observe(self._observation, *self._aggregates)

    def metrics(self) -> Mapping[str, Any]:
        """Of the finished action; where no action needed these rows, of a look at them alone."""
        if not self._found and self._observation:
            self._found = measured(self._observation)
        if not self._found and (row := self._rows().agg(*self._aggregates).first()):
            self._found = row.asDict()
        return self._found

    def of_all(self, sql: str) -> Any:
        """A figure of the rows that these come from, by a look at them."""
        row = self._origin().agg(F.expr(sql)).first()
        return row[0] if row else None


def measured(observation: Observation, *, patience: float = _PATIENCE_SECONDS) -> Mapping[str, Any]:
    """The metrics of a finished action; none when Spark left out the part that was observed, or lost what it counted.

    Spark tells them with the events of a job, and drops events when a huge job makes more of them than it can handle.
    """
    found: dict[str, Any] = {}

    def get() -> None:
        with contextlib.suppress(Exception):
            found.update(observation.get)

    waiting = threading.Thread(target=get, name="daybook-observation", daemon=True)
    waiting.start()
    waiting.join(patience)
    return dict(found)
