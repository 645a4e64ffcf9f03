"""The demonstration with a small ledger, closed for one month, and once more as a draft with corrected rates."""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from daybook.demo.data_files import write_data, write_workspace
from daybook.demo.month_close import close_month
from daybook.workspace.history import list_runs
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace

PERIOD = "2026-01"
_JOURNALS = 200


@dataclass(frozen=True)
class ClosedDemo:
    """`run` closed the month, `draft` closed it again; `summary` reads what the first wrote."""

    workspace: OpenedWorkspace
    run: str
    draft: str
    summary: str

    @property
    def root(self) -> Path:
        return self.workspace.root


def close_demo(folder: Path, spark: SparkSession) -> ClosedDemo:
    write_workspace("close", folder)
    write_data(folder / "data", _JOURNALS)
    workspace = open_workspace(folder, session=lambda: spark)
    done = close_month(workspace, PERIOD)
    by_project = {run.project_id: run.run_id for run in done.runs}
    drafts = [run.id for run in list_runs(workspace, project="close", limit=10).runs if run.is_draft]
    return ClosedDemo(workspace, by_project["close"], drafts[0], by_project["management-summary"])
