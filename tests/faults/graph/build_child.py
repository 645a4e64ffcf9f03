"""A process that builds a workspace and says what happens, or dies at a commit.

Arguments: the workspace, the span, and what to do: `go`, `die N` at the Nth commit once it is made and before it is
recorded, or `endless PROJECT`, whose outputs Spark never completes.
"""

import itertools
import os
import signal
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyspark.sql import DataFrame

from daybook.definitions.loading import load_workspace
from daybook.engine.java.classic import Gateway, attached_server
from daybook.engine.java.session import start_session, stop_session
from daybook.graph.build import NodeResult, build
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import BuildRequest
from daybook.graph.nodes import Node
from daybook.io.registry import writer_for
from daybook.io.target import Target
from daybook.io.writer import StagedOutput
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.recorder import RunRecorder
from daybook.runs.environment import open_run_environment
from tests.faults.runs.run_child import NEVER


def say(*words: str) -> None:
    print(*words, flush=True)  # noqa: T201


class Telling(BuildListener):
    def planned(self, nodes: tuple[Node, ...]) -> None:
        say("planned", str(len(nodes)))

    def started(self, node: Node, run_id: str) -> None:
        say("started", node.name, run_id)

    def stage(self, node: Node, text: str) -> None:
        say("stage", node.name, text)

    def finished(self, result: NodeResult) -> None:
        say("finished", result.node.name, result.result, result.reason or "")


def die_at(number: int) -> None:
    record, numbers = RunRecorder.record, itertools.count(1)

    def dying(self: RunRecorder, *arguments: Any, **options: Any) -> Any:
        if next(numbers) == number:
            say("dying", self._prepared.snapshot.run_id)
            os.kill(os.getpid(), signal.SIGKILL)
        return record(self, *arguments, **options)

    patch.object(RunRecorder, "record", dying).start()


def never_complete(project: str) -> None:
    writer = type(writer_for("delta"))
    original = writer.stage

    def stage(self: object, df: DataFrame, target: Target, *more: Any) -> StagedOutput:
        if target.owner.project_id == project:
            df = df.crossJoin(df.sparkSession.range(1 << 50).where(NEVER)).drop("id")
        return original(self, df, target, *more)  # type: ignore[arg-type]

    patch.object(writer, "stage", stage).start()


def main() -> None:
    root, span, what, *more = sys.argv[1:]
    if what == "die":
        die_at(int(more[0]))
    elif what == "endless":
        never_complete(more[0])
    workspace = load_workspace(Path(root))
    session = start_session(workspace.settings.engine, app_name="child", workload="short")
    gateway = attached_server(session)
    assert isinstance(gateway, Gateway)
    say("ready", str(gateway.process.pid))
    with open_run_environment(workspace, lambda: session) as environment:
        result = build(CheckedFiles(workspace), environment, BuildRequest(span), Telling())
    say("ended", "cancelled" if result.is_cancelled else "ok" if result.is_ok else "failed")
    stop_session(session, quick=True)


main()
