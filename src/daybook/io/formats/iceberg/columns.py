"""The columns of Iceberg tables: types, field ids, and the schema that a table has after an output."""

from collections.abc import Iterable
from typing import Any, cast

import pyarrow as pa
from pyiceberg import types as iceberg_types
from pyiceberg.expressions import BooleanExpression, In
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table, Transaction
from pyiceberg.transforms import IdentityTransform

from daybook.io.iceberg_names import daybook_name, stored_name
from daybook.io.target import OutputColumn, TableTarget
from daybook.io.writer import declared_type_text
from daybook.model.types import (
    RUN_PERIOD_COLUMN,
    STRING,
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
)


def slice_predicate(periods: Iterable[str]) -> BooleanExpression:
    """The rows of some slices."""
    # mypy takes predicates for models of pydantic, whose constructors they do not have.
    predicate: Any = In
    return cast("BooleanExpression", predicate(RUN_PERIOD_COLUMN, tuple(periods)))


# Field ids of partitions begin here, by the specification.
_FIRST_PARTITION_ID = 1000


def iceberg_type(type_: ColumnType) -> iceberg_types.PrimitiveType:
    match type_:
        case StringType():
            return iceberg_types.StringType()
        case IntegerType():
            return iceberg_types.LongType()
        case DecimalType(precision, scale):
            return iceberg_types.DecimalType(precision, scale)
        case FloatType():
            return iceberg_types.DoubleType()
        case BooleanType():
            return iceberg_types.BooleanType()
        case DateType():
            return iceberg_types.DateType()
        case TimestampType():
            return iceberg_types.TimestamptzType()
        case NullType():
            raise ValueError("a written column has a type")


def stored_arrow_type(type_: iceberg_types.IcebergType) -> pa.DataType:
    """The Arrow type of a column in files; for types that cannot be declared, one that fits no declared type."""
    match type_:
        case iceberg_types.DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case iceberg_types.FixedType():
            return pa.binary(len(type_))
        case _:
            return _ARROW_TYPES.get(type(type_), pa.null())


_ARROW_TYPES: dict[type[iceberg_types.IcebergType], pa.DataType] = {
    iceberg_types.StringType: pa.string(),
    iceberg_types.IntegerType: pa.int32(),
    iceberg_types.LongType: pa.int64(),
    iceberg_types.FloatType: pa.float32(),
    iceberg_types.DoubleType: pa.float64(),
    iceberg_types.BooleanType: pa.bool_(),
    iceberg_types.DateType: pa.date32(),
    iceberg_types.TimeType: pa.time64("us"),
    iceberg_types.TimestampType: pa.timestamp("us"),
    iceberg_types.TimestamptzType: pa.timestamp("us", tz="UTC"),
    iceberg_types.TimestampNanoType: pa.timestamp("ns"),
    iceberg_types.TimestamptzNanoType: pa.timestamp("ns", tz="UTC"),
    iceberg_types.UUIDType: pa.binary(16),
    iceberg_types.BinaryType: pa.binary(),
    iceberg_types.StructType: pa.struct([]),
    iceberg_types.ListType: pa.list_(pa.null()),
    iceberg_types.MapType: pa.map_(pa.string(), pa.null()),
}


def arrow_schema(schema: Schema) -> pa.Schema:
    return pa.schema([(field.name, stored_arrow_type(field.field_type)) for field in schema.fields])


def kept_types(table: Table, target: TableTarget) -> dict[str, str | None]:
    """The columns that a commit keeps, with their types; none for one that replaces the table."""
    if target.mode == "replace":
        return {}
    own = RUN_PERIOD_COLUMN if target.run_period is not None else None
    stored = arrow_schema(table.schema())
    return {daybook_name(field.name): declared_type_text(field.type) for field in stored if field.name != own}


def written_columns(target: TableTarget) -> tuple[OutputColumn, ...]:
    """The columns of an output by their names in the table, and the column of the slice."""
    own = (OutputColumn(RUN_PERIOD_COLUMN, STRING),) if target.run_period is not None else ()
    return (*(OutputColumn(stored_name(column.name), column.type) for column in target.columns), *own)


def new_schema(target: TableTarget) -> Schema:
    return Schema(
        *(
            iceberg_types.NestedField(number, column.name, iceberg_type(column.type), required=False)
            for number, column in enumerate(written_columns(target), 1)
        )
    )


def new_partition_spec(schema: Schema, target: TableTarget) -> PartitionSpec:
    if target.run_period is None:
        return PartitionSpec()
    source_id = schema.find_field(RUN_PERIOD_COLUMN).field_id
    return PartitionSpec(PartitionField(source_id, _FIRST_PARTITION_ID, IdentityTransform(), RUN_PERIOD_COLUMN))


def partition_names(table: Table) -> list[str]:
    """The columns that new files are divided by; a transformed one with its transform."""
    schema = table.schema()
    return [
        schema.find_column_name(field.source_id) or field.name
        if isinstance(field.transform, IdentityTransform)
        else f"{field.transform}({schema.find_column_name(field.source_id)})"
        for field in table.spec().fields
    ]


def planned_field_ids(table: Table | None, target: TableTarget) -> dict[str, int]:
    """The field ids that the columns of an output will have once it is committed."""
    if table is None:
        return {field.name: field.field_id for field in new_schema(target).fields}
    kept = _kept_fields(table.schema(), target)
    next_id = table.metadata.last_column_id
    ids: dict[str, int] = {}
    for column in written_columns(target):
        if column.name in kept:
            ids[column.name] = kept[column.name]
        else:
            next_id += 1
            ids[column.name] = next_id
    return ids


def _kept_fields(schema: Schema, target: TableTarget) -> dict[str, int]:
    """The field ids that are kept; a replaced table keeps those of columns with the same type."""
    types = {column.name: iceberg_type(column.type) for column in written_columns(target)}
    return {
        field.name: field.field_id
        for field in schema.fields
        if target.mode != "replace" or types.get(field.name) == field.field_type
    }


def change_columns(transaction: Transaction, table: Table, target: TableTarget) -> None:
    """Add the columns that an output has, in their order; a table that is replaced loses all others."""
    schema = table.schema()
    kept = _kept_fields(schema, target)
    columns = written_columns(target)
    added = [column for column in columns if column.name not in kept]
    own = {column.name for column in columns}
    removed = [field.name for field in schema.fields if field.name not in kept or field.name not in own]
    if target.mode != "replace":
        removed = []
    if not added and not removed:
        return
    with transaction.update_schema(allow_incompatible_changes=True) as update:
        for name in removed:
            update.delete_column((name,))
        for column in added:
            update.add_column((column.name,), iceberg_type(column.type))


def change_partitions(transaction: Transaction, table: Table, target: TableTarget) -> None:
    """A table that is replaced may be divided in another way than before."""
    expected = [RUN_PERIOD_COLUMN] if target.run_period is not None else []
    if target.mode != "replace" or partition_names(table) == expected:
        return
    with transaction.update_spec() as update:
        for field in table.spec().fields:
            update.remove_field(field.name)
        if expected:
            update.add_field(RUN_PERIOD_COLUMN, IdentityTransform(), RUN_PERIOD_COLUMN)
