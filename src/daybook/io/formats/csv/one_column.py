"""Files of one column, in which no row is an empty line: readers skip such lines, Python's and Spark's among them.

NULL is `""`. In a column of text that is the empty text unless the header is in quotes without need, which says that
`""` is NULL. A file of texts with both has NULL as an empty line, which Daybook reads.
"""

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from daybook.model.types import ColumnType, StringType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BLOCK_BYTES = 1 << 20


def field_lines(df: "DataFrame", text: "Column", type_: ColumnType, options: Mapping[str, Any]) -> "DataFrame":
    """The lines of part files: one field per line, without a header; NULL is an empty line in those of text."""
    from pyspark.sql import functions as F

    quote = F.lit(options["quote"])
    special = f"[{re.escape(options['delimiter'])}{re.escape(options['quote'])}\\r\\n]"
    quoted = F.concat(quote, F.replace(text, quote, F.lit(options["quote"] * 2)), quote)
    line = F.when((text == "") | text.rlike(special), quoted).otherwise(text)
    if not isinstance(type_, StringType):
        line = F.coalesce(line, F.lit(options["quote"] * 2))
    return df.select(line.alias("value"))


def join_lines(parts: Iterable[Path], file: Path, header: str, mark: bytes, options: Mapping[str, Any]) -> None:
    """One file of part files; NULL becomes `""` where no empty text is in the way."""
    quote = options["quote"]
    files = list(parts)
    is_plain = not header.startswith(quote)
    nulls, empties = _count_blanks(files, quote.encode()) if is_plain else (0, 0)
    is_marked = nulls > 0 and empties == 0
    with file.open("wb") as stream:
        stream.write(mark + (f"{quote}{header}{quote}\n" if is_marked else f"{header}\n").encode())
        for part in files:
            with part.open("rb") as source:
                if is_marked:
                    _fill_empty_lines(source, stream, quote.encode())
                else:
                    shutil.copyfileobj(source, stream, _BLOCK_BYTES)


def null_is_quoted(header_line: str, name: str, type_: ColumnType, options: Mapping[str, Any]) -> bool:
    """Whether `""` is NULL in a file of one column."""
    if options["null_value"]:
        return False
    needs_quotes = any(character in name for character in (options["delimiter"], options["quote"], "\r", "\n"))
    return not isinstance(type_, StringType) or (header_line.startswith(options["quote"]) and not needs_quotes)


def _count_blanks(files: Iterable[Path], quote: bytes) -> tuple[int, int]:
    """How many lines are empty, and how many are the empty text."""
    nulls = empties = 0
    for file in files:
        is_inside = False
        with file.open("rb") as stream:
            for line in stream:
                if not is_inside and line == b"\n":
                    nulls += 1
                elif not is_inside and line == quote * 2 + b"\n":
                    empties += 1
                is_inside ^= line.count(quote) % 2 == 1
    return nulls, empties


def _fill_empty_lines(source: IO[bytes], target: IO[bytes], quote: bytes) -> None:
    is_inside = False
    for line in source:
        target.write(quote * 2 + line if line == b"\n" and not is_inside else line)
        is_inside ^= line.count(quote) % 2 == 1
