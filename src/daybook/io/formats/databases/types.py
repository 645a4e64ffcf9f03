"""Tables of the types of a database: the name each declared type is stored under, and the way back."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from daybook.io.column_types import TypeTable
from daybook.model.types import ColumnType, DecimalType

_DIGITS = re.compile(r"(.*?)(\(\d+,\d+\))?")


@dataclass(frozen=True, slots=True)
class SqlType:
    """`name` is without the digits of decimals."""

    name: str

    def stored(self, type_: ColumnType) -> str:
        """The type of a column as it stands in `create table`."""
        return self.name + str(type_).removeprefix("decimal") if isinstance(type_, DecimalType) else self.name


SqlTypeT = TypeVar("SqlTypeT", bound=SqlType)


class SqlTypes(TypeTable[SqlTypeT]):
    def __init__(self, entries: Mapping[type, SqlTypeT]) -> None:
        super().__init__(entries)
        self._declared = {entry.name: str(type_()).partition("(")[0] for type_, entry in entries.items()}

    def declared(self, stored: str) -> str:
        """The declared type that is stored as this one; the stored one itself when there is none."""
        match = _DIGITS.fullmatch(stored)
        name, digits = (match[1], match[2]) if match else (stored, None)
        declared = self._declared.get(name)
        # A decimal without digits is none of ours.
        return stored if declared is None or (declared == "decimal") != bool(digits) else f"{declared}{digits or ''}"
