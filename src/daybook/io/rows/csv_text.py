"""Rows as CSV text, in pieces that can be sent while the next is read."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from daybook.io.target import OutputColumn
from daybook.model.types import BooleanType, ColumnType, DecimalType, StringType, TimestampType, value_text

_NEEDS_QUOTES = r'[",\r\n]|^\s|\s$'
# A spreadsheet takes text that begins with one of these for a formula.
_FORMULA_START = "^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"


def csv_texts(columns: Sequence[OutputColumn], batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """A header and the rows: exact numbers, ISO dates, NULL an empty field and the empty text `""`.

    Texts that a spreadsheet would take for formulas get an apostrophe in front.
    """
    header = pa.array([column.name for column in columns], pa.string())
    yield (",".join(_quoted(header).to_pylist()) + "\n").encode()
    for batch in batches:
        if batch.num_rows:
            texts = [_texts(batch.column(column.name), column.type) for column in columns]
            lines = pc.binary_join_element_wise(*texts, ",")
            yield ("\n".join(lines.to_pylist()) + "\n").encode()


def _texts(values: pa.Array, type_: ColumnType) -> pa.Array:
    match type_:
        case StringType():
            texts = _quoted(values)
        case DecimalType():
            texts = _decimal_texts(values)
        case BooleanType():
            texts = pc.if_else(values, "true", "false")
        case TimestampType():
            texts = pc.replace_substring(values.cast(pa.string()), " ", "T")
            texts = pc.replace_substring(texts, ".000000Z", "Z")
        case _:
            texts = values.cast(pa.string())
    return pc.fill_null(texts, "")


def _quoted(values: pa.Array) -> pa.Array:
    is_formula = pc.match_substring_regex(values, _FORMULA_START)
    safe = pc.if_else(is_formula, pc.binary_join_element_wise("'", values, ""), values)
    is_special = pc.or_(pc.match_substring_regex(safe, _NEEDS_QUOTES), pc.equal(safe, ""))
    doubled = pc.replace_substring(safe, '"', '""')
    return pc.if_else(is_special, pc.binary_join_element_wise('"', doubled, '"', ""), safe)


def _decimal_texts(values: pa.Array) -> pa.Array:
    """Arrow writes small numbers with an exponent; these are written out."""
    texts = values.cast(pa.string())
    has_exponent = pc.fill_null(pc.match_substring(texts, "E"), False)
    if not pc.any(has_exponent).as_py():
        return texts
    plain = [value_text(value.as_py()) for value in values.filter(has_exponent)]
    return pc.replace_with_mask(texts, has_exponent, pa.array(plain, pa.string()))
