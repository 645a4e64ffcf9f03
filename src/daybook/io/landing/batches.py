"""Batches of rows that are landed, and what the readers of files have in common."""

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import pyarrow as pa

from daybook.errors import DaybookError
from daybook.io.bindings import Binding, checked_options
from daybook.io.column_types import BadValueError, parse_texts
from daybook.io.filesystem import arrow_path
from daybook.io.storage import PROVIDER_STORAGE, ArrowPath, Storage
from daybook.model.definition import DatasetVersion
from daybook.resolve.location import Location

if TYPE_CHECKING:
    # Rows are landed without Spark, too.
    pass


@dataclass(frozen=True, slots=True)
class Batch:
    """Typed columns by the name they get, and the position of its n-th row in the source, for messages.

    `cell` gives the position of a column of a row, in sources that have one for each.
    """

    columns: dict[str, pa.Array]
    rows: int
    where: Callable[[int], str]
    cell: Callable[[int, str], str] | None = None
    # The position of every row, stored with it, in sources in which people look up rows.
    positions: pa.Array | None = None

    def position(self, index: int, column: str) -> str:
        return self.cell(index, column) if self.cell is not None else self.where(index)


@dataclass(frozen=True, slots=True)
class ImpliedColumns:
    """What a file need not hold: constants its folders name, and columns its table has NULL where they are missing."""

    constants: Mapping[str, str | None]
    promised: frozenset[str] = frozenset()

    def stored(self, own: Iterable[str]) -> list[str]:
        return [*own, *self.constants, *sorted(self.promised)]

    def column(self, binding: Binding, rows: int, file: str) -> pa.Array:
        """A constant or NULL column for a binding that the file itself lacks."""
        text = pa.array([self.constants.get(binding.stored)], pa.string())
        try:
            value = parse_texts(text, binding.type)[0]
        except BadValueError as bad:
            declared = str(binding.type)
            raise DaybookError("IO_015", file=file, column=binding.stored, declared=declared, value=bad.value) from None
        return pa.repeat(value, rows)


NO_IMPLIED_COLUMNS = ImpliedColumns({})


class RowSource(Protocol):
    """One file or table being landed; `carried` and `extra` are known once it was read to its end."""

    name: str
    carried: frozenset[str]
    extra: frozenset[str]

    def batches(self) -> Iterator[Batch]: ...


class FileRows:
    """What the readers of single files have in common: the file, the declaration, and options of its format."""

    format: ClassVar[str]

    def __init__(
        self,
        path: str,
        location: Location,
        version: DatasetVersion,
        given: ImpliedColumns = NO_IMPLIED_COLUMNS,
        storage: Storage = PROVIDER_STORAGE,
    ) -> None:
        self.name = path
        self._storage = storage
        self.carried: frozenset[str] = frozenset()
        self.extra: frozenset[str] = frozenset()
        self._given = given
        self._version = version
        self._location = location
        self._options = checked_options(self.format, location.options)

    def _at(self) -> ArrowPath:
        """Where pyarrow finds the file."""
        return arrow_path(self.name, self._storage)


def check_nulls(batch: Batch, bindings: tuple[Binding, ...], file: str) -> None:
    """IO_006 for the first NULL in a column that may hold none."""
    for binding in bindings:
        if binding.is_nullable or binding.name not in batch.columns:
            continue
        column = batch.columns[binding.name]
        if column.null_count:
            index = column.is_null().index(True).as_py()
            raise DaybookError("IO_006", file=file, place=batch.position(index, binding.name), column=binding.name)


# Lists and objects of JSON may be deep.
_SHORT = reprlib.Repr()


def bad_value_error(file: str, place: str, column: str, value: object, declared: object) -> DaybookError:
    shown = repr(value) if isinstance(value, str) else _SHORT.repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return DaybookError("IO_004", file=file, place=place, column=column, value=shown, declared=str(declared))


def row_position_from(start: int) -> Callable[[int], str]:
    """How a row of a table is named in messages, by its number in the result."""
    return lambda index: f"row {start + index + 1}"
