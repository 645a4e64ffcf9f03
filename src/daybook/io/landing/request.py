"""What is to be landed, and where."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from daybook.io.landing.area import LandingArea
from daybook.io.landing.sink import IN_MEMORY_BYTES
from daybook.io.tables import Binding, carried_types
from daybook.model.catalog import DatasetVersion
from daybook.resolve.location import Location


@dataclass(frozen=True, slots=True)
class LandingRequest:
    """All locations of a dataset become one landing, so that occurrence numbers count across files."""

    locations: Sequence[Location]
    version: DatasetVersion
    area: LandingArea
    # The slices of tables that Daybook wrote which are needed; None for all.
    slices: frozenset[str] | None
    workspace: Path
    memory_limit: int = IN_MEMORY_BYTES

    @property
    def names(self) -> tuple[str, ...]:
        """The locations as messages and pins name them."""
        return tuple(at.uri or f"{at.schema or ''}.{at.table}".lstrip(".") for at in self.locations)

    @property
    def columns(self) -> tuple[Binding, ...]:
        """Declared columns, and those that sources may carry."""
        declared = self.version.dataset.main_table.columns
        return (
            *(Binding(column.name, column.name, column.type, column.nullable) for column in declared),
            *(Binding(name, name, type_) for name, type_ in carried_types().items()),
        )
