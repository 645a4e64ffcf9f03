"""`/api/v1`: the JSON of the command line, from the same functions, with a type for each answer."""

from daybook.web.api import approvals, close, definitions, log, numbers, runs, seals

ROUTERS = (close.router, runs.router, definitions.router, numbers.router, log.router, approvals.router, seals.router)
