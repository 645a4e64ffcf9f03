"""Runs prepared from workspaces on disk, without a store and without Spark."""

import datetime
from pathlib import Path

from daybook.model.workspace_catalog import WorkspaceCatalog
from daybook.resolve.calendars import GREGORIAN
from daybook.resolve.periods import period_of
from daybook.runs.preparing import Prepared, Request, prepare
from daybook.runs.provenance import GitState, Provenance
from daybook.runs.snapshot import RunSettings
from tests.workspaces import Folder, no_session

TIMESTAMP = datetime.datetime(2026, 2, 2, 9, 30, tzinfo=datetime.UTC)


def new_folder(root: Path) -> Folder:
    return Folder.new(root / "w", no_session)


def prepared(
    folder: Folder, period: str = "2026-01", *, as_of: datetime.date | None = None, settings: RunSettings | None = None
) -> Prepared:
    workspace = folder.load()
    request = Request(
        run_id="20260202-093000-abcdef",
        definition=workspace.definitions["project"]["p"],
        project_version=3,
        period=period_of(period, GREGORIAN),
        timestamp=TIMESTAMP,
        as_of=as_of,
        settings=settings or RunSettings(),
        provenance=Provenance("someone", "somewhere", "1.0", GitState("abc", is_clean=True)),
    )
    return prepare(request, WorkspaceCatalog(workspace), workspace.root)
