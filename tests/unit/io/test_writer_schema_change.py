"""A table with other columns than the output: what differs, and what helps."""

from dataclasses import replace

import pytest

from daybook.errors import DaybookError
from daybook.io.target import FileTarget, OutputColumn, SliceOwner, Target
from daybook.io.writer import check_schema_change, kept_columns
from daybook.model.types import INTEGER, STRING, DecimalType
from daybook.resolve.location import Location

REPLACE = "`mode: replace` uses the new schema and replaces all rows"
KEEP = "`type: decimal(33,2)` on the assignment or aggregation that computes total keeps its type"
MISSING = "write the missing columns too, or NULL in them with `on_schema_change: keep`"
ADD = "`on_schema_change: add` adds the new columns"


def target(*columns: OutputColumn, is_adding: bool = False) -> Target:
    target = FileTarget(
        location=Location("delta", uri="/lake/t"),
        mode="append",
        columns=columns,
        run_id="run",
        operation_seq=1,
        owner=SliceOwner("p", "o"),
    )
    return replace(target, on_schema_change="add") if is_adding else target


KEY, TOTAL, NOTE = OutputColumn("key", STRING), OutputColumn("total", DecimalType(38, 2)), OutputColumn("note", INTEGER)


@pytest.mark.parametrize(
    ("written", "existing", "difference", "hint"),
    [
        (target(KEY, NOTE), {"key": "string"}, "new note (integer)", f"{ADD}; {REPLACE}"),
        (
            target(KEY, TOTAL),
            {"key": "string", "total": "decimal(33,2)"},
            "total is decimal(33,2) in the table and decimal(38,2) in the output",
            f"{KEEP}; {REPLACE}",
        ),
        (
            target(KEY, TOTAL, NOTE, is_adding=True),
            {"key": "string", "total": "decimal(33,2)"},
            "new note (integer); total is decimal(33,2) in the table and decimal(38,2) in the output",
            f"{KEEP}; {REPLACE}",
        ),
        (
            target(KEY),
            {"key": "string", "note": "integer"},
            "missing note",
            f"{MISSING}; {REPLACE}",
        ),
    ],
    ids=["new", "retyped", "retyped and added", "missing"],
)
def test_the_way_out_fits_the_difference(
    written: Target, existing: dict[str, str | None], difference: str, hint: str
) -> None:
    with pytest.raises(DaybookError) as caught:
        check_schema_change(written, existing)
    assert (caught.value.code, caught.value.parameters["difference"]) == ("IO_021", difference)
    assert caught.value.hint == hint


def test_columns_are_added_and_unknown_types_are_not_compared() -> None:
    assert check_schema_change(target(KEY, TOTAL, NOTE, is_adding=True), {"key": None, "total": None}).added == (NOTE,)


def test_columns_that_the_output_no_longer_has_are_kept_and_new_ones_are_refused() -> None:
    existing = {"key": "string", "total": "decimal(38,2)", "odd": ""}
    keeping = replace(target(KEY), on_schema_change="keep")
    assert check_schema_change(keeping, existing).added == ()
    assert kept_columns(keeping, existing) == (TOTAL, OutputColumn("odd", STRING))
    assert kept_columns(target(KEY), existing) == ()
    with pytest.raises(DaybookError) as caught:
        check_schema_change(replace(target(KEY, NOTE), on_schema_change="keep"), existing)
    assert caught.value.hint == f"{ADD}; {REPLACE}"
