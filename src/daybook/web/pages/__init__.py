"""The pages: each asks one or two use cases and shows what they found."""

from daybook.web.pages import actions, close, compare, definitions, explain, numbers

ROUTERS = (close.router, numbers.router, explain.router, compare.router, definitions.router, actions.router)
