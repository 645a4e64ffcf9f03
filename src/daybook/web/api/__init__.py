"""`/api/v1`: what the command line prints with `--json`, from the same functions, with a type for each answer."""

from daybook.web.api import actions, close, compare, definitions, numbers, runs

ROUTERS = (close.router, runs.router, definitions.router, numbers.router, compare.router, actions.router)
