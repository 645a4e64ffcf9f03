"""Month-end calculations on Spark: declared in YAML, versioned, rerun, explained and audited.

>>> import daybook
>>> with daybook.Workspace("close") as workspace:  # doctest: +SKIP
...     run = workspace.run("process-orders", "2026-01")
...     run.output("ds-warehouse.processed_orders").show()
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daybook.errors import DaybookError, DaybookErrors, Notice, render
    from daybook.model.calendar import Period
    from daybook.model.dataset import Dataset
    from daybook.model.project import Project
    from daybook.runs.run_result import OutputResult, RunFailedError, RunResult
    from daybook.workspace.python_api.results import Run
    from daybook.workspace.python_api.workspace import Workspace

# Imported when asked for, so that the command line does not pay for what it does not use.
_EXPORTED_FROM = {
    "DaybookError": "daybook.errors",
    "DaybookErrors": "daybook.errors",
    "Dataset": "daybook.model.dataset",
    "Notice": "daybook.errors",
    "OutputResult": "daybook.runs.run_result",
    "Period": "daybook.model.calendar",
    "Project": "daybook.model.project",
    "Run": "daybook.workspace.python_api.results",
    "RunFailedError": "daybook.runs.run_result",
    "RunResult": "daybook.runs.run_result",
    "Workspace": "daybook.workspace.python_api.workspace",
    "render": "daybook.errors",
}

__all__ = [
    "Dataset",
    "DaybookError",
    "DaybookErrors",
    "Notice",
    "OutputResult",
    "Period",
    "Project",
    "Run",
    "RunFailedError",
    "RunResult",
    "Workspace",
    "render",
]


def __getattr__(name: str) -> object:
    if name not in _EXPORTED_FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_EXPORTED_FROM[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
