"""What a run tells whoever watches it."""

from typing import Protocol

from daybook.errors import Notice
from daybook.runs.result import OutputResult


class RunListener(Protocol):
    """All calls come from the thread that executes the run, except `progress`."""

    def prepared(self, run_id: str, project_id: str, period: str) -> None: ...

    def stage(self, text: str) -> None:
        """A new stage of work began, in a few words."""
        ...

    def progress(self, done: int, total: int) -> None:
        """Tasks of Spark that are done, of those known so far."""
        ...

    def written(self, output: OutputResult) -> None: ...

    def notice(self, notice: Notice) -> None: ...


class SilentListener:
    def prepared(self, run_id: str, project_id: str, period: str) -> None:
        pass

    def stage(self, text: str) -> None:
        pass

    def progress(self, done: int, total: int) -> None:
        pass

    def written(self, output: OutputResult) -> None:
        pass

    def notice(self, notice: Notice) -> None:
        pass
