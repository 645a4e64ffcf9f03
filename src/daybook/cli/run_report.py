"""Runs as people read them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from daybook.cli.terminal import say

if TYPE_CHECKING:
    from daybook.runs.replaying import ReplayResult
    from daybook.runs.result import RunResult
    from daybook.runs.running import DryRun


def show(result: "RunResult", *, is_quiet: bool) -> None:
    say(f"run {result.run_id} of {result.project_id} for {result.period}: {result.status}")


def show_dry_runs(planned: "Iterable[DryRun]") -> None:
    for each in planned:
        say(f"{each.prepared.snapshot.project.id} can run for {each.prepared.snapshot.period.identifier}")


def show_replay(result: "ReplayResult") -> None:
    for output in result.outputs:
        say(f"{output.operation_seq}: {'same' if output.is_same else 'DIFFERENT'}")
