"""The pages: each calls one or two use cases and shows their results."""

from daybook.web.pages import actions, approvals, close, definitions, explain, numbers, periods, runs

ROUTERS = (
    close.router,
    runs.router,
    periods.router,
    actions.router,
    numbers.router,
    explain.router,
    definitions.router,
    approvals.router,
)
