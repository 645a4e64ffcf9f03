"""The pages: each calls one or two use cases and shows their results."""

from daybook.web.pages import approvals, close, definitions, explain, numbers

ROUTERS = (close.router, numbers.router, explain.router, definitions.router, approvals.router)
