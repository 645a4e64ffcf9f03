"""The pages: each calls one or two use cases and shows their results."""

from daybook.web.pages import actions, close, compare, definitions, explain, numbers

ROUTERS = (close.router, numbers.router, explain.router, compare.router, definitions.router, actions.router)
