"""The application: every request is guarded, then answered by a page or by the API."""

from functools import partial

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles

from daybook.web import action_pages, api, lineage_page, live, number_pages, pages
from daybook.web.access import Access, Guard, Site
from daybook.web.actions import Actions
from daybook.web.description import describe
from daybook.web.problems import API, Failures, add_problem_handlers
from daybook.web.questions import Questions
from daybook.web.recent import RecentAnswers
from daybook.web.served import WEB_FOLDER, Served, Templates
from daybook.web.store_watch import StoreWatch
from daybook.workspace.open_workspace import OpenedWorkspace


def create_app(workspace: OpenedWorkspace, site: Site) -> FastAPI:
    """The pages and the API of a workspace; Spark is not started before somebody asks for rows to be computed."""
    app = FastAPI(
        title="Daybook",
        summary="What the command line prints with --json, over HTTP.",
        version="1",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    access = Access(site)
    templates = Templates(workspace, access)
    app.state.templates = templates
    app.state.served = Served(
        workspace, access, templates, Questions(workspace), Actions(workspace), StoreWatch(workspace), RecentAnswers()
    )
    # Before the API, whose paths of runs would take `events` for an id.
    app.include_router(live.router, prefix=API)
    app.include_router(api.router, prefix=API)
    app.include_router(action_pages.api, prefix=API)
    for router in (pages.router, number_pages.router, lineage_page.router, action_pages.pages):
        app.include_router(router, include_in_schema=False)
    app.mount(
        "/static",
        StaticFiles(directory=WEB_FOLDER / "static", packages=[("daybook.pictures", "static")]),
        name="static",
    )
    app.add_route("/health", _health, include_in_schema=False)
    add_problem_handlers(app)
    app.add_middleware(Failures)
    app.add_middleware(Guard, access=access)
    app.openapi = partial(describe, app)  # type: ignore[method-assign]
    return app


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})
