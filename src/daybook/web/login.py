"""Login and logout, and the reader's preferences such as the style of negative numbers."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from daybook.errors import DaybookError
from daybook.pictures.number_format import NEGATIVES
from daybook.web.access import SESSION_SECONDS, Access, check_csrf, local_path
from daybook.web.page_templates import NEGATIVES_COOKIE, Templates
from daybook.web.problems import status_of

_YEAR_SECONDS = 365 * 24 * 3600
_MOST_FIELDS = 10


def login_routes(access: Access, templates: Templates) -> list[Route]:
    """Plain routes, which are there before the rest of the server is loaded."""

    async def show_form(request: Request) -> Response:
        asked = local_path(request.query_params.get("next"))
        return templates.page(request, "login.html", title="Log in", next=asked, problem=None)

    async def log_in(request: Request) -> Response:
        target = local_path(await _field(request, "next"))
        token = await _field(request, "token") or ""
        try:
            name = access.name_of(token.strip(), access.address(request))
        except DaybookError as refusal:
            status = status_of(refusal)
            return templates.page(
                request, "login.html", http_status=status, title="Log in", next=target, problem=refusal
            )
        answer = RedirectResponse(target, 303)
        answer.set_cookie(
            access.site.cookie,
            access.log_in(name),
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=access.site.is_secure,
        )
        return answer

    async def log_out(request: Request) -> Response:
        check_csrf(request.state.visitor, await _field(request, "csrf"))
        if (session_id := request.cookies.get(access.site.cookie)) is not None:
            access.log_out(session_id)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(access.site.cookie)
        return answer

    async def prefer(request: Request) -> Response:
        answer = RedirectResponse(local_path(await _field(request, "next")), 303)
        negatives = await _field(request, "negatives") or ""
        if negatives in NEGATIVES:
            answer.set_cookie(
                NEGATIVES_COOKIE,
                negatives,
                max_age=_YEAR_SECONDS,
                samesite="strict",
                secure=access.site.is_secure,
            )
        return answer

    return [
        Route("/login", show_form, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
        Route("/preferences", prefer, methods=["POST"]),
    ]


async def _field(request: Request, name: str) -> str | None:
    """A field of a form; files are none."""
    form = await request.form(max_fields=_MOST_FIELDS, max_files=0)
    found = form.get(name)
    return found if isinstance(found, str) else None
