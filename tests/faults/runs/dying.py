"""Dying in the middle of a run: for real in a process of its own, or by leaving everything as death leaves it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal
from unittest.mock import patch

from daybook.io.registry import writer_for
from daybook.io.target import Target
from daybook.runs.attempt.execution import Execution
from daybook.runs.attempt.recorder import RunRecorder
from daybook.runs.outputs import PlannedOutput

Point = Literal["before write", "after write", "before commit", "after commit", "after record"]
POINTS: tuple[Point, ...] = ("before write", "after write", "before commit", "after commit", "after record")
Format = str


class Died(BaseException):
    """Nothing of the product may catch this."""


@contextmanager
def dying_at(point: Point, format_: Format, die: Callable[[], None]) -> Iterator[None]:
    """`die` is called when an output of the format gets to the point."""

    def wrapped(owner: Any, name: str, is_meant: Callable[..., bool], *, after: bool) -> Any:
        original = getattr(owner, name)

        def method(self: Any, *arguments: Any, **named: Any) -> Any:
            if not after and is_meant(*arguments):
                die()
            result = original(self, *arguments, **named)
            if after and is_meant(*arguments):
                die()
            return result

        return patch.object(owner, name, method)

    def of_planned(planned: PlannedOutput, *_: object, **__: object) -> bool:
        return planned.target.format == format_

    def of_target(_: object, target: Target, *__: object) -> bool:
        return target.format == format_

    writer = type(writer_for(format_))
    match point:
        case "before write":
            patched = wrapped(writer, "stage", of_target, after=False)
        case "after write":
            patched = wrapped(writer, "stage", of_target, after=True)
        case "before commit":
            patched = wrapped(RunRecorder, "permit", of_planned, after=True)
        case "after commit":
            patched = wrapped(RunRecorder, "record", of_planned, after=False)
        case "after record":
            patched = wrapped(RunRecorder, "record", of_planned, after=True)
    with patched:
        yield


@contextmanager
def as_if_dead() -> Iterator[None]:
    """No cleaning up, no last word to the store, and a process that nobody finds."""

    def nothing(*_: object, **__: object) -> None:
        pass

    with ExitStack() as patches:
        patches.enter_context(patch.object(Execution, "discard", nothing))
        patches.enter_context(patch("daybook.runs.attempt.execution._fail", nothing))
        patches.enter_context(patch("daybook.runs.attempt.execution.remove_folder", nothing))
        yield
