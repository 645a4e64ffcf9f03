"""The demonstration, closed for one month, and once more as a draft with corrected rates: once for all its tests."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.demo.generated_data import write_data
from daybook.demo.month_close import DemoResult, close_month
from daybook.demo.workspace_files import write_workspace
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from daybook.workspace.runs import list_runs
from tests.spark_session import as_users_run_it

PERIOD = "2026-01"
_JOURNALS = 300


@dataclass(frozen=True)
class ClosedDemo:
    """`run` closed the month, `draft` closed it again; `summary` reads what the first wrote."""

    workspace: OpenedWorkspace
    done: DemoResult
    run: str
    draft: str
    summary: str

    @property
    def root(self) -> Path:
        return self.workspace.root


@pytest.fixture(scope="session")
def demo(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ClosedDemo:
    """Tests add runs to it, and leave these as they are."""
    folder = tmp_path_factory.mktemp("close") / "demo"
    write_workspace("close", folder)
    write_data(folder / "data", _JOURNALS)
    workspace = open_workspace(folder, session=lambda: spark)
    with as_users_run_it(spark):
        done = close_month(workspace, PERIOD)
    by_project = {run.project_id: run.run_id for run in done.runs}
    drafts = [run.id for run in list_runs(workspace, project="close", limit=10).runs if run.is_draft]
    return ClosedDemo(workspace, done, by_project["close"], drafts[0], by_project["management-summary"])
