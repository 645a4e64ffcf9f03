"""Counting what is computed, so that nothing is computed twice."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest


class Counts:
    """How often each project was planned, each expression compiled, each calendar checked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plans: Counter[str] = Counter()
        self.expressions: Counter[str] = Counter()
        self.calendars: Counter[str] = Counter()
        for module in ("daybook.plan.plan_project", "daybook.plan.plan_cache"):
            self._count(monkeypatch, f"{module}.examine_project", lambda given: self.plans.update([given[0].id]))
        for module in ("daybook.plan.walk", "daybook.resolve.rule_conditions"):
            self._count(monkeypatch, f"{module}.compile_expression", lambda given: self.expressions.update([given[0]]))
        for module in ("daybook.resolve.calendars.calendar_checks", "daybook.resolve.definition_checks"):
            self._count(monkeypatch, f"{module}.calendar_errors", lambda given: self.calendars.update([given[0].id]))

    def _count(self, monkeypatch: pytest.MonkeyPatch, name: str, count: Callable[[tuple[Any, ...]], None]) -> None:
        module, _, function = name.rpartition(".")
        original = getattr(__import__(module, fromlist=[function]), function)

        def counting(*given: Any, **named: Any) -> Any:
            count(given)
            return original(*given, **named)

        monkeypatch.setattr(name, counting)
