"""What checking a project against a catalog finds; the check itself is passed in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from daybook.errors import DaybookError, Notice
from daybook.model.catalog import Catalog
from daybook.model.definition import Definition
from daybook.model.project import Project
from daybook.store.records import ColumnUsage


@dataclass(frozen=True, slots=True)
class Validation:
    """Without errors, `usage` says exactly which columns which operation uses."""

    errors: tuple[DaybookError, ...] = ()
    notices: tuple[Notice, ...] = ()
    usage: tuple[ColumnUsage, ...] = ()


Validate: TypeAlias = Callable[[Definition[Project], Catalog], Validation]
