"""The planner accepts generated projects, and types the columns they create as the reference does."""

import pytest

from tests.reference.planning import planned
from tests.reference.projects import generate_project


@pytest.mark.parametrize(
    "first", [0, 50, 100, *(pytest.param(first, marks=pytest.mark.slow) for first in range(150, 1000, 50))]
)
def test_types_of_created_columns(first: int) -> None:
    for seed in range(first, first + 50):
        project = generate_project(seed)
        assert dict(planned(project).types) == project.types, f"project {seed}"
