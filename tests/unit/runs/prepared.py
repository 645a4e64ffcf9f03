"""Runs prepared from workspaces on disk, without a store and without Spark."""

import datetime
from pathlib import Path

from daybook.definitions.files import definitions_of_files
from daybook.expression import Constants
from daybook.plan.plan_project import plan_project
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import period_of
from daybook.runs.attempt.prepare import PreparedRun, resolve_run
from daybook.runs.snapshot import GitState, Provenance, RunSettings, RunSnapshot
from tests.workspaces import Folder, no_session

TIMESTAMP = datetime.datetime(2026, 2, 2, 9, 30, tzinfo=datetime.UTC)


def new_folder(root: Path) -> Folder:
    return Folder.new(root / "w", no_session)


def prepared(
    folder: Folder, period: str = "2026-01", *, as_of: datetime.date | None = None, settings: RunSettings | None = None
) -> PreparedRun:
    workspace = folder.load()
    definition = workspace.definitions["project"]["p"]
    chosen = period_of(period, GREGORIAN)
    snapshot = RunSnapshot(
        run_id="20260202-093000-abcdef",
        project=definition.model,
        project_version=3,
        project_text=definition.source.text,
        project_file="definitions/project-p.yaml",
        period=chosen,
        as_of=as_of or chosen.start_date,
        timestamp=TIMESTAMP,
        settings=settings or RunSettings(),
        provenance=Provenance("someone", "somewhere", "1.0", GitState("abc", is_clean=True)),
    )
    catalog = definitions_of_files(workspace)
    plan = plan_project(definition.model, definition.source, catalog, Constants(TIMESTAMP, chosen))
    return resolve_run(snapshot, plan, catalog, workspace.root)
