"""What a run tells while it is executed."""

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daybook.engine.jobs import OnProgress
    from daybook.errors import Notice


class RunListener:
    """Hears nothing; subclasses override what they hear.

    All calls come from the thread that executes the run, except `progress`, which is called with the tasks of Spark
    that are done, of those known so far; without it Spark is not asked.
    """

    progress: "OnProgress | None" = None

    def prepared(self, run_id: str, project_id: str, period: str) -> None:
        """The run exists."""

    def stage(self, text: str) -> None:
        """A new stage of work began, in a few words."""

    def notice(self, notice: "Notice") -> None:
        """A warning."""


class ListenerWithout(RunListener):
    """Hands everything on to another listener but some notices."""

    def __init__(self, notices: "Collection[Notice]", listener: RunListener) -> None:
        self._notices = notices
        self._listener = listener
        self.progress = listener.progress

    def prepared(self, run_id: str, project_id: str, period: str) -> None:
        self._listener.prepared(run_id, project_id, period)

    def stage(self, text: str) -> None:
        self._listener.stage(text)

    def notice(self, notice: "Notice") -> None:
        if notice not in self._notices:
            self._listener.notice(notice)
