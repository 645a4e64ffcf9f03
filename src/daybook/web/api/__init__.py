"""`/api/v1`: the JSON of the command line, from the same functions, with a type for each answer."""

from daybook.web.api import actions, approvals, close, definitions, log, numbers, periods, runs, seals

_MODULES = (close, periods, actions, runs, definitions, numbers, log, approvals, seals)
ROUTERS = tuple(module.router for module in _MODULES)
