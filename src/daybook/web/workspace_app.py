"""The pages of a workspace and its API, each an application of its own, because their imports take time."""

from dataclasses import replace
from functools import partial

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError

# Imported here, so that the first page does not wait for what all pages use.
import daybook.workspace.close
import daybook.workspace.result_json  # noqa: F401
from daybook.definitions.loading.loaded_workspace import ReadFiles
from daybook.graph.recorded_runs import RecordedRuns
from daybook.runs.run_result import RunFailedError
from daybook.web import pages
from daybook.web.access import Access
from daybook.web.actions import PageActions
from daybook.web.page_templates import Templates
from daybook.web.problems import API, Failures, problem_handlers
from daybook.web.questions import Questions
from daybook.web.served import RecentAnswers, Served, SharedBodies, StoreWatch
from daybook.workspace.open_workspace import OpenedWorkspace


def create_pages(workspace: OpenedWorkspace, access: Access, templates: Templates) -> FastAPI:
    """Without a guard of their own: requests have passed that of the server."""
    app = _create_app(openapi_url=None)
    app.state.templates = templates
    workspace = replace(workspace, read_files=ReadFiles())
    app.state.served = Served(
        workspace,
        access,
        templates,
        Questions(workspace),
        PageActions(workspace),
        StoreWatch(workspace),
        RecentAnswers(),
        SharedBodies(),
        RecordedRuns(),
    )
    for router in pages.ROUTERS:
        app.include_router(router, include_in_schema=False)
    return app


def create_api(served: Served) -> FastAPI:
    """The API over what the pages show; it has a type for each answer, and building these takes a while."""
    from daybook.web import api
    from daybook.web.api.answer import describe

    app = _create_app(openapi_url=f"{API}/openapi.json")
    app.state.templates = served.templates
    app.state.served = served
    for router in api.ROUTERS:
        app.include_router(router, prefix=API)
    app.openapi = partial(describe, app, api.ROUTERS)  # type: ignore[method-assign]
    return app


def _create_app(*, openapi_url: str | None) -> FastAPI:
    app = FastAPI(
        title="Daybook",
        summary="What the command line prints with --json, over HTTP.",
        version="1",
        openapi_url=openapi_url,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=problem_handlers(RunFailedError, RequestValidationError),
    )
    app.add_middleware(Failures)
    return app
