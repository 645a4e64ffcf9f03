"""A process that runs projects of a workspace, and may be told to die or be interrupted while it does.

Each line of standard input is a command, answered by lines on standard output:
`run` executes the project, `die POINT FORMAT` kills the process when an output of the format gets there,
`endless FORMAT` lets Spark work for ever on outputs of the format, `finite` ends that,
`limit BYTES` lets no file of Java grow beyond that, `retry ID` continues a run,
`count URL TABLE` counts the rows of a table through JDBC.
"""

import os
import resource
import signal
import sys
import time
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyspark.sql import DataFrame, SparkSession

from daybook.definitions.loading import load_workspace
from daybook.engine.java.classic import Gateway, attached_server
from daybook.engine.java.session import start_session, stop_session
from daybook.io.registry import writer_for
from daybook.io.target import Target
from daybook.io.writer import StagedOutput
from daybook.runs.attempt.execution import retry
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.environment import open_run_environment
from daybook.runs.run_listener import RunListener
from daybook.runs.run_result import RunFailedError
from tests.faults.runs.dying import dying_at
from tests.spark.io.cases import DERBY
from tests.spark.local_files import leave_modes_to_umask
from tests.workspaces import run_files

# Every row takes a moment, so that what never ends does not keep the machine busy.
NEVER = "reflect('java.lang.Thread', 'sleep', CAST(10 + id - id AS BIGINT)) = 'done'"


def say(*words: str) -> None:
    print(*words, flush=True)  # noqa: T201


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def endless(format_: str) -> AbstractContextManager[object]:
    """Outputs of a format become jobs that do not end by themselves."""
    writer = type(writer_for(format_))
    original = writer.stage

    def stage(self: object, df: DataFrame, target: Target, *more: Any) -> StagedOutput:
        if target.format == format_:
            df = df.crossJoin(df.sparkSession.range(1 << 50).where(NEVER)).drop("id")
        return original(self, df, target, *more)  # type: ignore[arg-type]

    return patch.object(writer, "stage", stage)


def limit_files(session: SparkSession, size: int) -> None:
    gateway = attached_server(session)
    assert isinstance(gateway, Gateway)
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class Telling(RunListener):
    def __init__(self) -> None:
        self.progress = lambda done, total: say("tasks", str(done), str(total))

    def prepared(self, run_id: str, project_id: str, period: str) -> None:
        say("begun", run_id)

    def stage(self, text: str) -> None:
        say("stage", text)


def execute(root: Path, session: object, retried: str | None = None) -> None:
    workspace = load_workspace(root)
    try:
        with open_run_environment(workspace, lambda: session, Telling()) as around:  # type: ignore[arg-type, return-value]
            if retried is not None:
                retry(around, retried)
            else:
                run_files(workspace, around, RunRequest("p", "2026-01"))
        say("ended", "completed")
    except RunFailedError as failed:
        say("ended", failed.status, failed.error.code)


def main() -> None:
    root = Path(sys.argv[1])
    session = start_session(load_workspace(root).settings.engine, app_name="child", workload="short")
    leave_modes_to_umask(session)
    say("ready")
    with ExitStack() as patches:
        for line in sys.stdin:
            match line.split():
                case ["die", *point, format_]:
                    patches.enter_context(dying_at(" ".join(point), format_, die))  # type: ignore[arg-type]
                case ["endless", format_]:
                    patches.enter_context(endless(format_))
                case ["finite"]:
                    patches.close()
                case ["limit", size]:
                    limit_files(session, int(size))
                case ["run"]:
                    execute(root, session)
                case ["retry", run_id]:
                    execute(root, session, run_id)
                case ["count", url, table]:
                    rows = session.read.format("jdbc").options(url=url, driver=DERBY, dbtable=table).load()
                    say("counted", str(rows.count()))
                case _:
                    break
    stop_session(session, quick=True)


if __name__ == "__main__":
    main()
