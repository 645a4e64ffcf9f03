"""Plans that are used again as long as the project, and all that it sees, stay the same."""

from collections import OrderedDict
from dataclasses import replace

from daybook.definitions.seen import project_digest, seen_digest
from daybook.definitions.value import Definitions
from daybook.expression import Constants
from daybook.model.definition import Definition
from daybook.model.project import Project
from daybook.plan.plan_project import ExaminedProject, examine_project
from daybook.plan.steps import Plan

# A project is seen in few ways at a time: as it is, as it will be, and by the runs of neighbouring periods.
_PLANS_PER_PROJECT = 8


class PlanCache:
    """The plans of one command or of one server, for validation, runs and further periods."""

    def __init__(self) -> None:
        self._examined: dict[str, OrderedDict[tuple[str, str], ExaminedProject]] = {}

    def examine(self, definition: Definition[Project], definitions: Definitions) -> ExaminedProject:
        key = project_digest(definition), seen_digest(definitions, definition.model)
        plans = self._examined.setdefault(definition.id, OrderedDict())
        if (examined := plans.get(key)) is not None:
            return examined
        plans[key] = examined = examine_project(definition.model, definition.source, definitions)
        if len(plans) > _PLANS_PER_PROJECT:
            plans.popitem(last=False)
        return examined

    def plan(
        self, definition: Definition[Project], definitions: Definitions, constants: Constants | None = None
    ) -> Plan:
        """The plan of a project, or all that is wrong with it; one plan serves every period."""
        return replace(self.examine(definition, definitions).checked_plan(), constants=constants)
