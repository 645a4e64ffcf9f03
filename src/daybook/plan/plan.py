"""The checked plan of a project."""

from collections.abc import Mapping
from dataclasses import dataclass

from daybook.errors import Notice
from daybook.expression import Constants
from daybook.model.project import Project
from daybook.model.types import ColumnType
from daybook.plan.steps import INPUT, LoadStep, OutputStep, Step
from daybook.plan.usage import ColumnUsage


@dataclass(frozen=True, slots=True)
class Plan:
    """`types` are the final types of the business columns; `constants` are missing when only validity was asked for."""

    project: Project
    loads: tuple[LoadStep, ...]
    steps: tuple[Step, ...]
    types: Mapping[str, ColumnType]
    notices: tuple[Notice, ...]
    usage: tuple[ColumnUsage, ...]
    constants: Constants | None = None

    def load(self, key: str) -> LoadStep:
        return next(load for load in self.loads if load.key == key)

    @property
    def input(self) -> LoadStep:
        return self.load(INPUT)

    @property
    def outputs(self) -> tuple[OutputStep, ...]:
        return tuple(step for step in self.steps if isinstance(step, OutputStep))
